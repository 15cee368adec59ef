import { asyncScheduler, type Observable } from 'rxjs';
import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { decodeBase64, decodeBase64Within, encodeBase64 } from '../../core/base64.ts';
import { configProblem } from '../../core/config-rule.ts';
import { asObject, asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { Logger } from '../../core/logger.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { LatePlayout } from '../../playback/late-playout.ts';
import { CallProvider } from './call-provider.ts';
import type { ReportProblem } from './call-input.ts';
import { PhoneKeys } from './phone-keys.ts';
import { endUnlessStarted, PhoneLine, phoneRules, PreparedText } from './phone-line.ts';
import type { CallEnd, PhoneConfig, PhoneProvider } from './phone-provider.ts';
import type { PlatformSocket } from './platform-socket.ts';
import { aheadOfTime, Timeline } from './timeline.ts';

/** Configuration of {@link PhoneStreamA}. Credentials stay with the application, for its TwiML and signature check. */
export interface PhoneStreamAConfig extends PhoneConfig {
  /**
   * How much unheard audio the platform may hold, 0 to 20,000 ms; it is sent in pieces of up to half of that, at most 100
   * ms. Default: 200.
   */
  readonly leadMs?: number;
  /** Fills gaps in the caller's audio (a call on hold) with silence, up to 10 s each. Default: false. */
  readonly fillGaps?: boolean;
}

/** Contents of a `start` message. */
interface Stream {
  readonly streamSid: string;
  /** The same, as JSON. */
  readonly wireSid: string;
  /** The message that drops what the platform has not played yet. */
  readonly clear: PreparedText;
  /** Reads its audio. */
  readonly reader: MediaReader;
  readonly callSid: string | undefined;
  readonly accountSid: string | undefined;
  readonly customParameters: Readonly<Record<string, string>>;
}

/** One call: the position in its audio and, once it has arrived, its `start`. */
interface Call {
  readonly timeline: Timeline;
  readonly stream?: Stream;
}

/** Longest piece in one message: the platform takes any, and plays them in order. */
const pieceMs = 100;

const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 };

/**
 * Twilio Media Streams, bidirectional (`<Connect><Stream>`): one phone call, whose WebSocket the application accepts
 * and attaches. No default address: the platform is the client. See https://www.twilio.com/docs/voice/media-streams.
 *
 * The caller's audio is mulaw at 8 kHz. Answers go out as mulaw, converted from linear16 of any rate if need be.
 * Playback waits for the call's `start`.
 */
export class PhoneStreamA
  extends CallProvider<PhoneStreamAConfig, CallEnd>
  implements PhoneProvider<PhoneStreamAConfig>
{
  override readonly name = 'PhoneStreamA' as const;
  override readonly accepts: readonly AudioFormat[] = [
    { encoding: 'mulaw', sampleRates: [8000] },
    { encoding: 'linear16' },
  ];
  protected override readonly playout: LatePlayout;
  readonly #complain: ReportProblem = (problem, options) => this.report(this.error(this.name + problem, options));
  readonly #line = new PhoneLine<Stream['customParameters']>({
    receive: (data) => this.#receive(data),
    receiveAudio: (message) => this.#receiveAudio(message),
    ended: (end) => this.end(end),
    complain: this.#complain,
  });
  readonly #keys = new PhoneKeys(this.#line.warn);
  #call: Call = { timeline: new Timeline(mulaw, false) };

  constructor(config: PhoneStreamAConfig = {}, logger?: Logger) {
    super(config, logger);
    const { leadMs = 200, scheduler } = config;
    this.playout = new LatePlayout(
      {
        write: ({ data }) => this.#send('media', `{"payload":"${encodeBase64(data)}"}`),
        gather: () => this.#line.gather(),
        clear: () => this.#clear(),
        mark: (name) => this.#send('mark', `{"name":"${name}"}`),
      },
      { format: mulaw, leadMs, pieceMs, held: true, ...(scheduler && { scheduler }) },
    );
  }

  /**
   * The `<Parameter>`s of the TwiML, once, at the call's `start`: from then on its ids are known, too. Completes after
   * that, or without a value if the call ends before. Replayed to late subscribers.
   */
  get started$(): Observable<Readonly<Record<string, string>>> {
    return this.handOut('started$', this.#line.started$);
  }

  /** Calls back with the `<Parameter>`s, once they are known; returns an unsubscribe function. */
  onStarted(callback: (parameters: Readonly<Record<string, string>>) => void): () => void {
    return this.listen(this.started$, callback);
  }

  get dtmf$(): Observable<string> {
    return this.handOut('dtmf$', this.#keys.dtmf$);
  }

  get secretDtmf$(): Observable<string> {
    return this.handOut('secretDtmf$', this.#keys.secretDtmf$);
  }

  onDtmf(callback: (digit: string) => void): () => void {
    return this.listen(this.dtmf$, callback);
  }

  override getMetadata(): AudioMetadata {
    return mulaw;
  }

  /** The platform's id of the call; `undefined` before its `start`. */
  getCallSid(): string | undefined {
    return this.#call.stream?.callSid;
  }

  /** The platform's id of the account that is called; `undefined` before the call's `start`. */
  getAccountSid(): string | undefined {
    return this.#call.stream?.accountSid;
  }

  /** The platform's id of the stream; `undefined` before the call's `start`. */
  getStreamSid(): string | undefined {
    return this.#call.stream?.streamSid;
  }

  /** The `<Parameter>`s of the TwiML; empty before the call's `start`. */
  getCustomParameters(): Readonly<Record<string, string>> {
    return this.#call.stream?.customParameters ?? {};
  }

  /**
   * Attaches a `ws` or DOM WebSocket that the application has accepted: at once, before its first message;
   * `initialize()` may come later. Hangs up a call that is already attached: use one provider per call.
   *
   * @param options - `start`: the platform's `start` message, if the application has already read it.
   */
  attach(socket: PlatformSocket, { start }: { readonly start?: string | object } = {}): void {
    this.hangUp();
    const { fillGaps = false, scheduler = asyncScheduler } = this.config;
    const onAhead = (): void => this.#line.warn(aheadOfTime);
    this.#call = { timeline: new Timeline(mulaw, fillGaps && { scheduler, onAhead }) };
    this.begin();
    this.#keys.begin(scheduler);
    this.#line.attach(socket, this.config);
    endUnlessStarted(this.#line, this.config, this.#complain);
    if (start) this.#receive(typeof start === 'string' ? start : JSON.stringify(start));
  }

  hangUp(): void {
    this.#line.end('closed', 1000);
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, { ...phoneRules, connectTimeoutMs: {}, fillGaps: {} });
  }

  protected override leave(): void {
    this.hangUp();
  }

  #receive(data: string | Uint8Array): void {
    const message = parseJsonObject(data);
    const event = asString(message?.['event']);
    const handler = ownEntry(this.#handlers, event);
    const { stream } = this.#call;
    if (!message || !event) this.#line.warn('malformed messages');
    else if (!handler) this.#line.warn('messages of unknown types');
    else if (unbound.has(event) || message['streamSid'] === stream?.streamSid) handler(message);
    else this.#line.warn(stream ? `${event} of another stream` : `${event} before start`);
  }

  /** Audio as it nearly always comes: without parsing JSON. */
  #receiveAudio(message: Uint8Array): boolean {
    const media = this.#call.stream?.reader.read(message);
    if (media) this.#hear(media.data, media.atMs);
    return media !== undefined;
  }

  readonly #handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    connected: () => undefined,
    start: (message) => this.#start(message),
    media: ({ media }) => this.#media(asObject(media) ?? {}),
    mark: ({ mark }) => this.playout.marked(asString(asObject(mark)?.['name']) ?? ''),
    dtmf: ({ dtmf }) => this.#keys.press(asString(asObject(dtmf)?.['digit']) ?? ''),
    stop: () => this.#line.end('stopped', 1000),
  };

  #start(message: WireObject): void {
    const start = this.#call.stream ? 'a second start' : readStart(message);
    if (start === 'format') {
      this.report(
        this.error('PhoneStreamA accepts only audio/x-mulaw at 8000 Hz, mono', { code: 'unsupported_format' }),
      );
      this.#line.end('closed', 1008);
    } else if (typeof start === 'string') {
      this.#line.warn(start);
    } else {
      this.#call = { stream: start, timeline: this.#call.timeline };
      this.playout.release();
      this.#line.start(start.customParameters);
    }
  }

  #media({ track = 'inbound', timestamp, payload }: WireObject): void {
    if (track !== 'inbound') return;
    const data = decodeBase64(asString(payload) ?? '%');
    if (!data) {
      this.#line.warn('media whose payload is not base64');
      return;
    }
    const atMs = asString(timestamp);
    this.#hear(data, atMs === undefined ? undefined : Number(atMs));
  }

  #hear(data: Uint8Array<ArrayBuffer>, atMs: number | undefined): void {
    for (const chunk of this.#call.timeline.place(data, atMs)) {
      this.capture.push(this.#keys.audible(chunk, mulaw));
    }
  }

  /** Concatenated rather than serialized: fifty a second, with nothing for JSON to escape but the id. */
  #send(event: 'media' | 'mark', body: string): void {
    const { stream } = this.#call;
    if (stream) this.#line.send(`{"event":"${event}","streamSid":${stream.wireSid},"${event}":${body}}`);
  }

  #clear(): void {
    const { stream } = this.#call;
    if (stream) this.#line.send(stream.clear);
  }
}

/** Messages without a stream id. */
const unbound = new Set(['connected', 'start']);

/** Reads a `start`, or says what is wrong with it; `format` when its audio is not mulaw at 8 kHz. */
function readStart(message: WireObject): Stream | 'a start without streamSid' | 'format' {
  const { accountSid, callSid, customParameters, mediaFormat, ...start } = asObject(message['start']) ?? {};
  const streamSid = asString(start['streamSid']) ?? asString(message['streamSid']);
  const { encoding = 'audio/x-mulaw', sampleRate = 8000, channels = 1 } = asObject(mediaFormat) ?? {};
  if (!streamSid) return 'a start without streamSid';
  if (encoding !== 'audio/x-mulaw' || sampleRate !== 8000 || channels !== 1) return 'format';
  const parameters = Object.entries(asObject(customParameters) ?? {}).filter(isText);
  const wireSid = JSON.stringify(streamSid);
  return {
    streamSid,
    wireSid,
    clear: new PreparedText(`{"event":"clear","streamSid":${wireSid}}`),
    reader: new MediaReader(wireSid),
    callSid: asString(callSid),
    accountSid: asString(accountSid),
    customParameters: Object.fromEntries(parameters),
  };
}

function isText(parameter: [string, unknown]): parameter is [string, string] {
  return typeof parameter[1] === 'string';
}

/** What stands before each number of a `media` message, and before its payload. */
const beforeNumbers: readonly string[] = [
  '{"event":"media","sequenceNumber":"',
  '","media":{"track":"inbound","chunk":"',
  '","timestamp":"',
];
const beforePayload = '","payload":"';

/**
 * Reads the `media` messages of one stream by position: they have one shape, and parsing JSON, which may have any, takes
 * longer than everything else that a frame of audio needs. A message of another shape is left to that, so that both
 * always agree.
 */
class MediaReader {
  readonly #afterPayload: string;

  /** @param wireSid - The stream's id, as JSON. */
  constructor(wireSid: string) {
    this.#afterPayload = `"},"streamSid":${wireSid}}`;
  }

  /** The caller's audio and its time; `undefined` for anything but a message of the known shape. */
  read(message: Uint8Array): { readonly data: Uint8Array<ArrayBuffer>; readonly atMs: number } | undefined {
    let at = 0;
    let atMs = 0;
    // The last of the numbers is the time.
    for (const text of beforeNumbers) {
      if (!hasAt(message, at, text)) return undefined;
      at += text.length;
      atMs = 0;
      for (let digit = digitAt(message, at); digit >= 0 && digit <= 9; digit = digitAt(message, ++at)) {
        atMs = atMs * 10 + digit;
      }
    }
    const [start, end] = [at + beforePayload.length, message.length - this.#afterPayload.length];
    const isKnown = hasAt(message, at, beforePayload) && start <= end && hasAt(message, end, this.#afterPayload);
    if (!isKnown || atMs > Number.MAX_SAFE_INTEGER) return undefined;
    const data = decodeBase64Within(message, start, end);
    return data && { data, atMs };
  }
}

/** Whether these letters, of ASCII, stand there. */
function hasAt(message: Uint8Array, at: number, text: string): boolean {
  if (at < 0 || at + text.length > message.length) return false;
  for (let index = 0; index < text.length; index++) {
    if (message[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

function digitAt(message: Uint8Array, at: number): number {
  return (message[at] ?? 0) - 0x30;
}

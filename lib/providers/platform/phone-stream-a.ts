import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { decodeBase64, encodeBase64 } from '../../core/base64.ts';
import { entry, obj, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { Playout } from '../../operators/playout.ts';
import type { PlatformSocket } from './attached-socket.ts';
import { PhoneProvider, type PhoneConfig } from './phone-provider.ts';
import { Timeline } from './timeline.ts';

/** Configuration of {@link PhoneStreamA}. Credentials stay in the application: its TwiML and signature check. */
export interface PhoneStreamAConfig extends PhoneConfig {
  /** How much audio the platform may hold that was not heard, 0 to 20,000 ms. Default: 200. */
  readonly leadMs?: number;
  /** Fills gaps in the caller's audio (a call on hold) with silence, up to 10 s each. Default: false. */
  readonly fillGaps?: boolean;
}

/** What is known of a call since its `start`. */
interface Stream {
  readonly streamSid: string;
  readonly callSid: string | undefined;
  readonly customParameters: Readonly<Record<string, string>>;
}

const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 };

/**
 * Twilio Media Streams, bidirectional (`<Connect><Stream>`): one phone call, whose WebSocket the application accepts
 * and attaches. No default address: the platform is the client. See https://www.twilio.com/docs/voice/media-streams.
 *
 * The caller's audio is mulaw at 8 kHz; answers go out as mulaw, or as linear16 of any rate, which is converted. What
 * is played before the call's `start` waits for it.
 */
export class PhoneStreamA extends PhoneProvider<PhoneStreamAConfig> {
  override readonly name = 'PhoneStreamA' as const;
  override readonly accepts: readonly AudioFormat[] = [
    { encoding: 'mulaw', sampleRates: [8000] },
    { encoding: 'linear16' },
  ];
  protected override readonly playout: Playout;
  #stream: Stream | undefined;
  #timeline: Timeline = new Timeline(mulaw, false);

  constructor(config: PhoneStreamAConfig = {}, logger?: Logger) {
    super(config, logger);
    const { leadMs = 200, scheduler } = config;
    this.playout = new Playout(
      {
        write: ({ data }) => this.#send('media', { payload: encodeBase64(data) }),
        clear: () => this.#send('clear'),
        mark: (name) => this.#send('mark', { name }),
      },
      { format: mulaw, leadMs, held: true, ...(scheduler && { scheduler }) },
    );
  }

  override getMetadata(): AudioMetadata {
    return mulaw;
  }

  /** The platform's id of the call; `undefined` before its `start`. */
  getCallSid(): string | undefined {
    return this.#stream?.callSid;
  }

  /** The `<Parameter>`s of the TwiML; empty before the call's `start`. */
  getCustomParameters(): Readonly<Record<string, string>> {
    return this.#stream?.customParameters ?? {};
  }

  /**
   * Takes a socket that the application has accepted, of the `ws` package or a DOM WebSocket: at once, before its first
   * message, with or without `initialize()`. A call that is attached already is hung up: one provider serves one call.
   *
   * @param options - `start`: the platform's `start` message, when the application has read it itself.
   */
  override attach(socket: PlatformSocket, { start }: { readonly start?: string | object } = {}): void {
    this.hangUp();
    this.#stream = undefined;
    this.#timeline = new Timeline(mulaw, this.config.fillGaps ?? false);
    super.attach(socket);
    if (start) this.receive(typeof start === 'string' ? start : JSON.stringify(start));
  }

  protected override receive(data: string | Uint8Array): void {
    const message = parseJsonObject(data);
    const event = str(message?.['event']);
    const handler = entry(this.#handlers, event);
    const streamSid = this.#stream?.streamSid;
    if (!message || !event) this.warn('what is no message of the platform');
    else if (!handler) this.warn('messages of unknown types');
    else if (unbound.has(event) || message['streamSid'] === streamSid) handler(message);
    else this.warn(streamSid === undefined ? `${event} before start` : `${event} of another stream`);
  }

  readonly #handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    connected: () => undefined,
    start: (message) => this.#start(message),
    media: ({ media }) => this.#media(obj(media) ?? {}),
    mark: ({ mark }) => this.playout.marked(str(obj(mark)?.['name']) ?? ''),
    dtmf: ({ dtmf }) => this.press(str(obj(dtmf)?.['digit']) ?? ''),
    stop: () => this.endCall('stopped', 1000),
  };

  #start(message: WireObject): void {
    const { callSid, customParameters, mediaFormat, ...start } = obj(message['start']) ?? {};
    const streamSid = str(start['streamSid']) ?? str(message['streamSid']);
    const { encoding = 'audio/x-mulaw', sampleRate = 8000, channels = 1 } = obj(mediaFormat) ?? {};
    if (this.#stream) {
      this.warn('a second start');
    } else if (!streamSid) {
      this.warn('a start without streamSid');
    } else if (encoding !== 'audio/x-mulaw' || sampleRate !== 8000 || channels !== 1) {
      this.report(
        this.error('PhoneStreamA takes audio/x-mulaw at 8000 Hz, mono, only', { code: 'unsupported_format' }),
      );
      this.endCall('closed', 1008);
    } else {
      const parameters = Object.entries(obj(customParameters) ?? {}).filter(isText);
      this.#stream = { streamSid, callSid: str(callSid), customParameters: Object.fromEntries(parameters) };
      this.playout.release();
    }
  }

  #media({ track = 'inbound', timestamp, payload }: WireObject): void {
    if (track !== 'inbound') return;
    const data = decodeBase64(str(payload) ?? '%');
    if (!data) {
      this.warn('media whose payload is no base64');
      return;
    }
    const atMs = str(timestamp);
    for (const chunk of this.#timeline.place(data, atMs === undefined ? undefined : Number(atMs))) {
      this.capture.push(chunk);
    }
  }

  #send(event: 'media' | 'mark' | 'clear', body?: object): void {
    const streamSid = this.#stream?.streamSid;
    if (streamSid !== undefined) this.send(JSON.stringify({ event, streamSid, ...(body && { [event]: body }) }));
  }
}

/** Messages that come before the stream has an id. */
const unbound = new Set(['connected', 'start']);

function isText(parameter: [string, unknown]): parameter is [string, string] {
  return typeof parameter[1] === 'string';
}

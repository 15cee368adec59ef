import { firstValueFrom, fromEvent, takeUntil, throwIfEmpty, type Observable } from 'rxjs';
import { durationMs } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';
import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import type { VoiceError } from '../../core/errors.ts';
import { asNumber, asObject, asString, type WireObject } from '../../core/guard.ts';
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
import { wholeFrame } from './whole-frame.ts';

/** Configuration of {@link PhoneSocketB}. The application's NCCO sets the call's format. */
export interface PhoneSocketBConfig extends PhoneConfig {
  /** How much unheard audio the platform may hold, 0 to 20,000 ms (it keeps 3072 frames, a minute). Default: 60. */
  readonly leadMs?: number;
  /**
   * Asks the platform, by `notify`, to report when it has played what was sent: positions and `flush()` then follow its
   * reports instead of the clock alone. Deployments without `notify` add 2 s to each end of playback. Default: false.
   */
  readonly notify?: boolean;
}

/** One call. */
interface Call {
  /** Contents of its first message; `undefined` until then. */
  readonly opening?: Opening;
  readonly carry: PcmCarry;
  /** Audio that arrived before the format was known. */
  readonly early: Uint8Array<ArrayBuffer>[];
  readonly earlyBytes: number;
}

/** Contents of a first message. */
interface Opening {
  readonly contentType: string;
  readonly metadata: AudioMetadata;
  readonly headers: Readonly<Record<string, unknown>>;
}

const frameMs = 20;
const sampleRates = [8000, 16000, 24000];
const defaultContentType = 'audio/l16;rate=16000';

/** Audio kept while its format is unknown: 10 s at the highest rate. */
const maxEarlyBytes = 480_000;

/**
 * Vonage Voice API, an NCCO's `connect` to an endpoint of type `websocket`: one phone call, whose WebSocket the
 * application accepts and attaches. No default address: the platform is the client. See
 * https://developer.vonage.com/en/voice/voice-api/concepts/websockets.
 *
 * The caller's audio is linear16 at the rate of the NCCO's `content-type`: 8, 16 or 24 kHz. Answers go out in that
 * format, in real-time frames of 20 ms, converted from linear16 of any rate or from G.711. Playback waits for the
 * call's first message, and so does `initialize()` when a call is attached.
 */
export class PhoneSocketB
  extends CallProvider<PhoneSocketBConfig, CallEnd>
  implements PhoneProvider<PhoneSocketBConfig>
{
  override readonly name = 'PhoneSocketB' as const;
  override readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16' },
    { encoding: 'mulaw' },
    { encoding: 'alaw' },
  ];
  protected override readonly playout: LatePlayout;
  readonly #complain: ReportProblem = (problem, options) => this.report(this.error(this.name + problem, options));
  readonly #line = new PhoneLine<Opening['headers']>({
    receive: (data) => this.#receive(data),
    ended: (end) => this.end(end),
    complain: this.#complain,
  });
  readonly #keys = new PhoneKeys(this.#line.warn);
  readonly #clear = new PreparedText('{"action":"clear"}');
  #call: Call = newCall();
  /** Position reached in the caller's audio. */
  #heardMs = 0;
  /** Whether the call was ended because the platform did not begin it in time. */
  #isLate = false;

  constructor(config: PhoneSocketBConfig = {}, logger?: Logger) {
    super(config, logger);
    const { leadMs = 60, notify = false, scheduler } = config;
    this.playout = new LatePlayout(
      {
        write: ({ data }) => this.#line.send(wholeFrame(data, this.getMetadata(), frameMs)),
        gather: () => this.#line.gather(),
        clear: () => this.#line.send(this.#clear),
        ...(notify && { mark: (id: string) => this.#line.send(JSON.stringify({ action: 'notify', payload: { id } })) }),
      },
      { format: 'later', frameMs, leadMs, ...(scheduler && { scheduler }) },
    );
  }

  /**
   * The `headers` of the NCCO's endpoint, once, at the call's first message. Completes after that, or without a value if
   * the call ends before. Replayed to late subscribers.
   */
  get started$(): Observable<Readonly<Record<string, unknown>>> {
    return this.handOut('started$', this.#line.started$);
  }

  /** Calls back with the `headers`, once they are known; returns an unsubscribe function. */
  onStarted(callback: (headers: Readonly<Record<string, unknown>>) => void): () => void {
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

  /** The call's format; before its first message, the platform's default of 16 kHz. */
  override getMetadata(): AudioMetadata {
    return this.#call.opening?.metadata ?? formatOf(16000);
  }

  /** The negotiated `content-type`; before the first message the platform's default, `audio/l16;rate=16000`. */
  getContentType(): string {
    return this.#call.opening?.contentType ?? defaultContentType;
  }

  /** The `headers` of the NCCO's endpoint, from the first message; empty until then. */
  getHeaders(): Readonly<Record<string, unknown>> {
    return this.#call.opening?.headers ?? {};
  }

  /**
   * Attaches a `ws` or DOM WebSocket that the application has accepted: at once, before its first message;
   * `initialize()` may come later. Hangs up a call that is already attached: use one provider per call.
   *
   * @param options - `connected`: the platform's first message, if the application has already read it.
   */
  attach(socket: PlatformSocket, { connected }: { readonly connected?: string | object } = {}): void {
    this.hangUp();
    this.#call = newCall();
    this.#heardMs = 0;
    this.begin();
    this.#isLate = false;
    this.#keys.begin(this.config.scheduler);
    this.#line.attach(socket, this.config);
    endUnlessStarted(this.#line, this.config, (problem, options) => {
      this.#isLate = true;
      this.#complain(problem, options);
    });
    if (connected) this.#receive(typeof connected === 'string' ? connected : JSON.stringify(connected));
  }

  hangUp(): void {
    this.#line.end('closed', 1000);
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, { ...phoneRules, connectTimeoutMs: {}, notify: {} });
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    if (!this.#line.isOpen || this.#call.opening) return;
    const started$ = this.#line.started$.pipe(
      throwIfEmpty(() => this.#notStarted()),
      takeUntil(fromEvent(signal, 'abort')),
    );
    await firstValueFrom(started$, { defaultValue: undefined });
  }

  protected override leave(): void {
    this.hangUp();
  }

  #notStarted(): VoiceError {
    if (!this.#isLate) {
      return this.error(`${this.name}: the call ended before its first message`, { code: 'connection' });
    }
    const { connectTimeoutMs = 10_000 } = this.config;
    return this.error(`${this.name}: the call sent no first message within ${connectTimeoutMs} ms`, {
      code: 'timeout',
    });
  }

  #receive(data: string | Uint8Array): void {
    const message = parseJsonObject(data);
    const event = asString(message?.['event']);
    const handler = ownEntry(this.#handlers, event);
    if (typeof data !== 'string' && !event) this.#hear(new Uint8Array(data));
    else if (message && handler) handler(message);
    else if (message && !event && (message['dtmf'] || message['digit']))
      // From bridges that give their messages no name.
      this.#press(asObject(message['dtmf']) ?? message);
    else this.#line.warn(message && event ? 'messages of unknown types' : 'malformed messages');
  }

  readonly #handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    'websocket:connected': (message) => this.#connect(message),
    'websocket:dtmf': (message) => this.#press(message),
    'websocket:notify': ({ payload }) => this.playout.marked(asString(asObject(payload)?.['id']) ?? ''),
    'websocket:cleared': () => undefined,
    'websocket:media:update': () => undefined,
    'websocket:disconnected': () => undefined,
    'websocket:hangup': () => undefined,
  };

  #connect(message: WireObject): void {
    const opening = readOpening(message);
    if (this.#call.opening) {
      this.#line.warn('a second first message');
    } else if (!opening) {
      const problem = `${this.name} accepts only audio/l16 at ${sampleRates.join(', ')} Hz: set the NCCO's content-type`;
      this.report(this.error(problem, { code: 'unsupported_format' }));
      this.#line.end('closed', 1008);
    } else {
      const { early } = this.#call;
      this.#call = { ...this.#call, opening, early: [], earlyBytes: 0 };
      this.playout.release(opening.metadata);
      for (const data of early) this.#hear(data);
      this.#line.start(opening.headers);
    }
  }

  #hear(bytes: Uint8Array<ArrayBuffer>): void {
    const { opening, carry, early, earlyBytes } = this.#call;
    if (opening) {
      const { metadata } = opening;
      const data = carry.push(bytes);
      this.capture.push(this.#keys.audible({ data, metadata, timestamp: this.#heardMs }, metadata));
      this.#heardMs += durationMs(data.length, metadata);
    } else if (earlyBytes + bytes.length <= maxEarlyBytes) {
      early.push(bytes);
      this.#call = { ...this.#call, earlyBytes: earlyBytes + bytes.length };
    } else {
      this.#line.warn('more than 10 s of audio before the first message');
    }
  }

  #press({ digit }: WireObject): void {
    this.#keys.press(asString(digit) ?? String(asNumber(digit)));
  }
}

function newCall(): Call {
  return { carry: new PcmCarry(2), early: [], earlyBytes: 0 };
}

/** Reads a first message; `undefined` where its audio has another format. */
function readOpening({ event: _, 'content-type': given, ...headers }: WireObject): Opening | undefined {
  const contentType = asString(given) ?? defaultContentType;
  const sampleRate = Number(/^audio\/l16\s*;\s*rate=(\d+)/i.exec(contentType)?.[1]);
  return sampleRates.includes(sampleRate) ? { contentType, headers, metadata: formatOf(sampleRate) } : undefined;
}

function formatOf(sampleRate: number): AudioMetadata {
  return { encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 };
}

import { asyncScheduler, type Observable } from 'rxjs';
import { bytesPerSample } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { entry, oncePerKind, parseJsonObject, str } from '../../core/guard.ts';
import type { HttpErrorOf } from '../../transport/http-error.ts';
import type { SocketClose, SocketData } from '../../transport/socket-session.ts';
import type { TTSConfig } from './base-tts.ts';
import type { LaneMessage, LaneWire } from './sockets/lane-wire.ts';
import { SocketTTS } from './socket-tts.ts';
import { SpeechLane } from './sockets/speech-lane.ts';
import { SpeechLanes } from './sockets/speech-lanes.ts';
import type { SynthesisEvent } from './utterance.ts';

/** A voice of {@link AlphaTTS}: `aura-2-{voice}-{language}`, or an older `aura-{voice}-en`; others pass through. */
export type AlphaTTSVoice =
  | 'aura-2-thalia-en'
  | 'aura-2-andromeda-en'
  | 'aura-2-helena-en'
  | 'aura-2-apollo-en'
  | 'aura-2-arcas-en'
  | 'aura-2-aries-en'
  | 'aura-asteria-en'
  | (string & {});

/** A format of {@link AlphaTTS}: raw samples, mono. */
export type AlphaTTSFormat = 'linear16' | 'mulaw' | 'alaw';

/** Configuration of {@link AlphaTTS}. Voice and format are fixed for a connection: a change opens a new one. */
export interface AlphaTTSConfig extends TTSConfig {
  /** Default: `aura-2-thalia-en`. */
  readonly voice?: AlphaTTSVoice;
  /** Default: `linear16`. */
  readonly outputFormat?: AlphaTTSFormat;
  /** In Hz. linear16: 8000, 16000, 24000 (default), 32000 or 48000; mulaw and alaw: 8000 (default) or 16000. */
  readonly sampleRate?: number;
  /** What the service is asked for. Default: its own defaults. */
  readonly options?: {
    /** The voice, where `voice` is absent. */
    readonly model?: AlphaTTSVoice;
    /** 0.7 to 1.5; Aura-2 in English and Spanish only. Default: the service's, 1. */
    readonly speed?: number;
    /** Keeps the text out of the service's model improvement program. Default: the service's, false. */
    readonly mipOptOut?: boolean;
  };
  /** What the service takes in a minute, where it has granted more than it documents; text beyond it waits. */
  readonly limits?: {
    /** Default: 2400. */
    readonly charactersPerMinute?: number;
    /** Default: 20. */
    readonly flushesPerMinute?: number;
  };
}

const sampleRates: Readonly<Record<AlphaTTSFormat, readonly number[]>> = {
  linear16: [24000, 8000, 16000, 32000, 48000],
  mulaw: [8000, 16000],
  alaw: [8000, 16000],
};

/** What a message is to us, by its type. */
const answers: Readonly<Record<string, LaneMessage | 'note' | 'warning'>> = {
  Flushed: { type: 'flushed' },
  Cleared: { type: 'cleared' },
  Metadata: 'note',
  Warning: 'warning',
  Error: 'warning',
};

/** Payloads in the reason of a close that no other connection would mend. */
const closes: readonly { readonly payload: RegExp; readonly why: string; readonly options: VoiceErrorOptions }[] = [
  {
    payload: /DATA-0001/i,
    why: 'more than 2,400 characters in a minute',
    options: { code: 'rate_limited', recoverable: true, retryAfterMs: 60_000 },
  },
  { payload: /DATA-0000|MESSAGE-0000/i, why: 'a message that it does not know', options: { code: 'protocol' } },
  { payload: /BIG-000/i, why: 'a message that is too long', options: { code: 'configuration' } },
];

/**
 * AlphaTTS: Deepgram Aura text-to-speech, API V1 (`/v1/speak`), `https://api.deepgram.com`,
 * https://developers.deepgram.com/docs/tts-websocket
 *
 * One connection stays open between utterances; utterances at the same time get one each. The service gives no word
 * timings: `words$` are estimates for each sentence. It takes 2,400 characters and 20 flushes a minute; beyond that,
 * text waits.
 */
export class AlphaTTS extends SocketTTS<AlphaTTSConfig> {
  override readonly name: string = 'AlphaTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.deepgram.com';
  // An unknown voice is refused like a malformed query.
  protected override readonly errorOf: HttpErrorOf = ({ message }) =>
    /No such model/i.test(message) ? { code: 'not_found' } : undefined;
  #lanes: SpeechLanes | undefined;
  readonly #warn = oncePerKind((kind) => this.report(this.error(kind, { code: 'protocol', recoverable: true })));

  readonly #wire: Omit<LaneWire, 'charactersPerMinute' | 'flushesPerMinute' | 'maxTextLength'> = {
    speak: (text) => JSON.stringify({ type: 'Speak', text }),
    flush: '{"type":"Flush"}',
    clear: '{"type":"Clear"}',
    close: '{"type":"Close"}',
    read: (data) => this.#read(data),
    flushReserve: 8,
    classifyClose: (close) => this.#classifyClose(close),
  };

  override get maxTextLength(): number {
    return 2000;
  }

  override getMetadata(): AudioMetadata {
    const { outputFormat: encoding = 'linear16', sampleRate = entry(sampleRates, encoding)?.[0] ?? 8000 } = this.config;
    return { encoding, sampleRate, channels: 1, bitDepth: bytesPerSample(encoding) * 8 };
  }

  override warm(): void {
    this.#openLanes().warm();
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    const { outputFormat = 'linear16' } = this.config;
    return {
      outputFormat: { oneOf: Object.keys(sampleRates) },
      sampleRate: { oneOf: entry(sampleRates, outputFormat) ?? [] },
      'options.speed': { min: 0.7, max: 1.5 },
      'limits.charactersPerMinute': { min: 2_000 },
      'limits.flushesPerMinute': { min: 20 },
    };
  }

  protected override socketUrl(): URL {
    const { voice, options: { model = 'aura-2-thalia-en', speed, mipOptOut } = {} } = this.config;
    const { encoding, sampleRate } = this.getMetadata();
    const query = { model: voice ?? model, encoding, sample_rate: sampleRate, speed, mip_opt_out: mipOptOut };
    return this.resolveSocketUrl('/v1/speak', query);
  }

  protected override synthesis(text$: Observable<string>): Observable<SynthesisEvent> {
    return this.#openLanes().speak(text$);
  }

  /** Voice, format and address are those of a connection. */
  protected override onConfigUpdate(): void {
    this.#lanes?.retire();
    if (this.initialized) this.warm();
  }

  protected override async onDispose(): Promise<void> {
    await this.#lanes?.close();
    await super.onDispose();
  }

  #openLanes(): SpeechLanes {
    this.#lanes ??= new SpeechLanes({
      open: () => this.#openLane(),
      closed: ({ session }) => this.removeSession(session),
      scheduler: this.config.scheduler ?? asyncScheduler,
    });
    return this.#lanes;
  }

  #openLane(): SpeechLane {
    const { charactersPerMinute = 2400, flushesPerMinute = 20 } = this.config.limits ?? {};
    return new SpeechLane({
      ...this.linkOptions(),
      wire: { ...this.#wire, charactersPerMinute, flushesPerMinute, maxTextLength: this.maxTextLength },
    });
  }

  #read(data: SocketData): LaneMessage | undefined {
    const message = parseJsonObject(data);
    const text = (key: string): string => str(message?.[key]) ?? '';
    const answer = entry(answers, text('type'));
    // Also JSON that came as binary is what it says.
    if (typeof data !== 'string' && answer === undefined) return { type: 'audio', data };
    if (typeof answer === 'object') return answer;
    if (answer === 'note') this.logger.debug(`${this.name}: request ${text('request_id')}`);
    else if (answer === 'warning')
      this.#warn(`${this.name}: the service warns: ${text('code')} ${text('description')}`);
    else this.#warn(`${this.name}: the service sent a message that it does not document`);
    return undefined;
  }

  #classifyClose({ code, reason }: SocketClose): 'retry' | VoiceError {
    const known = closes.find(({ payload }) => payload.test(reason));
    if (!known) return 'retry';
    const { why, options } = known;
    return this.error(`${this.name}: the service closed the connection: ${why} (${code} ${reason})`, {
      ...options,
      status: code,
    });
  }
}

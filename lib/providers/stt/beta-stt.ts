import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { num, objs, str, type WireObject } from '../../core/guard.ts';
import type { Query, SocketCredentials } from '../../core/remote-provider.ts';
import type { VoiceError } from '../../core/errors.ts';
import type { SocketCloseOptions, SocketSessionOptions } from '../../transport/socket-session.ts';
import {
  betaConflict,
  betaEncodings,
  betaFailures,
  betaModel,
  betaQuery,
  betaRules,
  betaUpdate,
  isUniversal3,
  type BetaSTTOptions,
} from './beta-stt-settings.ts';
import { formatsOf, nameOf } from './streaming/named-encodings.ts';
import { StreamingSTT } from './streaming-stt.ts';
import { meanConfidence, type Said } from './streaming/utterances.ts';

/** Configuration of {@link BetaSTT}. `language` is BCP 47. */
export interface BetaSTTConfig extends BetaSTTOptions {
  /** Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Words to listen for, at most 100; those of more than 50 characters are left out. */
  readonly wordBoost?: readonly string[];
}

const keepAliveMs = 8_000;

/**
 * AssemblyAI streaming transcription, API v3, at `wss://streaming.assemblyai.com/v3/ws`: turns, with word times and
 * confidence. See https://www.assemblyai.com/docs/speech-to-text/universal-streaming.
 */
export class BetaSTT extends StreamingSTT<BetaSTTConfig> {
  readonly name = 'BetaSTT';
  protected readonly defaultBaseUrl = 'https://streaming.assemblyai.com';
  protected override readonly path: string = '/v3/ws';
  protected override readonly rules: ConfigRules = betaRules;
  protected override readonly ownKeys: readonly string[] = ['interimResults'];
  protected override readonly minFrameMs: number = 50;
  protected override readonly catchUpSpeed: number = 1.25;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    Begin: ({ id }) => this.logger.debug(`${this.name}: session ${str(id) ?? 'without an id'} begins`),
    SpeechStarted: () => this.utterances.started(),
    Turn: (message) => this.#onTurn(message),
    Termination: () => this.#release(),
    Warning: ({ warning_code: code }) => this.reportOnce(`the service warns (${num(code) ?? 'without a code'})`),
    Error: ({ error_code: code, error }) => this.renew(this.#failureOf(num(code) ?? 'an error', str(error))),
  };

  /** The last turn of this connection that is over. */
  #lastTurn: number = -1;
  /** Whether that one is to come again, formatted. */
  #isUnformatted: boolean = false;

  /** Linear16 and mulaw, at the configured or at any sample rate. */
  get accepts(): readonly AudioFormat[] {
    return formatsOf(betaEncodings, this.config);
  }

  /** Ends the speaker's turn: its complete result follows. */
  finalize(): void {
    this.sayAfterAudio({ type: 'ForceEndpoint' });
  }

  protected override query(): Query {
    const { encoding, sampleRate } = this.format;
    return { sample_rate: sampleRate, encoding: nameOf(betaEncodings, encoding), ...betaQuery(this.config) };
  }

  /** The bare key as header; in browsers, a temporary token in the query. */
  protected override socketCredentials(key: string): SocketCredentials {
    return { headers: { Authorization: key }, query: { token: key } };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    return { farewell: ['{"type":"Terminate"}'], until: this.isOf('Termination') };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    const { inactivityTimeout } = this.config;
    const intervalMs = Math.min(keepAliveMs, (inactivityTimeout ?? Infinity) * 500);
    const message = (): string | undefined => (inactivityTimeout === undefined ? undefined : '{"type":"KeepAlive"}');
    return {
      isReady: this.isOf('Begin'),
      keepAlive: { intervalMs, message },
      classifyClose: ({ code, reason }) => (code in betaFailures ? this.#failureOf(code, reason) : 'retry'),
    };
  }

  protected override configProblem(): string | undefined {
    return betaConflict(this.config);
  }

  protected override typeOf(message: WireObject): string | undefined {
    // Older servers say no type beside an error.
    return str(message['type']) ?? (message['error'] === undefined ? undefined : 'Error');
  }

  protected override applyLive(changed: Partial<BetaSTTConfig>): boolean {
    const update = betaUpdate(this.config, Object.keys(changed));
    if (update && Object.keys(update).length > 0) this.say({ type: 'UpdateConfiguration', ...update });
    return update !== undefined;
  }

  protected override onConnection(): void {
    this.#release();
    this.#lastTurn = -1;
  }

  #onTurn(message: WireObject): void {
    const order = num(message['turn_order']) ?? this.#lastTurn + 1;
    const turn = this.#turnOf(message);
    const isFormatted = message['turn_is_formatted'] === true;
    if (order <= this.#lastTurn) {
      if (order === this.#lastTurn && this.#isUnformatted && isFormatted) this.#complete(turn);
      return;
    }
    this.#release();
    if (message['end_of_turn'] !== true) {
      if (turn.text) this.utterances.heard(turn.text, turn);
      return;
    }
    this.#lastTurn = order;
    this.finalized(Math.max(...objs(message['words']).map(({ end }) => num(end) ?? 0), 0));
    // The other models write so from the first, and may never say so.
    const isAwaited = this.config.formatTurns === true && betaModel(this.config) === 'universal-streaming-english';
    if (!isAwaited || isFormatted || !turn.text) {
      this.#complete(turn);
      return;
    }
    this.#isUnformatted = true;
    this.utterances.result('segment', turn.text, turn);
  }

  #complete(turn: Said): void {
    this.#isUnformatted = false;
    if (turn.text) this.utterances.complete(turn.text, turn);
    else this.utterances.reset();
  }

  /** A turn that was to come again, formatted, will not. */
  #release(): void {
    if (this.#isUnformatted) this.utterances.finish();
    this.#isUnformatted = false;
  }

  #turnOf(message: WireObject): Said {
    const ofSpeaker = ({ speaker, speaker_label: label = speaker, ...word }: WireObject): WireObject => ({
      ...word,
      ...(str(label) !== 'UNKNOWN' && { speaker: label }),
    });
    const words = this.words(objs(message['words']).map(ofSpeaker), ({ text }) => str(text), 1);
    const transcript = str(message['transcript'])?.trim() ?? '';
    // The other models keep what may change out of the transcript of a turn that goes on.
    const isWhole = isUniversal3(this.config) || message['end_of_turn'] === true;
    return {
      text: isWhole && transcript ? transcript : words.map(({ text }) => text).join(' '),
      ...{ words, confidence: meanConfidence(words), language: str(message['language_code']) },
    };
  }

  #failureOf(code: number | string, sentence: string = ''): VoiceError {
    // Older servers tell too many sessions by the code of a wrong credential.
    const isBusy = /concurrent|too many/i.test(sentence);
    return this.failure(isBusy ? 3009 : code, betaFailures, sentence);
  }
}

import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { arr, entry, num, str, wireWord, type WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { SocketRequest, SocketRequestContext, SocketSessionOptions } from '../../transport/socket-session.ts';
import {
  AlphaFluxChanges,
  alphaFluxConflict,
  alphaFluxFailures,
  alphaFluxQuery,
  alphaFluxRules,
  type AlphaFluxExtras,
} from './alpha-flux-settings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { meanConfidence, type ResultKind, type Said } from './streaming/utterances.ts';

/** How the service hears turns. */
export interface AlphaFluxOptions extends AlphaFluxExtras {
  /** Default: `flux-general-en`. The other: `flux-general-multi`. */
  readonly model?: string;
  /**
   * How sure the service must be of an end of turn to announce it early, 0.3 to 0.9 and at most `eotThreshold`; brings
   * results with `isPreflight`. Default: it announces none.
   */
  readonly eagerEotThreshold?: number;
  /** How sure it must be to end a turn, 0.5 to 1. Default: the service's, 0.7. */
  readonly eotThreshold?: number;
}

/** Configuration of {@link AlphaFlux}. The model sets the language; interim results always come. */
export interface AlphaFluxConfig extends StreamingSTTConfig {
  /** What the service is asked for. Default: its own defaults. */
  readonly options?: AlphaFluxOptions;
}

const sampleRates = [16_000, 8_000, 24_000, 44_100, 48_000];

/** Audio before a turn that may hold its first sound, in milliseconds. */
const leadMs = 1_000;

const keepAliveMs = 5_000;

/** What the service says of a turn: what becomes of the voice, and of its words. */
const events: Readonly<Record<string, readonly ['started' | 'ended' | 'resumed' | undefined, ResultKind]>> = {
  StartOfTurn: ['started', 'interim'],
  Update: [undefined, 'interim'],
  EagerEndOfTurn: ['ended', 'preflight'],
  TurnResumed: ['resumed', 'interim'],
  EndOfTurn: ['ended', 'complete'],
};

/**
 * Deepgram Flux, API V2, at `wss://api.deepgram.com/v2/listen`: the service finds turns, and announces their likely end
 * early (`isPreflight`) when `eagerEotThreshold` is set. See https://developers.deepgram.com/docs/flux/quickstart.
 */
export class AlphaFlux extends StreamingSTT<AlphaFluxConfig> {
  readonly name = 'AlphaFlux';
  readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16', sampleRates },
    { encoding: 'linear32', sampleRates },
    { encoding: 'mulaw', sampleRates },
    { encoding: 'alaw', sampleRates },
  ];
  override readonly reportsSpeechEnd: boolean = true;
  protected readonly defaultBaseUrl = 'https://api.deepgram.com';
  protected override readonly path: string = '/v2/listen';
  protected override readonly rules: ConfigRules = alphaFluxRules;
  protected override readonly gapMs: number = 500;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    TurnInfo: (message) => this.#onTurn(message),
    ConfigureSuccess: () => void this.#changes.answered(),
    ConfigureFailure: (message) => this.#onRefused(message),
    Warning: (message) => this.#onWarning(message),
    Error: (message) =>
      this.renew(this.failure(wireWord(message['code']), alphaFluxFailures, str(message['description']))),
  };

  readonly #changes = new AlphaFluxChanges((message) => this.say(message));
  #canPing: boolean = true;
  /** Whether a turn goes on. */
  #isOpen: boolean = false;
  /** The last turn of this connection that has ended. */
  #lastTurn: number = -1;

  /** Ends the speaker's turn: a complete result follows, without text when there is no turn. */
  finalize(): void {
    this.say({ type: 'ForceEndTurn' });
  }

  protected override request(context: SocketRequestContext): Promise<SocketRequest> {
    this.#changes.asked(this.#options);
    return super.request(context);
  }

  protected override query(): Query {
    const { encoding, sampleRate } = this.format;
    return { encoding, sample_rate: sampleRate, ...alphaFluxQuery(this.#options) };
  }

  protected override farewell(): { farewell: string[] } {
    const close = '{"type":"CloseStream"}';
    return { farewell: this.#isOpen ? ['{"type":"ForceEndTurn"}', close] : [close] };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      isReady: this.isOf('Connected'),
      keepAlive: { intervalMs: keepAliveMs, message: (canPing) => this.#onKeepAlive(canPing) },
    };
  }

  protected override configProblem(): string | undefined {
    return alphaFluxConflict(this.#options);
  }

  protected override onConnection(): void {
    this.#isOpen = false;
    this.#lastTurn = -1;
    this.#changes.begin(this.#options);
  }

  /** A turn ends only where audio goes on, and a browser has no other sign of life to give. */
  protected override wantsSilence(quietMs: number): boolean {
    return this.#isOpen || (!this.#canPing && quietMs % keepAliveMs === 0);
  }

  protected override applyLive(changed: Partial<AlphaFluxConfig>): boolean {
    if ('proxyUrl' in changed || 'endpoint' in changed || !this.#changes.canTell(this.#options)) return false;
    this.#changes.tell(this.#options);
    return true;
  }

  get #options(): AlphaFluxOptions {
    return this.config.options ?? {};
  }

  #onKeepAlive(canPing: boolean): undefined {
    this.#canPing = canPing;
    this.#changes.tick();
  }

  #onRefused(message: WireObject): void {
    if (!this.#changes.answered()) return;
    const text = `${this.name}: the service keeps its former options (${wireWord(message['code'])})`;
    this.report(this.error(text, { code: 'configuration', recoverable: true }));
  }

  #onWarning(message: WireObject): void {
    this.logger.debug(`${this.name}: ${wireWord(message['code'])}`);
    if (message['code'] === 'FORCE_END_TURN_NO_ACTIVE_TURN') this.utterances.result('complete', '');
  }

  #onTurn(message: WireObject): void {
    const turn = num(message['turn_index']) ?? this.#lastTurn + 1;
    const endMs = (num(message['audio_window_end']) ?? 0) * 1000;
    const event = str(message['event']);
    if (turn <= this.#lastTurn) return;
    if (event === 'Update' && !this.#isOpen) {
      this.finalized(endMs - leadMs);
      return;
    }
    const [speech, kind] = entry(events, event) ?? [];
    if (kind === undefined) return;
    this.#isOpen = kind !== 'complete';
    if (speech) this.utterances[speech]();
    const said = this.#saidIn(message);
    // Asked for an end, the service owes an answer.
    const isAsked = kind === 'complete' && message['trigger'] === 'manual';
    if (said.text || isAsked) this.utterances.result(kind, said.text, said);
    if (this.#isOpen) return;
    this.utterances.reset();
    this.#lastTurn = turn;
    this.finalized(endMs);
  }

  #saidIn(message: WireObject): Said {
    const words = this.words(message['words'], ({ word }) => str(word));
    const isEnglish = (this.config.options?.model ?? 'flux-general-en') === 'flux-general-en';
    return {
      text: str(message['transcript'])?.trim() ?? '',
      words,
      confidence: meanConfidence(words),
      language: str(arr(message['languages'])[0]) ?? (isEnglish ? 'en' : undefined),
    };
  }
}

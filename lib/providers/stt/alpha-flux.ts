import type { AudioFormat } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { arr, entry, num, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { SocketData, SocketRequest, SocketSessionOptions } from '../../transport/socket-session.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { meanConfidence, type ResultDetails, type ResultKind } from './utterances.ts';

/** How the service hears turns. */
export interface AlphaFluxOptions {
  /** Default: `flux-general-en`. The other: `flux-general-multi`. */
  readonly model?: string;
  /**
   * How sure the service must be of an end of turn to announce it early, 0.3 to 0.9 and at most `eotThreshold`; brings
   * results with `isPreflight`. Default: it announces none.
   */
  readonly eagerEotThreshold?: number;
  /** How sure it must be to end a turn, 0.5 to 1. Default: the service's, 0.7. */
  readonly eotThreshold?: number;
  /** Milliseconds of silence that end a turn anyhow, 500 to 60,000. Default: the service's, 5,000. */
  readonly eotTimeoutMs?: number;
  /** Words to listen for, at most 100. */
  readonly keyterms?: readonly string[];
  /** Languages to expect, ISO 639-1; `flux-general-multi` only. */
  readonly languageHints?: readonly string[];
  /** Further parameters of the service, as they stand in its docs. */
  readonly parameters?: Query;
}

/** Configuration of {@link AlphaFlux}. The model sets the language; interim results always come. */
export interface AlphaFluxConfig extends StreamingSTTConfig {
  /** What the service is asked for. Default: its own defaults. */
  readonly options?: AlphaFluxOptions;
}

const rules: Readonly<Record<string, ConfigRule>> = {
  'options.model': { oneOf: ['flux-general-en', 'flux-general-multi'] },
  'options.eagerEotThreshold': { min: 0.3, max: 0.9 },
  'options.eotThreshold': { min: 0.5, max: 1 },
  'options.eotTimeoutMs': { min: 500, max: 60_000, integer: true },
  'options.keyterms': { type: 'texts', maxLength: 100 },
  'options.languageHints': { type: 'texts' },
};

const sampleRates = [16_000, 8_000, 24_000, 44_100, 48_000];

/** Audio before a turn that may hold its first sound, in milliseconds. */
const leadMs = 1_000;

const keepAliveMs = 5_000;

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
  protected override readonly gapMs: number = 500;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    TurnInfo: (message) => this.#onTurn(message),
    ConfigureSuccess: () => this.#onConfigured(),
    ConfigureFailure: (message) => this.#onConfigured(reasonOf(message)),
    Warning: (message) => this.#onWarning(message),
    Error: (message) => this.#onError(message),
  };

  /** What the service goes by, and for how many keep-alives the last change has waited for its answer. */
  #told: AlphaFluxOptions = {};
  #waits: number | undefined;
  #canPing: boolean = true;

  #isOpen: boolean = false;
  /** The last turn of this connection that has ended. */
  #lastTurn: number = -1;
  /** The newest words of the turn. */
  #newest: Turn | undefined;

  /** Ends the speaker's turn: a complete result follows, without text when there is no turn. */
  finalize(): void {
    this.say({ type: 'ForceEndTurn' });
  }

  protected override async request(): Promise<SocketRequest> {
    const { encoding, sampleRate } = this.format;
    const { model = 'flux-general-en', parameters, ...options } = this.config.options ?? {};
    this.#told = this.config.options ?? {};
    const url = this.resolveSocketUrl('/v2/listen', {
      ...{ model, encoding, sample_rate: sampleRate },
      ...{ eager_eot_threshold: options.eagerEotThreshold, eot_threshold: options.eotThreshold },
      ...{ eot_timeout_ms: options.eotTimeoutMs, keyterm: options.keyterms, language_hint: options.languageHints },
      ...parameters,
    });
    return { url, ...(await this.resolveSocketCredentials()) };
  }

  protected override farewell(): { farewell: string[] } {
    const close = '{"type":"CloseStream"}';
    return { farewell: this.#isOpen ? ['{"type":"ForceEndTurn"}', close] : [close] };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      isReady: (data: SocketData) => parseJsonObject(data)?.['type'] === 'Connected',
      keepAlive: { intervalMs: keepAliveMs, message: (canPing) => this.#onKeepAlive(canPing) },
    };
  }

  protected override configProblem(): string | undefined {
    const { model = 'flux-general-en', eagerEotThreshold = 0, eotThreshold = 0.7 } = this.config.options ?? {};
    const problem = configProblem(this.config, rules);
    if (problem) return problem;
    if (eagerEotThreshold > eotThreshold) {
      return `options.eagerEotThreshold must be at most eotThreshold (${eotThreshold}), not ${eagerEotThreshold}`;
    }
    const hints = this.config.options?.languageHints ?? [];
    return hints.length > 0 && model !== 'flux-general-multi'
      ? `options.languageHints is for flux-general-multi, not ${model}`
      : undefined;
  }

  protected override onConnection(): void {
    this.#isOpen = false;
    this.#lastTurn = -1;
    this.#waits = undefined;
    this.#configure();
  }

  protected override onEnd(): void {
    // The service ends without a final result of what it was hearing: its newest words are all there is.
    if (this.#newest) this.#publish('complete', this.#newest);
    this.#newest = undefined;
    this.#isOpen = false;
  }

  /** A turn ends only where audio goes on, and a browser has no other sign of life to give. */
  protected override wantsSilence(quietMs: number): boolean {
    return this.#isOpen || (!this.#canPing && quietMs % keepAliveMs === 0);
  }

  protected override applyLive(changed: Partial<AlphaFluxConfig>): boolean {
    if ('proxyUrl' in changed || 'endpoint' in changed) return false;
    const { options = {} } = this.config;
    const before = this.#told;
    const { model, parameters } = options;
    if (differing({ model: before.model, parameters: before.parameters }, { model, parameters })) return false;
    // No message takes a threshold back.
    const thresholds = ['eagerEotThreshold', 'eotThreshold', 'eotTimeoutMs'] as const;
    if (thresholds.some((key) => before[key] !== undefined && options[key] === undefined)) return false;
    this.#configure();
    return true;
  }

  /** Tells the service what has changed, one message at a time. */
  #configure(): void {
    if (this.#waits !== undefined) return;
    const [before, after] = [wireOptions(this.#told), wireOptions(this.config.options)];
    const thresholds = differing(before.thresholds, after.thresholds);
    const changes = { ...(thresholds && { thresholds }), ...differing(before.lists, after.lists) };
    if (Object.keys(changes).length === 0) return;
    this.#told = this.config.options ?? {};
    this.#waits = 0;
    this.say({ type: 'Configure', ...changes });
  }

  #onConfigured(failure?: string): void {
    if (this.#waits === undefined) return;
    this.#waits = undefined;
    if (failure !== undefined) {
      const message = `${this.name}: the service keeps its former options (${failure})`;
      this.report(this.error(message, { code: 'configuration', recoverable: true }));
    }
    this.#configure();
  }

  #onKeepAlive(canPing: boolean): undefined {
    this.#canPing = canPing;
    if (this.#waits === undefined) return;
    this.#waits += 1;
    if (this.#waits > 1) this.#onConfigured();
  }

  #onWarning(message: WireObject): void {
    this.logger.debug(`${this.name}: ${reasonOf(message)}`);
    if (message['code'] === 'FORCE_END_TURN_NO_ACTIVE_TURN') this.utterances.result('complete', '');
  }

  #onError(message: WireObject): void {
    const reason = reasonOf(message);
    const recoverable = message['code'] !== 'UNPARSABLE_CLIENT_MESSAGE';
    const code = recoverable ? 'server' : 'protocol';
    const cause = new Error(this.redact(str(message['description']) ?? reason));
    this.renew(this.error(`${this.name}: the service reports ${reason}`, { code, recoverable, cause }));
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
    const act = entry(this.#events, event);
    if (!act) return;
    const turnSoFar = this.#turnOf(message);
    this.#isOpen = event !== 'EndOfTurn';
    this.#newest = this.#isOpen ? turnSoFar : undefined;
    act(turnSoFar, message);
    if (this.#isOpen) return;
    this.#lastTurn = turn;
    this.finalized(endMs);
  }

  readonly #events: Readonly<Record<string, (turn: Turn, message: WireObject) => void>> = {
    StartOfTurn: (turn) => {
      this.utterances.started();
      this.#publish('interim', turn);
    },
    Update: (turn) => this.#publish('interim', turn),
    EagerEndOfTurn: (turn) => {
      this.utterances.ended();
      this.#publish('preflight', turn);
    },
    TurnResumed: (turn) => {
      this.utterances.resumed();
      this.#publish('interim', turn);
    },
    EndOfTurn: (turn, { trigger }) => {
      this.utterances.ended();
      // Asked for an end, the service owes an answer.
      if (turn.text || trigger === 'manual') this.utterances.result('complete', turn.text, turn);
      this.utterances.reset();
    },
  };

  #turnOf(message: WireObject): Turn {
    const words = this.words(message['words'], ({ word }) => str(word));
    const isEnglish = (this.config.options?.model ?? 'flux-general-en') === 'flux-general-en';
    return {
      text: str(message['transcript'])?.trim() ?? '',
      words,
      confidence: meanConfidence(words),
      language: str(arr(message['languages'])[0]) ?? (isEnglish ? 'en' : undefined),
    };
  }

  #publish(kind: ResultKind, turn: Turn): void {
    if (turn.text) this.utterances.result(kind, turn.text, turn);
  }
}

/** The words of a turn so far. */
interface Turn extends ResultDetails {
  readonly text: string;
}

/** The options that a `Configure` can change. */
function wireOptions(options: AlphaFluxOptions = {}): { thresholds: WireObject; lists: WireObject } {
  const { eagerEotThreshold, eotThreshold, eotTimeoutMs, keyterms = [], languageHints = [] } = options;
  return {
    thresholds: {
      eager_eot_threshold: eagerEotThreshold,
      eot_threshold: eotThreshold,
      eot_timeout_ms: eotTimeoutMs,
    },
    lists: { keyterms, language_hints: languageHints },
  };
}

/** The entries that are others than before; `undefined` when there are none. */
function differing(before: WireObject, after: WireObject): WireObject | undefined {
  const changed = Object.entries(after).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]));
  return changed.length > 0 ? Object.fromEntries(changed) : undefined;
}

/** The service's word for what it refuses; its sentence could quote the user. */
function reasonOf({ code }: WireObject): string {
  return str(code) ?? 'without a code';
}

import type { AudioFormat } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import { num, objs, oncePerKind, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import type {
  SocketClose,
  SocketCloseOptions,
  SocketRequest,
  SocketSessionOptions,
} from '../../transport/socket-session.ts';
import { betaFailures, betaLanguages, betaParameters, betaRules, type BetaSTTConfig } from './beta-stt-settings.ts';
import { StreamingSTT } from './streaming-stt.ts';
import { meanConfidence, type ResultKind } from './utterances.ts';

const english = 'universal-streaming-english';
const keepAliveMs = 8_000;

/** Longest word to listen for, in characters. */
const maxTermLength = 50;

/** A turn so far. */
interface Turn {
  readonly text: string;
  readonly words: readonly TranscribedWord[];
  readonly language: string | undefined;
}

/**
 * AssemblyAI streaming transcription, API v3, at `wss://streaming.assemblyai.com/v3/ws`: turns, with word times and
 * confidence. See https://www.assemblyai.com/docs/speech-to-text/universal-streaming.
 */
export class BetaSTT extends StreamingSTT<BetaSTTConfig> {
  readonly name = 'BetaSTT';
  protected readonly defaultBaseUrl = 'https://streaming.assemblyai.com';
  protected override readonly minFrameMs: number = 50;
  protected override readonly catchUpSpeed: number = 1.25;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    Begin: ({ id }) => this.logger.debug(`${this.name}: session ${str(id) ?? 'without an id'} begins`),
    SpeechStarted: () => this.utterances.started(),
    Turn: (message) => this.#onTurn(message),
    Termination: () => this.#release(),
    Warning: (message) => this.#warn(String(num(message['warning_code']) ?? 'without a code')),
    Error: (message) => this.#onError(message),
  };

  /** The last turn of this connection that is over. */
  #lastTurn: number = -1;
  /** A turn that is over, but not formatted yet. */
  #held: Turn | undefined;
  #newest: Turn | undefined;
  readonly #warn = oncePerKind((code) => {
    this.report(this.error(`${this.name}: the service warns (${code})`, { code: 'server', recoverable: true }));
  });

  /** Linear16 and mulaw, at the configured or at any sample rate. */
  get accepts(): readonly AudioFormat[] {
    const { sampleRate } = this.config;
    const rates = sampleRate === undefined ? {} : { sampleRates: [sampleRate] };
    return [
      { encoding: 'linear16', ...rates },
      { encoding: 'mulaw', ...rates },
    ];
  }

  /** Ends the speaker's turn: its complete result follows. */
  finalize(): void {
    this.sayAfterAudio({ type: 'ForceEndpoint' });
  }

  protected override async request(): Promise<SocketRequest> {
    const { encoding, sampleRate } = this.format;
    const { parameters } = this.config;
    const { speech_model, ...settings } = this.#settings();
    const url = this.resolveSocketUrl('/v3/ws', {
      sample_rate: sampleRate,
      encoding: encoding === 'mulaw' ? 'pcm_mulaw' : 'pcm_s16le',
      speech_model: str(speech_model),
      // The service takes a list as one value.
      ...Object.fromEntries(
        Object.entries(settings).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      ),
      ...parameters,
    });
    return { url, ...(await this.resolveSocketCredentials()) };
  }

  /** The bare key as header; in browsers, a temporary token in the query. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode) return {};
    const key = await this.resolveApiKey();
    return { headers: { Authorization: key }, query: { token: key } };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    const isLast = (type: unknown): boolean => type === 'Termination';
    return { farewell: ['{"type":"Terminate"}'], until: (data) => isLast(parseJsonObject(data)?.['type']) };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    const { inactivityTimeout } = this.config;
    const intervalMs = Math.min(keepAliveMs, (inactivityTimeout ?? Infinity) * 500);
    const message = (): string | undefined => (inactivityTimeout === undefined ? undefined : '{"type":"KeepAlive"}');
    return {
      isReady: (data) => parseJsonObject(data)?.['type'] === 'Begin',
      keepAlive: { intervalMs, message },
      classifyClose: (close) => this.#onClose(close),
    };
  }

  protected override configProblem(): string | undefined {
    const { language, languages = [], maxSpeakers, speakerLabels } = this.config;
    const problem = configProblem(this.config, betaRules);
    if (problem) return problem;
    const known = betaLanguages[this.#model];
    if (language !== undefined && known && !known.includes(baseOf(language))) {
      return `${this.#model} knows ${known.join(', ')}, not ${language}: take another model`;
    }
    if (languages.length > 1 && languages.includes('multi')) return 'languages has multi, which must stand alone';
    if (maxSpeakers !== undefined && !speakerLabels) return 'maxSpeakers needs speakerLabels';
    const misplaced = Object.entries(betaParameters).find(
      ([key, { u3 }]) => u3 && !this.#isU3 && Reflect.get(this.config, key) !== undefined,
    );
    return misplaced && `${misplaced[0]} is for the Universal-3 family, not ${this.#model}`;
  }

  protected override typeOf(message: WireObject): string | undefined {
    // Older servers say no type beside an error.
    return str(message['type']) ?? (message['error'] === undefined ? undefined : 'Error');
  }

  protected override applyLive(changed: Partial<BetaSTTConfig>): boolean {
    const changes: WireObject = {};
    const settings = this.#settings();
    for (const key of Object.keys(changed)) {
      const parameter = betaParameters[(key === 'language' ? 'languages' : key) as keyof BetaSTTConfig];
      if (key === 'interimResults' || (key === 'language' && !this.#isU3)) continue;
      if (!parameter?.live) return false;
      const value = settings[parameter.name] ?? (listParameters.has(parameter.name) ? [] : undefined);
      // No message takes a value back.
      if (value === undefined) return false;
      changes[parameter.name] = value;
    }
    if (Object.keys(changes).length > 0) this.say({ type: 'UpdateConfiguration', ...changes });
    return true;
  }

  protected override onConnection(): void {
    this.#release();
    this.#newest = undefined;
    this.#lastTurn = -1;
  }

  protected override onEnd(): void {
    this.#release();
    if (this.#newest) this.#publish('complete', this.#newest);
    this.#newest = undefined;
  }

  /** The configuration as the service names it. */
  #settings(): WireObject {
    const { language, wordBoost, languages = language === undefined ? undefined : [baseOf(language)] } = this.config;
    const terms = wordBoost?.filter(({ length }) => length <= maxTermLength);
    const values = { ...this.config, wordBoost: terms, languages: this.#isU3 ? languages : undefined };
    const named = Object.entries(betaParameters).map(([key, { name }]) => [name, Reflect.get(values, key)] as const);
    return { speech_model: this.#model, ...Object.fromEntries(named.filter(([, value]) => value !== undefined)) };
  }

  get #model(): string {
    return this.config.model ?? 'universal-3-5-pro';
  }

  get #isU3(): boolean {
    return /^(u3|universal-3)/.test(this.#model);
  }

  #onTurn(message: WireObject): void {
    const order = num(message['turn_order']) ?? this.#lastTurn + 1;
    const turn = this.#turnOf(message);
    if (order <= this.#lastTurn) {
      // A second end of the same turn, formatted.
      if (order === this.#lastTurn && this.#held && message['turn_is_formatted'] === true) this.#release(turn);
      return;
    }
    this.#release();
    if (message['end_of_turn'] !== true) {
      if (!turn.text) return;
      this.#newest = turn;
      this.utterances.started();
      this.#publish('interim', turn);
      return;
    }
    this.#lastTurn = order;
    this.#newest = undefined;
    const endMs = Math.max(...objs(message['words']).map(({ end }) => num(end) ?? 0), 0);
    this.finalized(endMs);
    if (this.#isFormatted(message)) {
      this.utterances.ended();
      if (turn.text) this.#publish('complete', turn);
      return;
    }
    this.#held = turn;
    if (turn.text) this.#publish('segment', turn);
  }

  /** Whether no other form of the turn is to come. */
  #isFormatted(message: WireObject): boolean {
    const waits = this.config.formatTurns === true && this.#model === english;
    return !waits || message['turn_is_formatted'] === true;
  }

  #release(turn: Turn | undefined = this.#held): void {
    if (!this.#held) return;
    this.#held = undefined;
    this.utterances.ended();
    if (turn?.text) this.#publish('complete', turn);
  }

  #turnOf(message: WireObject): Turn {
    const ofSpeaker = ({ speaker, speaker_label: label = speaker, ...word }: WireObject): WireObject => ({
      ...word,
      ...(str(label) !== 'UNKNOWN' && { speaker: label }),
    });
    const words = this.words(objs(message['words']).map(ofSpeaker), ({ text }) => str(text), 1);
    const transcript = str(message['transcript'])?.trim() ?? '';
    const isWhole = this.#isU3 || message['end_of_turn'] === true;
    return {
      // The other models keep what may change out of the transcript of a turn that goes on.
      text: isWhole && transcript ? transcript : words.map(({ text }) => text).join(' '),
      words,
      language: str(message['language_code']),
    };
  }

  #publish(kind: ResultKind, { text, words, language }: Turn): void {
    this.utterances.result(kind, text, { words, confidence: meanConfidence(words), language });
  }

  #onError(message: WireObject): void {
    const code = num(message['error_code']) ?? 'an error';
    const sentence = str(message['error']) ?? '';
    this.renew(this.failure(isBusy(sentence) ? 3009 : code, betaFailures, sentence));
  }

  #onClose({ code, reason }: SocketClose): ReturnType<NonNullable<SocketSessionOptions['classifyClose']>> {
    if (!(code in betaFailures)) return 'retry';
    return this.failure(isBusy(reason) ? 3009 : code, betaFailures, reason);
  }
}

const listParameters: ReadonlySet<string> = new Set(['keyterms_prompt', 'language_codes']);

/** Older servers tell too many sessions by the code of a wrong credential. */
function isBusy(sentence: string): boolean {
  return /concurrent|too many/i.test(sentence);
}

/** The language of a BCP 47 tag, without its region. */
function baseOf(tag: string): string {
  return tag.split('-', 1)[0]?.toLowerCase() ?? tag;
}

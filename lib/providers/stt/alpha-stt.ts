import { describeFormat } from '../../audio/formats.ts';
import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { arr, num, obj, objs, str, type WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { SocketSessionOptions } from '../../transport/socket-session.ts';
import { alphaSTTRules, type AlphaSTTExtras } from './alpha-stt-settings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import { meanConfidence, type ResultKind, type Said } from './streaming/utterances.ts';

/** What the service does with the audio; see its docs for the details of each. */
export interface AlphaSTTOptions extends AlphaSTTExtras {
  /** Default: `nova-3`. Others: `nova-2`, `nova-3-medical` and more. */
  readonly model?: string;
  /** Numbers, dates and the like as one writes them. Default: true. */
  readonly smartFormat?: boolean;
  /** Punctuation and capitals. Default: true. */
  readonly punctuation?: boolean;
  /** Default: false. */
  readonly profanityFilter?: boolean;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly diarize?: boolean;
  /** Milliseconds of silence that end an utterance; `false` for never. Default: 300. */
  readonly endpointing?: number | false;
  /** Milliseconds without a word that end an utterance, for noise that hides silence; 1,000 or more. Default: 1,000. */
  readonly utteranceEndMs?: number | false;
}

/** Configuration of {@link AlphaSTT}. `language` is BCP 47, or `multi`; default: `en-US`. */
export interface AlphaSTTConfig extends StreamingSTTConfig {
  /** What the service is asked for. Default: its own defaults. */
  readonly options?: AlphaSTTOptions;
}

/** Parts after which an utterance counts as complete, whatever the service says: some minutes of speech. */
const maxSegments = 256;

/**
 * Deepgram live transcription, API V1 (Nova), at `wss://api.deepgram.com/v1/listen`: word times and confidence, voice
 * activity; no preflight. See https://developers.deepgram.com/docs/live-streaming-audio.
 */
export class AlphaSTT extends StreamingSTT<AlphaSTTConfig> {
  readonly name = 'AlphaSTT';
  readonly accepts: readonly AudioFormat[] = [
    { encoding: 'linear16' },
    { encoding: 'linear32' },
    { encoding: 'mulaw' },
    { encoding: 'alaw' },
  ];
  protected readonly defaultBaseUrl = 'https://api.deepgram.com';
  protected override readonly path: string = '/v1/listen';
  protected override readonly rules: ConfigRules = alphaSTTRules;
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    SpeechStarted: () => this.utterances.started(),
    Results: (message) => this.#onResults(message),
    UtteranceEnd: () => this.#onUtteranceEnd(),
    Metadata: ({ request_id: id }) => this.logger.debug(`${this.name}: request ${str(id) ?? 'without an id'} ended`),
  };

  /** The utterance so far, as far as it will not change. */
  #segments: Said[] = [];
  /** Its words that may change. */
  #interim: Said | undefined;

  /** Has the service make final what it heard: a complete result follows, without text when there is nothing new. */
  finalize(): void {
    this.say({ type: 'Finalize' });
  }

  protected override query(): Query {
    const { encoding, sampleRate, channels } = this.format;
    const { language = 'en-US', interimResults = true, options = {} } = this.config;
    const { model = 'nova-3', smartFormat = true, punctuation = true, vadEvents = true, endpointing = 300 } = options;
    const { profanityFilter, diarize, keyterms, parameters, utteranceEndMs = interimResults && 1_000 } = options;
    return {
      ...{ model, language, encoding, sample_rate: sampleRate, channels },
      // The service finds the end of an utterance by its interim results.
      interim_results: interimResults || utteranceEndMs !== false,
      ...{ punctuate: punctuation, smart_format: smartFormat, profanity_filter: profanityFilter },
      ...{ diarize_model: diarize ? 'latest' : undefined, endpointing },
      utterance_end_ms: utteranceEndMs === false ? undefined : utteranceEndMs,
      ...{ vad_events: vadEvents, keyterm: keyterms, ...parameters },
    };
  }

  protected override farewell(): { farewell: string[] } {
    return { farewell: ['{"type":"CloseStream"}'] };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      keepAlive: { intervalMs: 4_000, message: () => this.#keepAlive() },
      classifyClose: ({ code, reason }) => {
        if (code !== 1008 || !/data-?0000/i.test(reason)) return 'retry';
        const message = `${this.name}: the service cannot decode the audio as ${describeFormat(this.format)}`;
        return this.error(message, { code: 'unsupported_format', status: code });
      },
    };
  }

  protected override configProblem(): string | undefined {
    const { model = 'nova-3', keyterms } = this.config.options ?? {};
    return keyterms && !model.startsWith('nova-3') ? `options.keyterms is for Nova-3, not ${model}` : undefined;
  }

  protected override onEnd(): void {
    if (this.#interim) this.#segments.push(this.#interim);
    this.#complete();
  }

  /** The service ends a connection that has never heard audio, whatever else it is told. */
  #keepAlive(): string | undefined {
    if (this.sentMs > 0) return '{"type":"KeepAlive"}';
    this.sendSilence(100);
    return undefined;
  }

  #onResults(message: WireObject): void {
    const [alternative = {}] = objs(obj(message['channel'])?.['alternatives']);
    const segment: Said = {
      text: str(alternative['transcript'])?.trim() ?? '',
      words: this.words(alternative['words'], (word) => str(word['punctuated_word']) ?? str(word['word'])),
      confidence: num(alternative['confidence']),
      language: str(arr(alternative['languages'])[0]),
    };
    const hasText = segment.text !== '';
    if (message['is_final'] !== true) {
      if (!hasText) return;
      this.#interim = segment;
      this.utterances.started();
      this.#publish('interim', [...this.#segments, segment]);
      return;
    }
    const [start, duration] = [num(message['start']), num(message['duration'])];
    const isKnown = start !== undefined && duration !== undefined && !this.finalized((start + duration) * 1000);
    if (isKnown && hasText) return;
    this.#interim = undefined;
    if (hasText) this.#segments.push(segment);
    if (message['from_finalize'] === true) this.#complete(true);
    else if (message['speech_final'] === true || this.#isEndless) this.#complete();
    else if (hasText) this.#publish('segment', this.#segments);
  }

  #onUtteranceEnd(): void {
    // Its words are no more final than the interim result that has them.
    if (this.#segments.length === 0 && this.#interim) this.finalize();
    else this.#complete();
  }

  #complete(evenEmpty: boolean = false): void {
    const segments = this.#segments;
    this.#segments = [];
    this.#interim = undefined;
    this.utterances.ended();
    if (segments.length > 0 || evenEmpty) this.#publish('complete', segments);
  }

  #publish(kind: ResultKind, segments: readonly Said[]): void {
    const words = segments.flatMap((segment) => segment.words ?? []);
    const text = segments.map((segment) => segment.text).join(' ');
    const { language, confidence } = segments.at(-1) ?? {};
    const mean = segments.length > 1 ? meanConfidence(words) : undefined;
    this.utterances.result(kind, text, { words, confidence: mean ?? confidence, language });
  }

  /** Whether the service will not end the utterance by itself. */
  get #isEndless(): boolean {
    const { endpointing, utteranceEndMs = this.config.interimResults ?? true } = this.config.options ?? {};
    return (endpointing === false && utteranceEndMs === false) || this.#segments.length >= maxSegments;
  }
}

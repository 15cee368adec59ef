import { defer, filter, map, Subject, takeUntil, tap, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { fromInput } from '../../core/bridge.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import type { VoiceError } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import { RemoteProvider, type RemoteConfig } from '../../core/remote-provider.ts';
import type { ProviderRole, ProviderType, SpokenWord, TTSProvider } from '../../core/roles.ts';
import { refusal, type HttpErrorOf, type HttpFailure } from '../../transport/http-error.ts';
import { callBack } from './call-back.ts';
import { assembleUtterance, type SynthesisEvent, type UtteranceEvent } from './utterance.ts';

/** Configuration keys of every text-to-speech provider. */
export interface TTSConfig extends RemoteConfig {
  /** Longest wait for the first audio of a request, in milliseconds; then it is tried once more. Default: 5,000. */
  readonly firstAudioTimeoutMs?: number;
  /** Longest silence of the service in the middle of audio, in milliseconds. Default: 5,000. */
  readonly idleTimeoutMs?: number;
}

/** Options of calls that wait for a service. */
export interface TTSCallOptions {
  /** Aborts the call, down to the service. */
  readonly signal?: AbortSignal;
}

let utterances = 0;

/**
 * What all text-to-speech providers share: the streams and their callbacks, utterances that never mix, word timings.
 * A provider says in {@link BaseTTS.synthesis} what its wire gives.
 */
export abstract class BaseTTS<C extends TTSConfig> extends RemoteProvider<C> implements TTSProvider {
  readonly roles: readonly ProviderRole[] = ['tts'];
  abstract override readonly type: ProviderType;

  /** Receives every chunk of synthesized audio; set by {@link BaseTTS.onAudio}. */
  protected audioCallback: ((chunk: AudioChunk) => void) | undefined = undefined;
  /** Receives the format of every utterance; set by {@link BaseTTS.onMetadata}. */
  protected metadataCallback: ((metadata: AudioMetadata) => void) | undefined = undefined;

  /** What the service's refusals mean beyond their status. */
  protected readonly errorOf: HttpErrorOf | undefined = undefined;

  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  readonly #words$ = new Subject<SpokenWord>();

  /** All synthesized audio. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.#audio$.asObservable();
  }

  /** The format of each utterance, before its first audio. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.#metadata$.asObservable();
  }

  /** When each word sounds: as the service says, else estimated from the length of the audio and marked so. Hot. */
  get words$(): Observable<SpokenWord> {
    return this.#words$.asObservable();
  }

  /** Longest text of one request, in characters; longer ones are cut at sentences. Default: Infinity. */
  get maxTextLength(): number {
    return Infinity;
  }

  /** Sets what receives all synthesized audio (`audio$`), in place of what did before. */
  onAudio(callback: ((chunk: AudioChunk) => void) | undefined): void {
    this.audioCallback = callback;
  }

  /** Sets what receives the format of each utterance (`metadata$`), in place of what did before. */
  onMetadata(callback: ((metadata: AudioMetadata) => void) | undefined): void {
    this.metadataCallback = callback;
  }

  /** Whether a chunk holds any audio; one that does not is never delivered. */
  isAudioReady(chunk: AudioChunk): boolean {
    return chunk.data.byteLength > 0;
  }

  /** A shallow copy of the configuration, new each time. */
  getConfig(): C {
    return { ...this.config };
  }

  /** The format that `speak()` yields, where it is known beforehand. */
  abstract getMetadata(): AudioMetadata | undefined;

  /** Adds text to the utterance that {@link BaseTTS.finalize} ends; its audio comes on `audio$`. */
  abstract processChunk(text: string): void;

  /** Speaks the text of all {@link BaseTTS.processChunk} calls to its end; resolves when its last audio has come. */
  abstract finalize(options?: TTSCallOptions): Promise<void>;

  /** Drops what {@link BaseTTS.processChunk} has brought and silences it at the service. */
  abstract cancel(): void;

  /**
   * Speaks one utterance. Every chunk carries its id, the first one its format. Cold: subscribing starts it,
   * unsubscribing cancels it at the service; late audio of a cancelled utterance goes nowhere.
   */
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return defer(() => {
      this.assertReady('speak');
      let text = '';
      // A string is an iterable of its characters, which nobody means.
      const pieces$ = fromInput(typeof text$ === 'string' ? [text$] : text$).pipe(
        tap((piece) => {
          text += `${piece} `;
        }),
      );
      return this.deliver(
        (utteranceId) => this.synthesis(pieces$, utteranceId),
        () => text,
      );
    });
  }

  /** What the wire gives for one utterance: subscribing begins it, unsubscribing cancels it at the service. */
  protected abstract synthesis(text$: Observable<string>, utteranceId: string): Observable<SynthesisEvent>;

  /** What the configuration may hold; checked by `initialize()`. */
  protected configRules(): Readonly<Record<string, ConfigRule>> {
    return {};
  }

  /** The format of the wire's bytes; a WAV header in them has the last word. Default: {@link BaseTTS.getMetadata}. */
  protected wireFormat(): AudioMetadata | undefined {
    return this.getMetadata();
  }

  /** Makes an utterance of what a wire gives: publishes its chunks, its format and its words, and emits its chunks. */
  protected deliver(
    synthesis$: (utteranceId: string) => Observable<SynthesisEvent>,
    text: () => string,
  ): Observable<AudioChunk> {
    return defer(() => {
      const utteranceId = `${this.name}-${++utterances}`;
      return synthesis$(utteranceId).pipe(
        assembleUtterance({ provider: this.name, utteranceId, format: this.wireFormat(), text }),
        tap((event) => this.#publish(event)),
        filter((event) => event.type === 'chunk' && this.isAudioReady(event.chunk)),
        map((event) => (event as UtteranceEvent & { type: 'chunk' }).chunk),
        takeUntil(this.aborted$('was disposed while it spoke')),
      );
    });
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, this.configRules());
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    this.assertAuth();
    this.assertConfig();
  }

  /** The error that a message of the service is, as its refusals are read; `facts` come with it. */
  protected refusalIn(message: WireObject, facts: Partial<Pick<HttpFailure, 'status' | 'headers'>> = {}): VoiceError {
    const { errorOf } = this;
    return refusal({ ...facts, text: JSON.stringify(message) }, { ...this.transportOptions, errorOf });
  }

  #publish(event: UtteranceEvent): void {
    if (event.type === 'word') {
      this.#words$.next(event.word);
      return;
    }
    const { chunk } = event;
    if (!this.isAudioReady(chunk)) return;
    if (chunk.metadata) {
      this.#metadata$.next(chunk.metadata);
      this.#call('onMetadata', this.metadataCallback, chunk.metadata);
    }
    this.#audio$.next(chunk);
    this.#call('onAudio', this.audioCallback, chunk);
  }

  #call<T>(name: string, callback: ((value: T) => void) | undefined, value: T): void {
    callBack(callback, value, { provider: this.name, name, report: (error) => this.report(error) });
  }
}

import { takeUntil, tap, type Observable, type ObservableInput, type Subject } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { callSafely } from '../../core/application-code.ts';
import { VoiceError } from '../../core/errors.ts';
import type { SpokenWord } from '../../core/roles.ts';
import { fromInput } from '../../stream/bridge.ts';
import { filterMap } from '../../stream/filter-map.ts';
import type { UtteranceEvent, UtteranceOptions } from './utterance.ts';

/** The application's current callbacks. */
export interface SynthesisCallbacks {
  readonly onAudio: ((chunk: AudioChunk) => void) | undefined;
  readonly onMetadata: ((metadata: AudioMetadata) => void) | undefined;
}

/** What a voice publishes: streams that are there before anything is spoken. */
export interface SynthesisStreams {
  readonly audio$: Subject<AudioChunk>;
  readonly metadata$: Subject<AudioMetadata>;
  readonly words$: Subject<SpokenWord>;
}

/** What {@link SynthesisOutputs} needs from its provider. */
export interface SynthesisOutputsOptions {
  readonly provider: string;
  readonly streams: SynthesisStreams;
  readonly callbacks: () => SynthesisCallbacks;
  /** Called when a callback throws: that is the application's bug and does not end the synthesis. */
  readonly report: (error: VoiceError) => void;
}

/** One synthesis to publish. */
export interface Delivery {
  /** The service's output, assembled: subscribing starts it, unsubscribing cancels it at the service. */
  readonly utterance$: (options: UtteranceOptions) => Observable<UtteranceEvent>;
  /** The format of the bytes; if unknown in advance, the first bytes of each segment must include it. */
  readonly format: AudioMetadata | undefined;
  /** The text so far, for words outside any segment. */
  readonly text: () => string;
  /** Fails when the provider is disposed. */
  readonly ended$: Observable<never>;
}

let syntheses = 0;

/**
 * Shared by all text-to-speech providers: fills their hot streams and calls their callbacks, with syntheses that never
 * mix. Loaded during `initialize()`.
 */
export class SynthesisOutputs {
  readonly #options: SynthesisOutputsOptions;

  constructor(options: SynthesisOutputsOptions) {
    this.#options = options;
  }

  /** A unique id. */
  nextId(): string {
    return `${this.#options.provider}-${++syntheses}`;
  }

  /** Speaks pieces of text. Subscribe once. */
  speak(
    text$: ObservableInput<string>,
    synthesize: (pieces$: Observable<string>) => Omit<Delivery, 'text'>,
  ): Observable<AudioChunk> {
    const said: string[] = [];
    // As an iterable, a string would be split into characters.
    const pieces$ = fromInput(typeof text$ === 'string' ? [text$] : text$).pipe(tap((piece) => said.push(piece)));
    return this.deliver({ text: () => said.join(' '), ...synthesize(pieces$) });
  }

  /** Publishes the chunks, the format and the words of one synthesis, and emits its chunks. Subscribe once. */
  deliver({ utterance$, ended$, format, text }: Delivery): Observable<AudioChunk> {
    const { provider } = this.#options;
    return utterance$({ provider, utteranceId: this.nextId(), format, text }).pipe(
      filterMap((event) => {
        this.publish(event);
        return event.type === 'chunk' && isAudible(event.chunk) ? event.chunk : undefined;
      }),
      takeUntil(ended$),
    );
  }

  /** Publishes a chunk or a word. */
  publish(event: UtteranceEvent): void {
    const { streams } = this.#options;
    if (event.type === 'word') {
      streams.words$.next(event.word);
      return;
    }
    const { chunk } = event;
    if (!isAudible(chunk)) return;
    const { onAudio, onMetadata } = this.#options.callbacks();
    if (chunk.metadata) {
      streams.metadata$.next(chunk.metadata);
      this.#call('onMetadata', onMetadata, chunk.metadata);
    }
    streams.audio$.next(chunk);
    this.#call('onAudio', onAudio, chunk);
  }

  #call<T>(name: string, callback: ((value: T) => void) | undefined, value: T): void {
    const { provider, report } = this.#options;
    if (!callback) return;
    callSafely(callback, value, (cause) =>
      report(new VoiceError(`${provider}: the ${name} callback threw`, { code: 'internal', cause, provider })),
    );
  }
}

/** Whether a chunk contains audio; empty ones are never delivered. */
export function isAudible({ data }: AudioChunk): boolean {
  return data.byteLength > 0;
}

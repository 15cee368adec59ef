import { defer, filter, type Observable, type ObservableInput, of, Subject, takeUntil } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { SpokenWord, TTSProvider } from '../../core/roles.ts';
import { fromInput } from '../../stream/bridge.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { type ChainFailures, FallbackProvider } from '../fallback-provider.ts';
import { sayInTurn } from './fallback-speech.ts';

/** What the first voice says, unheard, while a backup is in use. */
const probe = 'Hello.';

/** Voices combined by `fallback()`. Every piece of a text is a separate utterance for the voice that speaks it. */
export class FallbackTTS extends FallbackProvider<TTSProvider> implements TTSProvider {
  override readonly roles = ['tts'] as const;
  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  readonly #words$ = new Subject<SpokenWord>();
  #utterances = 0;

  /** All synthesized audio. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#audio$);
  }

  /** The format of each utterance, before its first audio. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#metadata$);
  }

  /** When each word sounds, as reported by the voice that speaks it. Hot. */
  get words$(): Observable<SpokenWord> {
    return this.handOut('words$', this.#words$);
  }

  /** The shortest of all limits. */
  get maxTextLength(): number {
    return Math.min(...this.members.map(({ maxTextLength = Infinity }) => maxTextLength));
  }

  /** In which languages all of them read numbers and signs out themselves. */
  get normalizesText(): boolean | readonly string[] {
    return this.members
      .map(({ normalizesText = false }) => normalizesText)
      .reduce((all, each) => {
        if (typeof all !== 'object') return all && each;
        if (typeof each !== 'object') return each && all;
        return all.filter((language) => each.includes(language));
      });
  }

  /** The format of the voice in use, if it is known in advance. */
  getMetadata(): AudioMetadata | undefined {
    return this.inUse.getMetadata?.();
  }

  /** Opens the connection of the voice in use. */
  warm(): void | Promise<void> {
    this.used();
    return this.inUse.warm?.();
  }

  /**
   * Speaks one utterance, in the format of its first audio. A voice that fails, or gives no audio in time, is replaced
   * from the piece on that was not spoken to its end; where the service has told when its words sound, from the word on.
   */
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return defer(() => {
      this.assertReady('speak');
      this.used();
      const failures: ChainFailures = new Map();
      return sayInTurn(fromInput(text$), {
        utteranceId: `fallback-${++this.#utterances}`,
        current: () => ({ voice: this.inUse, index: this.current }),
        replace: (index, error) => {
          const next = this.failed(index, error, failures);
          return next === undefined ? undefined : { voice: this.members[next] ?? this.inUse, index: next };
        },
        failures,
        firstAudioMs: this.#firstAudioMs,
        scheduler: this.scheduler,
        onFormat: (metadata) => this.#metadata$.next(metadata),
        onChunk: (chunk) => this.#audio$.next(chunk),
        onWord: (word) => this.#words$.next(word),
      }).pipe(takeUntil(this.aborted$('was disposed while speaking')));
    });
  }

  protected override probe(first: TTSProvider): Observable<unknown> {
    return first.speak(of(probe)).pipe(
      filter(({ data }) => data.byteLength > 0),
      stallTimeout({ firstMs: this.#firstAudioMs, scheduler: this.scheduler }),
    );
  }

  get #firstAudioMs(): number {
    return this.config.firstAudioMs ?? 2_500;
  }
}

import {
  asyncScheduler,
  catchError,
  defer,
  EMPTY,
  finalize,
  from,
  lastValueFrom,
  Observable,
  of,
  switchMap,
  tap,
  type SchedulerLike,
} from 'rxjs';
import { joinBytes } from '../audio/concat.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { encodeHex } from '../core/hex.ts';
import type { SpokenWord, TTSProvider } from '../core/roles.ts';
import { fromInput } from '../stream/bridge.ts';
import { feed } from '../stream/feed.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import type { CachedPhrase, PhraseStore } from './phrase-store.ts';

/** Options of {@link cachedVoice}. */
export interface CachedVoiceOptions {
  /** Stores the phrases. */
  readonly store: PhraseStore;
  /**
   * Identifies this voice: everything that affects how it sounds. Default: the provider's name, format and
   * configuration, without credentials and addresses.
   */
  readonly settings?: () => unknown;
  /**
   * Which phrases to keep: don't keep customers' names and balances on disk. Phrases of `prepare()` are always kept.
   * Default: all.
   */
  readonly keeps?: (text: string) => boolean;
  /** Longest phrase to keep, in bytes of audio. Default: 8 MiB, 4 minutes at 16 kHz. */
  readonly maxPhraseBytes?: number;
  /** How long to wait for the store, in milliseconds, before asking the voice. Default: 500. */
  readonly patienceMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** Keys of a configuration that do not affect the sound, or must never be stored. */
const apart =
  /key|token|secret|password|credential|auth|url|endpoint|proxy|logger|scheduler|limits|timeout|retry|fetch|socket/i;

type Play = (phrase: CachedPhrase) => Observable<AudioChunk>;
type Heard = Omit<SpokenWord, 'utteranceId'> & { readonly utteranceId?: string };

/** Finds phrases in a store; missing ones are synthesized and stored. */
export class PhraseCache {
  readonly #tts: TTSProvider;
  readonly #options: CachedVoiceOptions;
  /** Phrases being synthesized, until they are stored; `undefined` for one that was cut off. */
  readonly #recordings = new Map<string, Promise<CachedPhrase | undefined>>();

  constructor(tts: TTSProvider, options: CachedVoiceOptions) {
    this.#tts = tts;
    this.#options = options;
  }

  /** A phrase from the cache, played by `play$`, or from the voice. Without a key, nothing is stored. */
  say(pieces: readonly string[], play$: Play): Observable<AudioChunk> {
    const text = textOf(pieces);
    const speak$ = defer(() => fromInput(this.#tts.speak(from(pieces))));
    const isKept$ = defer(() => of(this.#options.keeps?.(text) ?? true)).pipe(catchError(() => of(false)));
    const key$ = defer(() => this.#keyOf(text)).pipe(catchError(() => of(undefined)));
    return isKept$.pipe(
      switchMap((isKept) => (isKept ? key$ : of(undefined))),
      switchMap((key) => (key === undefined ? speak$ : this.#fetch(pieces, key, play$))),
    );
  }

  /** The same, always storing the phrase; errors without a key. */
  prepare(pieces: readonly string[], play$: Play): Observable<AudioChunk> {
    return defer(() => this.#keyOf(textOf(pieces))).pipe(switchMap((key) => this.#fetch(pieces, key, play$)));
  }

  #fetch(pieces: readonly string[], key: string, play$: Play): Observable<AudioChunk> {
    const found$ = defer(() => this.#recordings.get(key) ?? of(undefined)).pipe(
      switchMap((recorded) => (recorded ? of(recorded) : this.#find(key, textOf(pieces)))),
    );
    return found$.pipe(
      switchMap((found) => {
        if (found) return play$(found);
        // Another synthesis may have begun in the meantime.
        return this.#recordings.has(key) ? this.#fetch(pieces, key, play$) : this.#record(pieces, key);
      }),
    );
  }

  /** The stored phrase; nothing if the store fails or takes too long. */
  #find(key: string, text: string): Observable<CachedPhrase | undefined> {
    const { store, patienceMs = 500, scheduler = asyncScheduler } = this.#options;
    return defer(async () => store.get(key)).pipe(
      stallTimeout({ firstMs: patienceMs, scheduler }),
      catchError(() => of(undefined)),
      switchMap((phrase) => of(isWhole(phrase, text) ? phrase : undefined)),
    );
  }

  /** Synthesizes a phrase, and stores it once complete. */
  #record(pieces: readonly string[], key: string): Observable<AudioChunk> {
    const { maxPhraseBytes = 8 * 1024 * 1024 } = this.#options;
    return new Observable((subscriber) => {
      let settle: (phrase: CachedPhrase | undefined) => void = () => undefined;
      this.#recordings.set(key, new Promise((resolve) => (settle = resolve)));
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      const words: Heard[] = [];
      let bytes = 0;
      let format: AudioMetadata | undefined;
      let utteranceId: string | undefined;
      let isOne = true;
      let isKept = false as boolean;
      subscriber.add(() => {
        if (isKept) return;
        this.#recordings.delete(key);
        settle(undefined);
      });
      const word$ = this.#tts.words$;
      if (word$) subscriber.add(word$.pipe(tap((word) => words.push(word))).subscribe({ error: () => undefined }));
      feed(fromInput(this.#tts.speak(from(pieces))), subscriber, {
        next: (chunk) => {
          utteranceId ??= chunk.utteranceId;
          format ??= chunk.metadata;
          bytes += chunk.data.length;
          // Two voices, or two files, don't make a phrase of one format.
          isOne &&= chunk.utteranceId === utteranceId && !('endsFile' in chunk) && bytes <= maxPhraseBytes;
          if (isOne) chunks.push(chunk.data);
          subscriber.next(chunk);
        },
        complete: () => {
          isKept = format !== undefined && isOne && bytes > 0;
          if (format && isKept) {
            const own = words.filter((word) => word.utteranceId === utteranceId);
            const phrase = { text: textOf(pieces), format, audio: joinBytes(chunks), words: own.map(withoutId) };
            this.#keep(key, phrase);
            settle(phrase);
          }
          subscriber.complete();
        },
      });
    });
  }

  /** A store that fails costs another synthesis, not the call. */
  #keep(key: string, phrase: CachedPhrase): void {
    const { store, patienceMs = 500, scheduler = asyncScheduler } = this.#options;
    const kept$ = defer(() => Promise.resolve(store.set(key, phrase))).pipe(
      stallTimeout({ firstMs: patienceMs, scheduler }),
      catchError(() => EMPTY),
      finalize(() => this.#recordings.delete(key)),
    );
    void lastValueFrom(kept$, { defaultValue: undefined });
  }

  async #keyOf(text: string): Promise<string> {
    const { settings = () => settingsOf(this.#tts) } = this.#options;
    const bytes = new TextEncoder().encode(JSON.stringify([settings(), text]));
    return encodeHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
  }
}

/** Normalizes a text, however it was split. */
export function textOf(pieces: readonly string[]): string {
  return pieces.join(' ').replace(/\s+/g, ' ').trim();
}

/** What changes the sound of a voice. */
function settingsOf(tts: TTSProvider): unknown {
  const { config } = tts as { readonly config?: unknown };
  const kept = JSON.stringify(config, (name: string, value: unknown) => (apart.test(name) ? undefined : value));
  return [tts.name, tts.getMetadata?.(), kept];
}

function withoutId({ utteranceId: _, ...word }: Heard): CachedPhrase['words'][number] {
  return word;
}

/** Whether a store returned what it was given. */
function isWhole(phrase: Partial<CachedPhrase> | undefined, text: string): phrase is CachedPhrase {
  const { format, audio, words } = phrase ?? {};
  const isAudio = ArrayBuffer.isView(audio) && audio.byteLength > 0;
  const areWords = Array.isArray(words) && words.every(isWord);
  return phrase?.text === text && isAudio && areWords && typeof format?.sampleRate === 'number';
}

function isWord(word: Partial<SpokenWord> | null): boolean {
  return typeof word?.text === 'string' && typeof word.startMs === 'number' && typeof word.endMs === 'number';
}

import {
  asyncScheduler,
  catchError,
  concatMap,
  defer,
  EMPTY,
  finalize,
  from,
  lastValueFrom,
  Observable,
  of,
  share,
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
import { merge } from '../stream/merge.ts';
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

/** What a voice says: audio, and words of an utterance whose audio has begun. */
export type Piece = { readonly chunk: AudioChunk } | { readonly word: Heard };
/** Plays a phrase again, under another utterance. */
type Play = (piece$: Observable<Piece>) => Observable<AudioChunk>;
type Heard = Omit<SpokenWord, 'utteranceId'> & { readonly utteranceId?: string };

/** A phrase that is being synthesized, until it is stored. */
interface Recording {
  /** What has been said of it. */
  readonly said: Piece[];
  /** What follows; the synthesis ends with the last subscriber. */
  readonly more$: Observable<Piece>;
  /** All of it. */
  phrase?: CachedPhrase;
}

/** Audio from the cache comes in chunks of this size, in bytes: whole samples of every format. */
const chunkBytes = 15_360;

/** Finds phrases in a store; missing ones are synthesized and stored. */
export class PhraseCache {
  readonly #tts: TTSProvider;
  readonly #options: CachedVoiceOptions;
  readonly #recordings = new Map<string, Recording>();

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
    const again$ = defer(() => this.#fetch(pieces, key, play$));
    return defer(() => {
      const recording = this.#recordings.get(key);
      if (recording) return this.#join(recording, play$, again$);
      return this.#find(key, textOf(pieces)).pipe(
        switchMap((found) => {
          if (found) return play$(from(piecesOf(found)));
          // Another synthesis may have begun in the meantime.
          const begun = this.#recordings.get(key);
          return begun ? this.#join(begun, play$, again$) : this.#record(pieces, key);
        }),
      );
    });
  }

  /** Plays what there is of a phrase, and goes on with its synthesis; `again$` if that fails before any audio. */
  #join({ phrase, said, more$ }: Recording, play$: Play, again$: Observable<AudioChunk>): Observable<AudioChunk> {
    if (phrase) return play$(from(piecesOf(phrase)));
    let isSilent = said.length === 0;
    const piece$ = merge(more$, from([...said])).pipe(tap(() => (isSilent = false)));
    return play$(piece$).pipe(
      catchError((error: unknown) => {
        if (isSilent) return again$;
        throw error;
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
    return defer(() => {
      const said: Piece[] = [];
      const piece$ = this.#synthesize(pieces, (piece) => said.push(piece), {
        give: (phrase) => {
          recording.phrase = phrase;
          this.#keep(key, recording, phrase);
        },
        giveUp: () => {
          // Whoever has begun with it goes on; others begin anew.
          said.length = 0;
          this.#forget(key, recording);
        },
      });
      const recording: Recording = { said, more$: piece$.pipe(share()) };
      this.#recordings.set(key, recording);
      return recording.more$.pipe(concatMap((piece) => ('chunk' in piece ? [piece.chunk] : [])));
    });
  }

  /** What the voice says: each piece is noted while all of it makes one phrase, which is given or given up once. */
  #synthesize(
    pieces: readonly string[],
    note: (piece: Piece) => void,
    { give, giveUp }: { readonly give: (phrase: CachedPhrase) => void; readonly giveUp: () => void },
  ): Observable<Piece> {
    const { maxPhraseBytes = 8 * 1024 * 1024 } = this.#options;
    return new Observable((subscriber) => {
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      const words: Heard[] = [];
      /** Utterances whose audio has begun. */
      const begun = new Set<string | undefined>();
      let bytes = 0;
      let format: AudioMetadata | undefined;
      let utteranceId: string | undefined;
      let isOne = true as boolean;
      const leave = (): void => {
        if (isOne) giveUp();
        isOne = false;
      };
      const tell = (piece: Piece): void => {
        if (isOne) note(piece);
        subscriber.next(piece);
      };
      subscriber.add(leave);
      const hear = (word: Heard): void => {
        words.push(word);
        if (begun.has(word.utteranceId)) tell({ word });
      };
      subscriber.add(this.#tts.words$?.pipe(tap(hear)).subscribe({ error: () => undefined }));
      feed(fromInput(this.#tts.speak(from(pieces))), subscriber, {
        next: (chunk) => {
          const isNew = !begun.has(chunk.utteranceId);
          if (begun.size === 0) utteranceId = chunk.utteranceId;
          begun.add(chunk.utteranceId);
          format ??= chunk.metadata;
          bytes += chunk.data.length;
          // Two voices, or two files, don't make a phrase of one format.
          if (chunk.utteranceId !== utteranceId || 'endsFile' in chunk || bytes > maxPhraseBytes) leave();
          if (isOne) chunks.push(chunk.data);
          tell({ chunk });
          if (isNew) for (const word of words) if (word.utteranceId === chunk.utteranceId) tell({ word });
        },
        error: (error) => {
          // First, as whoever has heard nothing yet begins anew.
          leave();
          subscriber.error(error);
        },
        complete: () => {
          if (format && isOne && bytes > 0) {
            isOne = false;
            const own = words.filter((word) => word.utteranceId === utteranceId);
            give({ text: textOf(pieces), format, audio: joinBytes(chunks), words: own.map(withoutId) });
          }
          leave();
          subscriber.complete();
        },
      });
    });
  }

  #forget(key: string, recording: Recording): void {
    if (this.#recordings.get(key) === recording) this.#recordings.delete(key);
  }

  /** A store that fails costs another synthesis, not the call. */
  #keep(key: string, recording: Recording, phrase: CachedPhrase): void {
    const { store, patienceMs = 500, scheduler = asyncScheduler } = this.#options;
    const kept$ = defer(() => Promise.resolve(store.set(key, phrase))).pipe(
      stallTimeout({ firstMs: patienceMs, scheduler }),
      catchError(() => EMPTY),
      finalize(() => this.#forget(key, recording)),
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

function* piecesOf({ audio, format, words }: CachedPhrase): Generator<Piece> {
  for (let at = 0; at < audio.length; at += chunkBytes) {
    yield { chunk: { data: audio.slice(at, at + chunkBytes), metadata: format } };
    if (at === 0) for (const word of words) yield { word };
  }
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

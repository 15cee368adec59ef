import {
  asyncScheduler,
  BehaviorSubject,
  concatMap,
  defer,
  EMPTY,
  finalize,
  firstValueFrom,
  type Observable,
  of,
  type SchedulerLike,
  Subject,
  Subscription,
  switchMap,
  takeWhile,
  tap,
} from 'rxjs';
import { silence } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { PlaybackEvent } from '../../core/roles.ts';
import { breaksWhenPaused } from '../../playback/native-voice.ts';
import { nativeUtterance, type NativeUtteranceEvent } from './native-utterance.ts';

/** A text to speak, and its nominal duration. */
export interface NativePiece {
  readonly text: string;
  readonly durationMs: number;
}

/** Options of a {@link NativeSpeaker}. */
export interface NativeSpeakerOptions {
  readonly choose: () => { readonly voice: SpeechSynthesisVoice | undefined; readonly lang: string | undefined };
  readonly emit: (event: PlaybackEvent) => void;
  /** 0.1 to 10. */
  readonly rate: number;
  /** 0 to 2. */
  readonly pitch: number;
  readonly scheduler?: SchedulerLike | undefined;
}

/**
 * One `play()` of the browser's voice. The browser reports its position only at each word, and not with every voice: in
 * between it is computed from the clock, limited by the word, else by the piece.
 */
export class NativeSpeaker {
  readonly #options: NativeSpeakerOptions;
  /** Nominal duration of the pieces before this one, and of this one. */
  #doneMs = 0;
  #piece: NativePiece = { text: '', durationMs: 0 };
  /** The last known position in the piece, when it was known, and how far it can get without another word. */
  #known = { ms: 0, at: 0, maxMs: 0 };
  #index = 0;
  #started = false;
  #speaking = false;
  /** Whether a pause would end the current voice. */
  #breaks = breaksWhenPaused(undefined);
  readonly #paused$ = new BehaviorSubject(false);

  constructor(options: NativeSpeakerOptions) {
    this.#options = options;
  }

  get positionMs(): number {
    const { ms, at, maxMs } = this.#known;
    const sinceMs = this.#speaking && !this.#paused$.value ? this.#now() - at : 0;
    return this.#doneMs + Math.min(ms + sinceMs, maxMs);
  }

  /** Speaks a piece; completes when it was spoken. Cold: unsubscribing silences it. */
  say(piece: NativePiece): Observable<NativeUtteranceEvent> {
    return defer(() => {
      const { rate, pitch, scheduler, choose } = this.#options;
      this.#piece = piece;
      this.#index = 0;
      // Where a pause would break the voice, the utterance is ended instead, and the rest spoken again.
      this.#breaks = breaksWhenPaused(choose().voice);
      const runs$ = this.#breaks ? this.#paused$ : of(false);
      return runs$.pipe(
        switchMap((paused) => {
          const offset = this.#index;
          if (paused) return EMPTY;
          const text = piece.text.slice(offset);
          return nativeUtterance({ text, ...choose(), rate, pitch, scheduler }).pipe(
            tap((event) => this.#note(event, offset)),
          );
        }),
        takeWhile(({ type }) => type !== 'end', true),
      );
    });
  }

  pause(): void {
    if (this.#paused$.value) return;
    this.#known = { ...this.#known, ms: this.positionMs - this.#doneMs, at: this.#now() };
    this.#index = this.#wordAt(this.#known.ms);
    if (!this.#breaks) globalThis.speechSynthesis.pause();
    this.#paused$.next(true);
    this.#emit('paused');
  }

  resume(): void {
    if (!this.#paused$.value) return;
    this.#known = { ...this.#known, at: this.#now() };
    // It may have been paused before the voice was known.
    if (!this.#breaks || globalThis.speechSynthesis.paused) globalThis.speechSynthesis.resume();
    this.#paused$.next(false);
    this.#emit('resumed');
  }

  /** Everything was spoken. */
  finish(): void {
    if (this.#started) this.#emit('finished');
  }

  #note(event: NativeUtteranceEvent, offset: number): void {
    const { text, durationMs } = this.#piece;
    const at = this.#now();
    switch (event.type) {
      case 'start':
        this.#speaking = true;
        this.#known = { ms: this.#msOf(offset), at, maxMs: durationMs };
        if (!this.#started) this.#emit('started');
        this.#started = true;
        break;
      case 'boundary': {
        this.#index = offset + event.index;
        const end = event.length > 0 ? event.length : text.slice(this.#index).search(/\s|$/);
        this.#known = { ms: this.#msOf(this.#index), at, maxMs: this.#msOf(this.#index + end) };
        this.#emit('progress');
        break;
      }
      case 'end':
        this.#speaking = false;
        this.#doneMs += durationMs;
        this.#known = { ms: 0, at, maxMs: 0 };
        this.#emit('progress');
    }
  }

  #msOf(index: number): number {
    const { text, durationMs } = this.#piece;
    return (index / text.length) * durationMs;
  }

  /** The start of the word that sounds at a time; between two words, that point. */
  #wordAt(ms: number): number {
    const { text, durationMs } = this.#piece;
    const index = Math.min(Math.round((ms / durationMs) * text.length), text.trimEnd().length - 1);
    return /\s/.test(text.charAt(index)) ? index : text.slice(0, index).search(/\S*$/);
  }

  #emit(type: PlaybackEvent['type']): void {
    this.#options.emit({ type, positionMs: this.positionMs });
  }

  #now(): number {
    return (this.#options.scheduler ?? asyncScheduler).now();
  }
}

/** The format of the placeholder chunks. */
export const nativeFormat: AudioMetadata = { encoding: 'linear16', sampleRate: 8_000, channels: 1, bitDepth: 16 };

/** Milliseconds per character, a lower bound: alphabetic, and syllabic or longer. */
const msPerCharacter = 85;
const msPerSyllable = 260;
const syllables = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g;

/**
 * Carries text from the browser's voice to itself as output: each piece is represented by a silent chunk as long as it
 * may take.
 */
export class NativeTexts {
  readonly #pieces = new WeakMap<Uint8Array, NativePiece>();

  /** The chunk for a text, spoken at a rate. */
  chunkFor(text: string, rate: number): AudioChunk & NativePiece {
    const long = text.match(syllables)?.length ?? 0;
    const durationMs = Math.ceil((long * msPerSyllable + (text.length - long) * msPerCharacter) / rate);
    const chunk = { data: silence(nativeFormat, durationMs), metadata: nativeFormat };
    this.#pieces.set(chunk.data, { text, durationMs });
    return { ...chunk, text, durationMs };
  }

  /** The piece behind a chunk; `undefined` for other audio. */
  of({ data }: AudioChunk): NativePiece | undefined {
    return this.#pieces.get(data);
  }
}

/** Plays chunks one after the other, each in its own play, so that each has its own positions. */
export class PlayQueue {
  readonly #play$: (chunk: AudioChunk) => Observable<unknown>;
  readonly #failed: (cause: unknown) => void;
  readonly #idle$ = new Subject<void>();
  #chunks$: Subject<AudioChunk> | undefined;
  #work: Subscription = Subscription.EMPTY;
  #waiting: number = 0;

  /** `failed` is called with an error, which empties the queue. */
  constructor(play$: (chunk: AudioChunk) => Observable<unknown>, failed: (cause: unknown) => void) {
    this.#play$ = play$;
    this.#failed = failed;
  }

  add(chunk: AudioChunk): void {
    if (!this.#chunks$) this.#open();
    this.#waiting++;
    this.#chunks$?.next(chunk);
  }

  /** Resolves when everything was played or dropped. */
  async idle(): Promise<void> {
    if (this.#waiting > 0) await firstValueFrom(this.#idle$, { defaultValue: undefined });
  }

  /** Drops everything, including what is playing. */
  clear(): void {
    this.#work.unsubscribe();
    this.#chunks$ = undefined;
    this.#settle(this.#waiting);
  }

  #open(): void {
    const chunks$ = new Subject<AudioChunk>();
    this.#chunks$ = chunks$;
    this.#work = chunks$
      .pipe(concatMap((chunk) => this.#play$(chunk).pipe(finalize(() => this.#settle(1)))))
      .subscribe({
        error: (cause: unknown) => {
          this.#failed(cause);
          this.clear();
        },
      });
  }

  #settle(count: number): void {
    this.#waiting = Math.max(0, this.#waiting - count);
    if (this.#waiting === 0) this.#idle$.next();
  }
}

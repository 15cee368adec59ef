import {
  asyncScheduler,
  concatMap,
  defer,
  EMPTY,
  finalize,
  firstValueFrom,
  type Observable,
  type SchedulerLike,
  Subject,
  Subscription,
  switchMap,
  takeWhile,
  tap,
} from 'rxjs';
import { silence } from '../../audio/formats.ts';
import type { AudioChunk } from '../../audio/types.ts';
import type { PlaybackEvent } from '../../core/roles.ts';
import { breaksWhenPaused, nativeFormat } from '../../playback/native-voice.ts';
import { eachEffect, type Step } from '../../stream/fold.ts';
import { merge } from '../../stream/merge.ts';
import { nativeUtterance, type NativeUtteranceEvent } from './native-utterance.ts';

/** A text to speak, and its nominal duration. */
export interface NativePiece {
  readonly text: string;
  readonly durationMs: number;
}

/** The state of one `play()`. */
export interface NativePlay {
  /** Nominal duration of the pieces before this one. */
  readonly doneMs: number;
  readonly piece: NativePiece;
  /** The last known position in the piece, when it was known, and how far it can get without another word. */
  readonly known: { readonly ms: number; readonly at: number; readonly maxMs: number };
  /** The character of the piece that the current utterance began with; `undefined` if there is none. */
  readonly from: number | undefined;
  /** The one that another utterance would begin with. */
  readonly index: number;
  readonly isStarted: boolean;
  readonly isSpeaking: boolean;
  readonly isPaused: boolean;
  /** Whether the browser's voice is paused: with the next utterance as well. */
  readonly isVoicePaused: boolean;
  /** Whether a pause would break the voice: then the utterance is ended instead, and the rest spoken again. */
  readonly breaks: boolean;
}

/** Inputs of a play: the pieces, what the browser reports of each, and the commands. */
export type NativePlayInput =
  | { readonly type: 'piece'; readonly piece: NativePiece; readonly breaks: boolean }
  | NativeUtteranceEvent
  | { readonly type: 'pause' | 'resume' }
  /** No piece follows. */
  | { readonly type: 'finish' };

/** What the speaker carries out. */
export type NativePlayEffect =
  | { readonly type: 'event'; readonly event: PlaybackEvent }
  /** Ends the current utterance, and speaks this one, if any. */
  | { readonly type: 'speak'; readonly text: string | undefined }
  /** The browser's own. */
  | { readonly type: 'pause' | 'resume' };

type PlayStep = Step<NativePlay, NativePlayEffect>;

const nothing: NativePiece = { text: '', durationMs: 0 };

/** The state before the first piece. */
export const newNativePlay: NativePlay = {
  doneMs: 0,
  piece: nothing,
  known: { ms: 0, at: 0, maxMs: 0 },
  from: undefined,
  index: 0,
  isStarted: false,
  isSpeaking: false,
  isPaused: false,
  isVoicePaused: false,
  breaks: false,
};

/**
 * The position of a play, in milliseconds: the browser reports it only at each word, and not with every voice. In between
 * it is computed from the clock, limited by the word, else by the piece.
 */
export function nativePosition({ doneMs, known, isSpeaking, isPaused }: NativePlay, at: number): number {
  const sinceMs = isSpeaking && !isPaused ? at - known.at : 0;
  return doneMs + Math.min(known.ms + sinceMs, known.maxMs);
}

/** Folds an input at a time, in milliseconds, into a play: its next state and effects. Pure. */
export function followNativePlay(play: NativePlay, input: NativePlayInput, at: number): PlayStep {
  const { piece, from = 0 } = play;
  switch (input.type) {
    case 'piece': {
      const next = { ...play, piece: input.piece, breaks: input.breaks, from: undefined, index: 0 };
      const waits = play.isPaused && (input.breaks || !play.isVoicePaused);
      return waits ? [next] : speak(next);
    }
    case 'start': {
      const known = { ms: msOf(piece, from), at, maxMs: piece.durationMs };
      const next = { ...play, known, isStarted: true, isSpeaking: true };
      return play.isStarted ? [next] : [next, told('started', next, at)];
    }
    case 'boundary': {
      const index = from + input.index;
      const length = input.length > 0 ? input.length : piece.text.slice(index).search(/\s|$/);
      const known = { ms: msOf(piece, index), at, maxMs: msOf(piece, index + length) };
      const next = { ...play, known, index };
      return [next, told('progress', next, at)];
    }
    case 'end': {
      const over = { doneMs: play.doneMs + piece.durationMs, piece: nothing, known: { ms: 0, at, maxMs: 0 } };
      const next = { ...play, ...over, from: undefined, index: 0, isSpeaking: false };
      return [next, told('progress', next, at)];
    }
    case 'pause':
      return play.isPaused ? [play] : pause(play, at);
    case 'resume':
      return play.isPaused ? resume(play, at) : [play];
    case 'finish':
      return play.isStarted ? [play, told('finished', play, at)] : [play];
  }
}

function speak(play: NativePlay): PlayStep {
  return [
    { ...play, from: play.index },
    { type: 'speak', text: play.piece.text.slice(play.index) },
  ];
}

function pause(play: NativePlay, at: number): PlayStep {
  const { breaks, piece } = play;
  const ms = nativePosition(play, at) - play.doneMs;
  const paused = { ...play, known: { ...play.known, ms, at }, index: wordAt(piece, ms), isPaused: true };
  return breaks
    ? [{ ...paused, from: undefined }, { type: 'speak', text: undefined }, told('paused', paused, at)]
    : [{ ...paused, isVoicePaused: true }, { type: 'pause' }, told('paused', paused, at)];
}

function resume(play: NativePlay, at: number): PlayStep {
  const resumed = { ...play, known: { ...play.known, at }, isPaused: false, isVoicePaused: false };
  // It may have been paused before the voice was known.
  const voice: readonly NativePlayEffect[] = play.isVoicePaused ? [{ type: 'resume' }] : [];
  const [next, ...effects]: PlayStep = play.from === undefined && play.piece !== nothing ? speak(resumed) : [resumed];
  return [next, ...voice, ...effects, told('resumed', next, at)];
}

function told(type: PlaybackEvent['type'], play: NativePlay, at: number): NativePlayEffect {
  return { type: 'event', event: { type, positionMs: nativePosition(play, at) } };
}

/** When a character of a piece sounds, in milliseconds from its start. */
function msOf({ text, durationMs }: NativePiece, index: number): number {
  return (index / text.length) * durationMs;
}

/** The start of the word that sounds at a time; between two words, that point. */
function wordAt({ text, durationMs }: NativePiece, ms: number): number {
  const index = Math.min(Math.round((ms / durationMs) * text.length), text.trimEnd().length - 1);
  return /\s/.test(text.charAt(index)) ? index : text.slice(0, index).search(/(?<!\S)\S*$/);
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

/** One `play()` of the browser's voice: carries out what {@link followNativePlay} decides. */
export class NativeSpeaker {
  readonly #options: NativeSpeakerOptions;
  /** The texts of the piece's utterances; `undefined` ends one. */
  readonly #texts$ = new Subject<string | undefined>();
  #play: NativePlay = { ...newNativePlay, breaks: breaksWhenPaused(undefined) };

  constructor(options: NativeSpeakerOptions) {
    this.#options = options;
  }

  get positionMs(): number {
    return nativePosition(this.#play, this.#now());
  }

  /** Speaks a piece; completes when it was spoken. Cold: unsubscribing silences it. */
  say(piece: NativePiece): Observable<unknown> {
    const { rate, pitch, scheduler, choose } = this.#options;
    const begin$ = defer(() => {
      this.#take({ type: 'piece', piece, breaks: breaksWhenPaused(choose().voice) });
      return EMPTY;
    });
    return merge(this.#texts$, begin$).pipe(
      switchMap((text) =>
        text === undefined ? EMPTY : nativeUtterance({ text, ...choose(), rate, pitch, scheduler }),
      ),
      tap((event) => this.#take(event)),
      takeWhile(({ type }) => type !== 'end'),
    );
  }

  /** `finish`: everything was spoken. */
  command(type: 'pause' | 'resume' | 'finish'): void {
    this.#take({ type });
  }

  #take(input: NativePlayInput): void {
    const step = followNativePlay(this.#play, input, this.#now());
    this.#play = step[0];
    eachEffect(step, this.#enact);
  }

  readonly #enact = (effect: NativePlayEffect): void => {
    if (effect.type === 'event') this.#options.emit(effect.event);
    else if (effect.type === 'speak') this.#texts$.next(effect.text);
    else globalThis.speechSynthesis[effect.type]();
  };

  #now(): number {
    return (this.#options.scheduler ?? asyncScheduler).now();
  }
}

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

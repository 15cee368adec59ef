import {
  concatMap,
  defer,
  filter,
  ignoreElements,
  map,
  Observable,
  of,
  Subject,
  switchMap,
  take,
  tap,
  timer,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import type { TTSProvider } from '../core/roles.ts';
import { sentences } from '../operators/sentences.ts';
import { speakable } from '../operators/speakable.ts';
import { feed } from '../stream/feed.ts';
import { merge } from '../stream/merge.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import type { SpeechTextOptions } from '../text/speech-text.ts';
import type { SpokenPiece } from '../text/spoken-piece.ts';
import { hasWords } from '../text/words.ts';
import type { Sieve } from './malformed.ts';
import { timedOut, type SpeechRequest } from './speech.ts';

/** Text is held back while more audio than this is unplayed, so that a barge-in wastes less. */
const maxUnplayedMs = 5_000;
/** Longest interval between checks of the play-head. */
const recheckMs = 100;

/** How a conversation's text becomes audio. */
export interface VoiceContext {
  readonly tts: Pick<TTSProvider, 'name' | 'speak' | 'words$' | 'maxTextLength'>;
  readonly scheduler: SchedulerLike;
  readonly sieve: Sieve;
  /** Longest wait from the first clause to its audio, in milliseconds. */
  readonly ttsFirstAudioMs: number;
  /** BCP 47, for splitting text into sentences. */
  readonly locale?: string;
  /** How written text is converted to speech. */
  readonly text?: SpeechTextOptions;
}

/** The text to speak. */
export interface SpokenText {
  /** One Observable for each round of the model. */
  readonly rounds$: Observable<Observable<string>>;
  /** Nothing is synthesized before this emits; it replays. */
  readonly gate$: Observable<unknown>;
  /** Whether the first clause is synthesized before the gate opens. */
  readonly speakAhead?: boolean;
}

/** Text to audio, round by round: sentences, made speakable, no faster than the output plays them. */
export function synthesizeText(
  { rounds$, gate$, speakAhead = false }: SpokenText,
  context: VoiceContext,
): SpeechRequest['synthesize'] {
  const { tts, scheduler, sieve, locale, ttsFirstAudioMs } = context;
  return (script, playedMs) => {
    let isOpen = false;
    let hasBegun = false;
    let hasSounded = false;
    const open$ = gate$.pipe(
      take(1),
      tap(() => {
        isOpen = true;
      }),
    );
    const excessMs = (): number => script.receivedMs - playedMs() - maxUnplayedMs;
    const credit$: Observable<unknown> = defer(() => {
      if (excessMs() <= 0) return of(true);
      return timer(Math.max(excessMs(), recheckMs), scheduler).pipe(switchMap(() => credit$));
    });
    const begun$ = new Subject<'piece'>();
    /** Hands a piece to the voice before all that follows from it. */
    function handOver(piece$: Observable<SpokenPiece>): Observable<string> {
      return new Observable((subscriber) => {
        feed(piece$, subscriber, {
          next: (piece) => {
            script.addPiece(piece);
            if (piece.spoken.trim() === '') return;
            const isFirst = !hasBegun;
            hasBegun = true;
            subscriber.next(piece.spoken);
            if (isFirst) begun$.next('piece');
          },
          complete: () => subscriber.complete(),
        });
      });
    }
    function speakRound(text$: Observable<string>): Observable<AudioChunk> {
      script.beginRound();
      let hasText = false;
      let isHeard = false;
      const spoken$ = text$.pipe(
        sentences({
          ...(locale === undefined ? {} : { locale }),
          ...(tts.maxTextLength === undefined ? {} : { maxChars: tts.maxTextLength }),
        }),
        speakable(context.text),
        concatMap((piece) => {
          const isFree = isOpen || (speakAhead && !hasBegun);
          if (isFree && excessMs() <= 0) return [piece];
          return (isFree ? credit$ : open$.pipe(switchMap(() => credit$))).pipe(map(() => piece));
        }),
        handOver,
        tap((piece) => (hasText ||= hasWords(piece))),
      );
      return tts.speak(spoken$).pipe(
        sieve('audio'),
        map((chunk) => script.addAudio(chunk)),
        filter((chunk) => chunk.data.byteLength > 0),
        tap({
          next: () => {
            hasSounded = true;
            isHeard = true;
          },
          complete: () => {
            if (hasText && !isHeard) throw mute(tts.name);
            script.endRound();
          },
        }),
      );
    }
    const spoken$ = rounds$.pipe(concatMap(speakRound), tap({ complete: () => begun$.complete() }));
    return merge(open$.pipe(ignoreElements()), begun$, spoken$).pipe(
      stallTimeout({
        idleMs: (step) => (step === 'piece' && !hasSounded ? ttsFirstAudioMs : undefined),
        error: () => timedOut(tts.name, 'no audio came', ttsFirstAudioMs),
        scheduler,
      }),
    );
  };
}

/** Nothing heard of a text would pass for an answer. */
function mute(provider: string): VoiceError {
  const message = `${provider}: a text with words in it has no audio`;
  return new VoiceError(message, { code: 'protocol', recoverable: true, provider });
}

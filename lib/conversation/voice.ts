import {
  concatMap,
  defer,
  filter,
  map,
  Observable,
  of,
  pipe,
  Subscription,
  switchMap,
  take,
  tap,
  timer,
  type SchedulerLike,
} from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import { errorOf } from './provider-error.ts';
import type { SpokenWord } from '../core/roles.ts';
import { sentences } from '../operators/sentences.ts';
import { speakable } from '../operators/speakable.ts';
import { fromInput } from '../stream/bridge.ts';
import { feed } from '../stream/feed.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import type { SpokenPiece } from '../text/spoken-piece.ts';
import { hasWords } from '../text/words.ts';
import type { ActiveAgent } from './active-agent.ts';
import type { Validate } from './malformed.ts';
import { timedOut, type SpeechRequest } from './speech.ts';

/** Text is withheld while more audio than this is unplayed, so that a barge-in wastes less. */
const maxUnplayedMs = 5_000;
/** Longer than any voice takes for a character, even a slow one that spells out a number. */
const mostMsPerCharacter = 3_000;
/** More than compressed speech ever has: its length is never overestimated. */
const mostBytesPerMs = 40;
/** Longest interval between checks of the play-head. */
const recheckMs = 100;

/** How a conversation's text becomes audio. */
export interface VoiceContext {
  readonly scheduler: SchedulerLike;
  readonly validate: Validate;
}

/** The text of one round of the model, and the voice that speaks it. */
export interface SpokenRound {
  readonly text$: Observable<string>;
  readonly agent: Pick<ActiveAgent, 'tts' | 'locale' | 'codeNotice' | 'text' | 'timeouts'>;
}

/** The text to speak. */
export interface SpokenText {
  readonly rounds$: Observable<SpokenRound>;
  /** Nothing is synthesized before this emits; it replays. */
  readonly gate$: Observable<unknown>;
  /** Whether the first clause is synthesized before the gate opens. */
  readonly speakAhead?: boolean;
  /** Called with the length of each piece that can be spoken, as written. */
  readonly onPiece?: (characters: number) => void;
}

/** A voice's progress with each round's text: asked to speak it, has begun to read it, has all of it, has spoken it. */
type RoundStep = 'asked' | 'taken' | 'given' | 'spoken';
type VoiceStep = AudioChunk | 'piece' | RoundStep;

/** Text to audio, round by round: sentences, made speakable, no faster than the output plays them. */
export function synthesizeText(
  { rounds$, gate$, speakAhead = false, onPiece }: SpokenText,
  context: VoiceContext,
): SpeechRequest['synthesize'] {
  const { scheduler, validate } = context;
  return (script, playedMs, sources) => {
    // There before the model, so the voice is told first.
    const voices = new Subscription();
    sources.add(voices);
    let speaking: SpokenRound['agent'] | undefined;
    let isOpen = false;
    let hasBegun = false;
    let hasSounded = false;
    /** Whether the voice has begun to read its text. */
    let isTaken = false;
    /** Whether the voice owes audio for text that is complete. */
    let isGiven = false;
    const open$ = gate$.pipe(take(1));
    const excessMs = (): number => script.receivedMs - playedMs() - maxUnplayedMs;
    const credit$: Observable<unknown> = defer(() => {
      if (excessMs() <= 0) return of(true);
      return timer(Math.max(excessMs(), recheckMs), scheduler).pipe(switchMap(() => credit$));
    });
    function speakRound({ text$, agent }: SpokenRound, onFirst: () => void): Observable<VoiceStep> {
      const { tts, locale, codeNotice, text } = agent;
      speaking = agent;
      script.beginRound(tts.name, tts.delivers);
      isTaken = false;
      isGiven = false;
      let hasPieces = false;
      let hasText = false;
      let isHeard = false;
      let [characters, audioMs] = [0, 0];
      return new Observable((subscriber) => {
        const finish = (): void => {
          if (subscriber.closed) return;
          script.endRound();
          subscriber.next('spoken');
          subscriber.complete();
        };
        /** Hands each piece to the voice before reporting the first. */
        function handOver(piece$: Observable<SpokenPiece>): Observable<string> {
          return new Observable((given) => {
            isTaken = true;
            subscriber.next('taken');
            feed(piece$, given, {
              // Not by way of the voice, which may not listen to errors.
              error: (cause) => subscriber.error(cause),
              next: (piece) => {
                script.addPiece(piece);
                if (piece.spoken.trim() === '') return;
                const isFirst = !hasBegun;
                hasBegun = true;
                hasPieces = true;
                hasText ||= hasWords(piece.spoken);
                characters += piece.spoken.length;
                given.next(piece.spoken);
                if (isFirst) onFirst();
              },
              complete: () => {
                isGiven = true;
                subscriber.next('given');
                given.complete();
                // A voice that was given no text has nothing to say: nobody waits for it.
                if (!hasPieces) finish();
              },
            });
          });
        }
        const spoken$ = text$.pipe(
          tts.delivers
            ? map(asWritten)
            : pipe(
                sentences({
                  ...(locale === undefined ? {} : { locale }),
                  ...(tts.maxTextLength === undefined ? {} : { maxChars: tts.maxTextLength }),
                }),
                speakable(text, { locale, codeNotice, normalizesText: tts.normalizesText }),
              ),
          tap(({ visual }) => onPiece?.(visual.length)),
          concatMap((piece) => {
            const isFree = isOpen || (speakAhead && !hasBegun);
            if (isFree && excessMs() <= 0) return [piece];
            return (isFree ? credit$ : open$.pipe(switchMap(() => credit$))).pipe(map(() => piece));
          }),
          handOver,
        );
        subscriber.next('asked');
        listenTo(tts);
        const audio$ = defer(() => fromInput(tts.speak(spoken$))).pipe(validate('audio'));
        const voice = feed(audio$, subscriber, {
          error: (cause) => subscriber.error(errorOf(tts.name, cause)),
          next: (chunk) => {
            const told = script.addAudio(chunk);
            if (told.data.byteLength === 0) return;
            hasSounded = true;
            isHeard = true;
            audioMs += leastMs(told);
            if (audioMs > agent.timeouts.ttsOverrunMs + characters * mostMsPerCharacter)
              subscriber.error(overrun(tts.name, audioMs, characters));
            else subscriber.next(told);
          },
          complete: () => {
            if (!isTaken) subscriber.error(mute(tts.name, 'it has ended without reading its text'));
            else if (hasText && !isHeard) subscriber.error(mute(tts.name, 'no audio came for a text with words in it'));
            else finish();
          },
        });
        voices.add(voice);
      });
    }
    const words = new Subscription();
    const known = new Set<unknown>();
    /** Without word timings from the TTS, words are computed from the length of the audio. */
    function listenTo(tts: SpokenRound['agent']['tts']): void {
      const { words$ } = tts;
      if (!words$ || known.has(tts)) return;
      known.add(tts);
      const onWord = (word: SpokenWord): void => script.addWord(word);
      words.add(words$.pipe(validate('word')).subscribe({ next: onWord, error: () => undefined }));
    }
    const steps$ = new Observable<VoiceStep>((subscriber) => {
      subscriber.add(words);
      const open = (): void => void (isOpen = true);
      feed(open$, subscriber, { next: open, complete: () => undefined });
      const onFirst = (): void => subscriber.next('piece');
      feed(rounds$.pipe(concatMap((round) => speakRound(round, onFirst))), subscriber, {
        next: (chunk) => subscriber.next(chunk),
        complete: () => subscriber.complete(),
      });
    });
    return steps$.pipe(
      stallTimeout({
        idleMs: (step) => {
          const isOwed = step === 'piece' ? !hasSounded : step === 'asked' || (step !== 'spoken' && isGiven);
          return isOwed ? speaking?.timeouts.ttsFirstAudioMs : undefined;
        },
        // Audio without a text to it is not heard.
        isProgress: (step) => isTaken || typeof step === 'string',
        error: (_stalled, ms) => {
          const what = isTaken ? 'no audio came' : 'it has not read its text';
          return timedOut(speaking?.tts.name ?? '', what, ms);
        },
        scheduler,
      }),
      filter((step) => step === 'piece' || typeof step !== 'string'),
    );
  };
}

/** A piece of text that is read, not spoken. */
function asWritten(text: string): SpokenPiece {
  const { length } = text;
  return {
    spoken: text,
    visual: text,
    spans: [{ spokenStart: 0, spokenEnd: length, visualStart: 0, visualEnd: length }],
  };
}

/** How much audio a chunk has, or at least has, in milliseconds. */
function leastMs({ data, metadata }: AudioChunk): number {
  if (!metadata) return 0;
  return isPcmLike(metadata.encoding) ? durationMs(data.byteLength, metadata) : data.byteLength / mostBytesPerMs;
}

function overrun(provider: string, ms: number, characters: number): VoiceError {
  const message = `${provider}: more than ${Math.floor(ms / 1_000)} s of audio came for ${characters} characters: it was cut off`;
  return new VoiceError(message, { code: 'overflow', recoverable: true, provider });
}

/** Without this error, silence would count as an answer. */
function mute(provider: string, problem: string): VoiceError {
  return new VoiceError(`${provider}: ${problem}`, { code: 'protocol', recoverable: true, provider });
}

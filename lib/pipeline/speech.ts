import {
  concatMap,
  defer,
  delayWhen,
  EMPTY,
  endWith,
  filter,
  ignoreElements,
  merge,
  Observable,
  of,
  ReplaySubject,
  Subject,
  Subscription,
  switchMap,
  take,
  takeUntil,
  takeWhile,
  tap,
  throwError,
  timer,
  map,
  type BehaviorSubject,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import type { OutputProvider, PlaybackEvent, SpokenWord, TTSProvider } from '../core/roles.ts';
import { sentences } from '../operators/sentences.ts';
import { speakable } from '../operators/speakable.ts';
import type { SpeechTextOptions } from '../operators/text/speech-text.ts';
import { eager } from './eager.ts';
import type { Emit } from './event-bus.ts';
import type { SpeechSource } from './events.ts';
import type { Floor } from './floor.ts';
import { Script, type Heard, type Pace } from './script.ts';

/** Text waits while more audio than this is unplayed: less is wasted on a barge-in. */
const maxUnplayedMs = 5_000;
/** How often a wait for the play-head looks again, at least. */
const recheckMs = 100;

/** One thing to say. */
export interface SpeechRequest {
  readonly id: string;
  readonly turnId?: string;
  readonly source: SpeechSource;
  readonly interruptible: boolean;
  /** Whether it goes before others that wait for the floor. */
  readonly urgent?: boolean;
  /** The text: one Observable for each round of the model. */
  readonly rounds$: Observable<Observable<string>>;
  /** Nothing is audible, and no event comes, before this emits; it replays. */
  readonly gate$: Observable<unknown>;
  /** Whether the first clause is synthesized before the gate opens. */
  readonly speakAhead?: boolean;
  /** Called when nothing sounds any more, before anything is told of it. */
  readonly onSilence?: () => void;
}

/** What a speech passes on its way. */
export type SpeechMark = 'first-piece' | 'first-audio' | 'audible';

/** How a speech ended. */
export interface SpeechResult {
  readonly heard: Heard;
  /** Everything that was to be said. */
  readonly text: string;
  readonly interrupted: boolean;
}

/** What is being said now, for those who may cut it off. */
export interface Speaking {
  readonly request: SpeechRequest;
  readonly audible: boolean;
}

/** What all speeches of a conversation share. */
export interface SpeechContext {
  readonly tts: Pick<TTSProvider, 'name' | 'speak' | 'words$' | 'maxTextLength'>;
  readonly output: Pick<OutputProvider, 'name' | 'play' | 'positionMs'>;
  /** Between voice and output, where their formats differ. */
  transcode(audio$: Observable<AudioChunk>): Observable<AudioChunk>;
  readonly floor: Floor;
  readonly emit: Emit;
  readonly scheduler: SchedulerLike;
  /** Longest wait from the first clause to its audio, in milliseconds. */
  readonly ttsFirstAudioMs: number;
  /** Longest stand-still of the play-head beyond the audio that is left, in milliseconds. */
  readonly playoutMs: number;
  /** While true nothing new starts to sound: the user may be about to say something. */
  readonly held$: BehaviorSubject<boolean>;
  readonly speaking$: BehaviorSubject<Speaking | undefined>;
  readonly pace: Pace;
  /** BCP 47, for cutting text into sentences. */
  readonly locale?: string;
  /** How written text becomes speech. */
  readonly text?: SpeechTextOptions;
}

/**
 * Says one thing: text to sentences to voice to output. Subscribing starts it; unsubscribing cuts it off in the same
 * tick, down to the requests. Emits its marks; completes when the last sample was heard.
 *
 * @param onEnd - Called exactly once: before completion or an error is passed on, or in the teardown. The play-head is
 * read before anything is silenced.
 */
export function speech(
  request: SpeechRequest,
  context: SpeechContext,
  onEnd: (result: SpeechResult) => void,
): Observable<SpeechMark> {
  return new Observable((subscriber) => {
    const { emit, output, speaking$ } = context;
    const { source, interruptible } = request;
    const envelope = { speechId: request.id, ...(request.turnId === undefined ? {} : { turnId: request.turnId }) };
    const script = new Script(context.pace);
    const performance = new Subscription();
    const work = new Subscription();
    /** Whether there is anything to say, once that is known. */
    const something$ = new ReplaySubject<boolean>(1);
    let state: 'silent' | 'created' | 'playing' | 'audible' | 'ended' = 'silent';
    let finished = false;
    const playedMs = (): number => (state === 'playing' || state === 'audible' ? output.positionMs : 0);

    const end = (interrupted: boolean): void => {
      if (state === 'ended') return;
      const wasCreated = state !== 'silent';
      const position = playedMs();
      state = 'ended';
      // Silence first, then whatever was still being prepared, then the words.
      performance.unsubscribe();
      work.unsubscribe();
      request.onSilence?.();
      const heard = script.heardAt(position, finished);
      const { text } = script;
      if (wasCreated) {
        emit('speech.ended', { source, text, heardText: heard.text, interrupted, playedMs: position }, envelope);
        emit('usage', { characters: script.characters }, { ...envelope, role: 'tts', provider: context.tts.name });
      }
      onEnd({ heard, text, interrupted });
      // Last: whoever watches sees the speech end together with its turn.
      if (speaking$.value?.request === request) speaking$.next(undefined);
    };

    const synthesis$ = synthesize(request, context, script, playedMs).pipe(
      tap({
        next: (step) => {
          if (step === 'piece') something$.next(true);
        },
        error: (error: unknown) => {
          something$.error(VoiceError.from(error));
        },
        complete: () => {
          something$.next(false);
        },
      }),
      filter((step) => step !== 'piece'),
    );
    // The voice is asked while the floor may still be another's.
    const { stream$: chunks$, source: voice } = eager(synthesis$);
    work.add(voice);
    if (context.tts.words$) {
      const addWord = (word: SpokenWord): void => {
        script.addWord(word);
      };
      // Without them the words are reckoned by the audio's length.
      work.add(context.tts.words$.subscribe({ next: addWord, error: () => undefined }));
    }

    let sounding = false;
    const audio$ = chunks$.pipe(
      tap((chunk) => {
        if (!sounding) subscriber.next('first-audio');
        sounding = true;
        emit('audio.chunk', { chunk }, { ...envelope, role: 'tts', provider: context.tts.name });
      }),
    );
    const playback$ = context.held$.pipe(
      filter((held) => !held),
      take(1),
      switchMap(() => {
        state = 'playing';
        speaking$.next({ request, audible: false });
        return playToTheEnd(context, script, audio$);
      }),
    );
    const onPlayback = ({ type }: PlaybackEvent): void => {
      finished ||= type === 'finished';
      if (type !== 'started' || state !== 'playing') return;
      state = 'audible';
      emit('speech.started', { source }, envelope);
      speaking$.next({ request, audible: true });
      subscriber.next('audible');
    };

    performance.add(
      something$
        .pipe(
          take(1),
          delayWhen(() => request.gate$),
          switchMap((something) => {
            if (!something) return EMPTY;
            state = 'created';
            emit('speech.created', { source, interruptible }, envelope);
            subscriber.next('first-piece');
            return context.floor.hold(playback$, request.urgent);
          }),
        )
        .subscribe({
          next: onPlayback,
          error: (error: unknown) => {
            end(true);
            subscriber.error(error);
          },
          complete: () => {
            end(false);
            subscriber.complete();
          },
        }),
    );
    return () => {
      end(true);
    };
  });
}

/** Text to audio, round by round. Emits `piece` before the audio of the first piece of all. */
function synthesize(
  request: SpeechRequest,
  context: SpeechContext,
  script: Script,
  playedMs: () => number,
): Observable<AudioChunk | 'piece'> {
  const { tts, scheduler, locale } = context;
  let isOpen = false;
  const open$ = request.gate$.pipe(
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
  const pieces$ = new Subject<'piece'>();
  const firstChunk$ = new Subject<void>();
  let count = 0;
  function speakRound(text$: Observable<string>): Observable<AudioChunk> {
    script.beginRound();
    const spoken$ = text$.pipe(
      sentences({
        ...(locale === undefined ? {} : { locale }),
        ...(tts.maxTextLength === undefined ? {} : { maxChars: tts.maxTextLength }),
      }),
      speakable(context.text),
      concatMap((piece) => {
        const isFree = isOpen || (request.speakAhead && count === 0);
        if (isFree && excessMs() <= 0) return [piece];
        return (isFree ? credit$ : open$.pipe(switchMap(() => credit$))).pipe(map(() => piece));
      }),
      map((piece) => {
        script.addPiece(piece);
        return piece.spoken;
      }),
      filter((spoken) => spoken.trim() !== ''),
      tap(() => {
        if (count++ === 0) pieces$.next('piece');
      }),
    );
    return tts.speak(spoken$).pipe(
      map((chunk) => script.addAudio(chunk)),
      filter((chunk) => chunk.data.byteLength > 0),
      tap({
        next: () => {
          firstChunk$.next();
        },
        complete: () => {
          script.endRound();
        },
      }),
    );
  }
  const late$ = pieces$.pipe(
    switchMap(() => timer(context.ttsFirstAudioMs, scheduler)),
    switchMap(() => throwError(() => timedOut(tts.name, 'no audio came', context.ttsFirstAudioMs))),
    takeUntil(firstChunk$),
  );
  const done = Symbol('done');
  return merge(pieces$, late$, request.rounds$.pipe(concatMap(speakRound), endWith(done))).pipe(
    takeWhile((step): step is AudioChunk | 'piece' => step !== done),
  );
}

/** Plays all audio, and fails when the play-head stands still for no reason. */
function playToTheEnd(
  context: SpeechContext,
  script: Script,
  audio$: Observable<AudioChunk>,
): Observable<PlaybackEvent> {
  const { output, scheduler, held$, playoutMs } = context;
  const allThere$ = new Subject<void>();
  const watch$: Observable<never> = defer(() => {
    const position = output.positionMs;
    const leftMs = Math.max(0, script.receivedMs - position);
    return timer(leftMs + playoutMs, scheduler).pipe(
      switchMap(() => {
        if (held$.value || output.positionMs > position) return watch$;
        return throwError(() => timedOut(output.name, 'playback stands still', playoutMs));
      }),
    );
  });
  const done = Symbol('done');
  const fed$ = audio$.pipe(
    tap({
      complete: () => {
        allThere$.next();
      },
    }),
  );
  return merge(
    allThere$.pipe(
      switchMap(() => watch$),
      ignoreElements(),
    ),
    output.play(context.transcode(fed$)).pipe(endWith(done)),
  ).pipe(takeWhile((step): step is PlaybackEvent => step !== done));
}

function timedOut(provider: string, what: string, ms: number): VoiceError {
  const message = `${provider}: ${what} within ${ms / 1000} seconds`;
  return new VoiceError(message, { code: 'timeout', recoverable: true, provider });
}

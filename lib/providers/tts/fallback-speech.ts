import {
  concat,
  connect,
  defer,
  EMPTY,
  filter,
  finalize,
  identity,
  map,
  mergeMap,
  of,
  Subject,
  Subscription,
  take,
  takeWhile,
  tap,
  throwError,
  type Observable,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { isConvertible } from '../../audio/negotiate.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { SpokenWord } from '../../core/roles.ts';
import { transcode } from '../../operators/transcode.ts';
import { fold } from '../../stream/fold.ts';
import { merge } from '../../stream/merge.ts';
import { allFailed, type ChainFailures } from '../fallback-provider.ts';
import { speechInTurn, type ChainSpeechEffect, type ChainSpeechInput, type Voice } from './speech-in-turn.ts';

/** What {@link sayInTurn} needs. */
export interface SayInTurnOptions {
  /** The id of all its audio and words, whoever speaks. */
  readonly utteranceId: string;
  /** The voice in use. */
  readonly current: () => Voice;
  /** Notes that a voice has failed; returns the one to go on with. */
  readonly replace: (index: number, error: unknown) => Voice | undefined;
  readonly failures: ChainFailures;
  /** Longest wait for the first audio of a piece, in milliseconds. */
  readonly firstAudioMs: number;
  readonly scheduler: SchedulerLike;
  readonly onFormat: (metadata: AudioMetadata) => void;
  readonly onChunk: (chunk: AudioChunk) => void;
  readonly onWord: (word: SpokenWord) => void;
}

/**
 * Speaks a text piece by piece, in order, with the next one already under way. When a voice fails, another one says what
 * is left: from the first piece, or word, of which nothing was emitted.
 */
export function sayInTurn(text$: Observable<string>, options: SayInTurnOptions): Observable<AudioChunk> {
  return defer(() => {
    const reports$ = new Subject<ChainSpeechInput>();
    const attempts = new Attempts(options, (report) => reports$.next(report));
    const texts$ = concat(text$.pipe(map((text) => ({ type: 'text', text }) as const)), of({ type: 'end' } as const));
    const inputs$: Observable<ChainSpeechInput> = merge(texts$, reports$);
    return inputs$.pipe(
      fold(speechInTurn(options.firstAudioMs), options.scheduler),
      mergeMap(([, ...effects]) => effects),
      tap((effect) => attempts.enact(effect)),
      takeWhile(({ type }) => type !== 'complete'),
      mergeMap((effect) => {
        if (effect.type === 'fail') return throwError(() => allFailed(options.failures));
        return effect.type === 'audio' ? of(effect.chunk) : EMPTY;
      }),
      map((chunk) => ({ ...chunk, utteranceId: options.utteranceId })),
      inOneFormat(options.onFormat),
      tap(options.onChunk),
      finalize(() => attempts.cancelAll()),
    );
  });
}

/** Converts audio to the format of its first chunk, if that can be converted. */
function inOneFormat(onFormat: SayInTurnOptions['onFormat']): OperatorFunction<AudioChunk, AudioChunk> {
  return connect((chunk$) =>
    chunk$.pipe(
      take(1),
      mergeMap((first) => {
        const { metadata } = first;
        if (metadata) onFormat(metadata);
        return merge(of(first), chunk$).pipe(metadata && isConvertible(metadata) ? transcode(metadata) : identity);
      }),
    ),
  );
}

/** Who speaks, and has spoken, each piece. */
class Attempts {
  readonly #options: SayInTurnOptions;
  readonly #report: (report: ChainSpeechInput) => void;
  readonly #all = new Map<number, { readonly voice: Voice; readonly work: Subscription }>();

  constructor(options: SayInTurnOptions, report: (report: ChainSpeechInput) => void) {
    this.#options = options;
    this.#report = report;
  }

  enact(effect: ChainSpeechEffect): void {
    switch (effect.type) {
      case 'speak':
        this.#speak(effect.attempt, effect.text, effect.voice ?? this.#options.current());
        break;
      case 'cancel':
        this.#cancel(effect.attempt);
        break;
      case 'replace':
        this.#replace(effect.attempt, effect.problem);
        break;
      case 'word':
        this.#options.onWord({ ...effect.word, utteranceId: this.#options.utteranceId });
        break;
      default:
    }
  }

  cancelAll(): void {
    for (const attempt of this.#all.keys()) this.#cancel(attempt);
  }

  #speak(attempt: number, text: string, voice: Voice): void {
    const { voice: speaker } = voice;
    const work = new Subscription();
    this.#all.set(attempt, { voice, work });
    work.add(
      speaker.words$?.subscribe({
        next: (word) => this.#report({ type: 'word', attempt, word }),
        error: () => undefined,
      }),
    );
    const audio$ = defer(() => speaker.speak(of(text))).pipe(filter(({ data }) => data.byteLength > 0));
    work.add(
      audio$.subscribe({
        next: (chunk) => this.#report({ type: 'chunk', attempt, chunk, usual: speaker.getMetadata?.() }),
        error: (error: unknown) => this.#report({ type: 'failed', attempt, error }),
        complete: () => this.#report({ type: 'completed', attempt }),
      }),
    );
  }

  #cancel(attempt: number): void {
    this.#all.get(attempt)?.work.unsubscribe();
  }

  #replace(attempt: number, problem: (name: string) => unknown): void {
    const failed = this.#all.get(attempt)?.voice;
    if (!failed) return;
    const own = [...this.#all].filter(([, { voice }]) => voice.index === failed.index);
    const voice = this.#options.replace(failed.index, problem(failed.voice.name));
    this.#report({ type: 'replaced', attempt, attempts: own.map(([each]) => each), voice });
  }
}

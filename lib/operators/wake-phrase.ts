import {
  asyncScheduler,
  connect,
  debounceTime,
  defer,
  endWith,
  filter,
  from,
  ignoreElements,
  map,
  takeUntil,
  tap,
  type MonoTypeOperatorFunction,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { TranscriptionResult } from '../core/roles.ts';
import { merge } from '../stream/merge.ts';
import { hasWords, unspaced } from '../text/words.ts';
import { utterances, type Utterance } from './utterances.ts';

/** Options of {@link wakePhrase}. */
export interface WakePhraseOptions {
  /** Without a `sleep$`: how long it stays awake after `wake$` or the last result, in milliseconds. Default: 30,000. */
  readonly awakeMs?: number;
  /** Falls asleep whenever this emits, and at no other time: for example on a pipeline's `user.idle`. */
  readonly sleep$?: ObservableInput<unknown>;
  /** Wakes up whenever this emits, without the phrase: for example at the press of a button. */
  readonly wake$?: ObservableInput<unknown>;
  /** The clock; a TestScheduler in tests. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Lets no words through until someone says the phrase.
 *
 * While it sleeps, it waits for whole utterances (see {@link utterances}), and looks for the phrase in each; case and
 * punctuation do not matter. What follows the phrase passes as one complete result, or all of it where nothing follows
 * ("Hey Nova", "Good morning, Nova"); any other utterance passes without its words, so that whoever heard the voice
 * learns that it is over. While it is awake, results pass as they are. An error of the source, of `sleep$` or of
 * `wake$` passes at once.
 *
 * ```text
 * source          -i-a---i-b-i-c-----d-|    i: interim; a: "so what"
 *                                           b: "hey Nova, what time is it"
 *                                           c: "and in Rome", d: "oh"
 * sleep           ----------------s-----
 * wakePhrase()    ---x-----y-i-c-----x-|    x: "", y: "what time is it"
 * ```
 *
 * @param phrases - The phrase, or several spellings of it that the service may give. Throws a VoiceError of the code
 * `configuration` when one has no words.
 *
 * @example
 * ```ts
 * import { filter } from 'rxjs';
 * import { Pipeline, type AnyProvider } from 'rxvoice';
 * import { wakePhrase } from 'rxvoice/operators';
 *
 * declare const providers: AnyProvider[];
 *
 * const agent = new Pipeline({
 *   providers,
 *   hearing: (heard$, events$) =>
 *     heard$.pipe(wakePhrase('hey Nova', { sleep$: events$.pipe(filter(({ type }) => type === 'user.idle')) })),
 * });
 * ```
 */
export function wakePhrase(
  phrases: string | readonly string[],
  { awakeMs = 30_000, sleep$, wake$ = [], scheduler = asyncScheduler }: WakePhraseOptions = {},
): MonoTypeOperatorFunction<TranscriptionResult> {
  const patterns = [phrases].flat().map(patternOf);
  return (source$) =>
    defer(() => {
      let isAwake = false;
      return source$.pipe(
        connect((results$) => {
          const ended$ = results$.pipe(ignoreElements(), endWith(undefined));
          const asleep$ = results$.pipe(filter(() => !isAwake));
          const awake$ = results$.pipe(filter(() => isAwake));
          const turns$ = from(wake$).pipe(
            connect((woken$) => {
              const quiet$ = merge(awake$, woken$).pipe(debounceTime(awakeMs, scheduler));
              const sleeps$ = sleep$ === undefined ? quiet$ : from(sleep$);
              return merge(sleeps$.pipe(map(() => false)), woken$.pipe(map(() => true)));
            }),
          );
          // The result that wakes is no result of those awake: the order of these matters.
          return merge(
            awake$,
            asleep$.pipe(
              utterances(),
              map((utterance) => addressed(utterance, patterns)),
              tap(({ text }) => (isAwake = text !== '')),
            ),
            // Not an utterance, but the end of a voice.
            asleep$.pipe(filter(({ utteranceComplete, text }) => utteranceComplete && text.trim() === '')),
            turns$.pipe(
              tap((next) => (isAwake = next)),
              ignoreElements(),
              takeUntil(ended$),
            ),
          );
        }),
      );
    });
}

/** What an utterance says after the phrase; nothing without it. */
function addressed({ text, result }: Utterance, patterns: readonly RegExp[]): TranscriptionResult {
  const said = text.normalize('NFC');
  const found = patterns.map((pattern) => pattern.exec(said)).find((match) => match !== null);
  if (!found) return withText(result, '');
  const rest = said.slice(found.index + found[0].length).replace(/^[^\p{L}\p{M}\p{N}\p{Ps}\p{Pi}¿¡]+/u, '');
  return withText(result, hasWords(rest) ? rest : said);
}

function withText(result: TranscriptionResult, text: string): TranscriptionResult {
  return { ...result, text, isFinal: true, utteranceComplete: true };
}

/** Finds the words of a phrase, whatever punctuation stands between them; never as parts of other words. */
function patternOf(phrase: string): RegExp {
  const words = phrase.normalize('NFC').match(/[\p{L}\p{M}\p{N}]+/gu);
  if (!words) {
    throw new VoiceError(`wakePhrase: "${phrase}" has no words to listen for`, { code: 'configuration' });
  }
  const [first, last = ''] = [words[0], words.at(-1)];
  const start = unspaced.test(first) ? '' : String.raw`(?<![\p{L}\p{M}\p{N}])`;
  const end = unspaced.test(last) ? '' : String.raw`(?!['’]?[\p{L}\p{M}\p{N}])`;
  return new RegExp(start + words.join(String.raw`[^\p{L}\p{N}]*`) + end, 'iu');
}

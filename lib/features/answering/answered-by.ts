import {
  asyncScheduler,
  concat,
  defer,
  distinctUntilChanged,
  filter,
  map,
  of,
  scan,
  startWith,
  switchMap,
  take,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../../core/errors.ts';
import type { InputProvider } from '../../core/roles.ts';
import type { VoiceEvent } from '../../conversation/events.ts';
import { beeps } from '../../operators/beeps.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { merge } from '../../stream/merge.ts';
import { longestTimerMs, patientTimer } from '../../stream/patient-timer.ts';
import { joinWords } from '../../text/words.ts';
import { countAnsweringWords } from './words.ts';

/** Who answered a call. */
export interface Answered {
  /** `menu` is a machine that asks for keys. */
  readonly by: 'human' | 'machine' | 'menu' | 'unsure';
  /**
   * What decided it: the beep, the words, or the length of the greeting; silence from the start, `timeoutMs`, or the
   * end of the call.
   */
  readonly reason: 'beep' | 'words' | 'length' | 'silence' | 'timeout' | 'ended';
  /** What has been said so far. */
  readonly text: string;
  /** Length of the greeting so far, in milliseconds, including short pauses. */
  readonly greetingMs: number;
}

/** Options of {@link answeredBy}. */
export interface AnsweredByOptions {
  /** Longest wait, in milliseconds, after which the most likely verdict is given. Default: 20,000. */
  readonly timeoutMs?: number;
  /** Longest silence at the start, in milliseconds. Default: 5,000. */
  readonly silenceMs?: number;
  /** Silence that ends a greeting, in milliseconds: a human waits for an answer. Default: 1,000. */
  readonly pauseMs?: number;
  /** A greeting longer than this, in milliseconds, is a machine's unless its words say otherwise. Default: 2,400. */
  readonly maxGreetingMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

type Limits = Required<Omit<AnsweredByOptions, 'scheduler'>>;

/** What has been heard of the other side, until it is clear who it is. */
interface Heard {
  readonly startedAt: number;
  /** When a voice was first and last heard. */
  readonly firstAt?: number;
  readonly lastAt?: number;
  readonly isSpeaking: boolean;
  /** Whether a detector reports voices; otherwise words show when someone speaks. */
  readonly hasVoices: boolean;
  readonly said: string;
  readonly interim: string;
  readonly answered?: Answered;
}

/** What happens on the line. */
type Sound = VoiceEvent<'session.ready' | 'user.state' | 'transcript.interim' | 'transcript.final'> | 'beep' | 'end';

/**
 * Determines who answered a call that you placed: a human, voicemail, or a phone menu. Subscribe before the pipeline
 * starts, or as soon as the call is answered. Cold; emits one verdict and completes.
 *
 * ```text
 * voice         --1111-----------           "Hello?"
 * answeredBy()  ------------(h|)            h: human, `pauseMs` after it
 *
 * voice         --1111111111-1111-----      "You have reached … after the tone."
 * beep          --------------------b-
 * answeredBy()  ----------------(m|)        m: machine, as soon as the words are final; else at the pause or the beep
 * ```
 *
 * It goes by words, in ten languages at once, then by the length of the greeting; a beep after a voice always means a
 * machine. If nothing is said, the verdict is `unsure`. The agent should stay silent until then: see the example.
 *
 * @example
 * ```ts
 * import { firstValueFrom } from 'rxjs';
 * import { answeredBy, Pipeline, type AnyProvider, type PhoneStreamA } from 'rxvoice';
 *
 * declare const phone: PhoneStreamA;
 * declare const providers: AnyProvider[];
 *
 * const pipeline: Pipeline = new Pipeline({
 *   providers: [phone, ...providers],
 *   timeouts: { hookMs: 25_000 },
 *   onUserTurn: async () => ((await answered).by === 'human' ? undefined : { refuse: '' }),
 * });
 * const answered = firstValueFrom(answeredBy(pipeline, phone));
 * await pipeline.start();
 * ```
 *
 * @param pipeline - Tells what is said, and when.
 * @param phone - The other side's audio, for the beep.
 * @throws VoiceError `configuration` when an option cannot work.
 */
export function answeredBy(
  { events$ }: Pick<Pipeline, 'events$'>,
  { audio$ }: Pick<InputProvider, 'audio$'>,
  options: AnsweredByOptions = {},
): Observable<Answered> {
  const { timeoutMs = 20_000, silenceMs = 5_000, pauseMs = 1_000, maxGreetingMs = 2_400 } = options;
  const { scheduler = asyncScheduler } = options;
  const limits: Limits = { timeoutMs, silenceMs, pauseMs, maxGreetingMs };
  assertLimits(limits);
  return defer(() => {
    const start: Heard = { startedAt: scheduler.now(), isSpeaking: false, hasVoices: false, said: '', interim: '' };
    const beep$ = audio$.pipe(
      beeps(),
      map((): Sound => 'beep'),
    );
    // Without events there is no call anymore; the audio may end before.
    const sounds$ = merge(concat(soundsOf(events$), of<Sound>('end')), beep$);
    return sounds$.pipe(
      scan((heard, sound) => listen(heard, sound, scheduler.now()), start),
      startWith(start),
      distinctUntilChanged(),
      switchMap((heard): Observable<Answered> => {
        if (heard.answered) return of(heard.answered);
        const at = deadlineOf(heard, limits);
        return patientTimer(at - scheduler.now(), scheduler).pipe(map(() => decide(heard, at, limits)));
      }),
      take(1),
    );
  });
}

function soundsOf(events$: Observable<VoiceEvent>): Observable<Sound> {
  return events$.pipe(
    filter((event) => told.has(event.type)),
    map((event) => (isEnd(event) ? 'end' : (event as Exclude<Sound, string>))),
  );
}

const told: ReadonlySet<string> = new Set<VoiceEvent['type']>([
  'session.ready',
  'session.closed',
  'call.ended',
  'user.state',
  'transcript.interim',
  'transcript.final',
]);

function isEnd({ type }: VoiceEvent): boolean {
  return type === 'call.ended' || type === 'session.closed';
}

/** Another sound. */
function listen(heard: Heard, sound: Sound, at: number): Heard {
  if (sound === 'end') return { ...heard, answered: { ...factsOf(heard, at), by: 'unsure', reason: 'ended' } };
  if (sound === 'beep') {
    // A tone before any voice comes from the line.
    if (heard.firstAt === undefined) return heard;
    return { ...heard, answered: { ...factsOf(heard, at), by: 'machine', reason: 'beep' } };
  }
  switch (sound.type) {
    // No one could be heard before.
    case 'session.ready':
      return { ...heard, startedAt: at };
    case 'user.state': {
      const isSpeaking = sound.state === 'speaking';
      if (!isSpeaking && heard.firstAt === undefined) return heard;
      return { ...heard, isSpeaking, hasVoices: true, firstAt: heard.firstAt ?? at, lastAt: at };
    }
    case 'transcript.interim':
      return sound.text ? { ...spoken(heard, at), interim: sound.text } : heard;
    case 'transcript.final': {
      if (!sound.text) return heard;
      const said = { ...spoken(heard, at), said: joinWords(heard.said, sound.text), interim: '' };
      const by = byWords(said.said);
      return by === 'machine' || by === 'menu'
        ? { ...said, answered: { ...factsOf(said, at), by, reason: 'words' } }
        : said;
    }
  }
}

/** Without a detector, words stand for a voice. */
function spoken(heard: Heard, at: number): Heard {
  if (heard.hasVoices) return heard;
  return { ...heard, firstAt: heard.firstAt ?? at, lastAt: at };
}

/** When the verdict is due, if nothing more is heard. */
function deadlineOf({ startedAt, lastAt, isSpeaking }: Heard, { timeoutMs, silenceMs, pauseMs }: Limits): number {
  const end = startedAt + timeoutMs;
  if (lastAt === undefined) return Math.min(end, startedAt + silenceMs);
  return isSpeaking ? end : Math.min(end, lastAt + pauseMs);
}

/** The most likely verdict when nothing more was heard. */
function decide(heard: Heard, at: number, { maxGreetingMs }: Limits): Answered {
  const facts = factsOf(heard, at);
  if (heard.firstAt === undefined) return { ...facts, by: 'unsure', reason: 'silence' };
  const by = byWords(facts.text);
  if (by) return { ...facts, by, reason: 'words' };
  if (facts.greetingMs > maxGreetingMs) return { ...facts, by: 'machine', reason: 'length' };
  return heard.isSpeaking ? { ...facts, by: 'unsure', reason: 'timeout' } : { ...facts, by: 'human', reason: 'length' };
}

function factsOf(heard: Heard, at: number): Pick<Answered, 'text' | 'greetingMs'> {
  const { said, interim, isSpeaking, firstAt = at, lastAt = at } = heard;
  return { text: joinWords(said, interim), greetingMs: (isSpeaking ? at : lastAt) - firstAt };
}

/** Voicemail may offer keys as well; a menu may offer to leave a message. */
function byWords(text: string): 'human' | 'machine' | 'menu' | undefined {
  const { machine, menu, human } = countAnsweringWords(text);
  if (machine > 0 && machine >= menu) return 'machine';
  if (menu > 0) return 'menu';
  return human > 0 ? 'human' : undefined;
}

function assertLimits(limits: Limits): void {
  for (const [name, ms] of Object.entries(limits)) {
    if (ms >= 0 && ms <= longestTimerMs) continue;
    const problem = `${name} must be from 0 to ${longestTimerMs} ms, not ${ms}`;
    throw new VoiceError(`answeredBy: ${problem}`, { code: 'configuration' });
  }
}

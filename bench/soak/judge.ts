import { damaged } from '../../samples/sandbox/modem.ts';
import { plain } from '../load/judge.ts';

export { greeting, plain } from '../load/judge.ts';

/** What the process under test takes. */
export interface Vitals {
  /** Calls under way, and those that have ended. */
  readonly calls: number;
  readonly ended: number;
  /** Without compiled code. */
  readonly heapBytes: number;
  readonly rssBytes: number;
  /** What of it is not V8's heap: code, buffers, and what native code allocated or has not given back. */
  readonly outsideBytes: number;
  readonly handles: number;
  /** How late its event loop was since the last look, in all but the worst hundredth. */
  readonly delayMs: number;
  readonly cpuMs: number;
}

/** What a call's agent makes of it. */
export interface Log {
  readonly call: number;
  /** Turns and speeches that began and have not ended. */
  readonly open: { readonly turns: number; readonly speeches: number };
  readonly speeches: readonly Speech[];
  readonly history: readonly (readonly [role: string, text: string])[];
  /** Errors and lost connections, each with its role. */
  readonly mishaps: readonly string[];
  /** How long the end took. */
  readonly endMs: number;
  /** How late the agent's process was at worst, in milliseconds. */
  readonly lateMs: number;
  /** What happened, line by line: for people who look for the reason of a problem. */
  readonly trail: readonly string[];
}

/** What an agent says was heard of something it said. */
export interface Speech {
  /** All of it. */
  readonly text: string;
  readonly heardText: string;
  readonly interrupted: boolean;
  /** How often it was paused, and went on. */
  readonly resumes: number;
  /** How often its voice was lost, and went on. */
  readonly restarts: number;
}

/** What a call's caller makes of it. */
export interface Told {
  readonly call: number;
  /** What was said, in order. */
  readonly said: readonly string[];
  /** How many of these must have reached the model: all, unless the caller left before. */
  readonly due: number;
  /** What came out of the receiver. */
  readonly heard: string;
  /** The same with its times on the telephone's clock, and when it was silenced: for people. */
  readonly lines: readonly string[];
  /** How late the telephone was at worst, in milliseconds. */
  readonly lateMs: number;
  /** How often no answer came. */
  readonly unanswered: number;
  /** What the platform, or the caller, complains about. */
  readonly problems: readonly string[];
}

interface Reached {
  readonly at: number;
  readonly of?: Speech;
}

/** Words that may sound of an answer after those that are told, when it is cut; a part of one more. */
const mostAfterCut = 1;
/** Characters that a break may damage: those that it begins and ends in, and the one in between. */
const mostDamaged = 3;
/**
 * A telephone that was later than this heard something else than its agent can know, in milliseconds: a machine that
 * stands still plays no sound. Nor is the agent's end judged by a clock that it did not see.
 */
const mostLateMs = 100;
/** Whoever stood still for longer has missed a deadline of somebody's, in milliseconds: services are given up on. */
const mostStillMs = 2_000;
/** Longest that a call may take to end: graceful goodbyes are bounded by a second. */
const longestEndMs = 1_500;

/** Where what the model was sent is not what was said. */
export function lostWords(told: Told, log: Log, sent: readonly string[]): readonly string[] {
  if (lateness(told, log) > mostStillMs) return [];
  const { said, due } = told;
  const { mishaps } = log;
  const all = plain(said.join(' '));
  const owed = plain(said.slice(0, due).join(' '));
  const wrong = sent.map(plain).find((text) => !all.startsWith(text));
  if (wrong !== undefined) return [`the model was sent "${wrong}" of a caller who said "${all}"`];
  // Who is told that speech-to-text is gone for good cannot expect to be heard.
  if (mishaps.includes('stt lost')) return [];
  const most = sent.map(plain).reduce((longest, text) => (text.length > longest.length ? text : longest), '');
  return most.length >= owed.length ? [] : [`the model was sent no more than "${most}" of "${owed}"`];
}

/** Whether a telephone and its agent kept time, so that the one can know what the other played. */
export function keptTime(told: Told, log: Log): boolean {
  return lateness(told, log) <= mostLateMs;
}

function lateness(told: Told, log: Log): number {
  return Math.max(told.lateMs, log.lateMs);
}

/** Where what the agent says was heard is not what came out of the receiver. */
export function unheardWords(call: Told, log: Log): readonly string[] {
  const { speeches, history } = log;
  const told = speeches.map(({ heardText }) => plain(heardText)).filter(Boolean);
  const remembered = history.filter(([role]) => role === 'assistant').map(([, text]) => plain(text));
  if (remembered.join(' ') !== told.join(' ')) {
    return [`the agent remembers "${remembered.join(' ')}", and told "${told.join(' ')}" as heard`];
  }
  if (!keptTime(call, log)) return [];
  const audible = letters(call.heard);
  const { at, of } = farthest(audible, speeches);
  if (of === undefined && at === audible.length) return [];
  const sounded = `"${audible.slice(at, at + 80)}" after "${audible.slice(Math.max(0, at - 40), at)}"`;
  return [of ? `"${of.heardText}" is told as heard, and what sounded is ${sounded}` : `nobody tells of ${sounded}`];
}

/** How far what sounded is explained by what is told, and the speech that is not in it. */
function farthest(
  audible: string,
  [first, ...others]: readonly Speech[],
  from = 0,
  isAfterCut: boolean = false,
): Reached {
  if (!first) return { at: from };
  let best: Reached = { at: from, of: first };
  for (const end of endsOf(audible, from, first, isAfterCut)) {
    const found = farthest(audible, others, end, first.interrupted);
    if (found.of === undefined && found.at === audible.length) return found;
    if (found.at >= best.at) best = found;
  }
  return best;
}

/** Where a speech may end that sounds from somewhere, or behind a cut. */
function endsOf(audible: string, from: number, speech: Speech, isAfterCut: boolean): readonly number[] {
  const { text, heardText, interrupted } = speech;
  if (!interrupted) return soundsTo(audible, from, heardText, speech, isAfterCut);
  const words = text.split(/\s+/);
  const heard = heardText.split(/\s+/).filter(Boolean).length;
  const least = Math.max(0, heard - 1);
  const ends = new Set<number>();
  for (let count = least; count <= heard + mostAfterCut; count++) {
    const [before, last] = [words.slice(0, count).join(' '), plain(words[count] ?? '')];
    // The word that it was cut in: what is told may lack it, or have it though it hardly began.
    for (let length = 0; length <= last.length; length++) {
      for (const end of soundsTo(audible, from, `${before} ${last.slice(0, length)}`, speech, isAfterCut))
        ends.add(end);
    }
  }
  // The character that it was cut in.
  return [...ends].flatMap((each) => (audible[each] === damaged ? [each, each + 1] : [each])).sort((a, b) => b - a);
}

/**
 * Where a text may end that sounds from somewhere, pauses and lost connections of the voice considered: of a cut speech
 * it is as far as any of its attempts came.
 */
function soundsTo(
  audible: string,
  from: number,
  text: string,
  { interrupted, resumes, restarts }: Speech,
  isAfterCut: boolean,
): readonly number[] {
  const sentences = text.split(/(?<=[.!?]) /).map(letters);
  const all = sentences.join('');
  const starts = sentences.map((_, index) => sentences.slice(0, index).join('').length);
  const follow = (
    at: number,
    index: number,
    spare: number,
    restarts: number,
    hasSounded: boolean = false,
  ): readonly number[] => {
    const ends: number[] = [];
    const isWhole = index === all.length;
    if (isWhole || hasSounded) ends.push(at);
    // The mark at the end that it was paused in.
    if (isWhole && audible[at] === damaged && spare > 0) ends.push(...follow(at + 1, index, spare - 1, restarts));
    if (!isWhole && audible[at] === all[index]) ends.push(...follow(at + 1, index + 1, spare, restarts, hasSounded));
    // In place of punctuation, which nobody counts, or of a letter, which does not sound again.
    if (!isWhole && at < audible.length && audible[at] !== all[index] && spare > 0) {
      ends.push(...follow(at + 1, index, spare - 1, restarts, hasSounded));
      ends.push(...follow(at + 1, index + 1, spare - 1, restarts, hasSounded));
    }
    // A letter that it was paused in, and that is not said again.
    if (!isWhole && spare > 1) ends.push(...follow(at, index + 1, spare - 2, restarts, hasSounded));
    // A voice that is lost begins its sentence anew; it may be cut before it has caught up.
    const start = starts.findLast((each) => each < index);
    if (restarts > 0 && start !== undefined && (!isWhole || interrupted))
      ends.push(...follow(at, start, spare, restarts - 1, hasSounded || isWhole));
    return ends;
  };
  const spare = mostDamaged * (resumes + restarts);
  const whole = follow(from, 0, spare, restarts);
  if (!isAfterCut || all === '') return whole;
  // Without silence between the two, the first letter runs into the one that was cut.
  const marks = /^\uFFFD*/.exec(audible.slice(from, from + mostDamaged))?.[0].length ?? 0;
  const first = Array.from({ length: marks }, (_, index) => follow(from + index + 1, 1, spare, restarts));
  return [...whole, ...first.flat()];
}

/** Without spaces: a pause in the middle of a word is no other word. */
function letters(text: string): string {
  return plain(text).replaceAll(' ', '');
}

/** Where a call got stuck, or somebody complains. */
export function stuckAt(told: Told, log: Log): readonly string[] {
  const { unanswered, problems } = told;
  const { open, mishaps, endMs } = log;
  const hasReason = mishaps.length > 0 || lateness(told, log) > mostStillMs;
  return [
    ...problems,
    ...(open.turns === 0 ? [] : [`${open.turns} turns never ended`]),
    ...(open.speeches === 0 ? [] : [`${open.speeches} speeches never ended`]),
    ...(unanswered === 0 || hasReason ? [] : [`${unanswered} questions had no answer, and no reason is told`]),
    ...(endMs <= longestEndMs || !keptTime(told, log) ? [] : [`the end took ${endMs.toFixed(0)} ms`]),
    ...mishaps.filter((mishap) => mishap.endsWith(' internal')),
  ];
}

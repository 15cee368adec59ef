import { VoiceError } from '../core/errors.ts';
import { eventsOf, type CallRecord } from './call-record.ts';
import type { TurnEndReason } from '../conversation/events.ts';
import type { TurnMetrics } from '../conversation/measurements.ts';
import { foldText, hasWords, unspaced } from '../text/words.ts';
import type { Judge, Judgement } from './scenario.ts';
import { wordErrors } from './word-errors.ts';

/**
 * A fact: whole words, without regard to case and marks, or a pattern. Between letters of scripts without spaces, such as
 * Chinese, Japanese and Thai, parts of words count too.
 */
export type Fact = string | RegExp;

/** What the agent was heard saying, in one text. */
function agentText({ utterances }: CallRecord): string {
  return utterances.flatMap(({ who, text }) => (who === 'agent' ? [text] : [])).join('\n');
}

function holds(text: string, fact: Fact): boolean {
  if (typeof fact !== 'string') return new RegExp(fact.source, fact.flags.replace(/[gy]/g, '')).test(text);
  const [all, part] = [foldText(text), foldText(fact)];
  if (unspaced.test(part)) return hasPart(all.replace(loose, ''), part.replace(loose, ''));
  return ` ${all} `.includes(` ${part} `);
}

/** Spaces, but for those that keep two numbers apart. */
const loose = / (?!\p{N})|(?<!\p{N}) /gu;

/** Whether a text without spaces has a part, which neither begins nor ends within a number: "15点" has no "5点". */
function hasPart(text: string, part: string): boolean {
  const begins = /^\p{N}/u.test(part) ? /(?<!\p{N}|\p{N}[.,:])$/u : /$/;
  const ends = /\p{N}$/u.test(part) ? /^(?!\p{N}|[.,:]\p{N})/u : /^/;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    if (begins.test(text.slice(0, at)) && ends.test(text.slice(at + part.length))) return true;
  }
  return false;
}

const refuse = (judge: string, problem: string): VoiceError =>
  new VoiceError(`${judge}: ${problem}`, { code: 'configuration' });

/** Every comparison with NaN is false: the judge would always pass. */
function assertNumbers(judge: string, options: Readonly<Record<string, number | undefined>>): void {
  for (const [name, value = 0] of Object.entries(options)) {
    if (!(value >= 0)) throw refuse(judge, `${name} must be a number from 0`);
  }
}

/** What could never be found would always pass where it must not be said. */
function assertFacts(judge: string, facts: readonly Fact[]): void {
  if (facts.length === 0) throw refuse(judge, 'there is no fact');
  for (const fact of facts) {
    if (typeof fact === 'string' && !hasWords(fact)) throw refuse(judge, `"${fact}" has no words`);
  }
}

const list = (facts: readonly Fact[]): string => facts.map(String).join(', ');

const passed = (reason: string): Judgement => ({ passed: true, reason });
const failed = (reason: string): Judgement => ({ passed: false, reason });

/**
 * The caller has heard each of these from the agent: `says('Paris', /3[:.]45/)`.
 *
 * @throws VoiceError `configuration` without a fact, or with one that has no words.
 */
export function says(...facts: readonly Fact[]): Judge {
  assertFacts('says', facts);
  return {
    name: `says ${list(facts)}`,
    judge: (call) => {
      const missing = facts.filter((fact) => !holds(agentText(call), fact));
      return missing.length > 0 ? failed(`not heard: ${list(missing)}`) : passed('all of it was heard');
    },
  };
}

/**
 * The caller has heard none of these from the agent.
 *
 * @throws VoiceError `configuration` without a fact, or with one that has no words.
 */
export function neverSays(...facts: readonly Fact[]): Judge {
  assertFacts('neverSays', facts);
  return {
    name: `never says ${list(facts)}`,
    judge: (call) => {
      const slips = call.utterances.flatMap(({ who, text, startMs }) => {
        const found = who === 'agent' ? facts.filter((fact) => holds(text, fact)) : [];
        return found.length > 0 ? [`${list(found)} at ${seconds(startMs)}`] : [];
      });
      const found = facts.filter((fact) => holds(agentText(call), fact));
      if (slips.length === 0 && found.length > 0) slips.push(`${list(found)} over several speeches`);
      return slips.length > 0 ? failed(`heard: ${slips.join('; ')}`) : passed('none of it was heard');
    },
  };
}

/**
 * What the caller said is what was transcribed.
 *
 * @param options - `maxWordErrorRate`: wrong, missing and added words per word that was said. Default: 0.
 * @throws VoiceError `configuration` when it is no number from 0.
 */
export function understands({ maxWordErrorRate = 0 }: { readonly maxWordErrorRate?: number } = {}): Judge {
  assertNumbers('understands', { maxWordErrorRate });
  return {
    name:
      maxWordErrorRate > 0 ? `understands all but ${percent(maxWordErrorRate)} of the words` : 'understands every word',
    judge: ({ utterances, events }) => {
      const said = utterances.flatMap(({ who, text }) => (who === 'caller' ? [text] : [])).join(' ');
      const ignored = eventsOf(events, 'bargeIn.ignored').filter(({ reason }) => reason !== 'echo');
      const heard = [...eventsOf(events, 'transcript.final'), ...ignored].sort((one, other) => one.at - other.at);
      const { rate, errors, words } = wordErrors(said, heard.map(({ text }) => text).join(' '));
      const reason = `${errors} of ${words} words were wrong (${percent(rate)})`;
      return rate > maxWordErrorRate ? failed(reason) : passed(reason);
    },
  };
}

/**
 * What the pipeline reports as heard is what came out of the receiver, as the line reads it. Speech that was cut off may
 * end in a part of a word. Only of use with texts that are written as they are spoken.
 *
 * @param options - `maxWordErrorRate`: wrong, missing and added words per word that is reported. Default: 0.
 * @throws VoiceError `configuration` when it is no number from 0.
 */
export function soundsAsReported({ maxWordErrorRate = 0 }: { readonly maxWordErrorRate?: number } = {}): Judge {
  assertNumbers('soundsAsReported', { maxWordErrorRate });
  return {
    name: `sounds as reported${maxWordErrorRate > 0 ? `, but for ${percent(maxWordErrorRate)} of the words` : ''}`,
    judge: (call) => {
      if (call.received === undefined) throw new Error('the line of this call cannot read what was received');
      const { errors, words } = wordErrors(agentText(call), call.received);
      const cuts = eventsOf(call.events, 'speech.ended').filter(({ interrupted }) => interrupted).length;
      const reason = `${errors} of ${words} words were different in the receiver${cuts > 0 ? `, ${cuts} cut off` : ''}`;
      return errors > cuts + words * maxWordErrorRate ? failed(reason) : passed(reason);
    },
  };
}

/** Options of {@link latency}. */
export interface LatencyOptions {
  /** Longest wait, in milliseconds. */
  readonly maxMs: number;
  /** Which share of the turns has to keep to it, 0 to 1. Default: 1, all. */
  readonly share?: number;
  /** Which part of `turn.metrics`. Default: `total`, from the end of the caller's words to the first sound. */
  readonly part?: {
    [K in keyof TurnMetrics]-?: NonNullable<TurnMetrics[K]> extends number ? K : never;
  }[keyof TurnMetrics];
}

/**
 * The agent answers in time, by `turn.metrics`. Of `total`, a turn of the caller's that got no answer is late. A call
 * without a measured turn fails.
 *
 * @throws VoiceError `configuration` when `maxMs` is no number from 0, or `share` none from 0 to 1.
 */
export function latency({ maxMs, share = 1, part = 'total' }: LatencyOptions): Judge {
  assertNumbers('latency', { maxMs, share });
  if (share > 1) throw refuse('latency', 'share must be from 0 to 1');
  return {
    name: `${part} at most ${maxMs} ms${share < 1 ? ` in ${percent(share)} of the turns` : ''}`,
    judge: ({ metrics, events }) => {
      const times = metrics.flatMap(({ [part]: ms }) => (ms === undefined ? [] : [Math.round(ms)]));
      if (times.length === 0) return failed('no turn was measured');
      const unanswered = part === 'total' ? unansweredTurns(events, maxMs) : 0;
      const turns = times.length + unanswered;
      const inTime = times.filter((ms) => ms <= maxMs).length;
      const missing = unanswered > 0 ? `, ${unanswered} without an answer` : '';
      const reason = `${inTime} of ${turns} turns in time, the slowest ${Math.max(...times)} ms${missing}`;
      return inTime < turns * share ? failed(reason) : passed(reason);
    },
  };
}

/** The caller's turns that got no answer; one that was withdrawn counts if it had waited for too long. */
function unansweredTurns(events: CallRecord['events'], maxMs: number): number {
  const measured = eventsOf(events, 'turn.metrics').filter(({ total }) => total !== undefined);
  const answered = new Set(measured.map(({ turnId }) => turnId));
  const ends = new Map(eventsOf(events, 'turn.ended').map((end) => [end.turnId, end]));
  return eventsOf(events, 'turn.committed').filter(({ turnId, at }) => {
    const end = ends.get(turnId);
    if (!end || answered.has(turnId) || end.reason === 'refused') return false;
    return !withdrawn.has(end.reason) || end.at - at > maxMs;
  }).length;
}

/** Ends of turns that owe no answer any more: the caller went on, or the call was over. */
const withdrawn: ReadonlySet<TurnEndReason> = new Set(['interrupted', 'merged', 'cancelled', 'stopped']);

/** Options of {@link interruptions}. */
export interface InterruptionOptions {
  /** Fewest. Default: as many as the caller has made. */
  readonly min?: number;
  /** Most: more are false alarms. Default: as many as the caller has made. */
  readonly max?: number;
  /** Longest from the first sign of the caller to the confirmation, in milliseconds. Default: any. */
  readonly maxDetectMs?: number;
  /** Longest from the confirmation to silence, in milliseconds. Default: any. */
  readonly maxCutMs?: number;
}

/**
 * The agent is cut off when the caller interrupts it, in time, and at no other time: not by a noise.
 *
 * @throws VoiceError `configuration` when an option is no number from 0.
 */
export function interruptions(options: InterruptionOptions = {}): Judge {
  const { min: fewest, max: most, maxDetectMs = Infinity, maxCutMs = Infinity } = options;
  assertNumbers('interruptions', { min: fewest, max: most, maxDetectMs, maxCutMs });
  return {
    name: 'is cut off by interruptions, and by nothing else',
    judge: ({ events, utterances }) => {
      const made = utterances.filter((each) => each.who === 'caller' && each.isInterruption).length;
      const { min = made, max = made } = options;
      const cuts = eventsOf(events, 'bargeIn.confirmed');
      const slow = cuts.filter(({ detectMs, cutMs }) => detectMs > maxDetectMs || cutMs > maxCutMs);
      const times = slow.map(
        ({ detectMs, cutMs }) => `detected in ${Math.round(detectMs)} ms, cut in ${Math.round(cutMs)} ms`,
      );
      const reason = `interrupted ${made} times, cut off ${cuts.length} times`;
      if (cuts.length < min || cuts.length > max) return failed(reason);
      return slow.length > 0 ? failed(`too late: ${times.join('; ')}`) : passed(reason);
    },
  };
}

/** Options of {@link callsTool}. */
export interface ToolUse {
  /** How many runs with a result. Default: at least one. */
  readonly times?: number;
  /** Whether these are the arguments of a run. Default: any are. */
  readonly args?: (args: unknown) => boolean;
}

/** The model calls a tool, which has a result. */
export function callsTool(name: string, { times, args = () => true }: ToolUse = {}): Judge {
  return {
    name: times === undefined ? `calls ${name}` : `calls ${name} ${times} times`,
    judge: ({ tools }) => {
      const runs = tools.filter(({ call }) => call.name === name);
      const right = runs.filter(({ call, outcome }) => outcome === 'result' && args(call.args)).length;
      const told = runs.map(({ call, outcome }) => `${call.argsText || '{}'}: ${outcome}`).join('; ');
      const reason = runs.length === 0 ? `${name} was not called` : `${right} of ${runs.length} calls count: ${told}`;
      return (times === undefined ? right > 0 : right === times) ? passed(reason) : failed(reason);
    },
  };
}

/** The model does not call a tool, whatever would have come of it. */
export function neverCallsTool(name: string): Judge {
  return {
    name: `never calls ${name}`,
    judge: ({ tools }) => {
      const runs = tools.filter(({ call }) => call.name === name);
      const told = runs.map(({ call, atMs }) => `${call.argsText || '{}'} at ${seconds(atMs)}`).join('; ');
      return runs.length > 0 ? failed(`called: ${told}`) : passed('it was not called');
    },
  };
}

/** Nothing went wrong: no `error` event, no turn that ended in one. */
export function noErrors(): Judge {
  return {
    name: 'no errors',
    judge: ({ events }) => {
      const errors = eventsOf(events, 'error').map(({ code, message }) => `${code}: ${message}`);
      const turns = eventsOf(events, 'turn.ended').filter(({ reason }) => reason === 'error');
      const reasons = errors.length > 0 ? errors : turns.map(({ turnId = '?' }) => `turn ${turnId} ended in an error`);
      return reasons.length > 0 ? failed(reasons.join('; ')) : passed('none');
    },
  };
}

/** The call ends by itself: the caller, or the agent, hangs up before the scenario's limits. */
export function endsByItself(): Judge {
  return {
    name: 'ends by itself',
    judge: ({ endedBy, durationMs }) =>
      endedBy === 'limit'
        ? failed(`after ${seconds(durationMs)} it had to be ended`)
        : passed(`the ${endedBy} hung up`),
  };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function percent(rate: number): string {
  return `${Math.round(rate * 100)}%`;
}

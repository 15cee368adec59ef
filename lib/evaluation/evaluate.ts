import { asyncScheduler } from 'rxjs';
import { messageOf, VoiceError } from '../core/errors.ts';
import { asObject } from '../core/guard.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { CallRecord, CallRun } from './call-record.ts';
import { Conversation } from './conversation.ts';
import { seedOf } from './random.ts';
import type { CallContext, CallEnds, Judge, Scenario } from './scenario.ts';
import { answered, inTime } from './waiting.ts';

/** Options of {@link evaluate}. */
export interface EvaluationOptions {
  /** At least one, each with a name of its own. */
  readonly scenarios: readonly Scenario[];
  /** Makes the two ends of a call: a new pipeline, and the caller's line to it. */
  readonly create: (context: CallContext) => CallEnds | PromiseLike<CallEnds>;
  /** Calls of each scenario. Default: 1. */
  readonly repetitions?: number;
  /** Calls at once. Default: 1. */
  readonly concurrency?: number;
  /** What is drawn is the same for the same seed. Default: 1. */
  readonly seed?: number;
  /**
   * `virtual`: on a clock of its own, on which a minute takes a moment, if the pipeline, all its providers and the line
   * use the `scheduler` that `create` gets. Default: `real`.
   */
  readonly time?: 'real' | 'virtual';
  /** Ends calls, and begins no more; the ones that are not judged are errors. */
  readonly signal?: AbortSignal;
  /**
   * Called after each call; a promise that it returns is awaited. If it throws or rejects, the call is an error, and the
   * evaluation goes on.
   */
  readonly onResult?: (result: CallResult) => unknown;
}

/**
 * `error`: a call that could not be held, a judge that could not judge, or an `onResult` that failed. It is never a pass.
 */
export type Outcome = 'passed' | 'failed' | 'error';

/** What a judge found. */
export interface Verdict {
  /** The judge's name. */
  readonly judge: string;
  readonly outcome: Outcome;
  readonly reason: string;
}

/** What became of a call. */
export interface CallResult extends CallRun {
  readonly outcome: Outcome;
  /** Empty if the call could not be held. */
  readonly verdicts: readonly Verdict[];
  /** Why the call could not be held to its end, or `onResult` failed. */
  readonly error?: string;
  /** The call, as far as it went. */
  readonly record?: CallRecord;
}

/** What became of a scenario. */
export interface ScenarioResult {
  readonly name: string;
  /** `failed`: fewer of its calls passed than have to. `error`: one of them was. */
  readonly outcome: Outcome;
  /** Calls that passed, 0 to 1. */
  readonly passRate: number;
  /** In order of their repetitions. */
  readonly calls: readonly CallResult[];
}

/** What an evaluation has found. */
export interface Evaluation {
  /** The worst of its scenarios'. */
  readonly outcome: Outcome;
  /** For CI: 0 if every scenario has passed, 1 if one has failed, 2 if one is an error. */
  readonly exitCode: 0 | 1 | 2;
  /** What made it the same again. */
  readonly seed: number;
  readonly time: 'real' | 'virtual';
  readonly scenarios: readonly ScenarioResult[];
}

/**
 * Has simulated callers talk with pipelines, and judges the calls. `evaluationPage()` and `evaluationJson()` write down
 * what it returns.
 *
 * @throws VoiceError `configuration` when there is no scenario, a scenario has no judge, two have one name, or a number is
 * out of its range.
 */
export async function evaluate(options: EvaluationOptions): Promise<Evaluation> {
  const { scenarios, repetitions = 1, concurrency = 1, seed = 1, time = 'real' } = options;
  assertOptions(options);
  const calls = scenarios.flatMap((scenario) =>
    Array.from({ length: repetitions }, (_, index) => ({ scenario, repetition: index + 1 })),
  );
  const results: CallResult[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < calls.length; at = next++) {
      const call = calls[at];
      if (!call) return;
      const { scenario, repetition } = call;
      const run = { scenario: scenario.name, repetition, seed: seedOf(seed, scenario.name, repetition) };
      results[at] = await handOver(await callOf(run, scenario, options), options);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, calls.length) }, work));
  const found = scenarios.map((scenario, index) =>
    scenarioResult(scenario, results.slice(index * repetitions, (index + 1) * repetitions)),
  );
  const outcome = worst(found.map((each) => each.outcome));
  return { outcome, exitCode: exitCodes[outcome], seed, time, scenarios: found };
}

const exitCodes = { passed: 0, failed: 1, error: 2 } as const;

function assertOptions({ scenarios, repetitions = 1, concurrency = 1 }: EvaluationOptions): void {
  const refuse = (message: string): VoiceError => new VoiceError(`evaluate: ${message}`, { code: 'configuration' });
  if (scenarios.length === 0) throw refuse('there is no scenario');
  if (!Number.isSafeInteger(repetitions) || repetitions < 1) throw refuse('repetitions must be a whole number from 1');
  if (!(concurrency >= 1)) throw refuse('concurrency must be at least 1');
  const names = new Set<string>();
  for (const { name, judges, passRate = 1 } of scenarios) {
    if (names.has(name)) throw refuse(`two scenarios are called ${name}`);
    if (judges.length === 0) throw refuse(`${name} has no judge: it would always pass`);
    if (!(passRate >= 0 && passRate <= 1)) throw refuse(`${name}: passRate must be a share from 0 to 1`);
    names.add(name);
  }
}

function scenarioResult({ name, passRate: needed = 1 }: Scenario, calls: readonly CallResult[]): ScenarioResult {
  const passRate = calls.filter(({ outcome }) => outcome === 'passed').length / Math.max(1, calls.length);
  const isError = calls.length === 0 || calls.some(({ outcome }) => outcome === 'error');
  return { name, passRate, calls, outcome: isError ? 'error' : passRate >= needed ? 'passed' : 'failed' };
}

function worst(outcomes: readonly Outcome[]): Outcome {
  if (outcomes.includes('error')) return 'error';
  return outcomes.includes('failed') ? 'failed' : 'passed';
}

async function callOf(run: CallRun, scenario: Scenario, options: EvaluationOptions): Promise<CallResult> {
  const { create, time, signal = new AbortController().signal } = options;
  const clock = time === 'virtual' ? new VirtualClock() : undefined;
  const context = { ...run, scheduler: clock ?? asyncScheduler };
  const onClock = <T>(work: Promise<T>): Promise<T> => (clock ? clock.run(work) : work);
  let ends: CallEnds | undefined;
  let conversation: Conversation | undefined;
  let error: string | undefined;
  try {
    signal.throwIfAborted();
    ends = await answered(create(context), signal);
    // What it loads takes real time: the clock stands.
    await inTime('initialize()', ends.pipeline.initialize(), { scenario, scheduler: context.scheduler, signal });
    conversation = new Conversation(ends, scenario, context);
    await onClock(conversation.hold(signal));
    signal.throwIfAborted();
  } catch (cause) {
    error = messageOf(cause);
  }
  try {
    const record = await conversation?.record(signal);
    const asked = record && error === undefined ? scenario.judges : [];
    const verdicts = record ? await Promise.all(asked.map((judge) => verdictOf(judge, record, signal))) : [];
    const outcome = error === undefined ? worst(verdicts.map((verdict) => verdict.outcome)) : 'error';
    return { ...run, outcome, verdicts, ...(error === undefined ? {} : { error }), ...(record ? { record } : {}) };
  } catch (cause) {
    return { ...run, outcome: 'error', verdicts: [], error: messageOf(cause) };
  } finally {
    const disposing = ends?.pipeline.dispose();
    if (disposing) await onClock(disposing).catch(() => undefined);
  }
}

/** Hands a result to the application. What it did not take is an error: it may be missing wherever it is kept. */
async function handOver(result: CallResult, { onResult, signal }: EvaluationOptions): Promise<CallResult> {
  try {
    const taken = onResult?.(result);
    if (taken instanceof Promise) await (signal ? answered(taken, signal) : taken);
    return result;
  } catch (cause) {
    const problems = [result.error, `onResult: ${messageOf(cause)}`].filter((each) => each !== undefined);
    return { ...result, outcome: 'error', error: problems.join('; ') };
  }
}

async function verdictOf(judge: Judge, record: CallRecord, signal: AbortSignal): Promise<Verdict> {
  try {
    const { passed, reason } = asObject(await answered(judge.judge(record, { signal }), signal)) ?? {};
    if (typeof passed !== 'boolean' || typeof reason !== 'string') {
      throw new Error('it must return { passed, reason }: true or false, and a text');
    }
    return { judge: judge.name, outcome: passed ? 'passed' : 'failed', reason };
  } catch (cause) {
    return { judge: judge.name, outcome: 'error', reason: messageOf(cause) };
  }
}

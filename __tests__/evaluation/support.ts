import { Pipeline, type PipelineOptions } from 'rxvoice';
import {
  FakeLine,
  evaluate,
  type CallContext,
  type CallRecord,
  type Evaluation,
  type EvaluationOptions,
  type FakeLineOptions,
  type Judge,
  type Judgement,
} from 'rxvoice/evaluation';
import { FakeLLM, type FakeLLMConfig } from 'rxvoice/testing';

/** An agent of fakes. */
export interface Agent extends Partial<Omit<PipelineOptions, 'providers'>> {
  readonly replies?: FakeLLMConfig['answer'];
  readonly line?: FakeLineOptions;
}

/** The ends of a call with it. */
export function ends({ replies, line: lineOptions, ...options }: Agent) {
  return ({ scheduler }: Pick<CallContext, 'scheduler'>): { pipeline: Pipeline; line: FakeLine } => {
    const line = new FakeLine({ scheduler, ...lineOptions });
    const llm = new FakeLLM({ scheduler, ...(replies ? { answer: replies } : {}) });
    return { line, pipeline: new Pipeline({ providers: [...line.providers, llm], scheduler, ...options }) };
  };
}

/** Evaluates it in virtual time. */
export function rehearse(agent: Agent, options: Omit<EvaluationOptions, 'create' | 'time'>): Promise<Evaluation> {
  return evaluate({ ...options, create: ends(agent), time: 'virtual' });
}

/** The record of one call. */
export async function callWith(
  agent: Agent,
  scenario: Omit<EvaluationOptions['scenarios'][number], 'name' | 'judges'>,
): Promise<CallRecord> {
  const any: Judge = { name: 'any', judge: () => ({ passed: true, reason: 'none' }) };
  const { scenarios } = await rehearse(agent, { scenarios: [{ name: 'a call', judges: [any], ...scenario }] });
  const [call] = scenarios[0]?.calls ?? [];
  if (!call?.record || call.error !== undefined) throw new Error(`There was no call: ${call?.error ?? ''}`);
  return call.record;
}

/** What a judge finds. */
export function judged(judge: Judge, call: CallRecord): Promise<Judgement> {
  return Promise.resolve(judge.judge(call, { signal: new AbortController().signal }));
}

import type { TokenUsage } from '../../core/messages.ts';
import type { ActiveAgent } from './active-agent.ts';
import type { GenerationStep, RunningTools } from './generation.ts';
import type { History, HistoryFacts } from '../history.ts';
import type { SpeechResult } from './speech.ts';

/** The state of one round of the model, or of a filler. */
export interface Part {
  readonly text: string;
  /** Whether it is remembered; a filler is not. */
  readonly stored: boolean;
  readonly agent: ActiveAgent;
  /** The history item that a round with tool calls already has. */
  readonly item?: string;
}

/** What an answer has come to so far. */
export interface AnswerLog {
  readonly parts: readonly Part[];
  /** The round whose request is in progress: `undefined` while tools run, or a filler is spoken. */
  readonly asking?: number | undefined;
  readonly running?: RunningTools | undefined;
  /** Token events so far. */
  readonly tokens: number;
}

/** The log with another step. */
export function withStep(log: AnswerLog, step: GenerationStep): AnswerLog {
  const { part: index } = step;
  if (step.type === 'started') {
    const { stored, agent } = step;
    const asking = stored ? index : log.asking;
    return { ...log, asking, parts: log.parts.toSpliced(index, 1, { text: '', stored, agent }) };
  }
  if (step.type === 'ended') return log.asking === index ? { ...log, asking: undefined } : log;
  if (step.type !== 'token') return log;
  const part = log.parts[index];
  if (!part) return log;
  const parts = log.parts.with(index, { ...part, text: part.text + step.text });
  return { ...log, parts, tokens: log.tokens + (part.stored ? 1 : 0) };
}

/** The log with the history item of a round. */
export function withItem(log: AnswerLog, index: number, item: string): AnswerLog {
  const part = log.parts[index];
  return part ? { ...log, parts: log.parts.with(index, { ...part, item }) } : log;
}

/** The cost of a request whose end was never published. */
export function costOf(
  untold: readonly GenerationStep[],
  { parts }: AnswerLog,
): { tokens: TokenUsage; model: string } | undefined {
  for (const step of untold) {
    const model = parts[step.part]?.agent.llm.name;
    if (step.type === 'ended' && step.usage && model !== undefined) return { tokens: step.usage, model };
  }
  return undefined;
}

/** Writes what was heard to the history; tools still running are recorded as such, or as cancelled. */
export function writeHeard(
  before: AnswerLog,
  { heard, interrupted }: SpeechResult,
  history: History,
  facts: HistoryFacts,
): void {
  const { running } = before;
  const outcomes = running?.round.interrupt((late) => {
    history.updateToolResult(late);
  });
  const { parts } = running
    ? withItem(before, running.part, history.addToolRound(running.text, running.calls, outcomes ?? [], facts))
    : before;
  for (const [index, { text, stored, item }] of parts.entries()) {
    const said = heard.rounds[index] ?? '';
    const spoken = {
      generated: text,
      heard: said,
      interrupted: interrupted && said !== text,
      estimated: heard.estimated,
    };
    if (item !== undefined) history.settle(item, spoken);
    else if (stored) history.addAssistant(spoken, facts);
  }
}

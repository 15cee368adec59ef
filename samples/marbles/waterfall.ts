import type { TurnMetrics } from 'rxvoice';
import type { Tone } from './palette.ts';

/** A part of a turn's latency. */
export interface Step {
  readonly key: keyof TurnMetrics;
  readonly title: string;
  /** What has happened when it is over. */
  readonly until: string;
  readonly tone: Tone;
  readonly ms: number;
  /** Milliseconds from the end of the user's speech to where it begins. */
  readonly from: number;
}

/** The parts of a turn's latency, in their order: they add up to its total. */
export const steps = [
  { key: 'endpointing', title: 'endpointing', until: 'final', tone: 'user' },
  { key: 'hook', title: 'hook', until: 'request', tone: 'quiet' },
  { key: 'llmFirstToken', title: 'model', until: 'first token', tone: 'model' },
  { key: 'tools', title: 'tools', until: 'results', tone: 'tool' },
  { key: 'aggregation', title: 'first clause', until: 'first clause', tone: 'guess' },
  { key: 'ttsFirstAudio', title: 'voice', until: 'first audio', tone: 'voice' },
  { key: 'outputLead', title: 'output', until: 'first heard', tone: 'heard' },
] as const;

/** The parts of a turn's latency that are known, each beginning where the one before it ends. */
export function waterfallOf(metrics: TurnMetrics): Step[] {
  let from = 0;
  return steps.flatMap((step) => {
    const ms = metrics[step.key];
    if (ms === undefined) return [];
    const drawn = { ...step, ms, from };
    from += ms;
    return [drawn];
  });
}

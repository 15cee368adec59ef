import type { Writable } from '../../core/writable.ts';
import type { TurnMetrics } from '../measurements.ts';
import type { Waste } from '../answer/script.ts';

/** The moments that determine a turn's latency, in order, and the metric that ends with each. */
const stages = [
  ['request', 'hook'],
  ['firstToken', 'llmFirstToken'],
  ['firstPiece', 'aggregation'],
  ['firstAudio', 'ttsFirstAudio'],
  ['audible', 'outputLead'],
] as const;

/** A moment of an answer. */
export type TurnMoment = (typeof stages)[number][0];

/** The moment of each speech mark. */
export const momentOf = { 'first-piece': 'firstPiece', 'first-audio': 'firstAudio', audible: 'audible' } as const;

/**
 * When each moment was first reached, on the scheduler's clock; and how long tools ran before the first token, in ms.
 */
export type TurnMoments = Readonly<Partial<Record<TurnMoment | 'toolsMs', number>>>;

/** One turn of the conversation: from the user's first word to the end of the answer. */
export interface Turn {
  readonly id: string;
  readonly startedAt: number;
  /** Preflights started in this turn. */
  readonly speculations: number;
  readonly committedAt?: number;
  /** When the application's hook decided, if there is one. */
  readonly hookedAt?: number;
  /** When the user stopped speaking, if known. */
  readonly endOfSpeechAt?: number;
  /** When speech-to-text marked the last word as final, if it did. */
  readonly finalAt?: number;
  readonly moments: TurnMoments;
  /** Other measurements. */
  readonly measured: TurnMetrics;
}

/** Adds measurements to a turn. */
export function withMeasured(turn: Turn, measured: TurnMetrics): Turn {
  return { ...turn, measured: Object.assign({}, turn.measured, measured) };
}

/** Adds what nobody heard to a turn: tokens, and what was synthesized. */
export function withWaste(turn: Turn, tokens: number, { characters, audioMs }: Waste): Turn {
  if (!tokens && !characters && !audioMs) return turn;
  const { wastedTokens = 0, wastedCharacters = 0, wastedAudio = 0 } = turn.measured;
  const wasted: Writable<TurnMetrics> = {};
  if (tokens) wasted.wastedTokens = wastedTokens + tokens;
  if (characters) wasted.wastedCharacters = wastedCharacters + characters;
  if (audioMs) wasted.wastedAudio = wastedAudio + audioMs;
  return withMeasured(turn, wasted);
}

/** A turn's latency. Each part runs from the last known moment, so that the parts add up. */
export function metricsOf({ committedAt, hookedAt, endOfSpeechAt, finalAt, moments, measured }: Turn): TurnMetrics {
  if (committedAt === undefined) return measured;
  const metrics: Writable<TurnMetrics> = Object.assign({}, measured);
  const endpointing = endOfSpeechAt === undefined ? undefined : Math.max(0, committedAt - endOfSpeechAt);
  if (endpointing !== undefined) metrics.endpointing = endpointing;
  if (endOfSpeechAt !== undefined && finalAt !== undefined) metrics.sttFinal = Math.max(0, finalAt - endOfSpeechAt);
  let at = committedAt;
  for (const [moment, part] of stages) {
    // An answer that was prepared waits for the hook too.
    const reached = part === 'hook' ? laterOf(moments.request, hookedAt) : moments[moment];
    if (reached === undefined) continue;
    metrics[part] = Math.max(0, reached - at);
    // A tool's time is not the model's.
    if (part === 'llmFirstToken' && moments.toolsMs !== undefined) {
      metrics.tools = Math.min(moments.toolsMs, metrics[part]);
      metrics[part] -= metrics.tools;
    }
    at = Math.max(at, reached);
  }
  if (moments.audible !== undefined) metrics.total = at - committedAt + (endpointing ?? 0);
  return metrics;
}

function laterOf(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.max(left, right);
}

import type { Attributes, Meter } from '@opentelemetry/api';
import type { TokenUsage } from '../core/messages.ts';
import type { VoiceEvent } from '../conversation/events.ts';

/** As the conventions advise. */
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);
const durationBuckets = Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power);
const latencyBuckets = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];

/** The parts of a turn's latency, by their names in `turn.metrics`. */
const parts = {
  endpointing: 'endpointing',
  sttFinal: 'stt_final',
  hook: 'hook',
  llmFirstToken: 'llm_first_token',
  tools: 'tools',
  aggregation: 'aggregation',
  ttsFirstAudio: 'tts_first_audio',
  outputLead: 'output_lead',
  total: 'total',
  bargeInDetect: 'barge_in_detect',
  bargeInCut: 'barge_in_cut',
} as const satisfies Partial<Record<keyof VoiceEvent<'turn.metrics'>, string>>;

/** What is counted and measured of conversations. */
export class Instruments {
  readonly #duration;
  readonly #tokens;
  readonly #latency;
  readonly #turns;
  readonly #interruptions;
  readonly #errors;

  constructor(meter: Meter) {
    this.#duration = meter.createHistogram('gen_ai.client.operation.duration', {
      description: 'GenAI operation duration',
      unit: 's',
      advice: { explicitBucketBoundaries: durationBuckets },
    });
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', {
      description: 'Number of input and output tokens used',
      unit: '{token}',
      advice: { explicitBucketBoundaries: tokenBuckets },
    });
    this.#latency = meter.createHistogram('rxvoice.turn.latency', {
      description: 'Latency of a turn, by its part',
      unit: 's',
      advice: { explicitBucketBoundaries: latencyBuckets },
    });
    this.#turns = meter.createCounter('rxvoice.turns', { description: 'Turns, by how they ended', unit: '{turn}' });
    this.#interruptions = meter.createCounter('rxvoice.interruptions', {
      description: 'Answers that the user cut off',
      unit: '{interruption}',
    });
    this.#errors = meter.createCounter('rxvoice.errors', { description: 'Errors, by their code', unit: '{error}' });
  }

  operation(ms: number, attributes: Attributes): void {
    this.#duration.record(ms / 1000, attributes);
  }

  tokens({ inputTokens, outputTokens }: TokenUsage, attributes: Attributes): void {
    if (inputTokens !== undefined) this.#tokens.record(inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    if (outputTokens !== undefined) this.#tokens.record(outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
  }

  latencies(event: VoiceEvent<'turn.metrics'>, attributes: Attributes): void {
    for (const [key, part] of Object.entries(parts) as [keyof typeof parts, string][]) {
      const ms = event[key];
      if (ms !== undefined) this.#latency.record(ms / 1000, { ...attributes, 'rxvoice.turn.part': part });
    }
  }

  turn(reason: string, attributes: Attributes): void {
    this.#turns.add(1, { ...attributes, 'rxvoice.turn.end_reason': reason });
  }

  interruption(attributes: Attributes): void {
    this.#interruptions.add(1, attributes);
  }

  error(code: string, provider: string | undefined, attributes: Attributes): void {
    const of = provider === undefined ? {} : { 'rxvoice.provider': provider };
    this.#errors.add(1, { ...attributes, 'error.type': code, ...of });
  }
}

import type { Logger } from '../../core/logger.ts';
import { xiLLM } from '../retiring.ts';
import { chatWire, type ChatConfig, type ChatProfile } from './chat-completions.ts';
import { ChatLLM } from './chat-llm.ts';

/** A model of {@link XiLLM}; others pass through. */
export type XiLLMModel = 'mistral-small-latest' | 'mistral-medium-latest' | 'mistral-large-latest' | (string & {});

/** Configuration of {@link XiLLM}. */
export interface XiLLMConfig extends ChatConfig {
  /** Default: `mistral-small-latest`. */
  readonly model?: XiLLMModel;
}

/** Call ids that the service accepts, including its own. */
const ownId = /^[a-zA-Z0-9]{9}$/;

/** Converts another service's call id to this one's format, deterministically (FNV-1a, twice). */
function callId(id: string): string {
  if (ownId.test(id)) return id;
  const hash = (seed: number): string => {
    let state = seed;
    for (const character of id) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    return state.toString(36).padStart(7, '0');
  };
  return (hash(0x811c9dc5) + hash(0x01000193)).slice(-9);
}

/** The least reasoning of the models that can reason (docs.mistral.ai, Reasoning); the last two kinds always do. */
const efforts: readonly (readonly [models: RegExp, effort: string])[] = [
  [/^(mistral-small-(latest|2603)|mistral-medium(-(latest|2604|3[-.]5))?|magistral-(small|medium)-latest)$/, 'none'],
  [/^(mistral-large-4|zai-glm-(latest|5-3))/, 'low'],
];

const profile: ChatProfile<XiLLMConfig> = {
  name: 'XiLLM',
  baseUrl: 'https://api.mistral.ai/v1',
  defaultModel: 'mistral-small-latest',
  seedField: 'random_seed',
  // A tool's result must be followed by the assistant, never by the user.
  toolToUser: ' ',
  callId,
  reasoningEffort: (model) => efforts.find(([models]) => models.test(model))?.[1],
  retiring: xiLLM,
};

const wire = chatWire(profile);

/**
 * Mistral chat completions, `https://api.mistral.ai/v1`, https://docs.mistral.ai/api
 *
 * Models are asked to reason as little as they can.
 */
export class XiLLM extends ChatLLM<XiLLMConfig> {
  constructor(config: XiLLMConfig, logger?: Logger) {
    super(wire, config, logger);
  }
}

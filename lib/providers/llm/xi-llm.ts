import type { Logger } from '../../core/logger.ts';
import { chatWire, type ChatConfig, type ChatProfile } from './chat-completions.ts';
import { ChatLLM } from './chat-llm.ts';

/** A model of {@link XiLLM}; others pass through. */
export type XiLLMModel = 'mistral-small-latest' | 'mistral-medium-latest' | 'mistral-large-latest' | (string & {});

/** Configuration of {@link XiLLM}. */
export interface XiLLMConfig extends ChatConfig {
  /** Default: `mistral-small-latest`. */
  readonly model?: XiLLMModel;
}

/** The ids of calls that the service takes, its own among them. */
const ownId = /^[a-zA-Z0-9]{9}$/;

/** An id of the service's form for one of another's: the same for the same (FNV-1a, twice). */
function callId(id: string): string {
  if (ownId.test(id)) return id;
  const hash = (seed: number): string => {
    let state = seed;
    for (const character of id) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    return state.toString(36).padStart(7, '0');
  };
  return (hash(0x811c9dc5) + hash(0x01000193)).slice(-9);
}

const profile: ChatProfile<XiLLMConfig> = {
  name: 'XiLLM',
  baseUrl: 'https://api.mistral.ai/v1',
  defaultModel: 'mistral-small-latest',
  seedField: 'random_seed',
  // A tool's result is followed by the assistant's words, never by the user's.
  toolToUser: ' ',
  callId,
  reasoningEffort: (model) => (/^mistral-small-(latest|2603)$/.test(model) ? 'none' : undefined),
  retiredModels: { 'mistral-large-2411': 'mistral-large-latest' },
};

/**
 * XiLLM: Mistral chat completions, `https://api.mistral.ai/v1`, https://docs.mistral.ai/api
 *
 * The small models, which can, are asked not to think.
 */
export class XiLLM extends ChatLLM<XiLLMConfig> {
  constructor(config: XiLLMConfig, logger?: Logger) {
    super(chatWire(profile), config, logger);
  }
}

import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { thetaLLM } from '../retiring.ts';
import { chatWire, type ChatConfig, type ChatProfile } from './chat-completions.ts';
import { ChatLLM } from './chat-llm.ts';
import type { LateModelWire, ModelDialect } from './model-wire.ts';
import type { ResponsesAnswer } from './theta-responses.ts';

/** Configuration of {@link ThetaLLM}. */
export interface ThetaLLMConfig extends ChatConfig {
  /** The model's id; for voice, `gpt-5.4-mini`, here without reasoning. Required. */
  readonly model: string;
  /**
   * The vendor's API: `chat` is chat completions, which other vendors imitate; with `responses`, models keep their
   * reasoning while they call tools, and can use the service's own tools. Fixed at construction. Default: `chat`;
   * `responses` if the model or its tools need it.
   */
  readonly api?: 'chat' | 'responses';
  /** Tools that the service runs itself, in its own format, such as `{ type: 'web_search' }`; `responses` only. */
  readonly serviceTools?: readonly Readonly<Record<string, unknown>>[];
  /** The organization to bill, for a key that serves several. */
  readonly organizationId?: string;
  /** The project to count the request against. */
  readonly projectId?: string;
}

/** How a family of models differs: its least reasoning effort, and what it rejects. */
interface Family {
  readonly models: RegExp;
  readonly effort?: string;
  /** Whether it accepts sampling parameters: never, or only without reasoning. Default: always. */
  readonly samples?: 'never' | 'without-thought';
  readonly stops?: false;
  /** Whether it calls tools by chat completions only without reasoning. Default: always. */
  readonly calls?: 'without-thought';
  /** Whether its turns are labelled as answers or as words before a call (Responses API). Default: no. */
  readonly labels?: true;
}

const labelled = { labels: true, calls: 'without-thought' } as const;

/**
 * The first match counts; models that match none accept every field. Sources: developers.openai.com, Latest model and
 * Deployment checklist; for `stop` of GPT-5 and GPT-6, what the service answers.
 */
const families: readonly Family[] = [
  { models: /-chat-latest$/ },
  // The service chooses: `gpt-5-pro` only takes `high`, these others none, or not the least.
  { models: /^(o1-mini|o1-preview|gpt-5[^-]*-(pro|search))/, samples: 'never' },
  { models: /^gpt-5\.3-codex/, effort: 'low', samples: 'never', labels: true },
  { models: /^gpt-5[^-]*-codex/, effort: 'low', samples: 'never' },
  { models: /^o[34]/, effort: 'low', samples: 'never', stops: false },
  { models: /^o\d/, effort: 'low', samples: 'never' },
  { models: /^gpt-5\.[4-9]/, effort: 'none', samples: 'without-thought', ...labelled },
  { models: /^gpt-5\.\d/, effort: 'none', samples: 'without-thought' },
  { models: /^gpt-5/, effort: 'minimal', samples: 'never', stops: false },
  { models: /^gpt-6(-sol|.*-(luna|terra))/, effort: 'none', samples: 'without-thought', stops: false, ...labelled },
  { models: /^gpt-6/, effort: 'low', samples: 'never', stops: false, ...labelled },
];

const familyOf = (model: string): Family | undefined =>
  families.find(({ models }) => models.test(model.replace(/^ft:/, '')));

function refusedFields(model: string, effort: string | undefined): readonly string[] {
  const { samples, stops = true } = familyOf(model) ?? {};
  const isRefused = samples === 'never' || (samples === 'without-thought' && effort !== 'none');
  return [...(isRefused ? ['temperature', 'top_p'] : []), ...(stops ? [] : ['stop'])];
}

/** Models without chat completions. Source: `ResponsesModel` of the vendor's SDK (openai-node), and its refusals. */
const responsesOnly = /^(ft:)?(gpt-|o\d)[^:]*-(pro|codex|deep-research)\b/;

const profile: ChatProfile<ThetaLLMConfig> = {
  name: 'ThetaLLM',
  baseUrl: 'https://api.openai.com/v1',
  tokenLimitField: 'max_completion_tokens',
  // Padding, meant to hide token sizes from eavesdroppers, costs time.
  streamOptions: { include_usage: true, include_obfuscation: false },
  lateSystemRole: 'system',
  startsWithUser: false,
  reasoningEffort: (model) => familyOf(model)?.effort,
  refusedFields,
  retiring: thetaLLM,
  rules: {
    api: { oneOf: ['chat', 'responses'] },
    serviceTools: {},
    organizationId: { type: 'text' },
    projectId: { type: 'text' },
  },
  headers: ({ organizationId, projectId }) => ({ 'OpenAI-Organization': organizationId, 'OpenAI-Project': projectId }),
};

/** The API of a configuration: by chat completions, the service would refuse some models, and the tools of others. */
function apiOf({ api, model = '', reasoningEffort }: Partial<ThetaLLMConfig>): 'chat' | 'responses' {
  const { calls, effort } = familyOf(model) ?? {};
  const isRefused = responsesOnly.test(model) || (calls !== undefined && (reasoningEffort ?? effort) !== 'none');
  return api ?? (isRefused ? 'responses' : 'chat');
}

const chat = chatWire(profile);

/** The wire of the Responses API; who speaks chat completions does not load it. */
const responses: LateModelWire<ThetaLLMConfig> = {
  ...chat,
  load: async (name) => {
    const { readEvent, readResponse, requestOf } = await new OnDemand(
      name,
      () => import('./theta-responses.ts'),
    ).load();
    return {
      start: { calls: [], reasoning: [], hasText: false } satisfies ResponsesAnswer,
      request: (messages, options, context) => {
        const { model, reasoningEffort } = context.config;
        const family = familyOf(model);
        const effort = reasoningEffort ?? family?.effort;
        const facts = {
          ...{ effort: family?.effort, refused: refusedFields(model, effort) },
          reasons: family !== undefined && (family.effort !== undefined || family.samples !== undefined),
          labels: family?.labels === true,
        };
        return requestOf(messages, options, context, facts);
      },
      read: readEvent,
      end: () => undefined,
      readWhole: readResponse,
    } satisfies ModelDialect<ThetaLLMConfig, ResponsesAnswer>;
  },
};

/**
 * OpenAI chat completions, `https://api.openai.com/v1`, https://platform.openai.com/docs/api-reference/chat
 *
 * With `api: 'responses'`, or a model that answers or calls tools only there, it is the Responses API, `/responses`,
 * https://platform.openai.com/docs/api-reference/responses
 *
 * Reasoning models are asked to reason as little as they can, and are not sent fields that they reject.
 */
export class ThetaLLM extends ChatLLM<ThetaLLMConfig> {
  constructor(config: ThetaLLMConfig, logger?: Logger) {
    super(apiOf(config) === 'responses' ? responses : chat, config, logger);
  }
}

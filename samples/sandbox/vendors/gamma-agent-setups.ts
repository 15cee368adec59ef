import type { DeclaredTool } from '../responder.ts';
import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  filled,
  integer,
  number,
  object,
  oneOf,
  required,
  shape,
  string,
  type Check,
} from '../validate.ts';

/** An agent as it is configured at the service. */
export interface AgentSetup {
  /** Whether anyone may talk to it. Default: who has a credential. */
  readonly isPublic?: boolean;
  /** The user's audio. Default: `pcm_16000`. */
  readonly input?: string;
  /** The agent's audio. Default: `pcm_16000`. */
  readonly output?: string;
  /** What it says first; `{{name}}` is a dynamic variable. Default: it waits. */
  readonly firstMessage?: string;
  /** Whether a conversation may override its settings. Default: true. */
  readonly isLocked?: boolean;
}

/** The agents that there are. */
export const setups: Readonly<Record<string, AgentSetup>> = {
  agent_sandbox: {},
  agent_public: { isPublic: true },
  agent_phone: { input: 'ulaw_8000', output: 'ulaw_8000' },
  agent_studio: { output: 'pcm_24000' },
  agent_locked: { isLocked: true, firstMessage: 'Welcome.' },
  agent_named: { firstMessage: 'Hello {{name}}!' },
};

/** Its tools: the client's, the service's own, one that needs an approval, and the one that hangs up. */
export const tools: readonly (DeclaredTool & { readonly type: 'client' | 'webhook' | 'mcp' | 'system' })[] = [
  {
    ...{ name: 'get_weather', type: 'client' },
    parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
  },
  { name: 'get_traffic', type: 'client', parameters: { type: 'object', properties: {} } },
  { name: 'get_stock', type: 'webhook', parameters: { type: 'object', properties: {} } },
  { name: 'get_calendar', type: 'mcp', parameters: { type: 'object', properties: {} } },
  { name: 'end_call', type: 'system', parameters: { type: 'object', properties: {} } },
];

const override = shape({
  agent: shape({
    prompt: shape({ prompt: string, llm: filled }),
    first_message: string,
    language: (value, path) =>
      typeof value === 'string' && /^([a-z]{2}|pt-br)$/.test(value)
        ? undefined
        : `${path} is no language of the service`,
    native_mcp_server_ids: arrayOf(filled, 0, 10),
  }),
  asr: shape({ keywords: arrayOf(filled) }),
  tts: shape({ voice_id: filled, stability: number(0, 1), speed: number(0.7, 5), similarity_boost: number(0, 1) }),
  conversation: shape({ text_only: boolean, client_events: arrayOf(filled, 1) }),
});

const variables: Check = (value, path) =>
  object(value, path) ??
  Object.entries(value as object)
    .map(([name, each]) => anyOf(string, number(), boolean)(each, `${path}.${name}`))
    .find((wrong) => wrong !== undefined);

const base64: Check = (value, path) =>
  typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value) ? undefined : `${path} must be base64`;

const typed = (type: string, members: Parameters<typeof shape>[0] = {}): Check =>
  shape({ type: required(oneOf(type)), ...members });

/** What a client may send, by type; audio has none. */
export const messageShapes: Readonly<Record<string, Check>> = {
  audio: shape({ user_audio_chunk: required(base64) }),
  conversation_initiation_client_data: typed('conversation_initiation_client_data', {
    ...{ conversation_config_override: override, custom_llm_extra_body: object, dynamic_variables: variables },
    ...{ user_id: filled, source_info: object, tool_mock_config: anything, environment: string },
  }),
  pong: typed('pong', { event_id: required(integer(0)) }),
  user_message: typed('user_message', { text: required(string) }),
  contextual_update: typed('contextual_update', { text: required(filled), context_id: filled }),
  user_activity: typed('user_activity'),
  feedback: typed('feedback', { event_id: required(integer(0)), score: anything }),
  mcp_tool_approval_result: typed('mcp_tool_approval_result', {
    ...{ tool_call_id: required(filled), is_approved: required(boolean) },
  }),
  client_tool_result: typed('client_tool_result', {
    ...{ tool_call_id: required(filled), result: required(string), is_error: required(boolean) },
  }),
};

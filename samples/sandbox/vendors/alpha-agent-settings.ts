import { isSampleEncoding } from '../pcm.ts';
import {
  anyOf,
  arrayOf,
  boolean,
  filled,
  integer,
  member,
  number,
  object,
  oneOf,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import type { Check } from '../validate.ts';

/** What is wrong with a message, as the service says it. */
export interface AgentFault {
  readonly code: string;
  readonly description: string;
}

/** Picks the shape by a member of the value, so that a complaint is about the shape that was meant. */
function variants(name: string, shapes: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    const kind = textMember(value, name);
    const check = Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
    return check ? check(value, path) : `${path}.${name} must be one of ${Object.keys(shapes).join(', ')}`;
  };
}

const endpoint = shape({ url: required(filled), headers: object });
const type = required(string);
const credentials = shape({
  type: required(oneOf('iam', 'sts')),
  ...{
    region: required(filled),
    access_key_id: required(filled),
    secret_access_key: required(filled),
    session_token: filled,
  },
});

const alphaListen = variants('version', {
  '': shape({ type, model: filled, language: filled, smart_format: boolean, keyterms: arrayOf(filled) }),
  v1: shape({
    type,
    version: string,
    model: filled,
    language: filled,
    smart_format: boolean,
    keyterms: arrayOf(filled),
  }),
  v2: shape({
    ...{
      type,
      version: string,
      model: required(oneOf('flux-general-en', 'flux-general-multi')),
      keyterms: arrayOf(filled),
    },
    ...{ language_hints: arrayOf(filled), eot_threshold: number(0.5, 1), eager_eot_threshold: number(0.3, 0.9) },
    eot_timeout_ms: integer(500, 60000),
  }),
});
const listen = shape({ provider: required(variants('type', { deepgram: alphaListen })) });

const thinkModel = { type, model: required(filled), version: filled };
const reasoning = oneOf('none', 'minimal', 'low', 'medium', 'high');
const thinkProvider = variants('type', {
  open_ai: shape({ ...thinkModel, temperature: number(0, 2), reasoning_mode: reasoning }),
  anthropic: shape({ ...thinkModel, temperature: number(0, 1) }),
  google: shape({ ...thinkModel, model: filled, temperature: number(0, 2) }),
  groq: shape({ ...thinkModel, temperature: number(0, 2), reasoning_mode: reasoning }),
  aws_bedrock: shape({ ...thinkModel, temperature: number(0, 2), credentials }),
});
const functionShape = shape({
  name: required(filled),
  description: string,
  parameters: object,
  endpoint: shape({ url: required(filled), method: filled, headers: object }),
  defer_until_eot: boolean,
});
const oneThink = shape({
  provider: required(thinkProvider),
  endpoint,
  prompt: string,
  functions: arrayOf(functionShape),
  context_length: anyOf(oneOf('max'), integer(1)),
});
const think = anyOrMany(oneThink);

const speakProvider = variants('type', {
  deepgram: shape({
    type,
    version: oneOf('v1', 'v2'),
    model: required(filled),
    speed: number(0.5, 1.5),
    expressivity: number(-2, 2),
  }),
  eleven_labs: shape({ type, version: filled, model_id: required(filled), language: filled, language_code: filled }),
  cartesia: shape({
    ...{ type, version: filled, model_id: required(filled), language: filled, volume: number(0.5, 2) },
    voice: required(shape({ mode: required(oneOf('id')), id: required(filled) })),
  }),
  open_ai: shape({ type, version: filled, model: required(filled), voice: required(filled) }),
  aws_polly: shape({
    ...{ type, voice: required(filled), language: filled, language_code: filled, credentials: required(credentials) },
    engine: required(oneOf('generative', 'long-form', 'standard', 'neural')),
  }),
});
const oneSpeak = shape({ provider: required(speakProvider), endpoint });
const speak = anyOrMany(oneSpeak);

function anyOrMany(check: Check): Check {
  return (value, path) => (Array.isArray(value) ? arrayOf(check, 1)(value, path) : check(value, path));
}

const historical = { type: required(oneOf('History')) };
const history: Check = (value, path) =>
  member(value, 'function_calls') === undefined
    ? shape({ ...historical, role: required(oneOf('user', 'assistant')), content: required(string) })(value, path)
    : shape({ ...historical, function_calls: required(arrayOf(pastCall, 1)) })(value, path);
const pastCall = shape({
  ...{ id: required(filled), name: required(filled), client_side: required(boolean) },
  ...{ arguments: required(string), response: required(string), thought_signature: filled },
});

const settings = shape({
  type: required(oneOf('Settings')),
  tags: arrayOf(string),
  experimental: boolean,
  mip_opt_out: boolean,
  flags: shape({ history: boolean }),
  audio: required(
    shape({
      input: shape({ encoding: required(filled), sample_rate: required(integer(8000, 48000)) }),
      output: shape({
        encoding: filled,
        sample_rate: integer(8000, 48000),
        bitrate: integer(1),
        container: oneOf('none', 'wav', 'ogg'),
      }),
    }),
  ),
  agent: required((value, path) =>
    typeof value === 'string'
      ? undefined
      : shape({
          ...{ language: filled, listen, think, speak, greeting: string },
          context: shape({ messages: arrayOf(history) }),
        })(value, path),
  ),
});

/** Providers that need an address of their own. */
const withEndpoint = { think: ['groq', 'aws_bedrock'], speak: ['eleven_labs', 'cartesia', 'open_ai', 'aws_polly'] };

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function blame(complaint: string | undefined): AgentFault | undefined {
  if (complaint === undefined) return undefined;
  const code = complaint.includes('not a known field') ? 'UNPARSABLE_CLIENT_MESSAGE' : 'INVALID_SETTINGS';
  return { code, description: complaint };
}

function missingEndpoint(agent: unknown, role: 'think' | 'speak'): string | undefined {
  const provider = textMember(member(first(member(agent, role)), 'provider'), 'type');
  const has = member(first(member(agent, role)), 'endpoint') !== undefined;
  return withEndpoint[role].includes(provider) && !has
    ? `agent.${role}.endpoint is required with ${provider}`
    : undefined;
}

/** What is wrong with `Settings`. */
export function checkSettings(message: unknown): AgentFault | undefined {
  const agent = member(message, 'agent');
  if (typeof agent === 'string') return { code: 'INVALID_AGENT_ID', description: 'The sandbox stores no agents.' };
  const audio = member(message, 'audio');
  const output = member(audio, 'output');
  const heard = textMember(member(audio, 'input'), 'encoding') || 'linear16';
  const spoken = textMember(output, 'encoding') || 'linear16';
  const container = textMember(output, 'container') || 'none';
  const model = textMember(member(first(member(agent, 'speak')), 'provider'), 'model');
  return blame(
    settings(message, '') ??
      missingEndpoint(agent, 'think') ??
      missingEndpoint(agent, 'speak') ??
      (isSampleEncoding(heard) ? undefined : `the sandbox cannot decode ${heard}`) ??
      (isSampleEncoding(spoken) && container === 'none'
        ? undefined
        : `the sandbox speaks raw samples, not ${spoken} in ${container}`) ??
      (model.startsWith('flux-') && container !== 'none' ? 'Flux voices take no container' : undefined),
  );
}

const kind = (name: string): Check & { readonly required: true } => required(oneOf(name));
const messages: Readonly<Record<string, Check>> = {
  KeepAlive: shape({ type: kind('KeepAlive') }),
  UpdatePrompt: shape({ type: kind('UpdatePrompt'), prompt: required(string) }),
  UpdateThink: shape({ type: kind('UpdateThink'), think: required(think) }),
  UpdateSpeak: shape({ type: kind('UpdateSpeak'), speak: required(speak) }),
  UpdateListen: shape({ type: kind('UpdateListen'), listen: required(listen) }),
  InjectUserMessage: shape({ type: kind('InjectUserMessage'), content: required(filled) }),
  InjectAgentMessage: shape({
    ...{ type: kind('InjectAgentMessage'), message: required(filled) },
    behavior: oneOf('default', 'queue', 'interrupt'),
  }),
  FunctionCallResponse: shape({
    ...{ type: kind('FunctionCallResponse'), id: required(filled), name: required(filled), content: required(string) },
  }),
  ForceEndTurn: shape({ type: kind('ForceEndTurn') }),
};

/** What is wrong with a message after `Settings`. */
export function checkMessage(name: string, message: unknown): AgentFault | undefined {
  const check = Object.hasOwn(messages, name) ? messages[name] : undefined;
  const complaint = check ? check(message, '') : `${name || 'this'} is not a message of this API`;
  return complaint === undefined ? undefined : { code: 'UNPARSABLE_CLIENT_MESSAGE', description: complaint };
}

import type { VoiceErrorCode } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { AgentText } from '../../core/roles.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import type { AgentContext, AgentProblem } from './agent-wire.ts';
import type { GammaAgentConfig } from './gamma-agent-session.ts';

/**
 * The settings, everything said so far, and what was typed meanwhile.
 *
 * @param typed - What the user typed while there was no connection; the history has it too.
 */
export function openingOf(
  typed: readonly string[],
  { config, history }: AgentContext<GammaAgentConfig>,
): readonly WireObject[] {
  const isTyped = ({ role, text }: AgentText): boolean => role === 'user' && typed.includes(text);
  const before = history.filter((line) => !isTyped(line));
  const texts = [...(config.context?.messages ?? []).map(({ role, content: text }) => ({ role, text })), ...before];
  return [
    settingsOf(config, before.length > 0),
    ...(texts.length > 0 ? [contextual(conversationOf(texts))] : []),
    ...typed.map(userMessage),
  ];
}

/** Tells the agent something without asking for a reply. */
export function contextual(text: string): WireObject {
  return { type: 'contextual_update', text };
}

/** A text as if the user had spoken it. */
export function userMessage(text: string): WireObject {
  return { type: 'user_message', text };
}

function conversationOf(texts: readonly AgentText[]): string {
  const lines = texts.map(({ role, text }) => `${role === 'user' ? 'User' : 'You'}: ${text}`);
  return ['The conversation with the user goes on. This was said so far:', ...lines].join('\n');
}

function settingsOf(config: GammaAgentConfig, isResumed: boolean): WireObject {
  const { instructions: prompt, model: llm, greeting, language, keywords } = config;
  const override = filled({
    agent: filled({
      prompt: filled({ prompt, llm }),
      // A resumed conversation is not greeted again.
      first_message: greeting !== undefined && isResumed ? '' : greeting,
      language: language && languageOf(language),
    }),
    asr: filled({ keywords }),
    tts: filled({
      voice_id: config.voiceId,
      stability: config.stability,
      speed: config.speed,
      similarity_boost: config.similarityBoost,
    }),
  });
  return {
    type: 'conversation_initiation_client_data',
    conversation_config_override: override,
    custom_llm_extra_body: config.customLlmExtraBody,
    dynamic_variables: config.dynamicVariables,
    user_id: config.userId,
    ...config.extraBody,
  };
}

/** An object, if it has any fields: without overrides, no permission is needed. */
function filled(fields: WireObject): WireObject | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}

function languageOf(tag: string): string {
  return /^pt-br$/i.test(tag) ? 'pt-br' : primaryLanguage(tag);
}

type Failure = readonly [code: VoiceErrorCode, mayPass: boolean, hint: string];

const setting: Failure = ['configuration', false, 'check the configuration'];
const override: Failure = ['configuration', false, "allow this override in the agent's security settings"];
const variable: Failure = ['configuration', false, 'the agent needs dynamicVariables that are not set'];
const slow: Failure = ['timeout', true, 'it took too long'];
const broken: Failure = ['server', true, 'it failed'];

/** What the service's errors mean, by type. */
const byType: Readonly<Record<string, Failure>> = {
  ...{ value_error: setting, missing_fields: setting, override_error: override },
  ...{ missing_dynamic_variable: variable, missing_dynamic_variable_transfer: variable },
  invalid_message: ['protocol', false, 'it did not understand a message'],
  safety_violation: ['forbidden', false, 'the conversation broke its rules of use'],
  max_duration_exceeded: ['server', false, 'the conversation has lasted as long as the agent allows'],
  ...{ llm_timeout: slow, asyncio_timeout: slow, redis_timeout_error: slow },
  transport_receive_timeout: ['timeout', true, 'it received nothing for too long'],
  ...{ llm_error: broken, custom_llm_error: broken, cascade_brain_error: broken, tts_cascade_error: broken },
};

/** What its sentences mean, in errors and close reasons. */
const bySentence: readonly (readonly [RegExp, Failure])[] = [
  [/quota|credits/i, ['quota', false, "the account's quota is used up"]],
  [/overrid/i, override],
  [/dynamic variable/i, variable],
  [/does not exist|not found/i, ['not_found', false, 'there is no such agent, or not in this region']],
  [/misconfigured/i, ['configuration', false, "the agent's own settings are wrong"]],
  [/authori[sz]|authenticat|api.?key|signature|signed/i, ['unauthorized', false, 'check the credential']],
  [/concurren|too many|rate.?limit/i, ['rate_limited', true, 'too many conversations at once']],
];

/** The service's own sentences never quote the conversation. */
const quotable: ReadonlySet<VoiceErrorCode> = new Set(['configuration', 'unauthorized', 'not_found', 'quota']);

/**
 * A failure of the service, by its type and its sentence.
 *
 * @param closeCode - For a close without a known sentence: whether another session may succeed depends on it.
 */
export function failureOf(
  type: string,
  sentence: string | undefined,
  requestId: string | undefined,
  closeCode?: number,
): AgentProblem {
  const known = ownEntry(byType, type) ?? bySentence.find(([pattern]) => pattern.test(sentence ?? ''))?.[1];
  // With 1002, the service closes after its own failures, such as the model's.
  const [code, recoverable, hint] = known ?? (closeCode === undefined || closeCode === 1002 ? broken : refused);
  const cause = sentence && quotable.has(code) ? sentence.slice(0, 300) : undefined;
  return { message: `the service reports ${type}: ${hint}`, code, recoverable, cause, requestId };
}

const refused: Failure = ['server', false, 'it ended the session; see the debug log'];

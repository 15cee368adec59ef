import type { AudioMetadata } from '../../audio/types.ts';
import type { WireObject } from '../../core/guard.ts';
import type { AgentText } from '../../core/roles.ts';
import { parametersOf } from '../../core/standard-schema.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { settingsId, thetaFormats, thetaTurnDetection } from '../theta-realtime.ts';
import type { AgentContext } from './agent-wire.ts';
import { outputOf, type ThetaAgentConfig, type ThetaAgentTurnDetection } from './theta-agent-session.ts';

/** A call, and its result once it has one. */
export interface ThetaCall {
  readonly id: string;
  readonly name: string;
  readonly argsText: string;
  readonly output?: string;
}

/**
 * The settings, and everything that was said so far.
 *
 * @param calls - Calls of the reply in progress: the model makes them again, under other ids, unless it knows of them.
 */
export function openingOf(
  { config, input, history }: AgentContext<ThetaAgentConfig>,
  calls: readonly ThetaCall[],
): readonly WireObject[] {
  const { context, greeting } = config;
  const before = (context?.messages ?? []).map(({ role, content }) => itemOf(role, content));
  return [
    updateOf(config, input),
    ...before,
    ...history.map(({ role, text }) => itemOf(role, text)),
    ...calls.flatMap(callItems),
    // A resumed conversation is not greeted again.
    ...(greeting && history.length === 0 ? [sayOf(greeting)] : []),
  ];
}

/**
 * The `session.update` message.
 *
 * @param hasSpoken - Whether the agent has spoken: from then on the service refuses any voice, even the same.
 */
export function updateOf(
  config: ThetaAgentConfig,
  { encoding }: AudioMetadata,
  hasSpoken: boolean = false,
): WireObject {
  // An empty value clears what the service has; an absent one leaves it.
  const {
    instructions = hasSpoken ? '' : undefined,
    voice,
    tools = hasSpoken ? [] : undefined,
    toolChoice,
    turnDetection = {},
    noiseReduction,
    speed,
  } = config;
  const session = {
    type: 'realtime',
    instructions,
    output_modalities: ['audio'],
    audio: {
      input: {
        format: thetaFormats[encoding],
        transcription: transcriptionOf(config),
        noise_reduction: noiseReduction && { type: noiseReduction },
        turn_detection: turnDetection === false ? null : detectionOf(turnDetection),
      },
      output: { format: thetaFormats[outputOf(config).encoding], voice: hasSpoken ? undefined : voice, speed },
    },
    tools: tools?.map((tool) => ({
      ...{ type: 'function', name: tool.name, description: tool.description },
      parameters: parametersOf(tool) ?? { type: 'object', properties: {} },
    })),
    tool_choice: typeof toolChoice === 'object' ? { type: 'function', name: toolChoice.name } : toolChoice,
    max_output_tokens: config.maxOutputTokens,
    reasoning: config.reasoningEffort && { effort: config.reasoningEffort },
    ...config.extraBody,
  };
  return { type: 'session.update', event_id: settingsId, session };
}

/** A text of the conversation. */
export function itemOf(role: AgentText['role'], text: string): WireObject {
  const content = [{ type: role === 'user' ? 'input_text' : 'output_text', text }];
  return { type: 'conversation.item.create', item: { type: 'message', role, content } };
}

/** A call's result. */
export function resultItem(id: string, output: string): WireObject {
  return { type: 'conversation.item.create', item: { type: 'function_call_output', call_id: id, output } };
}

function callItems({ id, name, argsText, output }: ThetaCall): WireObject[] {
  const item = { type: 'function_call', call_id: id, name, arguments: argsText };
  return [{ type: 'conversation.item.create', item }, ...(output === undefined ? [] : [resultItem(id, output)])];
}

/** Asks for a reply with given words: the service has no message for that. */
export function sayOf(text: string): WireObject {
  const instructions = `Say the following to the user, word for word, and nothing else:\n${text}`;
  return { type: 'response.create', response: { instructions, tool_choice: 'none' } };
}

function detectionOf({ idleTimeoutMs, ...options }: ThetaAgentTurnDetection): WireObject {
  return { ...thetaTurnDetection(options), idle_timeout_ms: idleTimeoutMs };
}

function transcriptionOf({ transcription = {} }: ThetaAgentConfig): WireObject {
  const { model = 'gpt-transcribe', prompt } = transcription;
  const language = transcription.language && primaryLanguage(transcription.language);
  const isListing = /^gpt-(live-)?transcribe$/.test(model);
  return { model, prompt, ...(isListing ? { languages: language && [language] } : { language }) };
}

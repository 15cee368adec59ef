import type { WireObject } from '../../core/guard.ts';
import type { AgentText } from '../../core/roles.ts';
import { parametersOf } from '../../core/standard-schema.ts';
import type { AgentContext } from './agent-wire.ts';
import type { AgentTool } from './function-calls.ts';
import { modelOf, type OmicronAgentCompression, type OmicronAgentConfig } from './omicron-agent-session.ts';

/** What a connection needs to continue a conversation. */
export interface Restored {
  /** The service remembers what was said up to here. */
  readonly handle: string | undefined;
  /** What it is given instead. */
  readonly turns: readonly WireObject[];
  /** What it is asked at once: a question that was lost, or the greeting. */
  readonly ask: string | undefined;
}

/** How a conversation continues: from the service's own memory if that is complete, else from what was heard. */
export function restored(
  { handle, untold }: { readonly handle: string | undefined; readonly untold: number },
  { config, history }: AgentContext<OmicronAgentConfig>,
): Restored {
  const last = history.at(-1);
  const question = last?.role === 'user' ? last.text : undefined;
  if (handle !== undefined && untold <= (question === undefined ? 0 : 1)) {
    return { handle, turns: [], ask: untold > 0 ? question : undefined };
  }
  const told = question === undefined ? history : history.slice(0, -1);
  const before = (config.context?.messages ?? []).map(({ role, content }) => turnOf(role, content));
  const { greeting } = config;
  // A resumed conversation is not greeted again.
  const ask = question ?? (greeting && history.length === 0 ? sayOf(greeting) : undefined);
  return { handle: undefined, turns: [...before, ...told.map(({ role, text }) => turnOf(role, text))], ask };
}

/** The `setup` message. */
export function setupOf(config: OmicronAgentConfig, { handle, turns }: Restored): WireObject {
  const { instructions, tools = [], compression = {}, thinkingLevel, transcription = {} } = config;
  const setup = {
    model: modelOf(config).includes('/') ? modelOf(config) : `models/${modelOf(config)}`,
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: speechOf(config),
      thinkingConfig: thinkingLevel && { thinkingLevel: wireName(thinkingLevel) },
      temperature: config.temperature,
      maxOutputTokens: config.maxOutputTokens,
    },
    systemInstruction: instructions ? { parts: [{ text: instructions }] } : undefined,
    tools: tools.length > 0 ? [{ functionDeclarations: tools.map((tool) => declared(tool, config)) }] : undefined,
    realtimeInputConfig: detectionOf(config),
    inputAudioTranscription: { languageCodes: transcription.languages, customVocabulary: transcription.vocabulary },
    outputAudioTranscription: {},
    sessionResumption: { handle },
    contextWindowCompression: compression !== false ? compressionOf(compression) : undefined,
    historyConfig: turns.length > 0 ? { initialHistoryInClientContent: true } : undefined,
    ...config.extraBody,
  };
  return { setup };
}

/** What follows the setup. */
export function prologueOf({ turns, ask }: Restored): readonly WireObject[] {
  return [
    ...(turns.length > 0 ? [{ clientContent: { turns, turnComplete: true } }] : []),
    ...(ask === undefined ? [] : [askOf(ask)]),
  ];
}

/** A text that is to be replied to at once. */
export function askOf(text: string): WireObject {
  return { clientContent: { turns: [turnOf('user', text)], turnComplete: true } };
}

/** Asks for a reply with given words: the service has no message for that. */
export function sayOf(text: string): string {
  return `Say the following to the user, word for word, and nothing else:\n${text}`;
}

function turnOf(role: AgentText['role'], text: string): WireObject {
  return { role: role === 'user' ? 'user' : 'model', parts: [{ text }] };
}

function speechOf({ voice, language: languageCode }: OmicronAgentConfig): WireObject | undefined {
  if (!voice && !languageCode) return undefined;
  return { voiceConfig: voice ? { prebuiltVoiceConfig: { voiceName: voice } } : undefined, languageCode };
}

function declared(tool: AgentTool, { functionBehavior }: OmicronAgentConfig): WireObject {
  return {
    ...{ name: tool.name, description: tool.description, parametersJsonSchema: parametersOf(tool) },
    behavior: functionBehavior && wireName(functionBehavior),
  };
}

function detectionOf({ turnDetection }: OmicronAgentConfig): WireObject | undefined {
  if (turnDetection === undefined) return undefined;
  if (turnDetection === false) return { automaticActivityDetection: { disabled: true } };
  const { startSensitivity, endSensitivity, prefixPaddingMs, silenceDurationMs, interrupts = true } = turnDetection;
  return {
    automaticActivityDetection: {
      startOfSpeechSensitivity: startSensitivity && `START_SENSITIVITY_${wireName(startSensitivity)}`,
      endOfSpeechSensitivity: endSensitivity && `END_SENSITIVITY_${wireName(endSensitivity)}`,
      prefixPaddingMs,
      silenceDurationMs,
    },
    activityHandling: interrupts ? undefined : 'NO_INTERRUPTION',
  };
}

/** 64-bit numbers are strings on the wire. */
function compressionOf({ triggerTokens, targetTokens }: OmicronAgentCompression): WireObject {
  const textOf = (count: number | undefined): string | undefined => (count === undefined ? undefined : String(count));
  return { triggerTokens: textOf(triggerTokens), slidingWindow: { targetTokens: textOf(targetTokens) } };
}

/** One of the wire's constants. */
export function wireName(word: string): string {
  return word.toUpperCase().replace('-', '_');
}

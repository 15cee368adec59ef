import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { AgentText } from '../../core/roles.ts';
import type { ThetaAccount, ThetaTurnDetection } from '../theta-realtime.ts';
import type { AgentConfig } from './agent-wire.ts';
import type { AgentTool } from './function-calls.ts';
import { toolsProblem } from './tools-problem.ts';

/** Configuration of {@link ThetaAgent}. */
export interface ThetaAgentConfig extends AgentConfig, ThetaAccount {
  /** Default: `gpt-realtime-2.1`. */
  readonly model?: ThetaAgentModel;
  /** A voice's name, or the id of one of your own. Default: the service's; it recommends `marin` and `cedar`. */
  readonly voice?: ThetaAgentVoice;
  /** Who the agent is, and how it talks. Default: the service's. */
  readonly instructions?: string;
  /** What the agent is asked to say at the start of a session. Default: it waits for the user. */
  readonly greeting?: string;
  /** Functions that the model may call: they run themselves, or `onFunctionCall` runs them. Default: none. */
  readonly tools?: readonly AgentTool[];
  /** Whether the model may, must or must not call a function, or which one it must call. Default: `auto`. */
  readonly toolChoice?: 'auto' | 'required' | 'none' | { readonly name: string };
  /** What was said before this session. */
  readonly context?: { readonly messages: readonly { readonly role: AgentText['role']; readonly content: string }[] };
  /** How the service detects the user's turns; `false` leaves it to `startTurn()` and `endTurn()`. Default: by silence. */
  readonly turnDetection?: ThetaAgentTurnDetection | false;
  /** For a microphone close to the mouth, or across the room. Default: none. */
  readonly noiseReduction?: 'near_field' | 'far_field' | (string & {});
  /** How the user's words are transcribed; the model itself hears the audio. */
  readonly transcription?: ThetaAgentTranscription;
  /** Speaking speed, as a multiple of the normal one, 0.25 to 1.5. Default: 1. */
  readonly speed?: number;
  /** Longest reply, in tokens, 1 to 4,096. Default: no limit. */
  readonly maxOutputTokens?: number;
  /** How much the model reasons; reasoning models only. Default: the service's. */
  readonly reasoningEffort?: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | (string & {});
  /** The encoding of the agent's audio: linear16 at 24,000 Hz, or mulaw or alaw at 8,000 Hz. Default: linear16. */
  readonly outputEncoding?: 'linear16' | 'mulaw' | 'alaw';
  /** Further fields of the wire's `session`; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** How a page connects, from the next `connect()` on: `webrtc` needs a browser. Default: `websocket`. */
  readonly transport?: 'websocket' | 'webrtc';
  /**
   * Where the page serves the package's file `rxvoice/worklets.js`, for pages whose Content-Security-Policy forbids
   * `blob:` scripts; `webrtc` only. Default: the AudioWorklet is inlined.
   */
  readonly workletUrl?: string;
}

/** A model of {@link ThetaAgent}; others are passed through. */
export type ThetaAgentModel = 'gpt-realtime-2.1' | 'gpt-realtime-2.1-mini' | 'gpt-realtime-2' | (string & {});

/** A voice of {@link ThetaAgent}; other names are passed through. */
export type ThetaAgentVoice =
  | ('alloy' | 'ash' | 'ballad' | 'coral' | 'echo' | 'sage' | 'shimmer' | 'verse' | 'marin' | 'cedar')
  | (string & {})
  | { readonly id: string };

/** How {@link ThetaAgent} detects the end of the user's turn. */
export interface ThetaAgentTurnDetection extends ThetaTurnDetection {
  /** Silence after which the agent speaks up on its own, in milliseconds; `server_vad` only. Default: never. */
  readonly idleTimeoutMs?: number;
}

/** How {@link ThetaAgent} transcribes what the user says. */
export interface ThetaAgentTranscription {
  /** Transcribes the user's words; the agent itself hears the audio. Default: `gpt-transcribe`. */
  readonly model?: string;
  /** ISO 639-1, as a hint. */
  readonly language?: string;
  /** What the conversation is about, and words to expect. */
  readonly prompt?: string;
}

/** Rules for the configuration. */
export const thetaAgentRules: ConfigRules = {
  ...{ tools: {}, extraBody: {}, workletUrl: {}, organizationId: {}, projectId: {} },
  model: { type: 'text', default: 'gpt-realtime-2.1' },
  instructions: { type: 'text' },
  greeting: { type: 'text' },
  'voice.id': { type: 'text' },
  'context.messages': {},
  'toolChoice.name': { type: 'text' },
  'turnDetection.type': { known: ['server_vad', 'semantic_vad'] },
  'turnDetection.threshold': { min: 0, max: 1 },
  'turnDetection.prefixPaddingMs': { min: 0, integer: true },
  'turnDetection.silenceDurationMs': { min: 0, integer: true },
  'turnDetection.idleTimeoutMs': { min: 5_000, max: 30_000, integer: true },
  'turnDetection.eagerness': { known: ['low', 'medium', 'high', 'auto'] },
  noiseReduction: { known: ['near_field', 'far_field'] },
  'transcription.model': { type: 'text' },
  'transcription.language': { type: 'text' },
  'transcription.prompt': { type: 'text' },
  speed: { min: 0.25, max: 1.5 },
  maxOutputTokens: { min: 1, max: 4_096, integer: true },
  reasoningEffort: { known: ['minimal', 'low', 'medium', 'high', 'xhigh'] },
  outputEncoding: { oneOf: ['linear16', 'mulaw', 'alaw'] },
  transport: { oneOf: ['websocket', 'webrtc'] },
  functionTimeoutMs: { min: 1 },
};

/** What is wrong with the tools or the transport, as a sentence; `undefined` if nothing. */
export function thetaAgentConflict(config: ThetaAgentConfig): string | undefined {
  return toolsConflict(config) ?? (config.transport === 'webrtc' ? callConflict(config) : undefined);
}

function callConflict(config: ThetaAgentConfig): string | undefined {
  if (!('RTCPeerConnection' in globalThis)) return "transport: 'webrtc' needs a browser: elsewhere leave it out";
  if (outputOf(config).encoding === 'linear16') return undefined;
  return "outputEncoding must be linear16 with transport: 'webrtc'";
}

function toolsConflict({ tools = [], toolChoice }: ThetaAgentConfig): string | undefined {
  const problem = toolsProblem(tools);
  const chosen = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  if (problem !== undefined || chosen === undefined || tools.some(({ name }) => name === chosen)) return problem;
  return `toolChoice: there is no tool "${chosen}"`;
}

/** The model in use. */
export function modelOf({ model }: ThetaAgentConfig): string {
  return model ?? 'gpt-realtime-2.1';
}

/** The format of the agent's audio. */
export function outputOf({ outputEncoding: encoding = 'linear16' }: ThetaAgentConfig): AudioMetadata {
  return { encoding, sampleRate: encoding === 'linear16' ? 24_000 : 8_000, channels: 1 };
}

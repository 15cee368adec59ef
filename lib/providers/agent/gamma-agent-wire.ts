import { sameFormat } from '../../audio/described.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64, encodeBase64 } from '../../core/base64.ts';
import { asNumber, asObject, asString, wireWord, type WireObject } from '../../core/guard.ts';
import type { AgentContext, AgentEffect, AgentReader, AgentStep, LateAgentPart } from './agent-wire.ts';
import { contextual, failureOf, openingOf, userMessage } from './gamma-agent-opening.ts';
import { formatNamed, gammaAgentFormat, type GammaAgentConfig } from './gamma-agent-session.ts';

/** A session of {@link GammaAgent}. */
export interface GammaAgentState {
  /** The service's id of the conversation on the present connection, or on the latest. */
  readonly conversationId: string | undefined;
  /** The format of the agent's audio. */
  readonly output: AudioMetadata;
  /** The event that last interrupted the agent: its audio up to there is not heard. */
  readonly interrupted: number;
  /** Whether the agent is replying, as far as its audio shows. */
  readonly isReplying: boolean;
  /** What must not be heard: a second greeting, or the rest of a reply that was cut off. */
  readonly muted: 'greeting' | 'rest' | undefined;
  /** Whether the user has been reported as speaking. */
  readonly isUserSpeaking: boolean;
  /** What the user typed while there was no connection: the opening holds it. */
  readonly typed: readonly string[];
  /** What the user typed, which the service may transcribe as if spoken. */
  readonly echoes: readonly string[];
  /** When the user's words came, until the reply begins. */
  readonly wordsAt: number | undefined;
  /** The error that ended the previous connection, until the agent has spoken. */
  readonly failedWith: string | undefined;
}

/** Steps for the application's commands, and their messages. */
export interface GammaCode {
  readonly contextual: typeof contextual;
  readonly typed: typeof typed;
}

type Context = AgentContext<GammaAgentConfig>;
type Step = AgentStep<GammaAgentState>;
type Reader = AgentReader<GammaAgentConfig, GammaAgentState>;

const start: GammaAgentState = {
  ...{ conversationId: undefined, output: gammaAgentFormat, interrupted: -1, isReplying: false, muted: undefined },
  ...{ isUserSpeaking: false, typed: [], echoes: [], wordsAt: undefined, failedWith: undefined },
};

/** Silence after which a reply is over, in milliseconds: audio comes faster than it sounds. */
const quietMs = 1_000;
/** Most typed texts remembered until they are echoed. */
const maxEchoes = 16;

const ignored: Reader = (state) => [state];

/** ElevenLabs' wire for agents, which pages load when the agent is initialized. */
export const wire: LateAgentPart<GammaAgentConfig, GammaAgentState> & GammaCode = {
  ...{ contextual, typed },
  path: '/v1/convai/conversation',
  query: ({ agentId }) => ({ agent_id: agentId }),
  tools: ({ tools = [] }) => tools,
  output: (_config, { output }) => output,
  start: () => start,
  opening: ({ typed }, context) => openingOf(typed, context),
  readyAfter: 'conversation_initiation_metadata',
  encode: (data) => `{"user_audio_chunk":"${encodeBase64(data)}"}`,
  lost: (state) => [state, { type: 'unanswered' }],
  quiet: { afterMs: quietMs, read: (state) => [{ ...state, isReplying: false }, { type: 'audio-done' }] },
  read: {
    conversation_initiation_metadata: onReady,
    ping: (state, { ping_event: event }) => [
      state,
      { type: 'send', message: { type: 'pong', event_id: asObject(event)?.['event_id'] } },
    ],
    tentative_user_transcript: (state, { tentative_user_transcription_event: event }) => {
      const text = asString(asObject(event)?.['user_transcript'])?.trim();
      // While the agent speaks, the service decides whether that is an interruption.
      if (!text || state.isReplying) return [state];
      const [speaking, ...started] = voiced(state);
      return [speaking, ...started, { type: 'interim', text }];
    },
    user_transcript: onWords,
    interruption: (state, { interruption_event: event }) => {
      const interrupted = asNumber(asObject(event)?.['event_id']) ?? state.interrupted;
      return voiced({ ...state, interrupted: Math.max(state.interrupted, interrupted), muted: undefined });
    },
    agent_response: onResponse,
    agent_response_correction: (state, { agent_response_correction_event: event }) => {
      const { original_agent_response: original, corrected_agent_response: text } = asObject(event) ?? {};
      const [before, after] = [asString(original)?.trim(), asString(text)?.trim() ?? ''];
      return before ? [state, { type: 'corrected', original: before, text: after }] : [state];
    },
    audio: onAudio,
    client_tool_call: (state, { client_tool_call: call }) => {
      const { tool_call_id: id, tool_name: name, parameters } = asObject(call) ?? {};
      return [state, ...called(asString(id), asString(name), asObject(parameters) ?? {})];
    },
    agent_tool_request: (state, { agent_tool_request: call }) => [state, ...ownCall(asObject(call) ?? {})],
    agent_tool_response: (state, { agent_tool_response: call }) => [state, ...ownResult(asObject(call) ?? {})],
    agent_tool_response_full_payload: (state, { agent_tool_response_full_payload: call }) => [
      state,
      ...ownResult(asObject(call) ?? {}),
    ],
    mcp_tool_call: (state, { mcp_tool_call: call }) => [state, ...approvalDue(asObject(call) ?? {})],
    context_usage: (state, { context_usage_event: event }) => {
      const inputTokens = asNumber(asObject(event)?.['context_tokens']);
      return inputTokens === undefined ? [state] : [state, { type: 'usage', usage: { inputTokens } }];
    },
    guardrail_triggered: (state) => [
      state,
      {
        ...{ type: 'warning', message: "one of the agent's guardrails stopped a reply", code: 'forbidden' },
        ...{ recoverable: true, requestId: state.conversationId },
      },
    ],
    error: onError,
    ...{ vad_score: ignored, asr_initiation_metadata: ignored, internal_tentative_agent_response: ignored },
    ...{ internal_turn_probability: ignored, agent_chat_response_part: ignored, agent_response_complete: ignored },
  },
  result: (state, { id }, { type, content }) => [
    state,
    {
      type: 'send',
      message: { type: 'client_tool_result', tool_call_id: id, result: content, is_error: type === 'error' },
    },
  ],
  // The service has no message for that: the rest of the reply is dropped here.
  cut: (state) => [state.isReplying ? { ...state, isReplying: false, muted: 'rest' } : state],
  closes({ code, reason }, { conversationId }) {
    if (code === 1000) return 'hung-up';
    return code === 1002 || code === 1008 || (code >= 3000 && code < 5000)
      ? failureOf(`a close with ${code}`, reason, conversationId, code)
      : undefined;
  },
};

/** What the user types is heard by the agent as if spoken. */
function typed(state: GammaAgentState, text: string, isOpen: boolean): Step {
  const said = { type: 'said', role: 'user', text } as const;
  const echoes = [...state.echoes, text.trim()].slice(-maxEchoes);
  if (!isOpen) return [{ ...state, echoes, typed: [...state.typed, text] }, said];
  const muted = state.isReplying ? 'rest' : state.muted === 'greeting' ? undefined : state.muted;
  return [{ ...state, echoes, isReplying: false, muted }, said, { type: 'send', message: userMessage(text) }];
}

function onReady(state: GammaAgentState, message: WireObject, { config, input, history }: Context): Step {
  const event = asObject(message['conversation_initiation_metadata_event']) ?? {};
  const conversationId = asString(event['conversation_id']);
  const [takes, gives] = [asString(event['user_input_audio_format']), asString(event['agent_output_audio_format'])];
  const [taken, given] = [formatNamed(takes ?? 'pcm_16000'), formatNamed(gives ?? 'pcm_16000')];
  const isResumed = state.conversationId !== undefined && history.length > 0;
  const next: GammaAgentState = {
    ...start,
    conversationId,
    echoes: state.echoes,
    failedWith: state.failedWith,
    output: given ?? gammaAgentFormat,
    muted: isResumed && config.greeting === undefined ? 'greeting' : undefined,
  };
  const log: AgentEffect = { type: 'log', text: `conversation ${conversationId ?? 'without an id'}` };
  const problem = {
    type: 'failure',
    code: 'unsupported_format',
    recoverable: false,
    requestId: conversationId,
  } as const;
  if (!given) return [next, log, { ...problem, message: `the agent speaks ${wireWord(gives)}: set it to pcm or ulaw` }];
  if (taken && sameFormat(taken, input)) return [next, log];
  const advice = taken ? `set inputFormat to ${wireWord(takes)}` : "set the agent's input to pcm or ulaw";
  return [next, log, { ...problem, message: `the agent takes ${wireWord(takes)}: ${advice}` }];
}

/** The user speaks; reported once. */
function voiced(state: GammaAgentState): Step {
  const next = { ...state, isReplying: false, isUserSpeaking: true };
  return state.isUserSpeaking ? [next] : [next, { type: 'voice', is: 'started' }];
}

/** The agent speaks, so the user no longer does, even if no words arrived. */
function answering(state: GammaAgentState): Step {
  const next = { ...state, isReplying: true, isUserSpeaking: false };
  return state.isUserSpeaking ? [next, { type: 'voice', is: 'ended' }] : [next];
}

function onWords(state: GammaAgentState, message: WireObject, { now }: Context): Step {
  const text = asString(asObject(message['user_transcription_event'])?.['user_transcript'])?.trim();
  if (!text) return [state];
  if (state.echoes.includes(text) && !state.isUserSpeaking) {
    return [{ ...state, echoes: state.echoes.filter((each) => each !== text) }];
  }
  const [next, ...started] = voiced({ ...state, muted: undefined, wordsAt: now });
  return [{ ...next, isUserSpeaking: false }, ...started, { type: 'said', role: 'user', text }];
}

function onResponse(state: GammaAgentState, message: WireObject): Step {
  const event = asObject(message['agent_response_event']) ?? {};
  const text = asString(event['agent_response'])?.trim();
  if (!text || isInterrupted(state, event)) return [state];
  if (state.muted === 'greeting') return [{ ...state, muted: 'rest' }];
  const [next, ...ended] = answering({ ...state, muted: undefined });
  return [next, ...ended, { type: 'said', role: 'assistant', text }];
}

function onAudio(state: GammaAgentState, message: WireObject, { now }: Context): Step {
  const event = asObject(message['audio_event']) ?? {};
  const data = decodeBase64(asString(event['audio_base_64']) ?? '');
  if (!data || data.length === 0 || state.muted || isInterrupted(state, event)) return [state];
  const { wordsAt } = state;
  const latency: readonly AgentEffect[] =
    wordsAt === undefined ? [] : [{ type: 'latency', latency: { totalMs: now - wordsAt } }];
  const [next, ...ended] = answering({ ...state, wordsAt: undefined, failedWith: undefined });
  return [next, ...ended, ...latency, { type: 'audio', data }];
}

/** Whether an event belongs to a reply that was interrupted. */
function isInterrupted({ interrupted }: GammaAgentState, event: WireObject): boolean {
  return (asNumber(event['event_id']) ?? Infinity) <= interrupted;
}

function called(id: string | undefined, name: string | undefined, args: WireObject, clientSide = true): AgentEffect[] {
  if (!id || !name) return [];
  return [{ type: 'call', call: { id, name, args, argsText: JSON.stringify(args), clientSide } }];
}

/** A call that the service runs itself; it reports client tools too. */
function ownCall({ tool_call_id: id, tool_name: name, tool_type: type }: WireObject): AgentEffect[] {
  return type === 'client' ? [] : called(asString(id), asString(name), {}, false);
}

function ownResult(call: WireObject): AgentEffect[] {
  const { tool_call_id: id, tool_name: name, is_error: isError, full_tool_result: full } = call;
  const content = asString(full) ?? (isError === true ? '{"error":"it failed"}' : '{"ok":true}');
  return ownCall(call).flatMap((told) => [
    told,
    { type: 'called', id: asString(id), name: asString(name) ?? '', content },
  ]);
}

/** The service waits for minutes for an approval that only a person can give. */
function approvalDue({ tool_name: name, state: step }: WireObject): AgentEffect[] {
  if (step !== 'awaiting_approval') return [];
  const message = `the agent is waiting for approval of ${wireWord(name)}, which this SDK cannot give: turn approval off for that tool`;
  return [{ type: 'warning', message, code: 'configuration', recoverable: true }];
}

function onError(state: GammaAgentState, message: WireObject): Step {
  const event = asObject(message['error_event']) ?? message;
  const type = wireWord(event['error_type'] ?? 'an error');
  const sentence = [event['message'], event['reason']].map(asString).find(Boolean);
  const problem = failureOf(type, sentence, state.conversationId);
  // Whatever fails twice without a reply in between will fail again.
  const recoverable = problem.recoverable && state.failedWith !== type;
  const log: AgentEffect = { type: 'log', text: `was told: ${sentence?.slice(0, 300) ?? 'nothing'}` };
  return [{ ...state, failedWith: type }, log, { type: 'failure', ...problem, recoverable }];
}

import { encodeBase64 } from '../../core/base64.ts';
import type { SocketClose } from '../../transport/reconnecting-socket.ts';
import type { AgentProblem, LateAgentPart } from './agent-wire.ts';
import { resultOf } from './omicron-agent-messages.ts';
import { omicronPath, type OmicronAgentConfig } from './omicron-agent-session.ts';
import { restored, setupOf } from './omicron-agent-setup.ts';
import {
  answered,
  cut,
  leave,
  lost,
  newSession,
  readMessage,
  ready,
  say,
  turnEnded,
  turnStarted,
  typed,
  typeOf,
  type OmicronAgentState,
} from './omicron-agent-turns.ts';

/** Steps for the application's commands. */
export interface OmicronCode {
  readonly leave: typeof leave;
  readonly say: typeof say;
  readonly turnEnded: typeof turnEnded;
  readonly turnStarted: typeof turnStarted;
  readonly typed: typeof typed;
}

/** What the reasons of a close mean, and the code 1007. */
const failures: readonly (Omit<AgentProblem, 'cause'> & { readonly reason: RegExp })[] = [
  {
    reason: /api.?key|unauthenticated|credential|token (has |is )?(expired|invalid|not)/i,
    ...{ code: 'unauthorized', message: 'the credential was rejected', recoverable: false },
  },
  {
    reason: /quota|rate limit|exhausted/i,
    ...{ code: 'rate_limited', message: 'the quota is used up for now', recoverable: true },
  },
  {
    reason: /permission|denied|location is not supported/i,
    ...{ code: 'forbidden', message: 'it refuses this account', recoverable: false },
  },
  {
    reason: /not found for api version|not supported for bidi/i,
    ...{ code: 'configuration', message: 'check model', recoverable: false },
  },
];

/** Gemini's wire for speech-to-speech, which pages load when the agent is initialized. */
export const wire: LateAgentPart<OmicronAgentConfig, OmicronAgentState> & OmicronCode = {
  ...{ leave, say, turnEnded, turnStarted, typed },
  path: omicronPath,
  tools: ({ tools = [] }) => tools,
  output: () => ({ encoding: 'linear16', sampleRate: 24_000, channels: 1 }),
  start: () => newSession,
  opening: (state, context) => [setupOf(context.config, restored(state, context))],
  readyAfter: 'setupComplete',
  prologue: ({ prologue }) => prologue,
  typeOf,
  encode: (data) => `{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"${encodeBase64(data)}"}}}`,
  read: { setupComplete: ready, message: readMessage },
  result: (state, call, { content }, extras) => answered(state, call, resultOf(call, content, extras)),
  cut: (state, parts) => [
    state.phase === 'speaking' && parts.some(({ item }) => item === String(state.replies)) ? cut(state) : state,
  ],
  lost,
  closes: problemOf,
};

/** What a close means; `undefined` for a lost connection. */
function problemOf({ code, reason }: SocketClose, { isReady, handle }: OmicronAgentState): AgentProblem | undefined {
  // The session is not resumed: the next connection restores it otherwise.
  if (!isReady && handle !== undefined) return undefined;
  const known = failures.find((each) => each.reason.test(reason));
  const cause = reason || undefined;
  const text = (message: string): string => `the service closed the session (${code}): ${message}`;
  if (known) return { message: text(known.message), code: known.code, recoverable: known.recoverable, cause };
  if (code !== 1007 && (code !== 1008 || isReady)) return undefined;
  // The settings contain nothing that was said.
  const detail = isReady || !reason ? 'it rejected what it was sent' : reason.slice(0, 300);
  return { message: text(detail), code: 'configuration', recoverable: false, cause };
}

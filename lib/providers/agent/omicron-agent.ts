import { asyncScheduler } from 'rxjs';
import { encodeBase64 } from '../../core/base64.ts';
import type { Logger } from '../../core/logger.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { ReconnectingSocketOptions, SocketClose } from '../../transport/reconnecting-socket.ts';
import { omicronAgent } from '../retiring.ts';
import type { AgentProblem, AgentWire } from './agent-wire.ts';
import { resultOf } from './omicron-agent-messages.ts';
import {
  omicronAgentConflict,
  omicronAgentRules,
  restored,
  setupOf,
  type OmicronAgentConfig,
} from './omicron-agent-session.ts';
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
import { StreamingAgent } from './streaming-agent.ts';

const service = (version: string): string => `/ws/google.ai.generativelanguage.${version}.GenerativeService`;
const path = `${service('v1beta')}.BidiGenerateContent`;
/** Where short-lived tokens are taken. */
const tokenPath = `${service('v1alpha')}.BidiGenerateContentConstrained`;

/** Between two pings, in milliseconds: the service takes up to 30 s to answer one. */
const pingMs = 20_000;

/** Keys that are fixed for a session, and keys that need another conversation. */
const sessionKeys = [
  ...['model', 'voice', 'language', 'instructions', 'tools', 'functionBehavior', 'turnDetection', 'transcription'],
  ...['temperature', 'maxOutputTokens', 'thinkingLevel', 'compression', 'extraBody', 'proxyUrl', 'endpoint'],
];
const otherKeys = ['model', 'proxyUrl', 'endpoint'];

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

/** Gemini's wire for speech-to-speech. */
const wire: AgentWire<OmicronAgentConfig, OmicronAgentState> = {
  name: 'OmicronAgent',
  baseUrl: 'https://generativelanguage.googleapis.com',
  path,
  accepts: [{ encoding: 'linear16', sampleRates: [16_000] }],
  rules: omicronAgentRules,
  conflict: omicronAgentConflict,
  retiring: omicronAgent,
  tools: ({ tools = [] }) => tools,
  input: () => ({ encoding: 'linear16', sampleRate: 16_000, channels: 1 }),
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

/**
 * Gemini Live API at `wss://generativelanguage.googleapis.com/ws/…BidiGenerateContent`: a model that hears and speaks,
 * behind one connection. See https://ai.google.dev/gemini-api/docs/live-api.
 *
 * After a lost connection, and when the service announces the end of one, about every 10 minutes, it resumes the
 * session, or restores the conversation as it was heard.
 */
export class OmicronAgent extends StreamingAgent<OmicronAgentConfig, OmicronAgentState> {
  constructor(config: OmicronAgentConfig, logger?: Logger) {
    super(wire, config, logger);
  }

  /** Sends a text to the agent as if the user had spoken it; a reply in progress is cut off. */
  override injectUserMessage(text: string): void {
    this.act('injectUserMessage', (state) => typed(state, text));
  }

  /** Asks the agent to say a text, after what it is saying. As a model, it may change the wording. */
  override injectAgentMessage(text: string): void {
    this.act('injectAgentMessage', (state) => say(state, text));
  }

  /**
   * The user begins to speak: with `turnDetection: false`, what is heard from now on is their turn. A reply in progress
   * is cut off.
   *
   * @throws VoiceError `not_ready` when there is no session, `configuration` when the service detects turns itself.
   */
  startTurn(): void {
    this.#assertManual('startTurn');
    this.act('startTurn', (state) => turnStarted(state, this.#now));
  }

  /**
   * The user has spoken: the agent replies.
   *
   * @throws VoiceError `not_ready` when there is no session, `configuration` when the service detects turns itself.
   */
  endTurn(): void {
    this.#assertManual('endTurn');
    this.act('endTurn', (state) => turnEnded(state, this.#now));
  }

  protected override sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    const { request, keepAlive, ...options } = super.sessionOptions();
    return {
      ...options,
      keepAlive: { ...keepAlive, intervalMs: pingMs },
      request: async (context) => {
        const { url, ...rest } = await request(context);
        const address = new URL(url);
        if (rest.query?.['access_token']) address.pathname = address.pathname.replace(path, tokenPath);
        return { ...rest, url: address };
      },
    };
  }

  protected override socketCredentials(key: string): SocketCredentials {
    if (!key.startsWith('auth_tokens/')) return { headers: { 'x-goog-api-key': key }, query: { key } };
    return { headers: { Authorization: `Token ${key}` }, query: { access_token: key } };
  }

  /** A session's settings are fixed: a new connection applies them, at the next silence. */
  protected override onConfigUpdate(changes: Partial<OmicronAgentConfig>): void {
    const has = (keys: readonly string[]): boolean => keys.some((key) => key in changes);
    if (!this.hasSession || !has(sessionKeys)) return;
    this.act('updateConfig', (state) => leave(has(otherKeys) ? { ...state, handle: undefined } : state));
  }

  get #now(): number {
    return (this.config.scheduler ?? asyncScheduler).now();
  }

  #assertManual(method: string): void {
    if (this.config.turnDetection === false) return;
    const message = `OmicronAgent.${method}() needs turnDetection: false, because otherwise the service detects turns itself`;
    throw this.error(message, { code: 'configuration' });
  }
}

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

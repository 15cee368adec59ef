import { asyncScheduler } from 'rxjs';
import type { Logger } from '../../core/logger.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket-options.ts';
import { omicronAgent } from '../retiring.ts';
import type { LateAgentWire } from './agent-wire.ts';
import {
  omicronAgentConflict,
  omicronAgentRules,
  omicronPath,
  omicronTokenPath,
  type OmicronAgentConfig,
} from './omicron-agent-session.ts';
import type { OmicronAgentState } from './omicron-agent-turns.ts';
import type { OmicronCode } from './omicron-agent-wire.ts';
import { StreamingAgent } from './streaming-agent.ts';

/** Between two pings, in milliseconds: the service takes up to 30 s to answer one. */
const pingMs = 20_000;

/** Keys that are fixed for a session, and keys that need another conversation. */
const sessionKeys = [
  ...['model', 'voice', 'language', 'instructions', 'tools', 'functionBehavior', 'turnDetection', 'transcription'],
  ...['temperature', 'maxOutputTokens', 'thinkingLevel', 'compression', 'extraBody', 'proxyUrl', 'endpoint'],
];
const otherKeys = ['model', 'proxyUrl', 'endpoint'];

/** Gemini's wire for speech-to-speech. */
const wire: LateAgentWire<OmicronAgentConfig, OmicronAgentState, OmicronCode> = {
  name: 'OmicronAgent',
  baseUrl: 'https://generativelanguage.googleapis.com',
  accepts: [{ encoding: 'linear16', sampleRates: [16_000] }],
  rules: omicronAgentRules,
  conflict: omicronAgentConflict,
  retiring: omicronAgent,
  input: () => ({ encoding: 'linear16', sampleRate: 16_000, channels: 1 }),
  load: async () => (await import('./omicron-agent-wire.ts')).wire,
};

/**
 * Gemini Live API at `wss://generativelanguage.googleapis.com/ws/…BidiGenerateContent`: a model that hears and speaks,
 * behind one connection. See https://ai.google.dev/gemini-api/docs/live-api.
 *
 * After a lost connection, and when the service announces the end of one, about every 10 minutes, it resumes the
 * session, or restores the conversation as it was heard.
 */
export class OmicronAgent extends StreamingAgent<OmicronAgentConfig, OmicronAgentState, OmicronCode> {
  constructor(config: OmicronAgentConfig, logger?: Logger) {
    super(wire, config, logger);
  }

  /** Sends a text to the agent as if the user had spoken it; a reply in progress is cut off. */
  override injectUserMessage(text: string): void {
    this.act('injectUserMessage', (state) => this.code.typed(state, text));
  }

  /** Asks the agent to say a text, after what it is saying. As a model, it may change the wording. */
  override injectAgentMessage(text: string): void {
    this.act('injectAgentMessage', (state) => this.code.say(state, text));
  }

  /**
   * The user begins to speak: with `turnDetection: false`, what is heard from now on is their turn. A reply in progress
   * is cut off.
   *
   * @throws VoiceError `not_ready` when there is no session, `configuration` when the service detects turns itself.
   */
  startTurn(): void {
    this.#assertManual('startTurn');
    this.act('startTurn', (state) => this.code.turnStarted(state, this.#now));
  }

  /**
   * The user has spoken: the agent replies.
   *
   * @throws VoiceError `not_ready` when there is no session, `configuration` when the service detects turns itself.
   */
  endTurn(): void {
    this.#assertManual('endTurn');
    this.act('endTurn', (state) => this.code.turnEnded(state, this.#now));
  }

  protected override sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    const { request, keepAlive, ...options } = super.sessionOptions();
    return {
      ...options,
      keepAlive: { ...keepAlive, intervalMs: pingMs },
      request: async (context) => {
        const { url, ...rest } = await request(context);
        const address = new URL(url);
        if (rest.query?.['access_token']) address.pathname = address.pathname.replace(omicronPath, omicronTokenPath);
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
    this.act('updateConfig', (state) => this.code.leave(has(otherKeys) ? { ...state, handle: undefined } : state));
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

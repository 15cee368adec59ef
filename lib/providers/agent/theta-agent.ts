import { asyncScheduler } from 'rxjs';
import { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { AuthType, SocketCredentials } from '../../core/remote-provider.ts';
import type { RawSocketFactory } from '../../transport/socket.ts';
import { thetaAgent } from '../retiring.ts';
import { thetaCredentials } from '../theta-realtime.ts';
import type { LateAgentWire } from './agent-wire.ts';
import { StreamingAgent } from './streaming-agent.ts';
import { modelOf, thetaAgentConflict, thetaAgentRules, type ThetaAgentConfig } from './theta-agent-session.ts';
import type { ThetaAgentState } from './theta-agent-turns.ts';
import type { ThetaCode } from './theta-agent-wire.ts';

export type { ThetaAgentState } from './theta-agent-turns.ts';

/** Keys whose change requires a new connection. */
const addressKeys = ['model', 'proxyUrl', 'endpoint', 'organizationId', 'projectId', 'extraQuery'];
/** Keys that the service takes while a session runs. */
const sessionKeys = [
  ...['instructions', 'voice', 'tools', 'toolChoice', 'turnDetection', 'noiseReduction', 'transcription', 'speed'],
  ...['maxOutputTokens', 'reasoningEffort', 'outputEncoding', 'extraBody'],
];

/** OpenAI's wire for speech-to-speech. */
const wire: LateAgentWire<ThetaAgentConfig, ThetaAgentState, ThetaCode> = {
  name: 'ThetaAgent',
  baseUrl: 'https://api.openai.com/v1',
  accepts: [
    { encoding: 'linear16', sampleRates: [24_000] },
    { encoding: 'mulaw', sampleRates: [8_000] },
    { encoding: 'alaw', sampleRates: [8_000] },
  ],
  rules: thetaAgentRules,
  conflict: thetaAgentConflict,
  retiring: thetaAgent,
  input: () => ({ encoding: 'linear16', sampleRate: 24_000, channels: 1 }),
  load: async () => (await import('./theta-agent-wire.ts')).wire,
};

/**
 * OpenAI Realtime API at `wss://api.openai.com/v1/realtime?model=…`: a model that hears and speaks, behind one
 * connection. See https://developers.openai.com/api/docs/guides/realtime.
 *
 * A page may connect by WebRTC instead (`transport: 'webrtc'`):
 * https://developers.openai.com/api/docs/guides/realtime-webrtc.
 *
 * After a lost connection, and after the service's limit of 60 minutes, it reconnects and restores the conversation as
 * it was heard.
 */
export class ThetaAgent extends StreamingAgent<ThetaAgentConfig, ThetaAgentState, ThetaCode> {
  protected override readonly defaultAuthType: AuthType = 'bearer';

  constructor(config: ThetaAgentConfig, logger?: Logger) {
    super(wire, config, logger);
  }

  /** Sends a text to the agent as if the user had spoken it; a reply in progress is cut off. */
  override injectUserMessage(text: string): void {
    this.act('injectUserMessage', (state, isOpen) => this.code.typed(state, text, isOpen));
  }

  /** Asks the agent to say a text, after what it is saying. As a model, it may change the wording. */
  override injectAgentMessage(text: string): void {
    this.act('injectAgentMessage', (state, isOpen) => this.code.askOnce(state, this.code.sayOf(text), isOpen));
  }

  /** Drops the reply that is being prepared or spoken. */
  interrupt(): void {
    if (this.hasSession) this.act('interrupt', (state) => this.code.interrupted(state));
  }

  /**
   * The user begins to speak: with `turnDetection: false`, what is heard from now on is their turn. A reply in progress
   * is cut off.
   *
   * @throws VoiceError `not_ready` when there is no session, `configuration` when the service detects turns itself.
   */
  startTurn(): void {
    this.#assertManual('startTurn');
    this.act('startTurn', (state) => this.code.turnStarted(state));
  }

  /**
   * The user has spoken: the agent replies.
   *
   * @throws VoiceError `not_ready` when there is no session, `configuration` when the service detects turns itself.
   */
  endTurn(): void {
    this.#assertManual('endTurn');
    const now = (this.config.scheduler ?? asyncScheduler).now();
    this.act('endTurn', (state) => this.code.turnEnded(state, now));
  }

  /**
   * Drops what the user said since `startTurn()`.
   *
   * @throws VoiceError `not_ready` when there is no session, `configuration` when the service detects turns itself.
   */
  cancelTurn(): void {
    this.#assertManual('cancelTurn');
    this.act('cancelTurn', (state) => this.code.turnDropped(state));
  }

  protected override sessionOptions(): ReturnType<
    StreamingAgent<ThetaAgentConfig, ThetaAgentState, ThetaCode>['sessionOptions']
  > {
    const options = super.sessionOptions();
    if (this.config.transport !== 'webrtc') return options;
    const code = new OnDemand(this.name, () => import('./theta-peer.ts'));
    let openCall: RawSocketFactory | undefined;
    return {
      ...options,
      request: async () => {
        const { headers } = await this.resolveSocketCredentials();
        const { openCalls } = await code.load();
        const { workletUrl } = this.config;
        const blocked = (): void => this.#tellOfBlock();
        openCall = openCalls({ ...this.transportOptions, input: this.inputFormat, workletUrl, blocked });
        return { url: this.resolveUrl('/realtime/calls', { model: modelOf(this.config) }), headers };
      },
      openSocket: (...args) => {
        if (openCall) return openCall(...args);
        throw this.error('ThetaAgent: its code is not loaded', { code: 'internal' });
      },
    };
  }

  protected override socketCredentials(key: string): SocketCredentials {
    return thetaCredentials(key, this.config);
  }

  /** Most settings change at once; the voice once the agent has spoken, and the model, on a new connection. */
  protected override onConfigUpdate(changes: Partial<ThetaAgentConfig>): void {
    const has = (keys: readonly string[]): boolean => keys.some((key) => key in changes);
    const isElsewhere = has(addressKeys);
    if (!this.hasSession || !(isElsewhere || has(sessionKeys))) return;
    const isHeard = has(['voice', 'outputEncoding']);
    const updated = this.command('updateConfig', {
      acknowledgement: 'session',
      step: (state) => [
        state,
        isElsewhere || (isHeard && state.hasSpoken)
          ? { type: 'renew' }
          : { type: 'send', message: this.code.updateOf(this.config, this.inputFormat, state.hasSpoken) },
      ],
    });
    updated.catch((error: unknown) => this.report(VoiceError.from(error)));
  }

  #tellOfBlock(): void {
    const message = 'ThetaAgent: the browser blocks audio until the user clicks, taps or presses a key on the page';
    this.report(this.error(message, { code: 'permission', recoverable: true }));
  }

  #assertManual(method: string): void {
    if (this.config.turnDetection === false) return;
    const message = `ThetaAgent.${method}() needs turnDetection: false, because otherwise the service detects turns itself`;
    throw this.error(message, { code: 'configuration' });
  }
}

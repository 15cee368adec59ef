import type { Logger } from '../../core/logger.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket-options.ts';
import type { LateAgentWire } from './agent-wire.ts';
import {
  acceptsOf,
  gammaAgentConflict,
  gammaAgentRules,
  inputOf,
  type GammaAgentConfig,
} from './gamma-agent-session.ts';
import type { GammaAgentState, GammaCode } from './gamma-agent-wire.ts';
import { StreamingAgent } from './streaming-agent.ts';

export type { GammaAgentState } from './gamma-agent-wire.ts';

/** Keys whose change requires a new connection. */
const sessionKeys: readonly string[] = [
  ...['agentId', 'signedUrl', 'instructions', 'model', 'greeting', 'language', 'voiceId', 'stability', 'extraBody'],
  ...['similarityBoost', 'speed', 'keywords', 'dynamicVariables', 'customLlmExtraBody', 'userId', 'extraQuery'],
  ...['endpoint', 'proxyUrl'],
];

/** ElevenLabs' wire for agents. */
const wire: LateAgentWire<GammaAgentConfig, GammaAgentState, GammaCode> = {
  name: 'GammaAgent',
  baseUrl: 'https://api.elevenlabs.io',
  accepts: [],
  rules: gammaAgentRules,
  conflict: gammaAgentConflict,
  input: inputOf,
  load: async () => (await import('./gamma-agent-wire.ts')).wire,
};

/**
 * ElevenLabs Agents at `wss://api.elevenlabs.io/v1/convai/conversation?agent_id=…`: speech-to-text, language model and
 * text-to-speech behind one connection, configured at the service. See
 * https://elevenlabs.io/docs/agents-platform/libraries/web-sockets.
 *
 * After a lost connection it reconnects, and gives the agent the conversation as it was heard. When the agent hangs up,
 * the session has ended.
 */
export class GammaAgent extends StreamingAgent<GammaAgentConfig, GammaAgentState, GammaCode> {
  protected override readonly credentialKey: string = 'signedUrl, apiKey';

  constructor(config: GammaAgentConfig, logger?: Logger) {
    super({ ...wire, accepts: acceptsOf(config) }, config, logger);
  }

  /** The service's id of the running conversation, for its support and its records. */
  get conversationId(): string | undefined {
    return this.wireState?.conversationId;
  }

  /** Sends a text to the agent as if the user had spoken it; a reply in progress is cut off. */
  override injectUserMessage(text: string): void {
    this.act('injectUserMessage', (state, isOpen) => this.code.typed(state, text, isOpen));
  }

  /**
   * The service has no message for this: it always fails.
   *
   * @throws VoiceError `configuration`.
   */
  override injectAgentMessage(): void {
    const message = `${this.name} cannot be made to say a text: the service has no such message. Set greeting, or injectUserMessage()`;
    throw this.error(message, { code: 'configuration', recoverable: true });
  }

  /** Tells the agent something to take into account, without asking for a reply. */
  addContext(text: string): void {
    this.act('addContext', (state) => [state, { type: 'send', message: this.code.contextual(text) }]);
  }

  /** Tells the agent that the user is active, such as typing: it will not speak up on its own for a moment. */
  notifyUserActivity(): void {
    this.act('notifyUserActivity', (state) => [state, { type: 'send', message: { type: 'user_activity' } }]);
  }

  /** An agent that anyone may talk to needs no credential. */
  override assertAuth(): void {
    if (this.directCredential || !this.config.agentId) super.assertAuth();
  }

  /** The key as header; a page needs a signed address. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode || !this.config.apiKey) return {};
    return { headers: { 'xi-api-key': await this.resolveApiKey() } };
  }

  protected override get directCredential(): unknown {
    return [this.config.signedUrl, this.config.apiKey].find(Boolean);
  }

  protected override sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    const options = super.sessionOptions();
    const { signedUrl } = this.config;
    if (this.isProxyMode || !signedUrl) return options;
    return { ...options, request: async () => ({ url: this.#signed(await this.freshCredential(signedUrl)) }) };
  }

  /** Settings from the start of a session change on a new connection, which is given the conversation. */
  protected override onConfigUpdate(changes: Partial<GammaAgentConfig>): void {
    if (!this.hasSession || !sessionKeys.some((key) => key in changes)) return;
    this.act('updateConfig', (state) => [state, { type: 'renew' }]);
  }

  #signed(address: string): URL {
    let url: URL;
    try {
      url = new URL(address);
    } catch {
      throw this.error(`${this.name}: signedUrl is not an absolute URL`, { code: 'configuration' });
    }
    this.assertSecure(url);
    for (const [key, value] of Object.entries(this.config.extraQuery ?? {})) url.searchParams.set(key, String(value));
    return url;
  }
}

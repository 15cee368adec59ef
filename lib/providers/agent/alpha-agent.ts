import { VoiceError } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import {
  alphaConflict,
  alphaRules,
  monoOf,
  type AlphaAgentConfig,
  type AlphaCode,
  type AlphaState,
} from './alpha-agent-settings.ts';
import type { LateAgentWire } from './agent-wire.ts';
import { StreamingAgent } from './streaming-agent.ts';

/** Deepgram's wire. */
const wire: LateAgentWire<AlphaAgentConfig, AlphaState, AlphaCode> = {
  name: 'AlphaAgent',
  baseUrl: 'https://agent.deepgram.com',
  accepts: [{ encoding: 'linear16' }, { encoding: 'linear32' }, { encoding: 'mulaw' }, { encoding: 'alaw' }],
  rules: alphaRules,
  conflict: alphaConflict,
  input: ({ audio }) => monoOf(audio?.input, 16_000),
  load: async () => (await import('./alpha-agent-wire.ts')).wire,
};

/**
 * Deepgram Voice Agent, API V1, at `wss://agent.deepgram.com/v1/agent/converse`: speech-to-text, language model and
 * text-to-speech behind one connection. See https://developers.deepgram.com/docs/voice-agent.
 *
 * After a lost connection it reconnects and restores the conversation and all updates so far.
 */
export class AlphaAgent extends StreamingAgent<AlphaAgentConfig, AlphaState, AlphaCode> {
  constructor(config: AlphaAgentConfig, logger?: Logger) {
    super(wire, config, logger);
  }

  /** Adds to the prompt. Resolves when the service has acknowledged it. */
  updatePrompt(prompt: string): Promise<void> {
    return this.#update(
      'Prompt',
      () => ({ prompt }),
      (state) => ({ ...state, prompts: [...state.prompts, prompt] }),
    );
  }

  /** Replaces the language model, its prompt and its functions. Resolves when the service has acknowledged it. */
  updateThink(think: NonNullable<AlphaAgentConfig['think']>): Promise<void> {
    return this.#update(
      'Think',
      ({ thinkOf }) => ({ think: thinkOf(think) }),
      (state) => ({ ...state, think, prompts: [] }),
    );
  }

  /** Replaces the voice. Resolves when the service has acknowledged it. */
  updateSpeak(speak: NonNullable<AlphaAgentConfig['speak']>): Promise<void> {
    return this.#update(
      'Speak',
      ({ speakOf }) => ({ speak: speakOf(speak) }),
      (state) => ({ ...state, speak }),
    );
  }

  /** Replaces the speech-to-text. Resolves when the service has acknowledged it. */
  updateListen(listen: NonNullable<AlphaAgentConfig['listen']>): Promise<void> {
    return this.#update(
      'Listen',
      ({ listenOf }) => ({ listen: listenOf(listen) }),
      (state) => ({ ...state, listen }),
    );
  }

  /** Sends a text to the agent as if the user had spoken it. */
  override injectUserMessage(text: string): void {
    const message = { type: 'InjectUserMessage', content: text };
    this.act('injectUserMessage', (state, isOpen) => [
      isOpen ? { ...state, words: { text: text.trim(), isTold: false }, owes: true } : state,
      { type: 'send', message },
    ]);
  }

  /**
   * Makes the agent say a text.
   *
   * @param behavior - While someone speaks: `default` refuses (an error on `errors$`), `queue` waits, `interrupt` cuts
   * in.
   */
  override injectAgentMessage(text: string, behavior: 'default' | 'queue' | 'interrupt' = 'default'): void {
    const message = { type: 'InjectAgentMessage', message: text, behavior };
    this.act('injectAgentMessage', (state) => [state, { type: 'send', message }]);
  }

  protected override onConfigUpdate({ think, speak, listen }: Partial<AlphaAgentConfig>): void {
    if (!this.hasSession) return;
    const updates = [
      think && this.updateThink(think),
      speak && this.updateSpeak(speak),
      listen && this.updateListen(listen),
    ];
    for (const update of updates) update?.catch((error: unknown) => this.report(VoiceError.from(error)));
  }

  #update(
    kind: string,
    body: (code: AlphaCode) => WireObject,
    change: (state: AlphaState) => AlphaState,
  ): Promise<void> {
    return this.command(`update${kind}`, {
      acknowledgement: kind,
      step: (state) => [change(state), { type: 'send', message: { type: `Update${kind}`, ...body(this.code) } }],
    });
  }
}

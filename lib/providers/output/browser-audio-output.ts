import { misspeltKey } from '../../core/misspelt-key.ts';
import { VoiceError } from '../../core/errors.ts';
import { holdAudioSession } from '../../playback/audio-session.ts';
import { ContextOutput, type ContextOutputConfig } from '../../playback/context-output.ts';

/** Configuration of {@link BrowserAudioOutput}. */
export interface BrowserAudioOutputConfig extends ContextOutputConfig {
  /**
   * The speaker, as `navigator.mediaDevices.enumerateDevices()` names it; Chromium only. `updateConfig()` changes it
   * during playback. The browser's echo cancellation may cover only the default. Default: the system's choice.
   */
  readonly sinkId?: string;
}

const keys: Readonly<Record<keyof BrowserAudioOutputConfig, true>> = {
  workletUrl: true,
  scheduler: true,
  sinkId: true,
};

/**
 * The user's speaker, in a browser (W3C Web Audio). No service.
 *
 * Runs on the audio hardware's clock: gapless and frame-accurate, even in a hidden page.
 */
export class BrowserAudioOutput extends ContextOutput<BrowserAudioOutputConfig> {
  override readonly name = 'BrowserAudioOutput' as const;
  protected override readonly channels = 2;
  #context: AudioContext | undefined;
  #releaseSession: (() => void) | undefined;
  protected override readonly elsewhere = 'NullOutput or a phone provider';

  constructor(config: BrowserAudioOutputConfig = {}, logger?: ConstructorParameters<typeof ContextOutput>[1]) {
    super(config, logger);
  }

  protected override configProblem(): string | undefined {
    return misspeltKey(this.config, Object.keys(keys));
  }

  protected override async connect(context: AudioContext, node: AudioNode): Promise<void> {
    const { sinkId } = this.config;
    this.#context = context;
    // Without it, an iPhone whose silent switch is on plays nothing.
    this.#releaseSession ??= holdAudioSession('playback');
    if (sinkId !== undefined) await this.#choose(context, sinkId);
    node.connect(context.destination);
  }

  protected override onDispose(): Promise<void> | void {
    this.#releaseSession?.();
    this.#releaseSession = undefined;
    return super.onDispose();
  }

  /** What sounds goes on at another speaker; `undefined` is the system's choice. */
  protected override onConfigUpdate(changed: Partial<BrowserAudioOutputConfig>): void {
    super.onConfigUpdate(changed);
    const context = this.#context;
    if (!('sinkId' in changed) || !context || context.state === 'closed') return;
    this.#choose(context, changed.sinkId ?? '').catch((error: unknown) => this.report(VoiceError.from(error)));
  }

  async #choose(context: AudioContext & { setSinkId?(id: string): Promise<void> }, sinkId: string): Promise<void> {
    if (!context.setSinkId) {
      const message = `${this.name}: this browser cannot choose a speaker: leave sinkId out, or use Chrome or Edge`;
      throw this.error(message, { code: 'configuration' });
    }
    try {
      await context.setSinkId(sinkId);
    } catch (cause) {
      const message = `${this.name} cannot play on the speaker with this sinkId: ask the user to choose another`;
      throw this.error(message, { code: 'device', recoverable: true, cause });
    }
  }
}

import { concatMap, EMPTY, fromEvent, map, Observable } from 'rxjs';
import { misspeltKey } from '../../core/misspelt-key.ts';
import { VoiceError } from '../../core/errors.ts';
import { holdAudioSession } from '../../playback/audio-session.ts';
import { ContextOutput, type ContextOutputConfig } from '../../playback/context-output.ts';
import { microphonePermission } from '../../playback/microphone-permission.ts';
import { merge } from '../../stream/merge.ts';

/** Configuration of {@link BrowserAudioOutput}. */
export interface BrowserAudioOutputConfig extends ContextOutputConfig {
  /**
   * The preferred speaker, as `navigator.mediaDevices.enumerateDevices()` names it; Chromium only. While it is not
   * there, the system's choice plays. `updateConfig()` changes it during playback. The browser's echo cancellation may
   * cover only the default. Default: the system's choice.
   */
  readonly sinkId?: string;
}

const keys: Readonly<Record<keyof BrowserAudioOutputConfig, true>> = {
  workletUrl: true,
  scheduler: true,
  sinkId: true,
};

/** A context whose speaker can be chosen, in Chromium. */
type SinkContext = AudioContext & { readonly sinkId?: unknown; setSinkId?(id: string): Promise<void> };

/**
 * The user's speaker, in a browser (W3C Web Audio). No service.
 *
 * Runs on the audio hardware's clock: gapless and frame-accurate, even in a hidden page.
 */
export class BrowserAudioOutput extends ContextOutput<BrowserAudioOutputConfig> {
  override readonly name = 'BrowserAudioOutput' as const;
  protected override readonly channels = 2;
  #context: AudioContext | undefined;
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
    if (sinkId !== undefined) {
      await this.#choose(context, sinkId).catch((cause: unknown) => {
        const error = VoiceError.from(cause);
        if (!error.recoverable) throw error;
        this.report(error);
      });
    }
    node.connect(context.destination);
  }

  protected override upkeep$(context: AudioContext): Observable<unknown> {
    return new Observable((subscriber) => {
      // Without it, an iPhone whose silent switch is on plays nothing.
      subscriber.add(holdAudioSession('playback'));
      subscriber.add(this.#speaker$(context).subscribe());
    });
  }

  /** Leaves a preferred speaker that is gone for the system's choice, and returns to it. Never errors. */
  #speaker$(context: SinkContext): Observable<unknown> {
    if (!context.setSinkId) return EMPTY;
    const { mediaDevices } = navigator;
    // Chromium stops a context whose device fails. Ids are known once the microphone is allowed.
    const failed$ = fromEvent(context, 'error').pipe(map(() => true));
    const changed$ = merge(fromEvent(mediaDevices, 'devicechange'), microphonePermission()).pipe(map(() => false));
    return merge(failed$, changed$).pipe(
      concatMap((hasFailed) =>
        this.#follow(context, mediaDevices, hasFailed).catch((cause: unknown) => this.report(VoiceError.from(cause))),
      ),
    );
  }

  protected override onDispose(): Promise<void> | void {
    this.#context = undefined;
    return super.onDispose();
  }

  /** What sounds goes on at another speaker; `undefined` is the system's choice. */
  protected override onConfigUpdate(changed: Partial<BrowserAudioOutputConfig>): void {
    super.onConfigUpdate(changed);
    const context = this.#context;
    if (!('sinkId' in changed) || !context) return;
    this.#choose(context, changed.sinkId ?? '').catch((error: unknown) => this.report(VoiceError.from(error)));
  }

  /** Takes the preferred speaker if it is there, else stays, else takes the system's choice. */
  async #follow(context: SinkContext, mediaDevices: MediaDevices, hasFailed: boolean): Promise<void> {
    const devices = await mediaDevices.enumerateDevices();
    const isHidden = devices.every(({ deviceId }) => deviceId === '');
    if (context !== this.#context || (isHidden && !hasFailed)) return;
    const [speaker] = [this.config.sinkId, context.sinkId].flatMap((id) =>
      devices.filter(({ kind, deviceId }) => kind === 'audiooutput' && deviceId === id && !hasFailed),
    );
    const next = speaker?.deviceId ?? '';
    if (next === context.sinkId) return;
    await this.#choose(context, next);
    if (speaker) {
      this.tell({ type: 'found', label: speaker.label });
      return;
    }
    this.tell({ type: 'lost' });
    const message = `${this.name}: the speaker is gone: the system's choice plays until it is back`;
    this.report(this.error(message, { code: 'device', recoverable: true }));
  }

  async #choose(context: SinkContext, sinkId: string): Promise<void> {
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

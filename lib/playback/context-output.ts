import { defer, EMPTY, Subject, Subscription, type Observable, type ObservableInput, type SchedulerLike } from 'rxjs';
import type { AudioChunk, AudioFormat } from '../audio/types.ts';
import { closeContext, openContext } from './audio-context.ts';
import type { ContextPlayer } from './context-player.ts';
import { VoiceError } from '../core/errors.ts';
import { OnDemand } from '../core/on-demand.ts';
import { Provider } from '../core/provider.ts';
import type { DeviceEvent, OutputProvider, PlaybackEvent, ProviderRole, ProviderType } from '../core/roles.ts';

/** Configuration of every output that plays through a browser's audio context. */
export interface ContextOutputConfig {
  /**
   * Where the page serves the package's file `rxvoice/worklets.js`, for pages whose Content-Security-Policy forbids
   * `blob:` scripts. Default: the AudioWorklet is inlined.
   */
  readonly workletUrl?: string;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const rawEncodings = ['linear16', 'linear32', 'mulaw', 'alaw'] as const;

/** Shared by outputs that play through a browser's audio context. */
export abstract class ContextOutput<C extends ContextOutputConfig> extends Provider<C> implements OutputProvider {
  readonly roles: readonly ProviderRole[] = ['output'];
  readonly type: ProviderType = 'rest';
  /** Raw samples and WAV at any rate, mono or stereo; compressed audio if the browser decodes it. */
  readonly accepts: readonly AudioFormat[] = [
    ...rawEncodings.map((encoding): AudioFormat => ({ encoding, channels: [1, 2], containers: ['raw', 'wav'] })),
    { encoding: 'mp3', channels: [1, 2] },
    { encoding: 'opus', channels: [1, 2], containers: ['ogg', 'webm'] },
    { encoding: 'vorbis', channels: [1, 2], containers: ['ogg', 'webm'] },
    { encoding: 'aac', channels: [1, 2], containers: ['adts', 'mp4'] },
    { encoding: 'flac', channels: [1, 2], containers: ['flac', 'ogg'] },
  ];
  /** Channels of the output. */
  protected abstract readonly channels: number;
  /** What to use outside a browser, for the error. */
  protected abstract readonly elsewhere: string;

  readonly #device$ = new Subject<DeviceEvent>();
  readonly #playback$ = new Subject<PlaybackEvent>();
  /** From the first `initialize()` on. */
  #player: ContextPlayer | undefined;
  /** The open context; closed once disposed. */
  #opened = new Subscription();
  #gain: GainNode | undefined;
  #volume = 1;
  #isHeldBack = false;

  /** The events of every `play()`. Hot. */
  get playback$(): Observable<PlaybackEvent> {
    return this.handOut('playback$', this.#playback$);
  }

  /** Whether the browser lets the audio play. Hot. */
  get device$(): Observable<DeviceEvent> {
    return this.handOut('device$', this.#device$);
  }

  /** Milliseconds of the current (or the last) `play()` that have left the speaker. */
  get positionMs(): number {
    return this.#player?.positionMs ?? 0;
  }

  /** The device's latency, if the browser reports it. */
  get tailMs(): number {
    return this.#player?.tailMs ?? 0;
  }

  /** The node that all audio passes through, for meters and recorders; a new one after each `initialize()`. */
  get audioNode(): AudioNode | undefined {
    return this.#gain;
  }

  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return defer(() => this.#ready('play').play(audio$));
  }

  enqueue(chunk: AudioChunk): void {
    this.#ready('enqueue').enqueue(chunk);
  }

  async flush(): Promise<void> {
    await this.#player?.flush();
  }

  /** Silences playback within 3 ms, with a short ramp; drops what was not heard. */
  stop(): void {
    this.#player?.stop();
  }

  /** Silences playback within 3 ms; `resume()` continues at the very next sample. */
  pause(): void {
    this.#player?.pause();
  }

  resume(): void {
    this.#player?.resume();
  }

  /** Sets the volume, a factor from 0 to 1. */
  setVolume(volume: number): void {
    this.#volume = volume;
    this.#player?.setVolume(volume);
  }

  /** Connects a new context's audio to its destination. */
  protected abstract connect(context: AudioContext, node: AudioNode): Promise<void> | void;

  /** What a context needs for as long as it is open. Never errors. */
  protected upkeep$(_context: AudioContext): Observable<unknown> {
    return EMPTY;
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    this.assertConfig();
    signal.throwIfAborted();
    this.#opened = new Subscription();
    await this.#open();
  }

  protected override onDispose(): Promise<void> | void {
    this.#player?.stop();
    this.#opened.unsubscribe();
    this.#gain = undefined;
  }

  async #open(sampleRate?: number): Promise<void> {
    const { name, elsewhere, config, channels } = this;
    // Closed when it is disposed or replaced meanwhile.
    const before = this.#opened;
    const loading = this.#load();
    loading.catch(() => undefined);
    // At once, while the user's gesture counts.
    const context = await openContext({ provider: name, elsewhere, workletUrl: config.workletUrl, sampleRate });
    const upkeep = new Subscription();
    try {
      const player = await loading;
      const gain = new GainNode(context);
      if (!before.closed) await this.connect(context, gain);
      if (before.closed) {
        closeContext(context, config.scheduler);
        return;
      }
      upkeep.add(this.upkeep$(context).subscribe());
      before.unsubscribe();
      this.#gain = gain;
      this.#opened = player.open(context, gain, channels);
      this.#opened.add(upkeep);
    } catch (error) {
      upkeep.unsubscribe();
      closeContext(context, config.scheduler);
      throw error;
    }
  }

  #ready(method: string): ContextPlayer {
    this.assertReady(method);
    if (this.#player) return this.#player;
    throw this.error(`${this.name} has no player`, { code: 'internal' });
  }

  async #load(): Promise<ContextPlayer> {
    const { name, config } = this;
    const { ContextPlayer } = await new OnDemand(name, () => import('./context-player.ts')).load();
    if (this.#player) return this.#player;
    this.#player = new ContextPlayer({
      ...{ provider: name, playback$: this.#playback$, scheduler: config.scheduler },
      onBegin: () => this.#complain(),
      onFrozen: () => this.#reopen(),
      onDevice: (event) => this.#runs(event),
    });
    this.#player.setVolume(this.#volume);
    return this.#player;
  }

  /** Replaces a context whose clock has stopped; playback continues. */
  #reopen(): void {
    this.#open(this.#player?.context?.sampleRate).catch((cause: unknown) => this.report(VoiceError.from(cause)));
  }

  /** Publishes an event of the device. */
  protected tell(event: DeviceEvent): void {
    this.#device$.next(event);
  }

  #runs(event: DeviceEvent): void {
    this.tell(event);
    this.#isHeldBack = event.type === 'suspended';
    if (this.#player?.isPlaying) this.#complain();
  }

  #complain(): void {
    if (!this.#isHeldBack) return;
    const message = `${this.name}: the browser blocks audio until the user clicks, taps or presses a key on the page`;
    this.report(this.error(message, { code: 'permission', recoverable: true }));
  }
}

import { misspeltKey } from '../../core/misspelt-key.ts';
import { ContextOutput, type ContextOutputConfig } from '../../playback/context-output.ts';

/** Configuration of {@link WebRTCOutput}. */
export type WebRTCOutputConfig = ContextOutputConfig;

const keys: Readonly<Record<keyof WebRTCOutputConfig, true>> = { workletUrl: true, scheduler: true };

/**
 * A WebRTC media track that carries what is played, in a browser (W3C WebRTC and Web Audio). No service.
 *
 * The track lives from `initialize()` to `dispose()` and is silent between answers: add it to a connection once. Only
 * if the browser's audio breaks down is it replaced, with the event `changed`: pass the new one to `replaceTrack`.
 */
export class WebRTCOutput extends ContextOutput<WebRTCOutputConfig> {
  override readonly name = 'WebRTCOutput' as const;
  protected override readonly channels = 1;
  protected override readonly elsewhere = 'NullOutput or a phone provider';
  #destination: MediaStreamAudioDestinationNode | undefined;

  constructor(config: WebRTCOutputConfig = {}, logger?: ConstructorParameters<typeof ContextOutput>[1]) {
    super(config, logger);
  }

  /**
   * The track, for `addTrack` or `replaceTrack`.
   *
   * @throws VoiceError `not_ready` before `initialize()`.
   */
  getTrack(): MediaStreamTrack {
    const [track] = this.getStream().getAudioTracks();
    if (!track) throw this.error(`${this.name}: the browser returned a stream without a track`, { code: 'internal' });
    return track;
  }

  /**
   * The stream with the track.
   *
   * @throws VoiceError `not_ready` before `initialize()`.
   */
  getStream(): MediaStream {
    if (!this.#destination) this.assertReady('getStream');
    if (this.#destination) return this.#destination.stream;
    throw this.error(`${this.name} has no stream`, { code: 'internal' });
  }

  protected override configProblem(): string | undefined {
    return misspeltKey(this.config, Object.keys(keys));
  }

  protected override connect(context: AudioContext, node: AudioNode): void {
    const before = this.#destination;
    this.#destination = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    node.connect(this.#destination);
    if (before) this.tell({ type: 'changed' });
  }

  protected override onDispose(): Promise<void> | void {
    this.#destination?.stream.getTracks().forEach((track) => track.stop());
    this.#destination = undefined;
    return super.onDispose();
  }
}

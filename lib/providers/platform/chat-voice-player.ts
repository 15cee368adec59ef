import { first, mergeMap, range, Subscription, tap, timer, type SchedulerLike } from 'rxjs';
import { messageOf } from '../../core/errors.ts';
import { merge } from '../../stream/merge.ts';
import { opusOptions } from './chat-voice-packages.ts';
import type {
  AudioPlayerLike,
  ChatVoicePackages,
  OpusTransformLike,
  VoiceConnectionLike,
} from './chat-voice-packages.ts';
import { listenTo } from './listenable.ts';

/** Empty reads after which the package's player gives up on a reply: five seconds, so that a gap does not end it. */
const maxMissedFrames = 250;

const frameMs = 20;
const silence = new Uint8Array(opusOptions.frameSize * opusOptions.channels * 2);

/** Frames of silence encoded after speech: the codec holds back 6.5 ms and needs two frames to settle. */
const restFrames = 2;

/** Options of a {@link ChatVoicePlayer}. */
export interface ChatVoicePlayerOptions {
  readonly packages: ChatVoicePackages;
  readonly connection: VoiceConnectionLike;
  /** Called with what went wrong; the next audio starts a new stream. */
  readonly failed: (problem: string) => void;
  readonly scheduler: SchedulerLike;
}

/**
 * Plays to the members. Frames of 20 ms go through an Opus encoder to the package's player, which reads them in real
 * time and fills gaps with silence packets of its own.
 *
 * The encoder never sees those packets. It codes each frame as the difference from the one before, so it must have
 * settled when they begin: otherwise the listeners' decoders start from silence and the encoder from the last word, and
 * the first 100 ms after a gap are damaged. So silence is encoded after each stretch of speech, and first by each new
 * encoder.
 */
export class ChatVoicePlayer {
  readonly #options: ChatVoicePlayerOptions;
  readonly #player: AudioPlayerLike;
  readonly #work = new Subscription();
  #encoder: OpusTransformLike | undefined;
  /** Waits for the player to read everything. */
  #gap = Subscription.EMPTY;

  constructor(options: ChatVoicePlayerOptions) {
    const { packages, connection, failed } = options;
    this.#options = options;
    this.#player = packages.voice.createAudioPlayer({ behaviors: { noSubscriber: 'play', maxMissedFrames } });
    const events$ = merge(
      listenTo(this.#player, 'error').pipe(tap((error) => failed(`the player failed: ${messageOf(error)}`))),
      // A gap of five seconds.
      listenTo(this.#player, 'idle'),
    );
    this.#work.add(events$.pipe(tap(() => this.#forget())).subscribe());
    const subscription = connection.subscribe(this.#player);
    this.#work.add(() => subscription?.unsubscribe());
  }

  /** Accepts 20 ms of linear16 at 48 kHz, stereo, that follow the frame before. */
  write(frame: Uint8Array<ArrayBuffer>): void {
    this.#gap.unsubscribe();
    const encoder = this.#encode(frame);
    if (!encoder) return;
    this.#gap = timer(2 * frameMs, frameMs / 2, this.#options.scheduler)
      .pipe(
        first(() => encoder.readableLength === 0),
        mergeMap(() => range(0, restFrames)),
        tap(() => this.#encode(silence)),
      )
      .subscribe();
  }

  /** Silences playback at once. */
  clear(): void {
    const encoder = this.#encoder;
    this.#forget();
    this.#player.stop(true);
    encoder?.destroy();
  }

  /** Detaches from the connection. */
  close(): void {
    this.clear();
    this.#work.unsubscribe();
  }

  #encode(frame: Uint8Array<ArrayBuffer>): OpusTransformLike | undefined {
    try {
      this.#encoder ??= this.#open();
      this.#encoder.write(frame);
      return this.#encoder;
    } catch (cause) {
      this.clear();
      this.#options.failed(`the Opus codec failed: ${messageOf(cause)}`);
      return undefined;
    }
  }

  #open(): OpusTransformLike {
    const { voice, opus } = this.#options.packages;
    const encoder = new opus.Encoder(opusOptions);
    encoder.on('error', () => undefined);
    encoder.write(silence);
    this.#player.play(voice.createAudioResource(encoder, { inputType: 'opus', silencePaddingFrames: 5 }));
    return encoder;
  }

  #forget(): void {
    this.#gap.unsubscribe();
    this.#encoder = undefined;
  }
}

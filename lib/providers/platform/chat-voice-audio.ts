import { first, mergeMap, Observable, range, type SchedulerLike, skip, Subscription, tap, timer } from 'rxjs';
import { mixChannels } from '../../audio/channels.ts';
import { int16Bytes, int16View } from '../../audio/samples.ts';
import { messageOf } from '../../core/errors.ts';
import { merge } from '../../stream/merge.ts';
import type {
  AudioPlayerLike,
  ChatVoicePackages,
  OpusOptions,
  OpusTransformLike,
  OpusTransformType,
  PacketStreamLike,
  VoiceConnectionLike,
} from './chat-voice-packages.ts';
import { listenTo } from './listenable.ts';

/** The platform's wire format: 48 kHz, stereo, 20 ms. */
const opusOptions: OpusOptions = { rate: 48_000, channels: 2, frameSize: 960 };

/** The packet for silence, which the package's player sends in gaps and clients send after speech. */
const silencePacket: Uint8Array<ArrayBuffer> = Uint8Array.of(0xf8, 0xff, 0xfe);

/** Throws when there is no codec. */
export function tryCodec({ opus: { Decoder } }: ChatVoicePackages): void {
  new Decoder(opusOptions).destroy();
}

/** A packet; the package wraps it after version 0.19.2. */
type Packet = Uint8Array | { readonly payload: Uint8Array };

/**
 * A member's audio until their packets end: linear16 at 48 kHz, mono. A packet that cannot be decoded is skipped.
 * Unsubscribing ends the packets too. Cold.
 */
export function decodeMember(
  packets: PacketStreamLike,
  Decoder: OpusTransformType,
  warn: (problem: string) => void,
): Observable<Uint8Array<ArrayBuffer>> {
  return new Observable((subscriber) => {
    let decoding = Subscription.EMPTY;
    let decoder: OpusTransformLike | undefined;
    const fail = (): void => {
      warn('a packet cannot be decoded');
      decoding.unsubscribe();
      decoder = undefined;
    };
    const open = (): OpusTransformLike => {
      const opened = new Decoder(opusOptions);
      // Left in place: an abandoned decoder can still fail, and an unhandled `error` event would crash the process.
      opened.on('error', () => opened === decoder && fail());
      decoding = listenTo<Uint8Array>(opened, 'data')
        .pipe(
          skip(1),
          tap((samples) => subscriber.next(int16Bytes(mixChannels(int16View(new Uint8Array(samples)), 2, 1)))),
        )
        .subscribe();
      decoding.add(() => opened.destroy());
      // The member's encoder continues from earlier silence; a decoder that never saw it gets the first levels wrong.
      // The output for this packet is discarded.
      opened.write(silencePacket);
      return opened;
    };
    packets.on('error', () => {
      if (!subscriber.closed) warn("a member's packets cannot be read");
    });
    const decode = (packet: Packet): void => {
      try {
        decoder ??= open();
        decoder.write(packet instanceof Uint8Array ? packet : packet.payload);
      } catch {
        fail();
      }
    };
    const heard$ = merge(
      // Not before: until then, the package has the same stream for whoever subscribes to the member.
      listenTo(packets, 'close').pipe(tap(() => subscriber.complete())),
      listenTo<Packet>(packets, 'data').pipe(tap(decode)),
    );
    subscriber.add(heard$.subscribe());
    subscriber.add(() => {
      packets.destroy();
      decoding.unsubscribe();
    });
  });
}

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

import { defer, filter, map, of, startWith, Subject, take, type Observable } from 'rxjs';
import { Resampler } from '../audio/resampler.ts';
import { decodeSamples, toFloat32 } from '../audio/samples.ts';
import type { AudioMetadata } from '../audio/types.ts';
import { playbackProcessor } from './processors.ts';

/** Audio that may wait before pauses are shortened, and most that may wait at all, in milliseconds. */
const patienceMs = 200;
const maxWaitingMs = 60_000;
/** A pause that is left as it is, in milliseconds. */
const pauseMs = 200;
/** Samples up to here are a pause. */
const quietLevel = 0.01;

/**
 * Sounds raw audio as a media track, in real time. A backlog, such as from before the connection, plays with shortened
 * pauses until it has caught up.
 */
export class TrackFeed {
  readonly #context: AudioContext;
  readonly #node: AudioWorkletNode;
  readonly #destination: MediaStreamAudioDestinationNode;
  readonly #metadata: AudioMetadata;
  readonly #resampler: Resampler;
  readonly #reports$ = new Subject<void>();
  /** Frames given to the worklet, and sounded. */
  #fed = 0;
  #sounded = 0;
  #quietMs = 0;

  /**
   * @param context - A context with the library's worklets.
   * @param metadata - The format of the audio: raw, mono.
   */
  constructor(context: AudioContext, metadata: AudioMetadata) {
    this.#context = context;
    this.#metadata = metadata;
    this.#resampler = new Resampler(metadata.sampleRate, context.sampleRate);
    this.#destination = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    this.#node = new AudioWorkletNode(context, playbackProcessor, { numberOfInputs: 0, outputChannelCount: [1] });
    this.#node.connect(this.#destination);
    this.#node.port.onmessage = ({ data }: MessageEvent<{ readonly played: number }>) => {
      this.#sounded = data.played;
      this.#reports$.next();
    };
    this.#node.port.postMessage({ type: 'begin', play: 1, from: 0, paused: false });
  }

  /** The stream with the track. */
  get stream(): MediaStream {
    return this.#destination.stream;
  }

  /** Audio that waits, in milliseconds. */
  get waitingMs(): number {
    return this.#msOf(this.#fed - this.#sounded);
  }

  push(data: Uint8Array<ArrayBuffer>): void {
    const samples = this.#resampler.push(toFloat32(decodeSamples(data, this.#metadata.encoding)));
    if (samples.length === 0) return;
    const isQuiet = samples.every((sample) => Math.abs(sample) <= quietLevel);
    this.#quietMs = isQuiet ? this.#quietMs + this.#msOf(samples.length) : 0;
    const { waitingMs } = this;
    if (waitingMs > maxWaitingMs || (waitingMs > patienceMs && this.#quietMs > pauseMs)) return;
    this.#fed += samples.length;
    // The worklet gets memory of its own.
    const channels = [samples.slice()];
    this.#node.port.postMessage(
      { type: 'push', play: 1, channels },
      channels.map(({ buffer }) => buffer),
    );
  }

  /** Emits once all that was pushed so far has sounded, and completes. Cold. */
  readonly drained$: Observable<void> = defer(() => {
    const end = this.#fed;
    if (this.#sounded >= end) return of(undefined);
    // However little it is: the worklet would wait for more.
    this.#node.port.postMessage({ type: 'end', play: 1 });
    return this.#reports$.pipe(
      startWith(undefined),
      filter(() => this.#sounded >= end),
      map(() => undefined),
      take(1),
    );
  });

  /** Ends the track for good. */
  close(): void {
    this.#node.port.postMessage({ type: 'close' });
    this.#node.port.close();
    this.#node.disconnect();
    for (const track of this.stream.getTracks()) track.stop();
  }

  #msOf(frames: number): number {
    return (frames * 1000) / this.#context.sampleRate;
  }
}

import { ignoreElements, tap, type Observable, type SchedulerLike } from 'rxjs';
import { durationMs } from '../audio/formats.ts';
import { FrameSplitter } from '../audio/frame-splitter.ts';
import { Resampler } from '../audio/resampler.ts';
import { int16Bytes, toInt16 } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import type { DeviceEvent } from '../core/roles.ts';
import { merge } from '../stream/merge.ts';
import { resource } from '../stream/resource.ts';
import { keepRunning } from './keep-running.ts';
import { capturedFormat } from './media-track.ts';
import { captureProcessor } from './processors.ts';

/** Length of a captured frame, in milliseconds. */
const frameMs = 20;

/** Options of a {@link TrackCapture}. */
export interface TrackCaptureOptions {
  /** A context with the library's worklets. */
  readonly context: AudioContext;
  /** Sample rate of the output, in Hz. */
  readonly sampleRate: number;
  /** Called with each frame: linear16, mono; `timestamp` is its offset in all that was captured. */
  readonly onChunk: (chunk: AudioChunk) => void;
}

/** Options of {@link openCapture}. */
export interface OpenCaptureOptions extends TrackCaptureOptions {
  /** Called when the browser stops the context, and when it lets it run again. */
  readonly onDevice: (event: DeviceEvent) => void;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler: SchedulerLike | undefined;
}

/** A capture, whose context is kept running meanwhile; unsubscribing closes it. Cold; never completes. */
export function openCapture({ onDevice, scheduler, ...options }: OpenCaptureOptions): Observable<TrackCapture> {
  return merge(
    keepRunning(options.context, scheduler).pipe(tap(onDevice), ignoreElements()),
    resource(
      () => Promise.resolve(new TrackCapture(options)),
      (capture) => capture.close(),
    ),
  );
}

/** How long a track may deliver nothing before silence is filled in, in milliseconds. */
const patienceMs = 1000;

/** 10 ms chunks that the browser keeps while the page is busy: 10 s. */
const maxBufferSize = 1000;

/** Chromium's access to a track's audio as it arrives; missing from the DOM types. */
type TrackProcessor = new (init: { readonly track: MediaStreamTrack; readonly maxBufferSize: number }) => {
  readonly readable: ReadableStream<AudioData>;
};

/**
 * Captures a media track as linear16 frames, using the library's resampler.
 *
 * Uses MediaStreamTrackProcessor where available (Chromium), because a context's source node inserts 10 ms of silence
 * whenever a busy machine wakes the context before the track. The library's worklet is then the clock, as some tracks
 * deliver nothing instead of silence: those that have ended, and those of another context in which nothing plays.
 * Elsewhere the worklet captures, at the context's rate.
 */
export class TrackCapture {
  readonly #context: AudioContext;
  readonly #node: AudioWorkletNode;
  readonly #sampleRate: number;
  readonly #onChunk: (chunk: AudioChunk) => void;
  readonly #metadata: AudioMetadata;
  readonly #frames: FrameSplitter;
  #resampler: Resampler;
  #positionMs = 0;
  #source: MediaStreamAudioSourceNode | undefined;
  #reader: ReadableStreamDefaultReader<AudioData> | undefined;
  /** Time since the reader last delivered. */
  #missingMs = 0;

  constructor({ context, sampleRate, onChunk }: TrackCaptureOptions) {
    this.#context = context;
    this.#sampleRate = sampleRate;
    this.#onChunk = onChunk;
    this.#metadata = capturedFormat(sampleRate);
    this.#frames = new FrameSplitter(this.#metadata, frameMs);
    this.#resampler = new Resampler(context.sampleRate, sampleRate);
    this.#node = new AudioWorkletNode(context, captureProcessor, {
      channelCount: 1,
      channelCountMode: 'explicit',
      channelInterpretation: 'speakers',
      processorOptions: { frameLength: Math.round((context.sampleRate * frameMs) / 1000) },
    });
    this.#node.port.onmessage = ({ data: samples }: MessageEvent<Float32Array<ArrayBuffer>>) => {
      if (!this.#reader) this.#take(samples, context.sampleRate);
      else if ((this.#missingMs += frameMs) > patienceMs) this.#take(samples.fill(0), context.sampleRate);
    };
    // Silent, but a browser may skip a node that is not connected to the destination.
    this.#node.connect(context.destination);
  }

  /** Captures this track from now on instead of the current one; `undefined` for none. Tracks are left unchanged. */
  connect(track: MediaStreamTrack | undefined): void {
    const { MediaStreamTrackProcessor: Processor } = globalThis as { MediaStreamTrackProcessor?: TrackProcessor };
    // In one task, so that the audio thread sees both at once.
    const source = track && this.#context.createMediaStreamSource(new MediaStream([track]));
    this.#release();
    source?.connect(this.#node);
    this.#source = source;
    if (!Processor || track?.readyState !== 'live') return;
    this.#reader = new Processor({ track, maxBufferSize }).readable.getReader();
    this.#missingMs = 0;
    void this.#read(this.#reader);
  }

  /** Ends the capture for good. */
  close(): void {
    this.#release();
    this.#node.port.postMessage('close');
    this.#node.port.close();
    this.#node.disconnect();
  }

  #release(): void {
    this.#source?.disconnect();
    this.#source = undefined;
    this.#reader?.cancel().catch(() => undefined);
    this.#reader = undefined;
  }

  async #read(reader: ReadableStreamDefaultReader<AudioData>): Promise<void> {
    const next = (): Promise<AudioData | undefined> =>
      reader.read().then(
        ({ value }) => value,
        () => undefined,
      );
    for (let piece = await next(); piece; piece = await next()) {
      const { sampleRate } = piece;
      const samples = monoOf(piece);
      piece.close();
      if (this.#reader !== reader) return;
      this.#missingMs = 0;
      this.#take(samples, sampleRate);
    }
  }

  #take(samples: Float32Array<ArrayBuffer>, sampleRate: number): void {
    if (this.#resampler.from !== sampleRate) this.#resampler = new Resampler(sampleRate, this.#sampleRate);
    for (const data of this.#frames.push(int16Bytes(toInt16(this.#resampler.push(samples))))) {
      const timestamp = this.#positionMs;
      this.#positionMs += durationMs(data.length, this.#metadata);
      this.#onChunk({ data, metadata: this.#metadata, timestamp });
    }
  }
}

function monoOf(piece: AudioData): Float32Array<ArrayBuffer> {
  const { numberOfChannels, numberOfFrames } = piece;
  const mono = new Float32Array(numberOfFrames);
  const channel = new Float32Array(numberOfFrames);
  for (let planeIndex = 0; planeIndex < numberOfChannels; planeIndex++) {
    piece.copyTo(channel, { planeIndex, format: 'f32-planar' });
    for (let at = 0; at < numberOfFrames; at++) mono[at] = (mono[at] ?? 0) + (channel[at] ?? 0) / numberOfChannels;
  }
  return mono;
}

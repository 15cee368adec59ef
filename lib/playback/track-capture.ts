import { fromEvent, map, merge, type Observable } from 'rxjs';
import { durationMs } from '../audio/formats.ts';
import { FrameSplitter } from '../audio/frame-splitter.ts';
import { Resampler } from '../audio/resampler.ts';
import { int16Bytes, toInt16 } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import type { DeviceEvent } from '../core/roles.ts';
import { captureProcessor } from './processors.ts';

/** Length of a captured frame, in milliseconds. */
const frameMs = 20;

/** Options of a {@link TrackCapture}. */
export interface TrackCaptureOptions {
  /** With the library's worklets. */
  readonly context: AudioContext;
  /** Hz of what comes out. */
  readonly sampleRate: number;
  /** Gets each frame: linear16, mono; `timestamp` is its place in all that was captured. */
  readonly onChunk: (chunk: AudioChunk) => void;
}

/** The format that a {@link TrackCapture} gives. */
export function capturedFormat(sampleRate: number): AudioMetadata {
  return { encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 };
}

/** How long a track may give nothing at all before silence stands in for it, in milliseconds. */
const patienceMs = 1000;

/** Pieces of 10 ms that the browser keeps while the page is busy: 10 s. */
const maxBufferSize = 1000;

/** What Chromium gives of a track: its sound as it comes. The DOM's types lack it. */
type TrackProcessor = new (init: { readonly track: MediaStreamTrack; readonly maxBufferSize: number }) => {
  readonly readable: ReadableStream<AudioData>;
};

/**
 * The sound of a media track as linear16 frames, by the library's resampler.
 *
 * Where the browser has it (Chromium), from MediaStreamTrackProcessor: a context's source node puts 10 ms of silence
 * into the sound whenever a busy machine wakes the context before the track. The library's worklet is the clock then, for
 * some tracks give nothing where others give silence: those that have ended, and those of another context where nothing
 * plays. Elsewhere the worklet captures, at the rate of the context.
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
  /** Since the reader has given something. */
  #missingMs = 0;

  constructor({ context, sampleRate, onChunk }: TrackCaptureOptions) {
    this.#context = context;
    this.#sampleRate = sampleRate;
    this.#onChunk = onChunk;
    this.#metadata = capturedFormat(sampleRate);
    this.#frames = new FrameSplitter(this.#metadata, frameMs);
    this.#resampler = new Resampler(context.sampleRate, sampleRate);
    this.#node = new AudioWorkletNode(context, captureProcessor, {
      ...{ channelCount: 1, channelCountMode: 'explicit', channelInterpretation: 'speakers' },
      processorOptions: { frameLength: Math.round((context.sampleRate * frameMs) / 1000) },
    });
    this.#node.port.onmessage = ({ data: samples }: MessageEvent<Float32Array<ArrayBuffer>>) => {
      if (!this.#reader) this.#take(samples, context.sampleRate);
      else if ((this.#missingMs += frameMs) > patienceMs) this.#take(samples.fill(0), context.sampleRate);
    };
    // Silent; a browser may leave out what leads nowhere.
    this.#node.connect(context.destination);
  }

  /** Captures this track from now on, in place of the one before; none without one. The tracks stay as they are. */
  connect(track: MediaStreamTrack | undefined): void {
    const { MediaStreamTrackProcessor: Processor } = globalThis as { MediaStreamTrackProcessor?: TrackProcessor };
    // In one task: the audio thread sees both at once.
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

const trackEvents = { ended: 'lost', mute: 'muted', unmute: 'unmuted' } as const;

/** What becomes of a track. */
export function trackEvents$(track: MediaStreamTrack): Observable<DeviceEvent> {
  const names = Object.keys(trackEvents) as (keyof typeof trackEvents)[];
  return merge(...names.map((name) => fromEvent(track, name).pipe(map(() => ({ type: trackEvents[name] })))));
}

/** Chromium gives Web Audio the sound of a remote track only while a media element has it too. Returns what undoes it. */
export function holdRemoteTrack(track: MediaStreamTrack): () => void {
  const element = new Audio();
  element.muted = true;
  element.srcObject = new MediaStream([track]);
  return () => {
    element.srcObject = null;
  };
}

import { fromEvent, map, merge, type Observable } from 'rxjs';
import { durationMs } from '../audio/formats.ts';
import { Resampler } from '../audio/resampler.ts';
import { int16Bytes, toInt16 } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import type { DeviceEvent } from '../core/roles.ts';
import { captureProcessor } from './worklets.ts';

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

/** The sound of a media track as linear16 frames, at the rate of the context and then by the library's resampler. */
export class TrackCapture {
  readonly #context: AudioContext;
  readonly #node: AudioWorkletNode;
  #source: MediaStreamAudioSourceNode | undefined;

  constructor({ context, sampleRate, onChunk }: TrackCaptureOptions) {
    this.#context = context;
    const metadata = capturedFormat(sampleRate);
    const resampler = new Resampler(context.sampleRate, sampleRate);
    let positionMs = 0;
    this.#node = new AudioWorkletNode(context, captureProcessor, {
      ...{ channelCount: 1, channelCountMode: 'explicit', channelInterpretation: 'speakers' },
      processorOptions: { frameLength: Math.round((context.sampleRate * frameMs) / 1000) },
    });
    this.#node.port.onmessage = ({ data: samples }: MessageEvent<Float32Array<ArrayBuffer>>) => {
      const data = int16Bytes(toInt16(resampler.push(samples)));
      const timestamp = positionMs;
      positionMs += durationMs(data.length, metadata);
      if (data.length > 0) onChunk({ data, metadata, timestamp });
    };
    // Silent; a browser may leave out what leads nowhere.
    this.#node.connect(context.destination);
  }

  /** Captures this track from now on, in place of the one before; none without one. The tracks stay as they are. */
  connect(track: MediaStreamTrack | undefined): void {
    // In one task: the audio thread sees both at once.
    const source = track && this.#context.createMediaStreamSource(new MediaStream([track]));
    this.#source?.disconnect();
    source?.connect(this.#node);
    this.#source = source;
  }

  /** Ends the capture for good. */
  close(): void {
    this.#source?.disconnect();
    this.#node.port.postMessage('close');
    this.#node.port.close();
    this.#node.disconnect();
  }
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

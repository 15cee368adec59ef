import { asyncScheduler, distinctUntilChanged, EMPTY, interval, map, Observable, startWith, switchMap } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import { int16Bytes, toInt16 } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';
import { captureProcessor } from '../playback/processors.ts';

/** An output that plays through a node of a browser's audio context. */
export interface NodeOutput {
  readonly name: string;
  readonly audioNode: AudioNode | undefined;
}

/** Length of a chunk, in milliseconds. */
const frameMs = 20;
/** How long silence goes on within one sound, in milliseconds. */
const pauseMs = 200;
/** How often to look for another node, in milliseconds: a device that has failed is opened again. */
const lookMs = 50;

/** Whether an output plays through a node. */
export function hasNode(output: object): output is NodeOutput {
  return 'audioNode' in output;
}

/**
 * What an output lets sound, with its volume: linear16, mono, at the device's rate, and when each chunk leaves the speaker.
 * Nothing while it is silent. Cold. Errors with `configuration` where the node's context lacks the library's worklets.
 */
export function heardThrough(output: NodeOutput, scheduler: SchedulerLike = asyncScheduler): Observable<AudioChunk> {
  return interval(lookMs, scheduler).pipe(
    startWith(0),
    map(() => output.audioNode),
    distinctUntilChanged(),
    switchMap((node) => (node && node.context.state !== 'closed' ? captured(node, output.name, scheduler) : EMPTY)),
  );
}

function captured(node: AudioNode, name: string, scheduler: SchedulerLike): Observable<AudioChunk> {
  return new Observable((subscriber) => {
    const context = node.context as AudioContext;
    const { sampleRate } = context;
    const metadata: AudioMetadata = { encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 };
    const tap = tapOf(context, name);
    const clock = new SpeakerClock();
    let silentMs = Infinity;
    // Samples posted so far, and the earliest frame of the context at which they can have begun: none comes too early.
    let posted = 0;
    let first = Infinity;
    tap.port.onmessage = ({ data }: MessageEvent<Float32Array<ArrayBuffer>>) => {
      const samples = toInt16(data);
      first = Math.min(first, context.currentTime * sampleRate - posted - samples.length);
      const timeMs = ((first + posted) * 1_000) / sampleRate;
      posted += samples.length;
      const beganMs = clock.read(scheduler.now() - soundingMs(context));
      silentMs = samples.some((sample) => sample !== 0) ? 0 : silentMs + frameMs;
      if (silentMs >= pauseMs) return;
      subscriber.next({ data: int16Bytes(samples), metadata, timestamp: beganMs + timeMs });
    };
    // What the context's clock has missed is another while from then on.
    const forget = (): void => clock.forget();
    context.addEventListener('statechange', forget);
    node.connect(tap);
    // Silent, but a browser may skip a node that is not connected to the destination.
    tap.connect(context.destination);
    subscriber.add(() => {
      context.removeEventListener('statechange', forget);
      node.disconnect(tap);
      tap.disconnect();
      tap.port.postMessage('close');
      tap.port.close();
    });
  });
}

function tapOf(context: BaseAudioContext, name: string): AudioWorkletNode {
  const frameLength = Math.round((context.sampleRate * frameMs) / 1_000);
  try {
    return new AudioWorkletNode(context, captureProcessor, {
      channelCount: 1,
      channelCountMode: 'explicit',
      processorOptions: { frameLength },
    });
  } catch (cause) {
    const message = `record: it cannot listen to the audioNode of ${name}: its context lacks the library's worklets`;
    throw new VoiceError(message, { code: 'configuration', cause });
  }
}

/** Which moment of a context is now leaving the speaker, in milliseconds. */
function soundingMs(context: AudioContext): number {
  const { contextTime = 0 } = context.getOutputTimestamp();
  const latency = context.outputLatency || context.baseLatency || 0;
  return 1_000 * (contextTime > 0 ? contextTime : context.currentTime - latency);
}

/** How long, in frames, each of the two spans is whose readings count. */
const spanFrames = 50;
/** How much slower than the page's clock a speaker's can run, in milliseconds a frame: ten times what real ones are. */
const driftMs = frameMs / 500;
/** Readings that are later than the clock by more than this, in milliseconds, mean that the speaker stood still. */
const stallMs = 60;

/**
 * When the beginning of a context left the speaker, by readings that a busy page or a device with a large buffer takes
 * late, never early: the earliest of the last one to two seconds. So it follows a clock that runs fast or slow. Where all
 * of these are a little late, it moves no faster than a speaker drifts: a step would tear a gap into what is one sound.
 */
class SpeakerClock {
  #beganMs = -Infinity;
  #earliest = Infinity;
  #before = Infinity;
  #count = 0;

  read(ms: number): number {
    if (this.#count++ === spanFrames) {
      this.#before = this.#earliest;
      this.#earliest = Infinity;
      this.#count = 1;
    }
    this.#earliest = Math.min(this.#earliest, ms);
    const read = Math.min(this.#earliest, this.#before);
    const isStall = read - this.#beganMs > stallMs;
    this.#beganMs = isStall ? read : Math.min(read, this.#beganMs + driftMs);
    return this.#beganMs;
  }

  forget(): void {
    this.#earliest = this.#before = Infinity;
    this.#beganMs = -Infinity;
  }
}

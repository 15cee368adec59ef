import { asyncScheduler, distinctUntilChanged, EMPTY, interval, map, Observable, startWith, switchMap } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import { int16Bytes, toInt16 } from '../audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import type { OutputProvider } from '../core/roles.ts';
import { captureProcessor } from '../playback/processors.ts';

/** An output that plays through a node of a browser's audio context. */
export interface NodeOutput extends Pick<OutputProvider, 'tailMs'> {
  readonly audioNode: AudioNode | undefined;
}

/** Length of a chunk, in milliseconds. */
const frameMs = 20;
/** How long silence goes on within one sound, in milliseconds. */
const pauseMs = 200;
/** How often to look for another node, in milliseconds: a device that has failed is opened anew. */
const lookMs = 200;

/** Whether an output plays through a node. */
export function hasNode(output: object): output is NodeOutput {
  return 'audioNode' in output;
}

/**
 * What an output lets sound, with its volume: linear16, mono, at the device's rate, and when each chunk begins to sound.
 * Nothing while it is silent. Cold.
 */
export function heardThrough(output: NodeOutput, scheduler: SchedulerLike = asyncScheduler): Observable<AudioChunk> {
  return interval(lookMs, scheduler).pipe(
    startWith(0),
    map(() => output.audioNode),
    distinctUntilChanged(),
    switchMap((node) => (node ? captured(node, output, scheduler) : EMPTY)),
  );
}

function captured(node: AudioNode, output: NodeOutput, scheduler: SchedulerLike): Observable<AudioChunk> {
  return new Observable((subscriber) => {
    const { context } = node;
    const { sampleRate } = context;
    const metadata: AudioMetadata = { encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 };
    const tap = new AudioWorkletNode(context, captureProcessor, {
      channelCount: 1,
      channelCountMode: 'explicit',
      processorOptions: { frameLength: Math.round((sampleRate * frameMs) / 1_000) },
    });
    let silentMs = Infinity;
    let startMs = 0;
    tap.port.onmessage = ({ data }: MessageEvent<Float32Array<ArrayBuffer>>) => {
      const samples = toInt16(data);
      const isSilent = samples.every((sample) => sample === 0);
      // A busy page gets its messages late: one sound has one beginning, and goes on by its samples.
      if (silentMs >= pauseMs) startMs = scheduler.now() - frameMs + (output.tailMs ?? 0);
      else startMs += frameMs;
      silentMs = isSilent ? silentMs + frameMs : 0;
      if (silentMs < pauseMs) subscriber.next({ data: int16Bytes(samples), metadata, timestamp: startMs });
    };
    node.connect(tap);
    // Silent, but a browser may skip a node that is not connected to the destination.
    tap.connect(context.destination);
    subscriber.add(() => {
      node.disconnect(tap);
      tap.disconnect();
      tap.port.postMessage('close');
      tap.port.close();
    });
  });
}

import type { AudioMetadata } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { ConnectionEvent, SpeechEvent, TranscriptionResult } from '../../../lib/core/roles.ts';
import { EpsilonSTT } from '../../../lib/providers/stt/epsilon-stt.ts';
import type { StreamingSTT, StreamingSTTConfig } from '../../../lib/providers/stt/streaming-stt.ts';
import type { ReconnectingSocketOptions } from '../../../lib/transport/reconnecting-socket.ts';
import { FakeSockets } from '../../transport/fake-sockets.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';

export { settle, TestClock } from '../../transport/test-clock.ts';
export { FakeSockets } from '../../transport/fake-sockets.ts';

/** A provider with a service that is the test's. */
export function faked<T extends object>(
  stt: T,
  sockets: FakeSockets = new FakeSockets(),
): T & { sockets: FakeSockets } {
  const options = Reflect.get(stt, 'socketOptions') as () => Partial<ReconnectingSocketOptions>;
  Reflect.set(stt, 'socketOptions', () => ({ ...options.call(stt), openSocket: sockets.open }));
  return Object.assign(stt, { sockets });
}

/** The provider, with a service that is the test's. */
export class FakedEpsilonSTT extends EpsilonSTT {
  sockets: FakeSockets = new FakeSockets();

  protected override socketOptions(): Partial<ReconnectingSocketOptions> {
    return { ...super.socketOptions(), openSocket: this.sockets.open };
  }
}

/** What a provider says, kept. */
export function record(
  stt: Pick<StreamingSTT<StreamingSTTConfig>, 'transcripts$' | 'speech$' | 'connection$' | 'errors$'>,
) {
  const results: TranscriptionResult[] = [];
  const speech: SpeechEvent['type'][] = [];
  const events: ConnectionEvent[] = [];
  const errors: VoiceError[] = [];
  /** Results and speech events in their order, in short. */
  const log: string[] = [];
  stt.transcripts$.subscribe((result) => {
    results.push(result);
    log.push(brief(result));
  });
  stt.speech$.subscribe(({ type }) => {
    speech.push(type);
    log.push(type);
  });
  stt.connection$.subscribe((event) => events.push(event));
  stt.errors$.subscribe((error) => errors.push(error));
  return { results, speech, events, errors, log, types: () => events.map(({ type }) => type) };
}

/** `~` interim, `?` preflight, `-` final segment, `.` complete. */
function brief({ text, isFinal, utteranceComplete, isPreflight }: TranscriptionResult): string {
  return `${utteranceComplete ? '.' : isFinal ? '-' : isPreflight ? '?' : '~'} ${text}`;
}

export const mono16k: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };

/** `ms` of linear16 at 16 kHz, each byte pair telling its own place modulo 2^15, so that nothing can be lost unseen. */
export function tape(ms: number, fromMs: number = 0): Uint8Array<ArrayBuffer> {
  const samples = Int16Array.from({ length: ms * 16 }, (_, index) => (fromMs * 16 + index) % 32_768);
  return new Uint8Array(samples.buffer);
}

/** Samples as the service got them, joined. */
export function heard(frames: readonly (string | Uint8Array)[]): number[] {
  return frames.flatMap((frame) => {
    if (typeof frame === 'string') return [];
    const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
    return Array.from({ length: frame.length / 2 }, (_, index) => view.getInt16(index * 2, true));
  });
}

/** Connects a provider, and accepts. */
export async function connected<
  T extends { connect(): Promise<void>; initialize(): Promise<void>; sockets: FakeSockets },
>(stt: T, greeting?: Record<string, unknown>): Promise<T> {
  await stt.initialize();
  const opened = stt.connect();
  await settle();
  stt.sockets.last.accept();
  if (greeting) stt.sockets.last.say(greeting);
  await opened;
  return stt;
}

/** What a promise failed with. */
export async function failure(promise: Promise<unknown>): Promise<VoiceError> {
  try {
    await promise;
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

/** A clock and a configuration on it. */
export function clocked(): {
  clock: TestClock;
  config: { apiKey: string; scheduler: TestClock; reconnect: { jitter: 'none' } };
} {
  const clock = new TestClock();
  return { clock, config: { apiKey: 'canary-7f3a', scheduler: clock, reconnect: { jitter: 'none' } } };
}

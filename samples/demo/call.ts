import { filter, firstValueFrom, timer, type Observable } from 'rxjs';
import { BufferInput, NullOutput, Pipeline, type AudioChunk, type Message, type VoiceEvent } from 'rxvoice';
import { Caller, writeCallerFile } from './caller.ts';
import type { Services } from './services.ts';

/** What the caller says: a plain turn, a confirmed preflight, words that change after the preflight, and a barge-in. */
export const lines = [
  'Hello there',
  'Say the line is clear',
  'Say one table … for two people',
  'Tell me a long story',
  'Stop that please',
] as const;

/** How long the story is listened to before it is interrupted. */
const patienceMs = 2_500;

/** Everything that is known of a call. */
export interface CallRecord {
  readonly events: readonly VoiceEvent[];
  readonly history: readonly Message[];
  /** What the caller heard, with the time of each chunk on the events' clock. */
  readonly heard: readonly AudioChunk[];
  /** What the caller sent: 16 kHz linear16 from `startedAt` on. */
  readonly sent: readonly Uint8Array[];
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Runs the whole call; events can be watched while it goes on. */
export async function runCall(
  services: Services,
  callerFile: string,
  watch: (events$: Observable<VoiceEvent>) => void,
): Promise<CallRecord> {
  await makeCallerFile(services, callerFile);
  const input = new BufferInput({ sampleRate: 16_000 });
  const output = new NullOutput();
  const ears = services.hear({ eotThreshold: 0.8 });
  const pipeline = new Pipeline({
    providers: [input, ears, services.think(), services.speak({ sampleRate: 24_000 }), output],
    systemPrompt: 'You are a concise voice assistant on the telephone.',
  });
  const caller = await Caller.fromFile(callerFile, input);
  const events: VoiceEvent[] = [];
  const heard: AudioChunk[] = [];
  const recordings = [
    pipeline.events$.subscribe((event) => events.push(event)),
    output.heard$.subscribe((chunk) => heard.push(chunk)),
  ];
  watch(pipeline.events$);
  const next = (type: VoiceEvent['type']): Promise<VoiceEvent> =>
    firstValueFrom(pipeline.events$.pipe(filter((event) => event.type === type)));

  try {
    await pipeline.start();
    const startedAt = Date.now();
    caller.connect();

    const plain = next('turn.ended');
    await caller.sayNext();
    await plain;

    ears.updateConfig({ options: { eotThreshold: 0.8, eagerEotThreshold: 0.4 } });
    for (let turn = 2; turn <= 3; turn++) {
      const ended = next('turn.ended');
      await caller.sayNext();
      await ended;
    }

    const telling = next('speech.started');
    await caller.sayNext();
    await telling;
    await firstValueFrom(timer(patienceMs));
    const interrupted = next('turn.ended');
    const stopping = caller.sayNext();
    await interrupted;
    const answered = next('turn.ended');
    await Promise.all([stopping, answered]);

    const history = pipeline.history.messages();
    return { events, history, heard, sent: caller.sent, startedAt, endedAt: Date.now() };
  } finally {
    caller.hangUp();
    await pipeline.dispose();
    for (const recording of recordings) recording.unsubscribe();
  }
}

/** The caller is a voice too: of another person, on the same service. */
async function makeCallerFile(services: Services, path: string): Promise<void> {
  const voice = services.speak({ voice: 'aura-2-apollo-en', sampleRate: 16_000 });
  await voice.initialize();
  await writeCallerFile(path, lines, voice);
  await voice.dispose();
}

/** The events of one type. */
export function ofType<T extends VoiceEvent['type']>(events: readonly VoiceEvent[], type: T): VoiceEvent<T>[] {
  const wanted = events.filter((event) => event.type === type);
  return wanted as VoiceEvent<T>[];
}

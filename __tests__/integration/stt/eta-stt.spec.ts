// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom } from 'rxjs';
import { EtaSTT, type EtaSTTConfig, type TranscriptionResult, type VoiceError } from '../../../lib/index.ts';
import { sentAudio, startSandbox, type Sandbox, type ServiceRecord } from '../../../samples/sandbox/index.ts';
import { describeStreamingSTT, frames, linear } from '../../conformance/streaming-stt.ts';

/** The audio without the silence that makes its last frame long enough, in whole frames of 20 ms at 16 kHz. */
function audioOf(record: ServiceRecord): Uint8Array {
  const audio = sentAudio(record);
  const end = audio.findLastIndex((byte) => byte !== 0) + 1;
  return audio.subarray(0, Math.ceil(end / 640) * 640);
}

describeStreamingSTT({
  ...{ name: 'EtaSTT', vendor: 'eta', service: 'eta-stt', first: 'eta-stt', greetings: 1 },
  formats: [8_000, 16_000, 24_000, 44_100, 48_000].map(linear),
  ...{ refused: ['unauthorized', 4_001], dropAfter: 3, audioOf },
  create: (config) => new EtaSTT({ catchUpSpeed: false, ...config }),
  token: () => Promise.resolve('sandbox-key'),
});

describe('EtaSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: EtaSTT;
  beforeEach(async () => {
    sandbox = await startSandbox({ limits: { etaIdleMs: 300 } });
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function live(config: EtaSTTConfig = {}) {
    stt = new EtaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.eta, catchUpSpeed: false, ...config });
    const results: TranscriptionResult[] = [];
    const errors: VoiceError[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    stt.errors$.subscribe((error) => errors.push(error));
    await stt.initialize();
    await stt.connect();
    return { results, errors };
  }
  const say = (text: string): void => {
    for (const chunk of frames([text])) stt.sendAudio(chunk);
  };
  const complete = (): Promise<TranscriptionResult> =>
    firstValueFrom(stt.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));

  it('an idle timeout, which is a normal close, is not the end', async () => {
    const { errors } = await live();
    const again = firstValueFrom(stt.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    expect(await again).toMatchObject({ error: { status: 1_000, recoverable: true } });
    const heard = complete();
    say('hello there');
    expect([(await heard).text, errors]).toEqual(['hello there.', []]);
  });

  it('every key is taken by the service', async () => {
    const { errors } = await live({
      ...{ filterProfanity: true, removeDisfluencies: true, maxSegmentDurationSeconds: 10, customVocabularyId: 'cv' },
      ...{ transcriber: 'machine_v2', enableSpeakerSwitch: true, skipPostprocessing: true, detailedPartials: true },
      ...{ priority: 'accuracy', metadata: 'a b', deleteAfterSeconds: 0, maxConnectionWaitSeconds: 60 },
    });
    const heard = complete();
    say('hello there');
    expect(await heard).toMatchObject({ text: 'hello there', metadata: { speaker: '0' } });
    await stt.disconnect();
    expect([errors, sandbox.records('eta-stt')[0]?.refusal]).toEqual([[], undefined]);
  });

  it('audio without an end becomes final by its duration', async () => {
    const { results } = await live({ maxSegmentDurationSeconds: 5 });
    const heard = complete();
    say('one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen');
    expect((await heard).text.startsWith('one two three')).toBe(true);
    await stt.disconnect();
    const words = results.filter(({ utteranceComplete }) => utteranceComplete).flatMap(({ text }) => text.split(/\W+/));
    expect(words.filter(Boolean)).toHaveLength(16);
  });
});

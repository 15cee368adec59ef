// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { asyncScheduler, filter, firstValueFrom, type SchedulerLike } from 'rxjs';
import { LambdaSTT, type LambdaSTTConfig, type TranscriptionResult, type VoiceError } from '../../../lib/index.ts';
import { readStreamMessage } from '../../../samples/sandbox/event-stream.ts';
import { startSandbox, type Sandbox, type ServiceRecord } from '../../../samples/sandbox/index.ts';
import { concatBytes } from '../../../samples/sandbox/pcm.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

const region = 'eu-west-1';
const accessKeyId = 'AKIDEXAMPLE';
const credentials = { accessKeyId, secretAccessKey: 'sandbox-key' };

/** The audio events of a connection, unwrapped. */
const audioOf = ({ messages }: ServiceRecord): Uint8Array =>
  concatBytes(
    messages.flatMap(({ from, bytes }) => {
      if (from !== 'client' || !bytes) return [];
      const message = readStreamMessage(new Uint8Array(bytes));
      return typeof message === 'string' ? [] : [message.payload];
    }),
  );

describeStreamingSTT({
  ...{ name: 'LambdaSTT', vendor: 'lambda', service: 'lambda-stt', first: 'lambda-stt', greetings: 0 },
  hasRequestId: false,
  formats: [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000].map(linear),
  ...{ refused: ['unauthorized', 403] as const, dropAfter: 15 },
  audioOf,
  create({ apiKey, ...config }) {
    const secret = (secretAccessKey: string) => ({ accessKeyId, secretAccessKey });
    const fetched = typeof apiKey === 'function' ? () => apiKey().then(secret) : secret(apiKey ?? '');
    const direct = config.proxyUrl === undefined && { credentials: fetched, region };
    return new LambdaSTT({ catchUpSpeed: false, ...direct, ...config });
  },
  token: () => Promise.resolve('sandbox-key'),
});

describe('LambdaSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: LambdaSTT;
  beforeEach(async () => {
    sandbox = await startSandbox({ limits: { lambdaIdleMs: 300 } });
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function live(config: LambdaSTTConfig = {}) {
    stt = new LambdaSTT({ credentials, region, endpoint: sandbox.endpoints.lambda, catchUpSpeed: false, ...config });
    const results: TranscriptionResult[] = [];
    const errors: VoiceError[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    stt.errors$.subscribe((error) => errors.push(error));
    await stt.initialize();
    return { results, errors };
  }
  const complete = (): Promise<TranscriptionResult> =>
    firstValueFrom(stt.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));
  const say = (text: string, metadata = linear(16_000)): void => {
    for (const chunk of frames([text], metadata)) stt.sendAudio(chunk);
  };

  for (const encoding of ['mulaw', 'alaw'] as const) {
    it(`hears a phone’s own ${encoding}, where it is asked to`, async () => {
      const { errors } = await live({ mediaEncoding: encoding === 'mulaw' ? 'g711-ulaw' : 'g711-alaw' });
      const heard = complete();
      await stt.connect();
      say('hello there', { ...mulaw, encoding });
      expect([(await heard).text, errors]).toEqual(['hello there', []]);
    });
  }

  it('detects the language, and identifies speakers', async () => {
    await live({ identifyLanguage: true, languageOptions: ['fr-FR', 'en-US'], showSpeakerLabel: true });
    const heard = complete();
    await stt.connect();
    say('bonjour');
    expect((await heard).metadata).toMatchObject({ language: 'fr-FR', speaker: '0' });
  });

  it('F45: signs again by the service’s clock, once, when its own is wrong', async () => {
    const anHour = 3_600_000;
    const scheduler: SchedulerLike = {
      now: () => asyncScheduler.now() - anHour,
      schedule: (work, delay, state) => asyncScheduler.schedule(work as never, delay, state),
    };
    await live({ scheduler });
    await stt.connect();
    const dates = sandbox.records('lambda-stt').map(({ query }) => Object.fromEntries(query)['X-Amz-Date'] ?? '');
    const [early = NaN, right = NaN] = dates.map((date) => Number(date.slice(9, 11)));
    expect((right - early + 24) % 24).toBe(1);
    expect(sandbox.records('lambda-stt').map(({ status }) => status)).toEqual([403, 101]);
  });

  it('restarts a session that heard nothing for long, without a fatal error', async () => {
    const { errors } = await live();
    const again = firstValueFrom(stt.connection$.pipe(filter(({ type }) => type === 'reconnecting')));
    await stt.connect();
    expect(await again).toMatchObject({ error: { code: 'timeout', status: 400, recoverable: true } });
    const heard = complete();
    say('hello there');
    expect([(await heard).text, errors]).toEqual(['hello there', []]);
  });

  it('shows neither secret nor signature when it is refused', async () => {
    const secrets = { secretAccessKey: 'canary-7f3a', sessionToken: 'canary-9b1c' };
    await live({ credentials: { ...credentials, ...secrets }, reconnect: false });
    const error: unknown = await stt.connect().catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'unauthorized' });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/canary|X-Amz/);
  });
});

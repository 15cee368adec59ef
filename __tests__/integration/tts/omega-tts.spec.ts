// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { asyncScheduler, from, lastValueFrom, of, toArray, type SchedulerLike } from 'rxjs';
import type { SpokenWord } from '../../../lib/core/roles.ts';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { OmegaTTS, type OmegaTTSConfig } from '../../../lib/providers/tts/omega-tts.ts';
import type { AwsCredentials } from '../../../lib/transport/aws-signature.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear } from '../../conformance/tts.ts';

const signedWith = (secretAccessKey: string): AwsCredentials => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey });
const voice =
  (config: Partial<OmegaTTSConfig>) =>
  ({ apiKey, ...address }: TTSConfig): OmegaTTS =>
    new OmegaTTS({
      ...{ voiceId: 'Joanna', region: 'eu-west-1', ...config, ...address },
      ...(typeof apiKey === 'string' && { credentials: signedWith(apiKey) }),
      ...(typeof apiKey === 'function' && { credentials: async () => signedWith(await apiKey()) }),
    });

describeTTS({
  ...{ vendor: 'omega', service: 'omega-tts', refusedStatus: 403 },
  voices: {
    'OmegaTTS pcm': voice({ outputFormat: 'pcm' }),
    'OmegaTTS mulaw': voice({ outputFormat: 'mulaw', engine: 'standard' }),
    'OmegaTTS alaw, in SSML': voice({ outputFormat: 'alaw', textType: 'ssml' }),
  },
});

describe('OmegaTTS in the sandbox', () => {
  const speak = (tts: OmegaTTS, text: string) => lastValueFrom(tts.speak(of(text)).pipe(toArray()));

  it('speaks SSML, and text with any signs', async () => {
    await using sandbox = await startSandbox();
    const tts = voice({ outputFormat: 'pcm' })({ proxyUrl: sandbox.proxies.omega });
    await tts.initialize();
    const text = `Tom & Jerry's "<b>" 日本語 😀`;
    expect(hear(await speak(tts, text)).text).toBe(text);
    expect(hear(await speak(tts, '<speak>Tom &amp; <break time="1s"/>Jerry</speak>')).text).toBe('Tom & Jerry');
    await tts.dispose();
  });

  it('signs anew with fresh credentials when those of a factory are refused', async () => {
    await using sandbox = await startSandbox();
    let calls = 0;
    const credentials = (): Promise<AwsCredentials> =>
      Promise.resolve({ ...signedWith(++calls === 1 ? 'expired' : 'sandbox-key'), sessionToken: 'session' });
    const tts = voice({ outputFormat: 'pcm', credentials })({ endpoint: sandbox.endpoints.omega });
    await tts.initialize();
    expect(hear(await speak(tts, 'Hello.')).text).toBe('Hello.');
    expect([calls, ...sandbox.records('omega-tts').map(({ status }) => status)]).toEqual([2, 403, 200]);
    await tts.dispose();
  });

  it('sets its clock right when the service says that it is wrong (F45)', async () => {
    await using sandbox = await startSandbox();
    const anHourAgo: SchedulerLike = {
      now: () => Date.now() - 3_600_000,
      schedule: asyncScheduler.schedule.bind(asyncScheduler),
    };
    const config = { endpoint: sandbox.endpoints.omega, apiKey: 'sandbox-key', scheduler: anHourAgo };
    const tts = voice({ outputFormat: 'pcm' })(config);
    await tts.initialize();
    expect(hear(await speak(tts, 'Hello.')).text).toBe('Hello.');
    expect(sandbox.records('omega-tts').map(({ status }) => status)).toEqual([403, 200]);
    await tts.dispose();
  });

  it('tells when each word sounds, as the service does', async () => {
    await using sandbox = await startSandbox();
    const tts = voice({ outputFormat: 'pcm', wordTimings: true })({ proxyUrl: sandbox.proxies.omega });
    await tts.initialize();
    const words: SpokenWord[] = [];
    tts.words$.subscribe((word) => words.push(word));
    const spoken = ['The quick "brown" fox.', '<speak>It <b>jumps</b>.</speak>'];
    await lastValueFrom(tts.speak(from(spoken)).pipe(toArray()));
    // 80 ms a character; words last until the next one.
    expect(words.map(({ text, startMs, endMs, estimated }) => [text, startMs, endMs, estimated])).toEqual([
      ['The', 0, 320, undefined],
      ['quick', 320, 880, undefined],
      ['"brown"', 880, 1440, undefined],
      ['fox.', 1440, 1760, undefined],
      ['It', 1760, 2000, undefined],
      ['jumps', 2000, 2480, undefined],
    ]);
    await tts.dispose();
  });

  it('estimates words when the service does not tell', async () => {
    await using sandbox = await startSandbox();
    const tts = voice({ outputFormat: 'pcm', wordTimings: true })({ proxyUrl: sandbox.proxies.omega });
    await tts.initialize();
    const words: SpokenWord[] = [];
    tts.words$.subscribe((word) => words.push(word));
    // A text without a word that it could mark.
    expect(hear(await speak(tts, '?! ...')).text).toBe('?! ...');
    expect(words.map(({ text, estimated }) => [text, estimated])).toEqual([
      ['?!', true],
      ['...', true],
    ]);
    await tts.dispose();
  });
});

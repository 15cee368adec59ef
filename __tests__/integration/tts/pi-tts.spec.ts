// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { from, lastValueFrom, Subject, toArray } from 'rxjs';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { PiTTS } from '../../../lib/providers/tts/pi-tts.ts';
import type { PiTTSConfig } from '../../../lib/providers/tts/pi-tts.ts';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear, until } from '../../conformance/tts.ts';

const voiceId = '694f9389-aac1-45b6-b726-9d9369183238';
const voice =
  (config: Partial<PiTTSConfig>) =>
  (address: TTSConfig): PiTTS =>
    new PiTTS({ voiceId, ...config, ...address });

describeTTS({
  ...{ vendor: 'pi', service: 'pi-tts', tellsWords: true },
  voices: {
    'PiTTS pcm_s16le 24 kHz': voice({}),
    'PiTTS pcm_f32le 44.1 kHz': voice({ outputEncoding: 'pcm_f32le', outputSampleRate: 44_100 }),
    'PiTTS pcm_mulaw 8 kHz': voice({ outputEncoding: 'pcm_mulaw', modelId: 'sonic-2', speed: 'slow' }),
    'PiTTS pcm_alaw 16 kHz': voice({ outputEncoding: 'pcm_alaw', outputSampleRate: 16_000, emotion: ['anger:low'] }),
  },
  isCancel: (message) => (message as { cancel?: boolean }).cancel === true,
});

describe('PiTTS in the sandbox', () => {
  let sandbox: Sandbox;
  let tts: PiTTS;
  beforeEach(async () => {
    sandbox = await startSandbox();
    tts = new PiTTS({ voiceId, apiKey: 'sandbox-key', endpoint: sandbox.endpoints.pi });
  });
  afterEach(async () => {
    await tts.dispose();
    await sandbox.close();
  });
  const speak = async (...text: string[]): Promise<string> =>
    hear(await lastValueFrom(tts.speak(from(text)).pipe(toArray()))).text.trim();

  it('continues with the first sentence that was not heard to its end (F26)', async () => {
    sandbox.setFault('pi-tts', { kind: 'dropAfter', messages: 2, of: 'received', times: 1 });
    await tts.initialize();
    const text$ = new Subject<string>();
    const words: string[] = [];
    tts.words$.subscribe(({ text }) => words.push(text));
    const done = lastValueFrom(tts.speak(text$).pipe(toArray()));
    text$.next('First sentence.');
    await until(() => words.length === 2);
    text$.next('Second sentence.');
    text$.next('Third one.');
    text$.complete();
    expect(hear(await done).text.replace(/\s/g, '')).toBe('Firstsentence.Secondsentence.Thirdone.');
    expect(words.join(' ')).toBe('First sentence. Second sentence. Third one.');
  });

  it('speaks four utterances at once, though the plan takes two', async () => {
    await tts.initialize();
    const texts = ['One one.', 'Two two.', 'Three.', 'Four.'];
    expect(await Promise.all(texts.map((text) => speak(text)))).toEqual(texts);
    expect(sandbox.records('pi-tts').map(({ refusal }) => refusal)).toEqual([undefined]);
  });

  it('retries where others use up the plan', async () => {
    const other = new PiTTS({ voiceId, apiKey: 'sandbox-key', endpoint: sandbox.endpoints.pi, concurrency: 3 });
    await other.initialize();
    const texts = ['One one.', 'Two two.', 'Three.'];
    const heard = await Promise.all(
      texts.map(async (text) => hear(await lastValueFrom(other.speak(from([text])).pipe(toArray()))).text.trim()),
    );
    expect(heard).toEqual(texts);
    const answers = sandbox.records('pi-tts').flatMap(({ messages }) => messages.map(({ text = '' }) => text));
    expect(answers.filter((text) => text.includes('concurrency_limited')).length).toBe(1);
    await other.dispose();
  });

  it('says that a model is retired, or a voice unknown, and speaks on', async () => {
    await tts.initialize();
    tts.updateConfig({ modelId: 'sonic' });
    await expect(speak('Hello.')).rejects.toMatchObject({ code: 'not_found', status: 400 });
    tts.updateConfig({ modelId: 'sonic-3', voiceId: 'nobody' });
    await expect(speak('Hello.')).rejects.toMatchObject({ code: 'not_found', status: 404 });
    tts.updateConfig({ voiceId });
    expect(await speak('Hello.')).toBe('Hello.');
    expect(sandbox.records('pi-tts').length).toBe(1);
  });

  it('presents an access token', async () => {
    const response = await fetch(`${sandbox.endpoints.pi}/access-token`, {
      ...{ method: 'POST', body: JSON.stringify({ grants: { tts: true }, expires_in: 60 }) },
      headers: { Authorization: 'Bearer sandbox-key', 'Cartesia-Version': '2026-03-01' },
    });
    const { token } = (await response.json()) as { token: string };
    tts.updateConfig({ apiKey: () => Promise.resolve(token) });
    await tts.initialize();
    expect(await speak('Hello.')).toBe('Hello.');
  });
});

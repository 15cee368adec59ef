// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom } from 'rxjs';
import {
  ZetaSTT,
  type SoundEvent,
  type SpeechTranslation,
  type TranscriptionResult,
  type VoiceError,
  type ZetaSTTConfig,
} from '../../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { silence } from '../../../samples/sandbox/modem.ts';
import { describeStreamingSTT, frames, inBrowser, linear, mulaw } from '../../conformance/streaming-stt.ts';

async function token(sandbox: Sandbox): Promise<string> {
  const headers = { Authorization: 'Bearer sandbox-key', 'Content-Type': 'application/json' };
  const address = `${sandbox.endpoints.zeta}/v1/api_keys?type=rt`;
  const answer = await fetch(address, { method: 'POST', headers, body: '{"ttl":60}' });
  return ((await answer.json()) as { key_value: string }).key_value;
}

describeStreamingSTT({
  ...{ name: 'ZetaSTT', vendor: 'zeta', service: 'zeta-stt', first: 'zeta-stt', greetings: 2 },
  formats: [
    ...[...[8_000, 16_000, 24_000, 44_100, 48_000].map(linear), mulaw],
    { encoding: 'linear32', sampleRate: 16_000, channels: 1, bitDepth: 32 },
  ],
  create: (config) => new ZetaSTT({ catchUpSpeed: false, ...config }),
  token,
});

describe('ZetaSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: ZetaSTT;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function ready(config: ZetaSTTConfig = {}) {
    stt = new ZetaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.zeta, catchUpSpeed: false, ...config });
    const results: TranscriptionResult[] = [];
    const errors: VoiceError[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    stt.errors$.subscribe((error) => errors.push(error));
    await stt.initialize();
    return { results, errors };
  }
  const say = (text: string, ms: number = Infinity): void => {
    for (const chunk of frames([text]).slice(0, ms / 20)) stt.sendAudio(chunk);
  };
  const complete = (): Promise<TranscriptionResult> =>
    firstValueFrom(stt.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));

  it('every setting is one that the service takes', async () => {
    const { errors } = await ready({
      ...{ language: 'en-GB', operatingPoint: 'enhanced', domain: 'medical', maxDelay: 1.5, maxDelayMode: 'fixed' },
      ...{ enableSpeakerDiarization: true, maxSpeakers: 2, speakerSensitivity: 0.6, enableEntities: true },
      ...{ additionalVocab: ['bucatini', { content: 'gnocchi', sounds_like: ['nyohki'] }], volumeThreshold: 3.4 },
      ...{ removeDisfluencies: true, punctuation: { permittedMarks: ['.', ','], sensitivity: 0.5 } },
    });
    await stt.connect();
    const heard = complete();
    say('Hello there. How are you?');
    expect(await heard).toMatchObject({
      text: 'Hello there. How are you?',
      metadata: { language: 'en', speaker: 'S1', words: { length: 5, 1: { text: 'there' } } },
    });
    await stt.disconnect();
    expect([errors, sandbox.records('zeta-stt')[0]?.refusal]).toEqual([[], undefined]);
  });

  it('has translations with results, and the final ones after them', async () => {
    const { results, errors } = await ready({ translation: { to: ['es', 'de', 'eo'] } });
    const told: SpeechTranslation[] = [];
    stt.translations$.subscribe((each) => told.push(each));
    await stt.connect();
    for (const text of ['hello there', 'good night']) {
      const heard = complete();
      say(text);
      await heard;
    }
    await stt.disconnect();
    const [first, second] = results.filter(({ utteranceComplete }) => utteranceComplete);
    expect(first?.metadata?.translations).toEqual([
      { text: 'olleh ereht', language: 'es' },
      { text: 'olleh ereht', language: 'de' },
    ]);
    expect(second?.metadata?.translations?.[0]).toEqual({ text: 'doog thgin', language: 'es' });
    const finals = told.filter(({ isFinal, language }) => isFinal && language === 'de').map(({ text }) => text);
    expect(finals).toEqual(['olleh ereht', 'doog thgin']);
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('unsupported_translation_pair')]);
  });

  it('tells of music, which is not speech', async () => {
    const { results } = await ready({ audioEvents: ['music'] });
    const sounds: SoundEvent[] = [];
    stt.sounds$.subscribe((event) => sounds.push(event));
    await stt.connect();
    // Beats of an A.
    const music = silence(3_000, 16_000).map((_, at) =>
      at % 6_400 < 4_800 ? 8_000 * Math.sin((2 * Math.PI * 440 * at) / 16_000) : 0,
    );
    for (const samples of [music, silence(1_500, 16_000)]) {
      stt.sendAudio({ data: new Uint8Array(samples.buffer), metadata: linear(16_000) });
    }
    const heard = complete();
    say('hello');
    expect((await heard).text).toBe('hello');
    expect(sounds.map(({ type, sound }) => [type, sound])).toEqual([
      ['started', 'music'],
      ['ended', 'music'],
    ]);
    expect(results.every(({ text }) => text === '' || 'hello'.startsWith(text))).toBe(true);
  });

  it('ends an utterance on request', async () => {
    await ready({ endOfUtteranceSilenceTrigger: 0 });
    await stt.connect();
    for (const text of ['hello', 'good night']) {
      const heard = complete();
      say(text, text.length * 80);
      stt.forceEndOfUtterance();
      expect((await heard).text).toBe(text);
    }
    const [record] = sandbox.records('zeta-stt');
    const forced = (record ? record.messages : []).filter(({ text = '' }) => text.includes('"ForceEndOfUtterance"'));
    expect(forced.map(({ text = '' }) => (JSON.parse(text) as { timestamp: number }).timestamp)).toEqual([0.4, 1.2]);
  });

  it('changes what it can on the open session', async () => {
    const { errors } = await ready();
    await stt.connect();
    stt.updateConfig({ endOfUtteranceSilenceTrigger: 0.3, interimResults: false });
    const heard = complete();
    say('hello');
    await heard;
    await stt.disconnect();
    const records = sandbox.records('zeta-stt');
    expect([records.length, records[0]?.refusal, errors]).toEqual([1, undefined, []]);
    const [, changed] = records.flatMap(sentJson);
    expect(changed).toMatchObject({
      message: 'SetRecognitionConfig',
      transcription_config: { enable_partials: false },
    });
  });

  it('says that a temporary key is wrong although the service lets everybody in', async () => {
    await ready({ apiKey: 'canary-7f3a' });
    await expect(inBrowser(stt).connect()).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
    await stt.dispose();
    // The right key is wrong here, and why is said.
    await ready({ apiKey: 'sandbox-key' });
    await expect(inBrowser(stt).connect()).rejects.toThrow(/JWT/);
    await stt.dispose();
    const keys = ['canary-7f3a', await token(sandbox)];
    await ready({ apiKey: () => Promise.resolve(keys.shift() ?? 'none') });
    const heard = complete();
    await inBrowser(stt).connect();
    say('hello');
    expect((await heard).text).toBe('hello');
  });
});

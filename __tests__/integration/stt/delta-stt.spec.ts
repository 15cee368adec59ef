// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom } from 'rxjs';
import { DeltaSTT, type DeltaSTTConfig, type TranscriptionResult, type VoiceError } from '../../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

describeStreamingSTT({
  ...{ name: 'DeltaSTT', vendor: 'delta', service: 'delta-stt', first: 'delta-stt', greetings: 0, hasRequestId: false },
  formats: [
    ...[...[8_000, 16_000, 24_000, 48_000].map(linear), mulaw],
    { encoding: 'linear32', sampleRate: 16_000, channels: 1, bitDepth: 32 },
    { encoding: 'alaw', sampleRate: 8_000, channels: 1, bitDepth: 8 },
  ],
  create: (config) => new DeltaSTT({ catchUpSpeed: false, ...config }),
  async token(sandbox) {
    const body = JSON.stringify({ usage_type: 'transcribe_websocket', expires_in_seconds: 60, single_use: true });
    const headers = { Authorization: 'Bearer sandbox-key', 'Content-Type': 'application/json' };
    const answer = await fetch(`${sandbox.endpoints.delta}/v1/auth/temporary-api-key`, {
      method: 'POST',
      headers,
      body,
    });
    return ((await answer.json()) as { api_key: string }).api_key;
  },
});

describe('DeltaSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: DeltaSTT;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function live(config: DeltaSTTConfig = {}) {
    stt = new DeltaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.delta, catchUpSpeed: false, ...config });
    const results: TranscriptionResult[] = [];
    const errors: VoiceError[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    stt.errors$.subscribe((error) => errors.push(error));
    await stt.initialize();
    await stt.connect();
    return { results, errors };
  }
  const say = (text: string, ms: number = Infinity): void => {
    for (const chunk of frames([text]).slice(0, ms / 20)) stt.sendAudio(chunk);
  };
  const complete = (): Promise<TranscriptionResult> =>
    firstValueFrom(stt.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));

  it('every setting is one that the service takes', async () => {
    const { errors } = await live({
      model: 'stt-rt-v6',
      ...{ languageHints: ['en-GB', 'en', 'de'], languageHintsStrict: true, maxEndpointDelayMs: 500 },
      ...{ endpointSensitivity: 0.5, endpointLatencyAdjustmentLevel: 1, enableLanguageIdentification: true },
      ...{ enableSpeakerDiarization: true, context: { terms: ['Celebrex'] }, clientReferenceId: 'call-42' },
    });
    const heard = complete();
    say('hello there');
    expect(await heard).toMatchObject({ text: 'hello there', metadata: { language: 'en', speaker: '1' } });
    const [record] = sandbox.records('delta-stt');
    expect([errors, record?.refusal]).toEqual([[], undefined]);
    expect(JSON.parse(record?.messages[0]?.text ?? '')).toMatchObject({
      language_hints: ['en', 'de'],
      num_channels: 1,
    });
  });

  it('has the translation of an utterance with its last result', async () => {
    const { results, errors } = await live({ translation: { to: 'es' } });
    for (const [said, translated] of [
      ['hello there', 'olleh ereht'],
      ['good night', 'doog thgin'],
    ] as const) {
      const heard = complete();
      say(said);
      const { text, metadata } = await heard;
      expect([text, metadata?.translations]).toEqual([said, [{ text: translated, language: 'es' }]]);
    }
    expect(results.some(({ isFinal, metadata }) => !isFinal && metadata?.translations !== undefined)).toBe(true);
    expect(errors).toEqual([]);
  });

  it('finalize() ends the utterance, where the service does not', async () => {
    await live({ enableEndpointDetection: false });
    for (const text of ['hello', 'good night']) {
      const heard = complete();
      say(text, text.length * 80);
      stt.finalize();
      expect((await heard).text).toBe(text);
    }
  });

  it('says what is wrong with a setting as soon as the service does', async () => {
    const lost = new Promise<VoiceError>((resolve) => {
      void live({ model: 'stt-rt-v0' }).then(
        () => undefined,
        () => undefined,
      );
      stt.errors$.subscribe(resolve);
    });
    expect(await lost).toMatchObject({ code: 'configuration', status: 400, recoverable: false });
  });
});

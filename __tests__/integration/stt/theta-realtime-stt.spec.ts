// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom } from 'rxjs';
import {
  ThetaRealtimeSTT,
  type ThetaRealtimeSTTConfig,
  type TranscriptionResult,
  type VoiceError,
} from '../../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox, type ServiceRecord } from '../../../samples/sandbox/index.ts';
import { concatBytes } from '../../../samples/sandbox/pcm.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

const pcm = linear(24_000);
const alaw = { ...mulaw, encoding: 'alaw' } as const;

/** The audio of the append messages. */
const audioOf = (record: ServiceRecord): Uint8Array =>
  concatBytes(
    sentJson(record).flatMap((message) => {
      const { audio } = message as { readonly audio?: string };
      return audio === undefined ? [] : [new Uint8Array(Buffer.from(audio, 'base64'))];
    }),
  );

describeStreamingSTT({
  ...{ name: 'ThetaRealtimeSTT', vendor: 'theta', service: 'theta-realtime-stt', first: 'theta-realtime-stt' },
  ...{ greetings: 2, formats: [pcm, mulaw, alaw], format: pcm, hasWordTimes: false, isQuietMeanwhile: true, audioOf },
  create: (config) => new ThetaRealtimeSTT(config),
  async token(sandbox) {
    const answer = await fetch(`${sandbox.endpoints.theta}/realtime/client_secrets`, {
      method: 'POST',
      headers: { Authorization: 'Bearer sandbox-key', 'Content-Type': 'application/json' },
      body: JSON.stringify({
        expires_after: { anchor: 'created_at', seconds: 600 },
        session: { type: 'transcription' },
      }),
    });
    return ((await answer.json()) as { value: string }).value;
  },
});

describe('ThetaRealtimeSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: ThetaRealtimeSTT;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function live(config: ThetaRealtimeSTTConfig = {}) {
    stt = new ThetaRealtimeSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.theta, ...config });
    const results: TranscriptionResult[] = [];
    const errors: VoiceError[] = [];
    const log: string[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    stt.speech$.subscribe(({ type }) => log.push(type));
    // The default model retires, which is no failure.
    stt.errors$.pipe(filter(({ code }) => code !== 'retiring')).subscribe((error) => errors.push(error));
    await stt.initialize();
    await stt.connect();
    return { results, errors, log };
  }
  const say = (...texts: string[]): void => {
    for (const chunk of frames(texts, pcm)) stt.sendAudio(chunk);
  };
  const heard = (text: string): Promise<TranscriptionResult> =>
    firstValueFrom(stt.transcripts$.pipe(filter((each) => each.utteranceComplete && each.text === text)));
  const refusal = (): string | undefined => sandbox.records('theta-realtime-stt')[0]?.refusal;

  for (const model of ['gpt-realtime-whisper', 'gpt-live-transcribe', 'gpt-live-transcribe-2026-10-15']) {
    it(`${model} hears while one speaks, and its utterances end by the silence that is found here`, async () => {
      const { results, errors, log } = await live({ model, delay: 'low' });
      const last = heard('good night');
      say('hello there', 'good night');
      await last;
      expect(results.filter(({ utteranceComplete }) => utteranceComplete).map(({ text }) => text)).toEqual([
        ...['hello there', 'good night'],
      ]);
      expect(results.some(({ isFinal, text }) => !isFinal && text === 'hello')).toBe(true);
      expect(log).toEqual(['started', 'ended', 'started', 'ended']);
      expect([errors, refusal()]).toEqual([[], undefined]);
    });
  }

  it('finalize() ends an utterance where nothing else does', async () => {
    const { results } = await live({ turnDetection: null });
    const said = heard('hello');
    for (const chunk of frames(['hello'], pcm).slice(0, 30)) stt.sendAudio(chunk);
    stt.finalize();
    await said;
    expect(results.filter(({ utteranceComplete }) => utteranceComplete)).toHaveLength(1);
    // Nothing was said since: the service calls it an error, which is none.
    stt.finalize();
    await stt.disconnect();
    expect(refusal()).toBeUndefined();
  });

  it('every key is taken by the service, live as well', async () => {
    const { errors } = await live({
      ...{ language: 'en-US', prompt: 'Words: Solaria', noiseReduction: 'near_field', includeLogprobs: true },
      turnDetection: { type: 'server_vad', threshold: 0.4, prefixPaddingMs: 200, silenceDurationMs: 300 },
    });
    const said = heard('hello');
    say('hello');
    expect((await said).confidence).toBeCloseTo(0.99);
    stt.updateConfig({ turnDetection: { type: 'semantic_vad', eagerness: 'high' }, language: 'fr' });
    const again = heard('salut');
    say('salut');
    await again;
    stt.updateConfig({ model: 'gpt-transcribe', prompt: 'x', keywords: ['Flux'] });
    await stt.disconnect();
    expect([errors, refusal(), sandbox.records('theta-realtime-stt').length]).toEqual([[], undefined, 1]);
  });
});

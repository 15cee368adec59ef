// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom } from 'rxjs';
import { GammaSTT, type GammaSTTConfig, type TranscriptionResult, type VoiceError } from '../../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox, type ServiceRecord } from '../../../samples/sandbox/index.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

/** A single-use token, as an application's server gets it. */
async function token(sandbox: Sandbox): Promise<string> {
  const address = `${sandbox.endpoints.gamma}/v1/single-use-token/realtime_scribe`;
  const answer = await fetch(address, { method: 'POST', headers: { 'xi-api-key': 'sandbox-key' } });
  return ((await answer.json()) as { token: string }).token;
}

const audioOf = (record: ServiceRecord): Uint8Array =>
  Buffer.concat(
    sentJson(record).map((message) => Buffer.from(String(Reflect.get(message as object, 'audio_base_64')), 'base64')),
  );

describeStreamingSTT({
  ...{ name: 'GammaSTT', vendor: 'gamma', service: 'gamma-stt', first: 'gamma-stt', greetings: 1 },
  formats: [...[8_000, 16_000, 22_050, 24_000, 44_100, 48_000].map(linear), mulaw],
  create: (config) => new GammaSTT({ catchUpSpeed: false, ...config }),
  ...{ token, audioOf },
});

describe('GammaSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: GammaSTT;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function ready(config: GammaSTTConfig = {}) {
    stt = new GammaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.gamma, catchUpSpeed: false, ...config });
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

  const details: readonly [GammaSTTConfig, number | undefined, string | undefined][] = [
    [{}, 2, undefined],
    [{ includeTimestamps: false }, undefined, undefined],
    [{ includeTimestamps: false, includeLanguageDetection: true }, undefined, 'en'],
    [{ includeLanguageDetection: true }, 2, 'en'],
    [{ filterBackgroundAudio: true }, undefined, undefined],
  ];
  for (const [config, words, language] of details) {
    it(`says each utterance once, with what was asked for: ${JSON.stringify(config)}`, async () => {
      const { results, errors } = await ready(config);
      await stt.connect();
      const heard = complete();
      say('hello there');
      const { text, metadata } = await heard;
      await stt.disconnect();
      expect([text, metadata?.words?.length, metadata?.language]).toEqual(['hello there', words, language]);
      expect(results.filter(({ utteranceComplete }) => utteranceComplete)).toHaveLength(1);
      expect(errors).toEqual([]);
    });
  }

  it('a token serves one connection: a string is refused the second time, a factory brings another', async () => {
    const { errors } = await ready({ token: await token(sandbox) });
    await stt.connect();
    await stt.disconnect();
    await expect(stt.connect()).rejects.toMatchObject({ code: 'unauthorized', recoverable: false });
    expect(errors).toHaveLength(1);
    await stt.dispose();

    await ready({ token: () => token(sandbox) });
    for (let time = 0; time < 2; time++) {
      await stt.connect();
      await stt.disconnect();
    }
    expect(sandbox.records('gamma-stt').at(-1)?.headers['xi-api-key']).toBe(undefined);
  });

  it('commits when it is told to, also to nothing', async () => {
    await ready({ commitStrategy: 'manual' });
    await stt.connect();
    for (const text of ['hello', 'good night']) {
      const heard = complete();
      say(text, text.length * 80);
      stt.finalize();
      expect((await heard).text).toBe(text);
    }
    const nothing = complete();
    stt.finalize();
    expect((await nothing).text).toBe('');
  });

  it('no commit: true under vad if the service refuses it: silence ends the utterance, and no word is lost', async () => {
    await using strict = await startSandbox({ limits: { gammaSttVadCommits: 0 } });
    const { errors } = await ready({ endpoint: strict.endpoints.gamma, reconnect: { initialMs: 1 } });
    await stt.connect();
    for (const text of ['hello there', 'good night']) {
      const heard = complete();
      say(text, text.length * 80);
      stt.finalize();
      expect((await heard).text).toBe(text);
    }
    const commits = strict
      .records('gamma-stt')
      .map((record) => sentJson(record).filter((message) => Reflect.get(message as object, 'commit') === true).length);
    // It is refused once, and then not sent again.
    expect(commits).toEqual([1, 0]);
    expect(errors.filter(({ recoverable }) => !recoverable)).toEqual([]);
    await stt.dispose();
  });

  it('loses no word when a connection drops after many utterances, whose times have drifted', async () => {
    const { results } = await ready({ vadSilenceThresholdSecs: 0.3, reconnect: { initialMs: 1 } });
    await stt.connect();
    const spoken = [...Array.from({ length: 20 }, () => 'a'), 'four five'];
    for (const text of spoken.slice(0, -1)) {
      const heard = complete();
      // The silence that ends it, and a little of what lies between two utterances.
      for (const chunk of frames([text]).slice(0, 24)) stt.sendAudio(chunk);
      await heard;
    }
    sandbox.setFault('gamma-stt', { kind: 'dropAfter', messages: 1, of: 'received', times: 1 });
    const last = complete();
    for (const chunk of frames(['four five'])) {
      stt.sendAudio(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await last;
    const utterances = results.filter(({ utteranceComplete }) => utteranceComplete);
    expect(utterances.map(({ text }) => text)).toEqual(spoken);
    const times = utterances.map(({ metadata }) => metadata?.words?.[0]?.startMs ?? NaN);
    // Each utterance takes 480 ms.
    expect(Math.max(...times.map((ms, turn) => Math.abs(ms - turn * 480)))).toBeLessThan(200);
  });

  it('loses no word when a connection drops, without times from the service', async () => {
    await ready({ includeTimestamps: false, vadSilenceThresholdSecs: 0.5, reconnect: { initialMs: 1 } });
    sandbox.setFault('gamma-stt', { kind: 'dropAfter', messages: 60, of: 'received', times: 1 });
    await stt.connect();
    const heard = [complete(), firstValueFrom(stt.transcripts$.pipe(filter(({ text }) => text === 'four five')))];
    for (const chunk of frames(['one two', 'four five'])) {
      stt.sendAudio(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await Promise.all(heard)).map(({ text }) => text)).toEqual(['one two', 'four five']);
  });
});

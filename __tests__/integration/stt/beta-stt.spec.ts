// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom } from 'rxjs';
import { BetaSTT, type BetaSTTConfig, type TranscriptionResult, type VoiceError } from '../../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

describeStreamingSTT({
  ...{ name: 'BetaSTT', vendor: 'beta', service: 'beta-stt', first: 'beta-stt', greetings: 1 },
  formats: [...[8_000, 16_000, 24_000, 44_100, 48_000].map(linear), mulaw],
  create: (config) => new BetaSTT({ catchUpSpeed: false, ...config }),
  async token(sandbox) {
    const headers = { Authorization: 'sandbox-key' };
    const answer = await fetch(`${sandbox.endpoints.beta}/v3/token?expires_in_seconds=60`, { headers });
    return ((await answer.json()) as { token: string }).token;
  },
});

describe('BetaSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: BetaSTT;
  beforeEach(async () => {
    sandbox = await startSandbox({ limits: { betaAheadMs: 2_000 } });
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function live(config: BetaSTTConfig = {}) {
    stt = new BetaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.beta, ...config });
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

  for (const model of ['universal-streaming-english', 'universal-streaming-multilingual', 'u3-rt-pro', 'whisper-rt']) {
    it(`${model} hears words as they come, and each turn once`, async () => {
      const { results, errors } = await live({ model, formatTurns: true, minTurnSilence: 100 });
      const heard = complete();
      say('hello there');
      expect((await heard).text.toLowerCase()).toContain('hello there');
      await stt.disconnect();
      expect(results.filter(({ utteranceComplete }) => utteranceComplete)).toHaveLength(1);
      expect(results.some(({ isFinal }) => !isFinal)).toBe(true);
      expect(errors).toEqual([]);
    });
  }

  it('never sends audio faster than the service takes it, and all of it', async () => {
    const { errors } = await live();
    const heard = complete();
    say('one two three');
    expect((await heard).text).toBe('one two three');
    expect(errors).toEqual([]);
  });

  it('hears what waited through an outage, and what comes then, without staying behind', async () => {
    stt = new BetaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.beta });
    const results: TranscriptionResult[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    await stt.initialize();
    // 2 s of silence follow each.
    for (const text of ['one', ...Array.from({ length: 10 }, () => ''), 'two']) say(text);
    const startedAt = performance.now();
    await stt.connect();
    await firstValueFrom(
      stt.transcripts$.pipe(filter(({ text, utteranceComplete }) => utteranceComplete && text === 'two')),
    );
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    const words = results.flatMap(
      ({ utteranceComplete, metadata }) => (utteranceComplete ? metadata?.words : undefined) ?? [],
    );
    expect(words.map(({ text, startMs = NaN }) => [text, Math.round(startMs / 100)])).toEqual([
      ['one', 0],
      ['two', 222],
    ]);
  });

  it('finalize() ends the turn before the silence does', async () => {
    await live({ minTurnSilence: 10_000 });
    const heard = complete();
    const chunks = frames(['hello']);
    for (const chunk of chunks.slice(0, 25)) stt.sendAudio(chunk);
    stt.finalize();
    expect((await heard).text).toBe('hello');
  });

  it('changes what it can on the open session, as the service takes it', async () => {
    const { errors } = await live({ wordBoost: ['Acme'] });
    stt.updateConfig({ wordBoost: ['Sonny'], minTurnSilence: 200, maxTurnSilence: 800, language: 'de' });
    stt.updateConfig({ wordBoost: [] });
    await stt.disconnect();
    const records = sandbox.records('beta-stt');
    expect([records.length, records[0]?.refusal, errors]).toEqual([1, undefined, []]);
    expect(records.flatMap(sentJson).slice(0, 2)).toEqual([
      {
        ...{ type: 'UpdateConfiguration', keyterms_prompt: ['Sonny'], min_turn_silence: 200, max_turn_silence: 800 },
        language_codes: ['de'],
      },
      { type: 'UpdateConfiguration', keyterms_prompt: [] },
    ]);
  });

  it('tells the end of what the agent said where all of it would end the session', async () => {
    const end = `😀${'a'.repeat(1_724)} And your number, please?`;
    const { errors } = await live({ agentContext: `Hello. ${end}` });
    stt.updateConfig({ agentContext: `${'Well. '.repeat(500)}${end}` });
    const heard = complete();
    say('one two three');
    expect((await heard).text).toBe('one two three');
    await stt.disconnect();
    const records = sandbox.records('beta-stt');
    expect([records.length, errors]).toEqual([1, []]);
    expect(records[0]?.query.find(([name]) => name === 'agent_context')?.[1]).toBe(end);
    expect(records.flatMap(sentJson)[0]).toEqual({ type: 'UpdateConfiguration', agent_context: end });
  });
});

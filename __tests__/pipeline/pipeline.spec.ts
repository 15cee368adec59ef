import { firstValueFrom, filter, Subject, take, toArray } from 'rxjs';
import {
  AlphaAgent,
  GammaAgent,
  Pipeline,
  VoiceError,
  type AnyProvider,
  type DeviceEvent,
  type PipelineOptions,
  type VoiceEvent,
} from 'rxvoice';
import { bytesForMs } from 'rxvoice/audio';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat, type FakeLLMConfig } from 'rxvoice/testing';
import { timersDue } from '../transport/test-clock.ts';

interface Rig {
  readonly pipeline: Pipeline;
  readonly input: FakeInput;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly tts: FakeTTS;
  readonly output: FakeOutput;
  readonly events: VoiceEvent[];
}

/** A pipeline whose fakes answer at once, on the real clock. */
function rig(options: Partial<PipelineOptions> = {}, llmConfig: FakeLLMConfig = {}): Rig {
  const input = new FakeInput();
  const stt = new FakeSTT();
  const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0, ...llmConfig });
  const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
  const output = new FakeOutput();
  const pipeline = new Pipeline({ providers: [input, stt, llm, tts, output], ...options });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  return { pipeline, input, stt, llm, tts, output, events };
}

const next = (pipeline: Pipeline, type: VoiceEvent['type']): Promise<VoiceEvent> =>
  firstValueFrom(pipeline.events$.pipe(filter((event) => event.type === type)));

const silence = { data: new Uint8Array(320), metadata: textAudioFormat };

describe('Pipeline', () => {
  it('names the role that nobody covers, and two ways to fill it', () => {
    const providers = [new FakeInput(), new FakeSTT(), new FakeTTS(), new FakeOutput()];
    expect(() => new Pipeline({ providers })).toThrow(/no llm provider: .*NuLLM.*AlphaAgent/);
  });

  it('refuses two providers for one role', () => {
    const providers = [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeLLM(), new FakeTTS(), new FakeOutput()];
    expect(() => new Pipeline({ providers })).toThrow(
      'FakeLLM and FakeLLM both cover the role llm: leave one of them out, or join them with fallback()',
    );
  });

  it('refuses a provider beside an agent that takes its role, and two agents', () => {
    const [agent, other] = [new AlphaAgent({ apiKey: 'key' }), new GammaAgent({ agentId: 'a' })];
    const refusal = (...providers: readonly AnyProvider[]): unknown => {
      try {
        return new Pipeline({ providers: [new FakeInput(), ...providers, new FakeOutput()] });
      } catch (error) {
        return error;
      }
    };
    const message = (names: string, role: string): object => ({
      code: 'configuration',
      message: `${names} both cover the role ${role}: leave one of them out`,
    });
    expect(refusal(agent, other)).toMatchObject(message('AlphaAgent and GammaAgent', 'stt'));
    expect(refusal(new FakeSTT(), agent)).toMatchObject(message('FakeSTT and AlphaAgent', 'stt'));
    expect(refusal(agent, new FakeLLM())).toMatchObject(message('AlphaAgent and FakeLLM', 'llm'));
    expect(refusal(agent, new FakeTTS())).toMatchObject(message('AlphaAgent and FakeTTS', 'tts'));
  });

  it('refuses options that an agent would not heed', () => {
    const agent = new AlphaAgent({ apiKey: 'key' });
    const options = { providers: [new FakeInput(), agent, new FakeOutput()], greeting: 'Hello!', bargeIn: false };
    expect(() => new Pipeline(options)).toThrow('AlphaAgent handles greeting, bargeIn itself');
  });

  it('carries audio to the speech-to-text service, and a turn to the last sample', async () => {
    const { pipeline, input, stt, events } = rig();
    await pipeline.start();
    input.push(silence);
    const ended = next(pipeline, 'turn.ended');
    stt.hearWords(FakeSTT.result('hello', 'final'));
    await ended;
    expect(stt.sent).toEqual([silence]);
    expect(pipeline.history.messages()).toEqual([
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'You said hello.' },
    ]);
    expect(events.find(({ type }) => type === 'provider.format')).toMatchObject({ transcoded: false });
    await pipeline.dispose();
  });

  it('shares one run among calls at the same time, and starts once', async () => {
    const { pipeline, events } = rig();
    await Promise.all([pipeline.start(), pipeline.start(), pipeline.initialize()]);
    await pipeline.start();
    expect(events.filter(({ type }) => type === 'session.ready')).toHaveLength(1);
    await Promise.all([pipeline.stop(), pipeline.stop()]);
    expect(events.filter(({ type }) => type === 'session.closed')).toHaveLength(1);
    await pipeline.dispose();
  });

  it('does what was asked for last', async () => {
    const { pipeline } = rig();
    const first = pipeline.start().catch((error: unknown) => error);
    const stopped = pipeline.stop();
    const second = pipeline.start();
    expect(await first).toMatchObject({ code: 'aborted' });
    await Promise.all([stopped, second]);
    expect(pipeline.state).toBe('running');
    await pipeline.dispose();
  });

  it('continues with the same history after a stop', async () => {
    const { pipeline, stt } = rig();
    for (const text of ['one', 'two']) {
      await pipeline.start();
      const ended = next(pipeline, 'turn.ended');
      stt.hearWords(FakeSTT.result(text, 'final'));
      await ended;
      await pipeline.stop();
    }
    expect(pipeline.history.messages().map(({ content }) => content)).toEqual([
      ...['one', 'You said one.', 'two', 'You said two.'],
    ]);
    await pipeline.dispose();
  });

  it('calls back for what happens, once or until it is undone', async () => {
    const { pipeline, stt } = rig();
    const seen: string[] = [];
    const undo = pipeline.on('transcript.final', ({ text }) => seen.push(text));
    pipeline.once('transcript.final', ({ text }) => seen.push(`once ${text}`));
    await pipeline.start();
    for (const text of ['one', 'two', 'three']) {
      const ended = next(pipeline, 'turn.ended');
      stt.hearWords(FakeSTT.result(text, 'final'));
      await ended;
      if (text === 'two') undo();
    }
    expect(seen).toEqual(['one', 'once one', 'two']);
    await pipeline.dispose();
  });

  it('undoes each registration of the same callback alone', async () => {
    const { pipeline } = rig();
    const seen: string[] = [];
    const callback = (): unknown => seen.push('');
    const undos = [pipeline.on('speech.created', callback), pipeline.on('speech.created', callback)];
    await pipeline.start();
    const heard: number[] = [];
    for (const undo of [undefined, ...undos]) {
      undo?.();
      undo?.();
      seen.length = 0;
      await pipeline.say('Good day.').done;
      heard.push(seen.length);
    }
    expect(heard).toEqual([2, 1, 0]);
    pipeline.on('speech.created', callback);
    pipeline.on('speech.created', callback);
    pipeline.off('speech.created', callback);
    await pipeline.say('Good day.').done;
    expect(seen).toEqual([]);
    await pipeline.dispose();
  });

  it('takes callbacks back, also those for the next event only', async () => {
    const { pipeline } = rig();
    const seen: string[] = [];
    const callback = ({ text }: { readonly text: string }): unknown => seen.push(text);
    pipeline.once('speech.ended', callback);
    pipeline.on('speech.ended', callback);
    pipeline.off('speech.ended', callback);
    pipeline.once('speech.ended', () => seen.push('once'));
    pipeline.off('speech.ended');
    await pipeline.start();
    await pipeline.say('Good day.').done;
    expect(seen).toEqual([]);
    await pipeline.dispose();
  });

  it('says what an async iterable brings, and lets go of it when it is cut off', async () => {
    const { pipeline, events } = rig();
    const left$ = new Subject<void>();
    const left = firstValueFrom(left$);
    async function* pieces(): AsyncGenerator<string> {
      try {
        yield 'Good day to you and to all your friends. ';
        yield 'There is more.';
        await new Promise((resolve) => pipeline.once('speech.ended', resolve));
      } finally {
        left$.next();
      }
    }
    await pipeline.start();
    const said = pipeline.say(pieces());
    await next(pipeline, 'speech.started');
    said.interrupt();
    expect(await said.done).toMatchObject({ interrupted: true });
    await left;
    expect(events).toContainEqual(expect.objectContaining({ type: 'usage', role: 'tts', characters: 41 }));
    await pipeline.dispose();
  });

  it('reports what a callback throws', async () => {
    const { pipeline, events, stt } = rig();
    const seen: string[] = [];
    pipeline.on('transcript.final', () => {
      throw new Error('in a callback');
    });
    pipeline.on('transcript.final', ({ text }) => seen.push(text));
    await pipeline.start();
    const ended = next(pipeline, 'turn.ended');
    stt.hearWords(FakeSTT.result('hello', 'final'));
    await ended;
    expect(seen).toEqual(['hello']);
    expect(events.find(({ type }) => type === 'error')).toMatchObject({
      message: 'a callback for transcript.final threw: in a callback',
    });
    await pipeline.dispose();
  });

  it('gives handles that tell how it came out', async () => {
    const { pipeline } = rig();
    expect(await pipeline.say('too early').done).toEqual({ heardText: '', interrupted: true });
    await pipeline.start();
    const said = pipeline.say('Good day.');
    expect(await said.done).toEqual({ heardText: 'Good day.', interrupted: false });
    expect(said.heardText).toBe('Good day.');
    const sent = pipeline.send('hi');
    expect(await sent.done).toEqual({ heardText: 'You said hi.', interrupted: false });
    const cut = pipeline.say('x '.repeat(5_000));
    const started = next(pipeline, 'speech.started');
    await started;
    cut.interrupt();
    expect((await cut.done).interrupted).toBe(true);
    await pipeline.dispose();
  });

  it('opens what a turn needs at its start, and again when the user begins to speak, whose failure ends nothing', async () => {
    let warmed = 0;
    const warm = (): Promise<void> => (++warmed > 2 ? Promise.reject(new Error('no line')) : Promise.resolve());
    const stt = new FakeSTT();
    const llm = Object.assign(new FakeLLM({ firstTokenMs: 0, tokenMs: 0 }), { warm });
    const tts = Object.assign(new FakeTTS({ latencyMs: 0, msPerCharacter: 1 }), { warm });
    const pipeline = new Pipeline({ providers: [new FakeInput(), stt, llm, tts, new FakeOutput()] });
    const errors: unknown[] = [];
    pipeline.on('error', (error) => errors.push(error));
    await pipeline.start();
    expect(warmed).toBe(2);
    for (const turn of [1, 2]) {
      stt.hearVoice('started');
      await timersDue();
      expect(warmed).toBe(2 + 2 * turn);
      const ended = next(pipeline, 'turn.ended');
      stt.hearWords(FakeSTT.result('hello', 'final'));
      expect(await ended).toMatchObject({ reason: 'completed' });
    }
    expect(errors).toEqual([]);
    await pipeline.dispose();
  });

  it('hears silence while it is muted', async () => {
    const { pipeline, input, stt } = rig();
    const loud = { ...silence, data: new Uint8Array(320).fill(7) };
    await pipeline.start();
    pipeline.mute();
    input.push(loud);
    pipeline.unmute();
    input.push(loud);
    expect(stt.sent.map(({ data }) => data[0])).toEqual([0, 7]);
    await pipeline.dispose();
  });

  it('tells that it is muted once, however often it is asked to be', async () => {
    const { pipeline } = rig();
    const told: boolean[] = [];
    pipeline.on('input.muted', ({ muted }) => told.push(muted));
    pipeline.unmute();
    pipeline.mute();
    await pipeline.start();
    pipeline.mute();
    pipeline.unmute();
    pipeline.unmute();
    pipeline.mute();
    expect(told).toEqual([true, false, true]);
    await pipeline.dispose();
  });

  it('hears nothing of compressed audio while it is muted, or not its turn', async () => {
    const webm = { encoding: 'opus', sampleRate: 48_000, channels: 1, container: 'webm' } as const;
    for (const strategy of ['stt', 'manual'] as const) {
      const [input, stt] = [new FakeInput(), new FakeSTT()];
      input.getMetadata = () => webm;
      Object.assign(stt, { accepts: [{ encoding: 'opus', containers: ['webm'] }] });
      const providers = [input, stt, new FakeLLM(), new FakeTTS(), new FakeOutput()];
      const pipeline = new Pipeline({ providers, turnTaking: { strategy } });
      const errors: unknown[] = [];
      pipeline.on('error', (error) => errors.push(error));
      await pipeline.start();
      if (strategy === 'stt') pipeline.mute();
      input.push({ data: new Uint8Array(300).fill(7), metadata: webm });
      if (strategy === 'stt') pipeline.unmute();
      else pipeline.beginTurn();
      input.push({ data: new Uint8Array(200).fill(7), metadata: webm });
      expect(stt.sent.map(({ data }) => data.length).filter((length) => length > 0)).toEqual([200]);
      expect(errors).toEqual([]);
      await pipeline.dispose();
    }
  });

  it('stays muted when it was muted before its start', async () => {
    const { pipeline, input, stt } = rig();
    pipeline.mute();
    await pipeline.start();
    input.push({ ...silence, data: new Uint8Array(320).fill(7) });
    expect(stt.sent.map(({ data }) => data[0])).toEqual([0]);
    await pipeline.dispose();
  });

  it('push-to-talk: loses neither the first nor the last words', async () => {
    const { pipeline, input, stt } = rig({ turnTaking: { strategy: 'manual' } });
    const chunk = (value: number): typeof silence => ({ ...silence, data: new Uint8Array(3_200).fill(value) });
    await pipeline.start();
    for (const value of [1, 2, 3, 4]) input.push(chunk(value));
    pipeline.beginTurn();
    input.push(chunk(5));
    const ended = next(pipeline, 'turn.ended');
    pipeline.commitTurn();
    input.push(chunk(6));
    expect(stt.sent.map(({ data }) => data[0])).toEqual([0, 0, 0, 0, 2, 3, 4, 5, 0]);
    expect(stt.finalizations).toBe(1);
    stt.hearWords(FakeSTT.result('all of it', 'final'));
    await ended;
    expect(pipeline.history.messages()[0]).toEqual({ role: 'user', content: 'all of it' });
    await pipeline.dispose();
  });

  it('dates the end of the user’s speech by the audio, whenever the words come', async () => {
    const { pipeline, input, stt } = rig();
    await pipeline.start();
    input.push({ ...silence, data: new Uint8Array(bytesForMs(1_000, textAudioFormat)) });
    const metrics = firstValueFrom(pipeline.metrics$.pipe(filter((event) => event.type === 'turn.metrics')));
    const words = [{ text: 'hello', startMs: 100, endMs: 400 }];
    stt.hearWords({ ...FakeSTT.result('hello', 'final'), metadata: { words } });
    const { endpointing = 0, total = 0, ...parts } = await metrics;
    // 600 ms of the audio came after the word.
    expect(endpointing).toBeGreaterThanOrEqual(600);
    expect(endpointing).toBeLessThan(1_600);
    const { hook = NaN, llmFirstToken = NaN, aggregation = NaN, ttsFirstAudio = NaN, outputLead = NaN } = parts;
    expect(endpointing + hook + llmFirstToken + aggregation + ttsFirstAudio + outputLead).toBe(total);
    await pipeline.dispose();
  });

  it('ends with the call, while the agent thinks too, and nothing more is asked for (F38)', async () => {
    const [dtmf$, callEnded$] = [new Subject<string>(), new Subject<void>()];
    const input = Object.assign(new FakeInput(), { dtmf$, callEnded$ });
    const [stt, llm, tts] = [new FakeSTT(), new FakeLLM({ firstTokenMs: 60_000 }), new FakeTTS()];
    const pipeline = new Pipeline({ providers: [input, stt, llm, tts, new FakeOutput()] });
    const call = firstValueFrom(pipeline.call$.pipe(take(3), toArray()));
    await pipeline.start();
    dtmf$.next('5');
    stt.hearWords(FakeSTT.result('hello', 'final'));
    const [closed, ended] = [next(pipeline, 'session.closed'), next(pipeline, 'turn.ended')];
    callEnded$.next();
    expect(await ended).toMatchObject({ reason: 'stopped' });
    await closed;
    expect(await call).toMatchObject([
      { type: 'dtmf.digit', digit: '5', role: 'input', provider: 'FakeInput' },
      { type: 'call.state', state: 'ended', reason: 'ended', role: 'input', provider: 'FakeInput' },
      { type: 'call.ended', role: 'input', provider: 'FakeInput' },
    ]);
    expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['aborted']);
    expect(tts.pieces).toEqual([]);
    await pipeline.dispose();
  });

  it('tells what becomes of the devices, on both sides', async () => {
    const [microphone$, speaker$] = [new Subject<DeviceEvent>(), new Subject<DeviceEvent>()];
    const input = Object.assign(new FakeInput(), { device$: microphone$ });
    const output = Object.assign(new FakeOutput(), { device$: speaker$ });
    const pipeline = new Pipeline({ providers: [input, new FakeSTT(), new FakeLLM(), new FakeTTS(), output] });
    const heard = firstValueFrom(pipeline.input$);
    const played = firstValueFrom(pipeline.output$);
    microphone$.next({ type: 'lost' });
    speaker$.next({ type: 'suspended' });
    const from = { provider: 'FakeInput', role: 'input' };
    expect(await heard).toMatchObject({ type: 'input.device', change: { type: 'lost' }, ...from });
    const to = { provider: 'FakeOutput', role: 'output' };
    expect(await played).toMatchObject({ type: 'output.device', change: { type: 'suspended' }, ...to });
    await pipeline.dispose();
    expect([microphone$.observed, speaker$.observed]).toEqual([false, false]);
  });

  it('stops when its signal aborts', async () => {
    const { pipeline } = rig();
    const abort = new AbortController();
    await pipeline.start({ signal: abort.signal });
    const closed = next(pipeline, 'session.closed');
    abort.abort();
    await closed;
    expect(pipeline.state).toBe('ready');
    await pipeline.dispose();
  });

  it('tells a start what has ended it: a signal, with its reason, or stop()', async () => {
    const { pipeline, stt } = rig();
    stt.connect = () => new Promise(() => undefined);
    const started = async (end: () => unknown, ...options: { signal?: AbortSignal }[]): Promise<unknown> => {
      const connecting = next(pipeline, 'agent.state');
      const starts = options.map((each) => pipeline.start(each));
      await connecting;
      end();
      const results = await Promise.allSettled(starts);
      return results.map((result): unknown => result.status === 'rejected' && result.reason);
    };
    const [abort, other] = [new AbortController(), new AbortController()];
    const { signal } = abort;
    const reason = new Error('the page was closed');
    const aborted = { code: 'aborted', message: 'the signal was aborted first', cause: reason };
    expect(await started(() => abort.abort(reason), { signal })).toMatchObject([aborted]);
    await expect(pipeline.start({ signal })).rejects.toMatchObject(aborted);
    // Two calls share a start, and its fate.
    const shared = [{}, { signal: other.signal }];
    const stopped = { code: 'aborted', message: 'stop() was called first' };
    expect(await started(() => void pipeline.stop(), ...shared)).toMatchObject([stopped, stopped]);
    expect(await started(() => other.abort(reason), ...shared)).toMatchObject([aborted, aborted]);
    await pipeline.dispose();
  });

  it('tells a start that joins one whose services are connecting what becomes of that one', async () => {
    const { pipeline, stt } = rig();
    const refused = new VoiceError('no such key', { code: 'unauthorized' });
    const abort = new AbortController();
    const aborted = { code: 'aborted', message: 'the signal was aborted first' };
    const ends: readonly (readonly [end: (refuse: (error: unknown) => void) => void, outcome: object])[] = [
      [(refuse) => refuse(refused), { code: 'unauthorized' }],
      [() => abort.abort(), aborted],
    ];
    for (const [end, outcome] of ends) {
      const refuses = new Promise<(error: unknown) => void>((resolve) => {
        stt.connect = () => new Promise((_, reject) => resolve(reject));
      });
      const first = pipeline.start();
      const refuse = await refuses;
      const starts = [first, pipeline.start({ signal: abort.signal })];
      end(refuse);
      const results = await Promise.allSettled(starts);
      expect(results).toMatchObject([{ reason: outcome }, { reason: outcome }]);
    }
    await pipeline.dispose();
  });

  it('drains what is being said before it stops', async () => {
    const { pipeline } = rig();
    await pipeline.start();
    const said = pipeline.say('Good bye then.');
    await next(pipeline, 'speech.started');
    await pipeline.stop({ drain: true });
    expect(await said.done).toEqual({ heardText: 'Good bye then.', interrupted: false });
    await pipeline.dispose();
  });

  it('completes its streams when it is disposed, and cannot start again', async () => {
    const { pipeline } = rig();
    const all = firstValueFrom(pipeline.errors$.pipe(toArray()));
    await pipeline.start();
    await pipeline.dispose();
    await pipeline.dispose();
    expect(await all).toEqual([]);
    await expect(pipeline.start()).rejects.toThrow('disposed');
  });

  it('stays disposed when that comes while what plays its voice is loaded', async () => {
    const { pipeline, tts } = rig();
    const disposed = new Promise<void>((resolve) => {
      tts.getMetadata = () => {
        resolve(pipeline.dispose());
        return textAudioFormat;
      };
    });
    await expect(pipeline.initialize()).rejects.toMatchObject({ code: 'not_ready' });
    await disposed;
    expect(pipeline.state).toBe('disposed');
  });

  it('is undone when a provider cannot be initialized', async () => {
    class Broken extends FakeLLM {
      protected override onInitialize(): void {
        throw new VoiceError('no such model', { code: 'not_found' });
      }
    }
    const [input, output] = [new FakeInput(), new FakeOutput()];
    const pipeline = new Pipeline({ providers: [input, new FakeSTT(), new Broken(), new FakeTTS(), output] });
    await expect(pipeline.start()).rejects.toThrow('FakeLLM could not be initialized: no such model');
    expect(input.isReady()).toBe(false);
    await pipeline.dispose();
  });

  it('refuses a voice that the output cannot play, before anybody has spoken', async () => {
    const tts = new FakeTTS();
    tts.getMetadata = () => ({ encoding: 'flac', sampleRate: 24_000, channels: 1 });
    const stt = new FakeSTT();
    const pipeline = new Pipeline({ providers: [new FakeInput(), stt, new FakeLLM(), tts, new FakeOutput()] });
    await expect(pipeline.initialize()).rejects.toMatchObject({
      code: 'unsupported_format',
      message:
        'FakeOutput cannot accept flac 24000 Hz mono from FakeTTS; it accepts linear16: configure FakeTTS for one of these',
    });
    expect([pipeline.state, stt.isReady()]).toEqual(['idle', false]);
    await pipeline.dispose();
  });

  it('gives each event on exactly one named stream', async () => {
    const { pipeline, stt } = rig();
    const transcripts = firstValueFrom(pipeline.transcripts$.pipe(take(2), toArray()));
    await pipeline.start();
    stt.hearWords(FakeSTT.result('he', 'interim'));
    stt.hearWords(FakeSTT.result('hello', 'final'));
    expect((await transcripts).map(({ type }) => type)).toEqual(['transcript.interim', 'transcript.final']);
    await pipeline.dispose();
  });
});

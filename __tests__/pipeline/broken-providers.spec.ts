import { runInNewContext } from 'node:vm';
import { concat, config, delay, from, ignoreElements, Subject, type Observable } from 'rxjs';
import type {
  AudioChunk,
  ConnectionEvent,
  PipelineOptions,
  SpeechEvent,
  SpokenWord,
  TranscriptionResult,
  VoiceEvent,
} from 'rxvoice';
import { VoiceError } from '../../lib/core/errors.ts';
import { Pipeline } from '../../lib/pipeline/pipeline.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat } from 'rxvoice/testing';
import { TestClock, timersDue, until } from '../transport/test-clock.ts';
import { ofType } from './support/timeline.ts';

interface Rig {
  readonly pipeline: Pipeline;
  readonly input: FakeInput;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly events: VoiceEvent[];
}

/** A pipeline on the real clock, whose providers some test has broken. */
function rig(
  {
    input = new FakeInput(),
    stt = new FakeSTT(),
    llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0 }),
    tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 }),
    output = new FakeOutput(),
  } = {},
  options: Partial<PipelineOptions> = {},
): Rig {
  const pipeline = new Pipeline({ providers: [input, stt, llm, tts, output], ...options });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  return { pipeline, input, stt, llm, events };
}

const never = new Promise<void>(() => undefined);

class NeverReady extends FakeLLM {
  protected override onInitialize(): Promise<void> {
    return never;
  }
}

/** Something that never comes while a pipeline starts, such as a model's download or the user's permission. */
const waits: Record<string, () => Rig> = {
  'a provider that never gets ready': () => rig({ llm: new NeverReady() }),
  'an input that waits for permission': () => {
    const input = new FakeInput();
    input.start = () => never;
    return rig({ input });
  },
  'a connection that is never warm': () => {
    const llm: FakeLLM & { warm?: () => Promise<void> } = new FakeLLM();
    llm.warm = () => never;
    return rig({ llm });
  },
};

const ends: Record<string, (pipeline: Pipeline, abort: AbortController) => Promise<unknown>> = {
  'stop()': (pipeline) => pipeline.stop(),
  'stop({ drain: true })': (pipeline) => pipeline.stop({ drain: true }),
  'dispose()': (pipeline) => pipeline.dispose(),
  'its signal': (_, abort) => {
    abort.abort(new Error('enough'));
    return Promise.resolve();
  },
};

describe('a start that waits for ever (F6, F43)', () => {
  for (const [what, wait] of Object.entries(waits)) {
    for (const [how, end] of Object.entries(ends)) {
      it(`for ${what} is called off by ${how}`, async () => {
        const { pipeline, events } = wait();
        const abort = new AbortController();
        const started = pipeline.start({ signal: abort.signal }).catch((error: unknown) => error);
        await new Promise((resolve) => setImmediate(resolve));
        await end(pipeline, abort);
        const error = await started;
        expect(VoiceError.is(error) && ['aborted', 'not_ready'].includes(error.code)).toBe(true);
        await pipeline.dispose();
        expect(pipeline.state).toBe('disposed');
        expect(ofType(events, 'session.ready')).toEqual([]);
      });
    }
  }

  it('is not begun with a signal that has aborted', async () => {
    const { pipeline } = rig();
    const cause = new Error('enough');
    const started = pipeline.start({ signal: AbortSignal.abort(cause) });
    await expect(started).rejects.toMatchObject({ name: 'VoiceError', code: 'aborted', cause });
    expect(pipeline.state).toBe('idle');
    await pipeline.dispose();
  });

  it('is stopped by the signal of whoever asked for it, first or later', async () => {
    for (const began of ['starting', 'running']) {
      const { pipeline } = rig();
      const closed = new Promise((resolve) => pipeline.once('session.closed', resolve));
      const later = new AbortController();
      const first = pipeline.start();
      if (began === 'running') await first;
      await pipeline.start({ signal: later.signal });
      later.abort();
      expect(await closed).toMatchObject({ type: 'session.closed' });
      expect(pipeline.state).toBe('ready');
      await pipeline.dispose();
    }
  });

  it('refuses a signal that has aborted, also while it runs, and goes on', async () => {
    const { pipeline } = rig();
    await pipeline.start();
    await expect(pipeline.start({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
    expect(pipeline.state).toBe('running');
    await pipeline.dispose();
  });

  it('is not initialized again once it is disposed', async () => {
    const { pipeline } = rig();
    await pipeline.dispose();
    const refused = { code: 'not_ready', message: 'Pipeline: disposed; create another one' };
    await expect(pipeline.initialize()).rejects.toMatchObject(refused);
  });

  it('leaves no provider initialized that gets ready after dispose()', async () => {
    let getReady = (): void => undefined;
    const ready: string[] = [];
    const llm = new FakeLLM();
    llm.initialize = () => new Promise((resolve) => (getReady = resolve));
    llm.dispose = () => Promise.resolve(void ready.push('disposed'));
    const { pipeline } = rig({ llm });
    const initialized = pipeline.initialize().catch((error: unknown) => error);
    await pipeline.dispose();
    ready.length = 0;
    getReady();
    expect(await initialized).toMatchObject({ code: 'not_ready' });
    expect(ready).toEqual(['disposed']);
    expect(pipeline.state).toBe('disposed');
  });
});

/** A getter of an instance that gives this stream. */
function replace(provider: object, name: string, stream$: Subject<never>): void {
  Object.defineProperty(provider, name, { get: () => stream$ });
}

describe('a stream of a provider that fails (F60)', () => {
  it('of the speech-to-text service is told, and the agent still speaks', async () => {
    for (const name of ['transcripts$', 'speech$']) {
      const stt = new FakeSTT();
      const broken$ = new Subject<never>();
      replace(stt, name, broken$);
      const { pipeline, events } = rig({ stt });
      await pipeline.start();
      broken$.error(new Error('it broke'));
      expect(ofType(events, 'error')).toMatchObject([{ role: 'stt', code: 'internal', message: 'it broke' }]);
      expect(await pipeline.say('Still here.').done).toEqual({ heardText: 'Still here.', interrupted: false });
      await pipeline.dispose();
    }
  });

  it('of errors or connections is told with the provider', async () => {
    for (const name of ['errors$', 'connection$']) {
      const llm = new FakeLLM();
      const broken$ = new Subject<never>();
      replace(llm, name, broken$);
      const { pipeline, events } = rig({ llm });
      await pipeline.start();
      broken$.error(new Error('it broke'));
      expect(ofType(events, 'error')).toMatchObject([{ role: 'llm', provider: 'FakeLLM', message: 'it broke' }]);
      await pipeline.dispose();
    }
  });

  it('of word times leaves words that are reckoned', async () => {
    const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
    const broken$ = new Subject<SpokenWord>();
    Object.defineProperty(tts, 'words$', { get: () => broken$ });
    const { pipeline, events } = rig({ tts });
    await pipeline.start();
    const handle = pipeline.say('One two.');
    broken$.error(new Error('it broke'));
    expect((await handle.done).heardText).toBe('One two.');
    expect(ofType(events, 'error')).toEqual([]);
    await pipeline.dispose();
  });

  it('of the input is told with its name', async () => {
    const input = new FakeInput();
    const broken$ = new Subject<never>();
    replace(input, 'audio$', broken$);
    const { pipeline, events } = rig({ input });
    await pipeline.start();
    broken$.error(new Error('it broke'));
    expect(ofType(events, 'error')).toMatchObject([{ role: 'input', provider: 'FakeInput' }]);
    await pipeline.dispose();
  });
});

describe('a provider that throws', () => {
  it('at audio is reported once per run of unacceptable chunks', async () => {
    const stt = new FakeSTT();
    let broken = true;
    const sent: unknown[] = [];
    stt.sendAudio = (chunk) => {
      if (broken) throw new Error('it broke');
      sent.push(chunk);
    };
    const { pipeline, input, events } = rig({ stt });
    await pipeline.start();
    const chunk = { data: new Uint8Array(320), metadata: textAudioFormat };
    for (let frame = 0; frame < 5; frame++) input.push(chunk);
    broken = false;
    input.push(chunk);
    broken = true;
    input.push(chunk);
    expect(ofType(events, 'error').map(({ role, provider }) => [role, provider])).toEqual([
      ['stt', 'FakeSTT'],
      ['stt', 'FakeSTT'],
    ]);
    expect(sent).toHaveLength(1);
    await pipeline.dispose();
  });

  for (const name of ['sendAudio', 'finalize', 'pause', 'resume', 'setVolume'] as const) {
    it(`later, in an async ${name}(), is reported and ends nothing`, async () => {
      const scheduler = new TestClock();
      const [input, stt, output] = [new FakeInput(), new FakeSTT(), new FakeOutput({ scheduler })];
      const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 10, scheduler });
      const role = name === 'sendAudio' || name === 'finalize' ? 'stt' : 'output';
      Object.assign(role === 'stt' ? stt : output, { [name]: () => Promise.reject(new Error('it broke')) });
      const unhandled: unknown[] = [];
      const onUnhandled = (cause: unknown): void => void unhandled.push(cause);
      process.on('unhandledRejection', onUnhandled);
      const isManual = name === 'finalize';
      const { pipeline, events } = rig(
        { input, stt, tts, output },
        {
          scheduler,
          bargeIn: { pauseAfterMs: 1, resumeAfterMs: 5, minWords: 9 },
          ...(isManual && { turnTaking: { strategy: 'manual' } }),
        },
      );
      await pipeline.start();
      if (isManual) pipeline.beginTurn();
      if (isManual) pipeline.commitTurn();
      for (let frame = 0; frame < 3; frame++) input.push({ data: new Uint8Array(320), metadata: textAudioFormat });
      pipeline.say('Good day to you all.');
      await scheduler.advance(30);
      stt.hearWords(FakeSTT.result('eh', 'interim'));
      await scheduler.advance(30);
      process.off('unhandledRejection', onUnhandled);
      expect(unhandled).toEqual([]);
      expect(ofType(events, 'error')[0]).toMatchObject({ role, code: 'internal', message: 'it broke' });
      expect(pipeline.state).toBe('running');
      if (name === 'sendAudio') expect(ofType(events, 'error')).toHaveLength(1);
      await pipeline.dispose();
    });
  }

  it('where nothing can go on without it, ends the conversation with an error', async () => {
    const stt = new FakeSTT();
    stt.finalize = () => {
      throw new Error('it broke');
    };
    const { pipeline, events } = rig({ stt }, { turnTaking: { strategy: 'manual' } });
    await pipeline.start();
    const closed = new Promise((resolve) => pipeline.once('session.closed', resolve));
    pipeline.beginTurn();
    pipeline.commitTurn();
    await closed;
    expect(ofType(events, 'error')).toMatchObject([{ message: 'it broke' }]);
    expect(pipeline.state).toBe('ready');
    await pipeline.dispose();
  });
});

describe('a provider that cannot end (F43)', () => {
  const broken = (): never => {
    throw new Error('it broke');
  };
  const breaks: Record<string, (providers: { input: FakeInput; stt: FakeSTT; output: FakeOutput }) => void> = {
    'input.stop() throws': ({ input }) => (input.stop = broken),
    'output.stop() throws': ({ output }) => (output.stop = broken),
    'disconnect() throws': ({ stt }) => (stt.disconnect = broken),
    'disconnect() never settles': ({ stt }) => (stt.disconnect = () => never),
  };
  for (const [what, breakIt] of Object.entries(breaks)) {
    it(`keeps no conversation running, and no other provider, where ${what}`, async () => {
      const [input, stt, output] = [new FakeInput(), new FakeSTT(), new FakeOutput()];
      const ended: string[] = [];
      const stop = input.stop.bind(input);
      const disconnect = stt.disconnect.bind(stt);
      input.stop = () => (ended.push('input'), stop());
      stt.disconnect = () => (ended.push('stt'), disconnect());
      breakIt({ input, stt, output });
      const clock = new TestClock();
      const { pipeline, events } = rig({ input, stt, output }, { scheduler: clock });
      await pipeline.start();
      const stopped = pipeline.stop();
      await clock.advance(1_000);
      await stopped;
      expect(pipeline.state).toBe('ready');
      expect(ofType(events, 'session.closed')).toHaveLength(1);
      expect(ended).toEqual(
        what.startsWith('input') ? ['stt'] : what.startsWith('output') ? ['input', 'stt'] : ['input'],
      );
      await pipeline.start();
      expect(pipeline.state).toBe('running');
      const disposed = pipeline.dispose();
      await clock.advance(1_000);
      await disposed;
    });
  }

  it('does not keep dispose() waiting, nor an initialize() that fails', async () => {
    const llm = new FakeLLM();
    llm.dispose = () => never;
    const clock = new TestClock();
    const { pipeline } = rig({ llm }, { scheduler: clock });
    await pipeline.start();
    const disposed = pipeline.dispose();
    await clock.advance(999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    await disposed;
    expect(pipeline.state).toBe('disposed');

    const tts = new FakeTTS();
    tts.initialize = () => Promise.reject(new Error('no voice'));
    const failing = rig({ llm, tts }, { scheduler: clock }).pipeline;
    const failed = failing.initialize().catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await failed).toMatchObject({ message: 'no voice' });
  });
});

describe('a malformed result (F11)', () => {
  const wrong: readonly unknown[] = [
    null,
    undefined,
    5,
    'text',
    [],
    {},
    { text: 5 },
    { text: 'x', metadata: { words: 5 } },
  ];
  for (const result of [...wrong, { text: 'x', metadata: { words: [null] } }]) {
    it(`is told once and ignored: ${JSON.stringify(result)}`, async () => {
      const { pipeline, stt, llm, events } = rig();
      await pipeline.start();
      stt.hearWords(result as TranscriptionResult);
      stt.hearWords(result as TranscriptionResult);
      stt.hearWords(FakeSTT.result('hello', 'final'));
      await until(() => llm.requests.length > 0);
      expect(ofType(events, 'error')).toMatchObject([{ role: 'stt', code: 'protocol', recoverable: true }]);
      expect(llm.requests).toHaveLength(1);
      expect(pipeline.state).toBe('running');
      await pipeline.dispose();
    });
  }
});

/** Emits these before what a provider emits itself. */
function startingWith<A extends unknown[], T>(
  wrong: readonly unknown[],
  method: (...args: A) => Observable<T>,
): (...args: A) => Observable<T> {
  return (...args) => concat(from(wrong as readonly T[]), method(...args));
}

const format = { encoding: 'linear16', sampleRate: 16_000, channels: 1 };
const data = new Uint8Array(320);
const anything: readonly unknown[] = [null, undefined, 5, 'text', [], {}];

describe('a malformed value of a provider (F11)', () => {
  const wrongEvents: readonly unknown[] = [
    // A model may emit its text as it is.
    ...anything.filter((value) => value !== 'text'),
    ...[{ type: 'token' }, { type: 'token', text: 5 }, { type: 'word', text: 'x' }, { type: 'constructor' }],
    ...[
      { type: 'tool-call', id: 'a' },
      { type: 'tool-call', id: 5, name: 'a', argsText: '{}', args: {} },
    ],
    ...[
      { type: 'tool-call', id: 'a', name: 'a', args: {} },
      { type: 'done', finishReason: 5 },
    ],
    { type: 'done', finishReason: 'stop', usage: 5 },
  ];
  for (const wrong of wrongEvents) {
    it(`of a model is told once and ignored: ${JSON.stringify(wrong)}`, async () => {
      const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0, answer: () => 'Good day.' });
      llm.generate = startingWith([wrong, wrong], llm.generate.bind(llm));
      const { pipeline, events } = rig({ llm });
      await pipeline.start();
      for (const text of ['hello', 'again']) {
        expect(await pipeline.send(text).done).toEqual({ heardText: 'Good day.', interrupted: false });
      }
      expect(ofType(events, 'error')).toMatchObject([{ role: 'llm', code: 'protocol', recoverable: true }]);
      expect(ofType(events, 'error')[0]?.message).toContain("{ type: 'tool-call', id, name, args, argsText }");
      expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['completed', 'completed']);
      await pipeline.dispose();
    });
  }

  const wrongChunks: readonly unknown[] = [
    ...anything,
    ...[{ data: 'audio' }, { data: [1, 2] }, { data: null }, { data, metadata: 5 }, { data, metadata: {} }],
    ...[
      { data, metadata: { ...format, encoding: 5 } },
      { data, metadata: { ...format, sampleRate: 0 } },
    ],
    ...[
      { data, metadata: { ...format, sampleRate: NaN } },
      { data, metadata: { ...format, channels: -1 } },
    ],
    { data, metadata: format, utteranceId: 5 },
    // Their length is no number of bytes.
    ...[
      { data: new Int16Array(2), metadata: format },
      { data: new DataView(new ArrayBuffer(4)), metadata: format },
    ],
  ];
  for (const wrong of wrongChunks) {
    it(`of a voice is told once and ignored: ${JSON.stringify(wrong)}`, async () => {
      const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
      tts.speak = startingWith([wrong, wrong], tts.speak.bind(tts));
      const { pipeline, events } = rig({ tts });
      await pipeline.start();
      for (const text of ['Good day.', 'Still here.']) {
        expect(await pipeline.say(text).done).toEqual({ heardText: text, interrupted: false });
      }
      expect(ofType(events, 'error')).toMatchObject([{ role: 'tts', code: 'protocol', recoverable: true }]);
      await pipeline.dispose();
    });
  }

  const word = { text: 'Good', startMs: 0, endMs: 10, utteranceId: 'fake-1' };
  const wrongWords: readonly unknown[] = [
    ...anything,
    ...[
      { ...word, text: 5 },
      { ...word, endMs: NaN },
      { ...word, startMs: 'x' },
    ],
  ];
  for (const wrong of wrongWords) {
    it(`of a voice's words is told once and ignored: ${JSON.stringify(wrong)}`, async () => {
      const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
      const words$ = new Subject<SpokenWord>();
      Object.defineProperty(tts, 'words$', { get: () => words$ });
      const { pipeline, events } = rig({ tts });
      await pipeline.start();
      for (const text of ['Good day.', 'Still here.']) {
        const said = pipeline.say(text);
        words$.next(wrong as SpokenWord);
        expect(await said.done).toEqual({ heardText: text, interrupted: false });
      }
      expect(ofType(events, 'error')).toMatchObject([{ role: 'tts', code: 'protocol', recoverable: true }]);
      await pipeline.dispose();
    });
  }

  for (const wrong of [...anything, { type: 'voice' }, { type: 5 }, { type: 'toString' }]) {
    it(`of a voice detector is told once and ignored: ${JSON.stringify(wrong)}`, async () => {
      const stt = new FakeSTT();
      const speech$ = new Subject<SpeechEvent>();
      Object.defineProperty(stt, 'speech$', { get: () => speech$ });
      const { pipeline, llm, events } = rig({ stt });
      await pipeline.start();
      for (const type of ['started', 'ended'] as const) {
        speech$.next(wrong as SpeechEvent);
        speech$.next({ type });
      }
      stt.hearWords(FakeSTT.result('hello', 'final'));
      await until(() => llm.requests.length > 0);
      expect(ofType(events, 'error')).toMatchObject([{ role: 'stt', code: 'protocol', recoverable: true }]);
      expect(llm.requests).toHaveLength(1);
      await pipeline.dispose();
    });
  }
});

describe('what ends the process nowhere (F60)', () => {
  const unhandled: unknown[] = [];
  beforeEach(() => {
    unhandled.length = 0;
    config.onUnhandledError = (cause) => unhandled.push(cause);
  });
  afterEach(async () => {
    await timersDue();
    config.onUnhandledError = null;
    expect(unhandled).toEqual([]);
  });

  const ignored = 'protocol';

  for (const wrong of [...anything, { data: 'audio' }, { data, metadata: { encoding: 'linear16' } }]) {
    it(`malformed audio of an input is told once and ignored: ${JSON.stringify(wrong)}`, async () => {
      const input = new FakeInput();
      const audio$ = new Subject<AudioChunk>();
      Object.defineProperty(input, 'audio$', { get: () => audio$ });
      const stt = new FakeSTT();
      const sent: AudioChunk[] = [];
      stt.sendAudio = (chunk) => void sent.push(chunk);
      const { pipeline, events } = rig({ input, stt });
      await pipeline.start();
      for (const chunk of [wrong, wrong, { data, metadata: textAudioFormat }]) audio$.next(chunk as AudioChunk);
      expect(sent).toHaveLength(1);
      expect(ofType(events, 'error')).toMatchObject([{ role: 'input', provider: 'FakeInput', code: ignored }]);
      await pipeline.dispose();
    });
  }

  it('audio of another realm is audio, as in test environments with a window of their own', async () => {
    const input = new FakeInput();
    const stt = new FakeSTT();
    const sent: AudioChunk[] = [];
    stt.sendAudio = (chunk) => void sent.push(chunk);
    const { pipeline, events } = rig({ input, stt });
    await pipeline.start();
    input.push({ data: runInNewContext('new Uint8Array(320)') as typeof data, metadata: textAudioFormat });
    expect([sent.length, ofType(events, 'error')]).toEqual([1, []]);
    await pipeline.dispose();
  });

  for (const wrong of [...anything, { type: 'loud', positionMs: 0 }, { type: 'started', positionMs: 'x' }]) {
    it(`a malformed event of an output is told once and ignored: ${JSON.stringify(wrong)}`, async () => {
      const output = new FakeOutput();
      output.play = startingWith([wrong, wrong], output.play.bind(output));
      const { pipeline, events } = rig({ output });
      await pipeline.start();
      expect(await pipeline.say('Good day.').done).toEqual({ heardText: 'Good day.', interrupted: false });
      expect(ofType(events, 'error')).toMatchObject([{ role: 'output', code: ignored }]);
      await pipeline.dispose();
    });
  }

  for (const wrong of [...anything, { type: 'lost' }, { type: 'reconnecting' }, { type: 'gone' }]) {
    it(`a malformed connection event is told once and ignored: ${JSON.stringify(wrong)}`, async () => {
      const llm = new FakeLLM();
      const connection$ = new Subject<ConnectionEvent>();
      Object.defineProperty(llm, 'connection$', { get: () => connection$ });
      const { pipeline, events } = rig({ llm });
      await pipeline.start();
      for (const event of [wrong, wrong, { type: 'connected' }]) connection$.next(event as ConnectionEvent);
      expect(ofType(events, 'error')).toMatchObject([{ role: 'llm', provider: 'FakeLLM', code: ignored }]);
      expect(ofType(events, 'provider.connected')).toHaveLength(1);
      await pipeline.dispose();
    });
  }

  for (const name of ['device$', 'dtmf$', 'callEnded$']) {
    it(`an input's ${name} that fails is told`, async () => {
      const input = new FakeInput();
      const broken$ = new Subject<never>();
      Object.defineProperty(input, name, { get: () => broken$ });
      const over$ = new Subject<void>();
      if (name === 'dtmf$') Object.defineProperty(input, 'callEnded$', { get: () => over$ });
      const { pipeline, events } = rig({ input });
      await pipeline.start();
      broken$.error(new Error('it broke'));
      expect(ofType(events, 'error')).toMatchObject([{ role: 'input', provider: 'FakeInput', message: 'it broke' }]);
      expect(pipeline.state).toBe('running');
      over$.next();
      expect(ofType(events, 'call.ended')).toHaveLength(name === 'dtmf$' ? 1 : 0);
      await pipeline.dispose();
    });
  }
});

describe('an output that takes its time', () => {
  for (const playoutMs of [3_000, Infinity, 2 ** 31]) {
    it(`is not given up where it may take ${playoutMs} ms`, async () => {
      const output = new FakeOutput();
      const play = output.play.bind(output);
      output.play = (audio$) => play(audio$).pipe(delay(30));
      Object.defineProperty(output, 'positionMs', { value: 0 });
      const { pipeline, events } = rig({ output }, { timeouts: { playoutMs } });
      await pipeline.start();
      expect(await pipeline.say('Good day.').done).toMatchObject({ interrupted: false });
      expect(ofType(events, 'error')).toEqual([]);
      await pipeline.dispose();
    });
  }
});

describe('a voice that ends without a sound', () => {
  it('fails the turn and the speech that had words, and only these', async () => {
    const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
    tts.speak = (text$) => from(text$).pipe(ignoreElements());
    const { pipeline, events } = rig({ tts });
    await pipeline.start();
    await pipeline.send('hello').done;
    expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['error']);
    await pipeline.say('Good day.').done;
    expect(ofType(events, 'error').map(({ role, code, message }) => [role, code, message])).toEqual([
      ['tts', 'protocol', 'FakeTTS: no audio came for a text with words in it'],
      ['tts', 'protocol', 'FakeTTS: no audio came for a text with words in it'],
    ]);
    expect(await pipeline.say('…').done).toMatchObject({ interrupted: false });
    expect(ofType(events, 'error')).toHaveLength(2);
    await pipeline.dispose();
  });
});

describe('nothing that was said', () => {
  it('is not answered when it was sent', async () => {
    const { pipeline, llm, events } = rig();
    await pipeline.start();
    for (const text of ['', ' \n']) {
      expect(await pipeline.send(text).done).toEqual({ heardText: '', interrupted: false });
    }
    expect(llm.requests).toEqual([]);
    expect(ofType(events, 'turn.started')).toEqual([]);
    await pipeline.dispose();
  });

  it('is not answered when it was heard', async () => {
    const { pipeline, stt, llm } = rig();
    await pipeline.start();
    const heard: TranscriptionResult[] = ['', '  '].map((text) => FakeSTT.result(text, 'final'));
    for (const result of heard) stt.hearWords(result);
    await new Promise((resolve) => setImmediate(resolve));
    expect(llm.requests).toEqual([]);
    await pipeline.dispose();
  });
});

/** Voices and models in plain JavaScript that break their promises: each was silence, or an error that named nobody. */
import { interval, map, NEVER, of, throwError, type Observable } from 'rxjs';
import {
  NullOutput,
  Pipeline,
  type AudioChunk,
  type LLMProvider,
  type AudioMetadata,
  type TTSProvider,
  type VoiceEvent,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { ofType } from './support/timeline.ts';

type Speak = (text$: Observable<string>, scheduler: TestClock) => unknown;

const chunk: AudioChunk = { data: new Uint8Array(3_200), metadata: textAudioFormat };
const never = new Promise<never>(() => undefined);
const all = (text$: Observable<string>): Promise<void> =>
  new Promise((resolve) => text$.subscribe({ complete: () => resolve() }));

/** A voice that is a plain object. */
function voice(speak: Speak, metadata: AudioMetadata = textAudioFormat): TTSProvider {
  return {
    name: 'MyVoice',
    roles: ['tts'],
    initialize: () => Promise.resolve(),
    dispose: () => Promise.resolve(),
    isReady: () => true,
    getMetadata: () => metadata,
    audio$: NEVER,
    metadata$: NEVER,
    speak: speak as TTSProvider['speak'],
  };
}

/** What a voice makes of an answer, and of a text given to say(): the errors of each. */
async function errorsWith(speak: Speak): Promise<VoiceEvent<'error'>[][]> {
  const heard: VoiceEvent<'error'>[][] = [];
  for (const how of ['answer', 'say'] as const) {
    const scheduler = new TestClock();
    const stt = new FakeSTT({ scheduler });
    const providers = [
      new FakeInput({ scheduler }),
      stt,
      new FakeLLM({ scheduler, firstTokenMs: 0, tokenMs: 0 }),
      voice((text$) => speak(text$, scheduler)),
      new FakeOutput({ scheduler }),
    ];
    const pipeline = new Pipeline({ providers, scheduler });
    const events: VoiceEvent[] = [];
    pipeline.on('*', (event) => events.push(event));
    await pipeline.start();
    if (how === 'say') pipeline.say('Good day.');
    else stt.hearWords(FakeSTT.result('Good day.', 'final'));
    await scheduler.advance(20_000);
    // Whatever it was, it is over, and what comes next is tried again.
    expect(ofType(events, 'agent.state').at(-1)?.state).toBe('listening');
    const errors = ofType(events, 'error');
    const next = pipeline.say('Next.');
    await scheduler.advance(20_000);
    await next.done;
    expect(ofType(events, 'error')).toHaveLength(2 * errors.length);
    heard.push(errors);
    await pipeline.dispose();
    expect(scheduler.pending).toBe(0);
  }
  return heard;
}

describe('a voice that is a plain object, in an answer and in say(),', () => {
  it.each<[string, Speak, object]>([
    [
      'throws at once',
      () => {
        throw new Error('it broke');
      },
      { code: 'internal', message: 'MyVoice: it broke' },
    ],
    [
      'fails at once',
      () => throwError(() => new Error('it broke')),
      { code: 'internal', message: 'MyVoice: it broke' },
    ],
    [
      'fails before its first sound',
      async function* (text$) {
        await all(text$);
        yield* [] as AudioChunk[];
        throw new Error('it broke');
      },
      { code: 'internal', message: 'MyVoice: it broke' },
    ],
    [
      'fails in the middle',
      async function* (text$) {
        await all(text$);
        yield chunk;
        throw new TypeError('it broke');
      },
      { code: 'internal', message: 'MyVoice: it broke' },
    ],
    [
      'ends without a sound',
      async function* (text$) {
        await all(text$);
        yield* [] as AudioChunk[];
      },
      { code: 'protocol', recoverable: true, message: 'MyVoice: no audio came for a text with words in it' },
    ],
    [
      'never ends',
      async function* (text$) {
        await all(text$);
        yield chunk;
        await never;
      },
      { code: 'timeout', recoverable: true, message: 'MyVoice: no audio came within 11 seconds' },
    ],
    [
      'never reads its text, and says nothing',
      () => NEVER,
      { code: 'timeout', recoverable: true, message: 'MyVoice: it has not read its text within 11 seconds' },
    ],
    [
      'never reads its text, and sounds',
      (_text$, scheduler) => interval(100, scheduler).pipe(map(() => chunk)),
      { code: 'timeout', recoverable: true, message: 'MyVoice: it has not read its text within 11 seconds' },
    ],
    [
      'ends without reading its text',
      () => of(chunk),
      { code: 'protocol', recoverable: true, message: 'MyVoice: it has ended without reading its text' },
    ],
    [
      'returns nothing',
      () => undefined,
      { code: 'internal', message: expect.stringMatching(/^MyVoice: You provided 'undefined'/) as string },
    ],
  ])('that %s is an error that names it', async (_what, speak, error) => {
    const told = { ...error, role: 'tts', provider: 'MyVoice' };
    expect(await errorsWith(speak)).toMatchObject([[told], [told]]);
  });
});

describe('a model that is a plain object', () => {
  it.each<[string, LLMProvider['generate']]>([
    [
      'throws at once',
      () => {
        throw new Error('it broke');
      },
    ],
    ['fails', () => throwError(() => new Error('it broke'))],
    [
      'fails after its first words',
      async function* () {
        yield await Promise.resolve({ type: 'token', text: 'Well. ' });
        throw new Error('it broke');
      } as unknown as LLMProvider['generate'],
    ],
  ])('and %s is an error that names it', async (_what, generate) => {
    const scheduler = new TestClock();
    const llm: LLMProvider = { ...voice(() => NEVER), name: 'MyModel', roles: ['llm'], tokens$: NEVER, generate };
    const [stt, tts] = [new FakeSTT({ scheduler }), new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 1 })];
    const ends = [new FakeInput({ scheduler }), new FakeOutput({ scheduler })];
    const pipeline = new Pipeline({ providers: [...ends, stt, llm, tts], scheduler });
    const events: VoiceEvent[] = [];
    pipeline.on('*', (event) => events.push(event));
    await pipeline.start();
    stt.hearWords(FakeSTT.result('Good day.', 'final'));
    await scheduler.advance(20_000);
    const told = { code: 'internal', message: 'MyModel: it broke', role: 'llm', provider: 'MyModel' };
    expect(ofType(events, 'error')).toMatchObject([told]);
    await pipeline.dispose();
  });
});

describe('an output that is no good', () => {
  it('is an error that names it, in an answer and in say()', async () => {
    for (const fail of [
      () => throwError(() => new Error('it broke')),
      (): never => {
        throw new Error('it broke');
      },
    ]) {
      const output = new FakeOutput();
      output.play = fail;
      const [stt, tts] = [new FakeSTT(), new FakeTTS({ latencyMs: 0, msPerCharacter: 1 })];
      const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0 });
      const pipeline = new Pipeline({ providers: [new FakeInput(), stt, llm, tts, output] });
      const events: VoiceEvent[] = [];
      pipeline.on('*', (event) => events.push(event));
      await pipeline.start();
      await pipeline.say('Good day.').done;
      await pipeline.send('Good day.').done;
      const told = { code: 'internal', message: 'FakeOutput: it broke', role: 'output', provider: 'FakeOutput' };
      expect(ofType(events, 'error')).toMatchObject([told, told]);
      await pipeline.dispose();
    }
  });
});

describe('compressed audio of which nothing can be decoded', () => {
  const text = new TextEncoder();
  const format = (encoding: 'mp3' | 'opus'): AudioMetadata =>
    encoding === 'mp3'
      ? { encoding, sampleRate: 44_100, channels: 1 }
      : { encoding, sampleRate: 48_000, channels: 1, container: 'ogg' };

  it.each<['mp3' | 'opus', string, Uint8Array<ArrayBuffer>, string]>([
    ['mp3', 'an error as JSON', text.encode('{"error":"no such voice"}'), '"{"er"'],
    ['mp3', 'a WAV file', Uint8Array.from([...text.encode('RIFF'), ...new Uint8Array(400)]), '"RIFF"'],
    ['mp3', 'zeros', new Uint8Array(5_000), '00000000'],
    ['opus', 'an MP3 file', Uint8Array.of(0xff, 0xfb, 0x90, 0xc4, 0, 0, 0, 0), 'fffb90c4'],
  ])(
    'told as %s, %s, is an error that says what came; the next speech is tried',
    async (encoding, _what, data, came) => {
      const metadata = format(encoding);
      const speak = async function* (text$: Observable<string>): AsyncGenerator<AudioChunk> {
        await all(text$);
        yield { data, metadata };
      };
      const stt = new FakeSTT();
      const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0 });
      const providers = [new FakeInput(), stt, llm, voice(speak, metadata), new NullOutput()];
      const pipeline = new Pipeline({ providers });
      const events: VoiceEvent[] = [];
      pipeline.on('*', (event) => events.push(event));
      await pipeline.start();
      await pipeline.say('Good day.').done;
      await pipeline.send('Good day.').done;
      const message = expect.stringContaining(` from bytes that begin with ${came}: `) as string;
      const told = { code: 'unsupported_format', recoverable: true, role: 'tts', provider: 'MyVoice', message };
      expect(ofType(events, 'error')).toMatchObject([told, told]);
      expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['error']);
      await pipeline.dispose();
    },
  );
});

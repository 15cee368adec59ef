import { lastValueFrom, toArray } from 'rxjs';
import type { VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { Pipeline } from '../../lib/pipeline/pipeline.ts';
import { ofType } from './support/timeline.ts';

const fakes = {
  input: () => new FakeInput(),
  stt: () => new FakeSTT(),
  llm: () => new FakeLLM({ firstTokenMs: 0, tokenMs: 0, answer: () => 'Good day.' }),
  tts: () => new FakeTTS({ latencyMs: 0, msPerCharacter: 1 }),
  output: () => new FakeOutput(),
};

/** A pipeline whose provider of a role has one method that is written like this. */
function rig(
  role: keyof typeof fakes,
  method: string,
  write: (original: (...values: never[]) => never) => unknown,
): { readonly pipeline: Pipeline; readonly events: VoiceEvent[] } {
  const providers = Object.entries(fakes).map(([name, make]) => {
    const provider = make();
    if (name === role) {
      const original: unknown = Reflect.get(provider, method);
      Object.assign(provider, { [method]: write((original as () => never).bind(provider)) });
    }
    return provider;
  });
  const pipeline = new Pipeline({ providers });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  return { pipeline, events };
}

/** The methods that return a stream. */
const streaming = [
  ['llm', 'generate'],
  ['tts', 'speak'],
  ['output', 'play'],
] as const;

describe('a method written as an async generator', () => {
  for (const [role, method] of streaming) {
    it(`is as good as one that returns an Observable: ${method}()`, async () => {
      const { pipeline, events } = rig(
        role,
        method,
        (original) =>
          async function* (...values: never[]) {
            yield* await lastValueFrom(toArray<unknown>()(original(...values)));
          },
      );
      await pipeline.start();
      expect(await pipeline.send('hello').done).toMatchObject({ interrupted: false });
      expect(ofType(events, 'error')).toEqual([]);
      expect(ofType(events, 'turn.ended')).toMatchObject([{ reason: 'completed' }]);
      await pipeline.dispose();
    });
  }
});

describe('an async method that rejects (F60)', () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (cause: unknown): void => void unhandled.push(cause);
  beforeEach(() => {
    unhandled.length = 0;
    process.on('unhandledRejection', onUnhandled);
  });
  afterEach(async () => {
    // Node tells of it when the microtasks are done.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  for (const [role, method] of streaming) {
    it(`fails the turn and no more: ${method}()`, async () => {
      const { pipeline, events } = rig(role, method, () => () => Promise.reject(new Error('it broke')));
      await pipeline.start();
      await pipeline.send('hello').done;
      const name = { llm: 'FakeLLM', tts: 'FakeTTS', output: 'FakeOutput' }[role];
      expect(ofType(events, 'error')).toMatchObject([{ role, provider: name, message: `${name}: it broke` }]);
      expect(ofType(events, 'turn.ended')).toMatchObject([{ reason: 'error' }]);
      expect(pipeline.state).toBe('running');
      await pipeline.dispose();
    });
  }

  it('is told by its name where a format must be there at once', async () => {
    for (const role of ['input', 'tts'] as const) {
      const { pipeline } = rig(role, 'getMetadata', () => () => Promise.reject(new Error('it broke')));
      const message: unknown = expect.stringContaining('getMetadata() must return the format, not a promise');
      await expect(pipeline.start()).rejects.toMatchObject({ code: 'configuration', message });
      await pipeline.dispose();
    }
  });

  it('is told where the listener learns its format', async () => {
    const { pipeline, events } = rig('stt', 'configureAudio', () => () => Promise.reject(new Error('it broke')));
    await pipeline.start();
    expect(ofType(events, 'error')).toMatchObject([{ role: 'stt', message: 'it broke' }]);
    await pipeline.dispose();
  });
});

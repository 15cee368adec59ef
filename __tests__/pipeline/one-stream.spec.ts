// A getter that pipes anew hands out another stream at each read. React and Angular's async pipe compare what they get:
// they drop the subscription, and with it all that was shown, at every render.
import { asyncScheduler, EMPTY, type Observable, type Subscription } from 'rxjs';
import * as audio from 'rxvoice/audio';
import * as library from 'rxvoice';
import * as operators from 'rxvoice/operators';
import * as author from 'rxvoice/provider';
import * as remote from 'rxvoice/remote';
import * as testing from 'rxvoice/testing';
import { everyProvider, streamsOf } from './support/every-provider.ts';

const { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } = testing;

const format = { encoding: 'linear16', sampleRate: 16_000, channels: 1 } as const;
const sink = { write: () => undefined, clear: () => undefined };

function newPipeline(): library.Pipeline {
  return new library.Pipeline({
    providers: [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()],
  });
}

/** What is no provider, or is made by a function. */
const others: Readonly<Record<string, () => object>> = {
  Pipeline: newPipeline,
  RemotePipeline: () => new remote.RemotePipeline({ url: 'ws://127.0.0.1:9' }),
  History: () => new library.History(),
  Capture: () => new author.Capture(),
  Playout: () => new author.Playout(sink),
  SpeakerMixer: () => new author.SpeakerMixer({ metadata: format, scheduler: asyncScheduler }),
  'fallback(STT)': () => library.fallback(new FakeSTT(), new FakeSTT()),
  'fallback(LLM)': () => library.fallback(new FakeLLM(), new FakeLLM()),
  'fallback(TTS)': () => library.fallback(new FakeTTS(), new FakeTTS()),
  'textModel()': () => library.textModel(() => 'Yes.'),
  'fromLanguageModel()': () =>
    library.fromLanguageModel({
      ...{ specificationVersion: 'v3', provider: 'acme', modelId: 'one' },
      doStream: () => Promise.resolve({ stream: new ReadableStream() }),
    }),
};

/** The names of a class's streams that are made when read. */
function gettersOf(value: unknown): string[] {
  const getters: string[] = [];
  const isClass = typeof value === 'function' && value.prototype instanceof Object;
  for (let at = isClass ? (value.prototype as object) : null; at && at !== Object.prototype;) {
    const described = Object.entries(Object.getOwnPropertyDescriptors(at));
    const found = described.filter(([name, descriptor]) => descriptor.get !== undefined && name.endsWith('$'));
    getters.push(...found.map(([name]) => name));
    at = Reflect.getPrototypeOf(at);
  }
  return getters;
}

describe('a stream is one and the same at each reading', () => {
  const exported = { ...audio, ...library, ...operators, ...testing };
  const owners = [...everyProvider(exported), ...Object.entries(others).map(([name, make]) => [name, make()] as const)];

  for (const [name, owner] of owners) {
    it(`of ${name}`, () => {
      const [once, again] = [streamsOf(owner), streamsOf(owner)];
      expect(Object.keys(once)).not.toEqual([]);
      expect(Object.keys(once).filter((stream) => once[stream] !== again[stream])).toEqual([]);
    });
  }

  it('which every class with such a getter is tried for', () => {
    const classes = Object.values({ ...exported, ...author, ...remote }).filter((value) => gettersOf(value).length > 0);
    // An abstract class is tried with its subclasses.
    const isTried = (value: unknown): boolean =>
      typeof value === 'function' && owners.some(([, owner]) => owner instanceof value);
    expect(classes.filter((value) => !isTried(value))).toEqual([]);
    expect(classes.length).toBeGreaterThan(50);
  });
});

describe('what reads a getter at each change, as an async pipe does', () => {
  /** Compares what it is given with what it has, and subscribes to it if that is another. */
  class AsyncPipe<T> {
    latest: T | undefined;
    subscriptions = 0;
    #stream$: Observable<T> = EMPTY;
    #subscription: Subscription | undefined;

    transform(stream$: Observable<T>): T | undefined {
      if (stream$ === this.#stream$) return this.latest;
      this.destroy();
      this.subscriptions++;
      this.#stream$ = stream$;
      this.#subscription = stream$.subscribe((value) => {
        this.latest = value;
      });
      return this.latest;
    }

    destroy(): void {
      this.latest = undefined;
      this.#subscription?.unsubscribe();
    }
  }

  it('shows the latest error of a pipeline, of a provider and of a history, with one subscription each', async () => {
    const pipeline = newPipeline();
    const stt = new (class extends FakeSTT {
      fail(): void {
        this.report(new library.VoiceError('no line', { code: 'connection' }));
      }
    })();
    const [ofPipeline, ofProvider, ofHistory] = [
      new AsyncPipe<library.VoiceEvent<'error'>>(),
      new AsyncPipe<library.VoiceError>(),
      new AsyncPipe<library.HistoryChange>(),
    ];
    const chain = library.fallback(stt, new FakeSTT());
    const errorsOf = ({ errors$ }: library.STTProvider): Observable<library.VoiceError> => errors$ ?? EMPTY;
    const render = (): unknown[] => [
      ofPipeline.transform(pipeline.errors$)?.message,
      ofProvider.transform(errorsOf(chain))?.message,
      ofHistory.transform(pipeline.history.changes$)?.type,
    ];
    expect(render()).toEqual([undefined, undefined, undefined]);
    pipeline.once('*', () => {
      throw new Error('it broke');
    });
    pipeline.mute();
    stt.fail();
    pipeline.history.import([{ id: '', role: 'user', text: 'Hello' }]);
    for (let count = 0; count < 3; count++) {
      expect(render()).toEqual(['a callback for input.muted threw: it broke', 'no line', 'added']);
    }
    const pipes = [ofPipeline, ofProvider, ofHistory];
    expect(pipes.map(({ subscriptions }) => subscriptions)).toEqual([1, 1, 1]);
    for (const pipe of pipes) pipe.destroy();
    await pipeline.dispose();
  });
});

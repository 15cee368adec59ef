/** A model may be anything that gives text; what it is must not matter to a conversation. */
import { of, take } from 'rxjs';
import { FakeInput, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import type { LLMEvent, Message } from '../../../lib/core/messages.ts';
import type { LLMProvider } from '../../../lib/core/roles.ts';
import { Pipeline } from '../../../lib/pipeline/pipeline.ts';
import { textModel, type AnswerText } from '../../../lib/providers/llm/text-model.ts';
import { outcomeOf } from './llm-fixture.ts';

const ask: Message[] = [{ role: 'user', content: 'Hi' }];
async function ready(answer: AnswerText): Promise<LLMProvider> {
  const llm = textModel(answer);
  await llm.initialize();
  return llm;
}
async function* pieces(...texts: readonly string[]): AsyncGenerator<string> {
  for (const text of texts) yield await Promise.resolve(text);
}
const silence = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

describe('textModel()', () => {
  const stream = (): ReadableStream<string> =>
    new ReadableStream({
      start(controller) {
        controller.enqueue('Hel');
        controller.enqueue('lo.');
        controller.close();
      },
    });
  const sources: Readonly<Record<string, AnswerText>> = {
    'an async generator': () => pieces('Hel', 'lo.'),
    'a promise of one': () => Promise.resolve(pieces('Hel', 'lo.')),
    'a promise of the whole text': () => Promise.resolve('Hello.'),
    'a readable stream': stream,
    'an Observable': () => of('Hel', 'lo.'),
    'a list': () => ['Hel', 'lo.'],
  };
  it('takes no stream, which could be read only once', () => {
    expect(() => textModel(pieces('Hello.') as unknown as AnswerText)).toThrow(
      'TextModel: textModel() takes a function, called for each answer: async function* (messages) { … }',
    );
  });

  for (const [name, source] of Object.entries(sources)) {
    it(`is a model from ${name}`, async () => {
      const llm = await ready(source);
      const told: string[] = [];
      llm.tokens$.subscribe((text) => told.push(text));
      const { events, text } = await outcomeOf(llm.generate(ask));
      expect(text).toBe('Hello.');
      expect(events.at(-1)).toEqual({ type: 'done', finishReason: 'stop' });
      expect(told.join('')).toBe('Hello.');
    });
  }

  it('passes events on as they are, and ends once', async () => {
    const call: LLMEvent = { type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' };
    const done: LLMEvent = { type: 'done', finishReason: 'tool-calls', usage: { inputTokens: 3 } };
    expect(await outcomeOf((await ready(() => of('One moment.', call, done))).generate(ask))).toMatchObject({
      events: [{ type: 'token', text: 'One moment.' }, call, done],
    });
  });

  it('is told what is asked, and that nobody wants the answer any more, even while it is silent', async () => {
    const seen: unknown[] = [];
    let ending: Promise<unknown> = Promise.resolve();
    const llm = await ready(async function* (messages, { signal, maxTokens }) {
      seen.push(messages, maxTokens);
      let end = (): void => undefined;
      ending = new Promise<void>((resolve) => (end = resolve));
      try {
        yield 'Well';
        await silence(signal);
      } finally {
        seen.push(`ended, ${signal.aborted ? 'aborted' : 'not aborted'}`);
        end();
      }
    });
    await new Promise<void>((resolve) => {
      llm.generate(ask, { maxTokens: 5 }).pipe(take(1)).subscribe({ complete: resolve });
    });
    await ending;
    expect(seen).toEqual([ask, 5, 'ended, aborted']);
  });

  it('fails with an error that names it, whether it throws or rejects', async () => {
    const broken: readonly AnswerText[] = [
      () => {
        throw new Error('no key');
      },
      () => Promise.reject(new Error('no key')),
      // eslint-disable-next-line require-yield -- it fails before it says anything
      async function* () {
        await Promise.resolve();
        throw new Error('no key');
      },
    ];
    for (const answer of broken) {
      const { error } = await outcomeOf((await ready(answer)).generate(ask));
      expect(error).toMatchObject({ message: 'TextModel: no key', provider: 'TextModel', recoverable: true });
    }
  });

  it('needs initialize(), and ends with dispose()', async () => {
    const llm = textModel(async function* (_messages, { signal }) {
      yield 'Well';
      await silence(signal);
    });
    expect(await outcomeOf(llm.generate(ask))).toMatchObject({ error: { code: 'not_ready' } });
    await llm.initialize();
    const outcome = outcomeOf(llm.generate(ask));
    await llm.dispose();
    expect(await outcome).toMatchObject({ error: { code: 'aborted' } });
  });
});

describe('a pipeline', () => {
  const others = () => [
    new FakeInput(),
    new FakeSTT(),
    new FakeTTS({ latencyMs: 0, msPerCharacter: 1 }),
    new FakeOutput(),
  ];
  async function said(llm: LLMProvider): Promise<unknown> {
    const pipeline = new Pipeline({ providers: [...others(), llm] });
    await pipeline.start();
    await pipeline.send('Hi').done;
    const last = pipeline.history.messages().at(-1);
    await pipeline.dispose();
    return last;
  }

  it('speaks what a textModel gives', async () => {
    expect(await said(textModel(() => pieces('Good', ' day.')))).toMatchObject({
      role: 'assistant',
      content: 'Good day.',
    });
  });

  it("speaks the plain text of an object's generate()", async () => {
    const llm = Object.assign(
      textModel(() => []),
      { generate: () => pieces('Good', ' day.') },
    );
    expect(await said(llm as unknown as LLMProvider)).toMatchObject({ role: 'assistant', content: 'Good day.' });
  });
});

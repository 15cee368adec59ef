import { concat, of, throwError } from 'rxjs';
import { Pipeline } from 'rxvoice';
import { audioToText, FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';

import { call, over } from './support/call.ts';
import { ofType } from './support/timeline.ts';

/** JavaScript passes anything: a call must outlive each of these. */
async function saying(given: unknown): Promise<{ heard: string; next: string; errors: readonly string[] }> {
  const output = new FakeOutput({ realtime: false });
  const pipeline = new Pipeline({
    providers: [
      new FakeInput(),
      new FakeSTT(),
      new FakeLLM(),
      new FakeTTS({ latencyMs: 0, msPerCharacter: 1 }),
      output,
    ],
  });
  const errors: string[] = [];
  pipeline.on('error', ({ message }) => errors.push(message));
  await pipeline.start();
  await pipeline.say(given as string).done;
  const heard = audioToText(output.heard, 1);
  const { heardText: next } = await pipeline.say('Next.').done;
  await pipeline.dispose();
  return { heard, next, errors };
}

describe('say()', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['an object', {}],
    ['a stream that is locked', lockedStream()],
  ])('of %s settles with an error that names it, and the conversation goes on', async (_, given) => {
    const { heard, next, errors } = await saying(given);
    expect({ heard, next }).toEqual({ heard: '', next: 'Next.' });
    expect(errors).toEqual([expect.stringMatching(/^the text given to say\(\) failed: /)]);
  });

  it('of a stream that fails says what came before, and why it ended', async () => {
    const { heard, errors } = await saying(
      concat(
        of('One. '),
        throwError(() => new Error('no more')),
      ),
    );
    expect(heard.trim()).toBe('One.');
    expect(errors).toEqual(['the text given to say() failed: no more']);
  });

  it.each([
    ['undefined', undefined],
    ['bytes', new TextEncoder().encode('no')],
    ['objects', { text: 'no' }],
  ])('does not read %s aloud among its pieces', async (_, piece) => {
    const { heard, errors } = await saying(['One. ', piece, piece, 'Two.']);
    expect(heard).toBe('One. Two.');
    expect(errors).toEqual(['ignored a malformed value: say() must be given texts']);
  });
});

describe('a text given to say() that comes faster than it is spoken', () => {
  const sentence = 'This is sentence number seven. ';

  /** An endless text, and how much of it was read. */
  function endless(): { readonly text: AsyncGenerator<string>; readonly read: { length: number; isEnded: boolean } } {
    const read = { length: 0, isEnded: false };
    const text = (async function* () {
      try {
        for (;;) {
          read.length += sentence.length;
          yield await Promise.resolve(sentence);
          // An endless loop would end the test in no other way.
          if (read.length > 100_000) return;
        }
      } finally {
        read.isEnded = true;
      }
    })();
    return { text, read };
  }

  const streamOf = (text: AsyncGenerator<string>): ReadableStream<string> =>
    new ReadableStream(
      {
        pull: async (controller) => controller.enqueue(((await text.next()) as IteratorYieldResult<string>).value),
        cancel: () => void text.return(undefined),
      },
      { highWaterMark: 0 },
    );

  it.each(['an async iterable', 'a ReadableStream'])('is read little ahead of it: %s', async (what) => {
    const rig = await call();
    const { text, read } = endless();
    const handle = rig.pipeline.say(what === 'an async iterable' ? text : streamOf(text));
    await rig.scheduler.advance(1_000);
    expect(read.length).toBeLessThan(2_500);
    // A character is 100 ms; the pauses of the reader are nobody's stall.
    for (const minute of [1, 2, 3, 4, 5]) {
      await rig.scheduler.advance(60_000);
      expect(read.length).toBeLessThan(2_500 + minute * 600);
      expect(read.length).toBeGreaterThan(2_000 + (minute - 1) * 600);
    }
    expect(rig.output.positionMs).toBeGreaterThan(300_000);
    expect(ofType(rig.events, 'error')).toEqual([]);
    handle.interrupt();
    await rig.scheduler.advance(0);
    expect(read.isEnded).toBe(true);
    await over(rig);
  });

  it('is read little ahead of it: a generator', async () => {
    const rig = await call();
    const read = { length: 0, isEnded: false };
    const text = (function* () {
      try {
        for (; read.length < 100_000; read.length += sentence.length) yield sentence;
      } finally {
        read.isEnded = true;
      }
    })();
    const handle = rig.pipeline.say(text);
    await rig.scheduler.advance(61_000);
    expect(read.length).toBeLessThan(2_500 + 600);
    handle.interrupt();
    await rig.scheduler.advance(0);
    expect(read.isEnded).toBe(true);
    await over(rig);
  });

  it('and then stalls is still an error, and what came is said', async () => {
    const rig = await call({ timeouts: { llmStallMs: 10_000 } });
    const text = (async function* () {
      for (let count = 0; count < 100; count++) yield await Promise.resolve(sentence);
      await new Promise(() => undefined);
    })();
    const { done } = rig.pipeline.say(text);
    await rig.scheduler.advance(400_000);
    expect((await done).heardText.trim()).toBe(sentence.repeat(100).trim());
    expect(ofType(rig.events, 'error').map(({ message }) => message)).toEqual([
      'the text given to say() stalled: nothing more came within 10 seconds',
    ]);
    await over(rig);
  });
});

describe('what the application asks for without options', () => {
  it('is said, and sent, with null as well', async () => {
    const output = new FakeOutput({ realtime: false });
    const providers = [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS({ latencyMs: 0 }), output];
    await using pipeline = new Pipeline({ providers });
    await pipeline.start();
    expect(await pipeline.say('Hello.', null as never).done).toEqual({ heardText: 'Hello.', interrupted: false });
    expect(await pipeline.send('hi', null as never).done).toEqual({ heardText: 'You said hi.', interrupted: false });
  });

  it('is refused with a reason when send() is given no text', async () => {
    await using pipeline = new Pipeline({ providers: [new FakeSTT(), new FakeLLM(), new FakeTTS()] });
    expect(() => pipeline.send(undefined as never)).toThrow('Pipeline: send() takes a text');
  });
});

describe('a handle', () => {
  it('is told where an await is missing, and not once the conversation is over', async () => {
    const pipeline = new Pipeline({
      providers: [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput({ realtime: false })],
    });
    const errors: string[] = [];
    pipeline.on('error', ({ code, message }) => errors.push(`${code}: ${message}`));
    const notHeard = { heardText: '', interrupted: true };
    const started = pipeline.start();
    expect([await pipeline.send('Hello').done, await pipeline.say('Hello').done]).toEqual([notHeard, notHeard]);
    expect(errors).toEqual([
      'not_ready: Pipeline: send() came before start(): await start() first',
      'not_ready: Pipeline: say() came before start(): await start() first',
    ]);
    await started;
    await pipeline.stop();
    expect(await pipeline.send('Bye').done).toEqual(notHeard);
    await pipeline.dispose();
    expect(await pipeline.say('Bye').done).toEqual(notHeard);
    expect(errors).toHaveLength(2);
  });

  it('settles when the conversation breaks down before it is answered', async () => {
    class BrokenOutput extends FakeOutput {
      override pause(): void {
        throw new Error('no pause');
      }
    }
    const stt = new FakeSTT();
    const providers = [new FakeInput(), stt, new FakeLLM(), new FakeTTS(), new BrokenOutput()];
    await using pipeline = new Pipeline({ providers });
    await pipeline.start();
    const waiting = [pipeline.say('One two three four five six seven.'), pipeline.send('later', { interrupt: false })];
    pipeline.once('speech.started', () => {
      stt.hearVoice('started');
    });
    expect(await Promise.all(waiting.map(({ done }) => done))).toEqual([
      expect.objectContaining({ interrupted: true }),
      { heardText: '', interrupted: true },
    ]);
  });
});

function lockedStream(): ReadableStream<string> {
  const stream = new ReadableStream<string>();
  stream.getReader();
  return stream;
}

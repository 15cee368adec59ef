import {
  concat,
  defer,
  EMPTY,
  finalize,
  lastValueFrom,
  map,
  NEVER,
  of,
  throwError,
  timer,
  type Observable,
} from 'rxjs';
import { concatBytes } from '../../../../lib/audio/concat.ts';
import type { AudioChunk } from '../../../../lib/audio/types.ts';
import { encodeWav, parseWavHeader, wavHeader } from '../../../../lib/audio/wav-header.ts';
import { VoiceError } from '../../../../lib/core/errors.ts';
import type { RequestTTSConfig } from '../../../../lib/providers/tts/requests/request-wire.ts';
import { ssml } from '../../../../lib/text/ssml.ts';
import type { SynthesisEvent } from '../../../../lib/providers/tts/utterance.ts';
import { marbles } from '../../../operators/marbles.ts';
import { settle, TestClock } from '../../../transport/test-clock.ts';
import { audio, failureOf, FakeRequestTTS, listenTo, ms, pcm } from '../fixture.ts';

/** What `ready()` made, to be disposed after each test. */
const voices: FakeRequestTTS[] = [];

async function ready(config: RequestTTSConfig = {}, maxConcurrency?: number): Promise<FakeRequestTTS> {
  const tts = new FakeRequestTTS({ proxyUrl: 'http://127.0.0.1:9', ...config }, maxConcurrency);
  voices.push(tts);
  await tts.initialize();
  return tts;
}

const failure = (options: Partial<VoiceError> = {}): VoiceError =>
  new VoiceError('the service failed', { code: 'server', recoverable: true, ...options });

/** Chunks by their first byte, for marbles. */
const bytes = (...values: number[]): Record<string, AudioChunk> =>
  Object.fromEntries(
    values.map((value) => [value, expect.objectContaining({ data: ms(1, value) }) as unknown as AudioChunk]),
  );
const events = (...values: number[]): Record<string, SynthesisEvent> =>
  Object.fromEntries(values.map((value) => [value, audio(1, value)]));

async function blobBytes(blob: Blob): Promise<number[]> {
  return [...new Uint8Array(await blob.arrayBuffer())];
}

afterEach(() => Promise.all(voices.splice(0).map((tts) => tts.dispose())));

describe('REST TTS text buffer', () => {
  it('appends text on processChunk, and sends nothing', async () => {
    const tts = await ready();
    tts.processChunk('Hello ');
    tts.processChunk('there.');
    await settle();
    expect(tts.requested).toEqual([]);
  });

  it('synthesizes the full text on finalize, delivers its audio, and is empty then', async () => {
    const tts = await ready();
    const { bytes, formats } = listenTo(tts);
    tts.answer = () => of(audio(2));
    tts.processChunk('Hello ');
    tts.processChunk('there.');
    await tts.finalize();
    expect(tts.requested).toEqual(['Hello there.']);
    expect([bytes().length, formats]).toEqual([4, [pcm]]);
    await tts.finalize();
    expect(tts.requested).toEqual(['Hello there.']);
  });

  it('calls synthesize with the full text', async () => {
    const texts: string[] = [];
    class Custom extends FakeRequestTTS {
      override synthesize(text: string): Promise<Blob> {
        texts.push(text);
        return Promise.resolve(new Blob([ms(3)]));
      }
    }
    const tts = new Custom({ apiKey: 'key' });
    await tts.initialize();
    const { chunks } = listenTo(tts);
    tts.processChunk('One. ');
    tts.processChunk('Two.');
    await tts.finalize();
    expect(texts).toEqual(['One. Two.']);
    expect(chunks.map(({ data }) => data.length)).toEqual([6]);
    await tts.dispose();
  });

  it('is empty after an error too', async () => {
    const tts = await ready();
    tts.answer = () => throwError(() => failure({ recoverable: false }));
    tts.processChunk('lost');
    expect((await failureOf(tts.finalize())).code).toBe('server');
    tts.answer = () => of(audio(1));
    tts.processChunk('kept');
    await tts.finalize();
    expect(tts.requested).toEqual(['lost', 'kept']);
  });

  it('keeps text that comes during the synthesis for the next one', async () => {
    const tts = await ready();
    tts.answer = () => of(audio(1));
    tts.processChunk('first');
    const first = tts.finalize();
    tts.processChunk('second');
    await Promise.all([first, tts.finalize()]);
    expect(tts.requested).toEqual(['first', 'second']);
  });

  it('sends nothing for a blank buffer', async () => {
    const tts = await ready();
    tts.processChunk(' \n');
    await tts.finalize();
    expect(tts.requested).toEqual([]);
  });

  it('speaks texts finalized at the same time one after the other', async () => {
    const tts = await ready();
    const { chunks } = listenTo(tts);
    tts.answer = (text) => of(audio(1, text === 'a' ? 1 : 2));
    tts.processChunk('a');
    const first = tts.finalize();
    tts.processChunk('b');
    await Promise.all([first, tts.finalize()]);
    expect(chunks.map(({ data }) => data[0])).toEqual([1, 2]);
  });

  it('delivers estimated words with the audio', async () => {
    const tts = await ready();
    const { words } = listenTo(tts);
    tts.answer = () => of(audio(100));
    tts.processChunk('Hello there.');
    await tts.finalize();
    expect(words.map(({ text, estimated }) => [text, estimated])).toEqual([
      ['Hello', true],
      ['there.', true],
    ]);
  });

  it('aborts the request on cancel, settles finalize and delivers nothing', async () => {
    const tts = await ready();
    const { chunks } = listenTo(tts);
    let aborted = 0;
    tts.answer = () => NEVER.pipe(finalize(() => aborted++));
    tts.processChunk('long');
    const finalized = tts.finalize();
    await settle();
    expect(tts.requested).toEqual(['long']);
    tts.cancel();
    tts.processChunk('next');
    await finalized;
    expect([aborted, chunks.length]).toEqual([1, 0]);
    tts.answer = () => of(audio(1));
    await tts.finalize();
    expect(tts.requested).toEqual(['long', 'next']);
  });

  it('drops on cancel what waits behind another finalize', async () => {
    const tts = await ready();
    tts.answer = () => NEVER;
    tts.processChunk('a');
    const first = tts.finalize();
    tts.processChunk('b');
    const second = tts.finalize();
    await settle();
    tts.cancel();
    await Promise.all([first, second]);
    expect(tts.requested).toEqual(['a']);
  });

  it('aborts by a signal, with the error aborted', async () => {
    const tts = await ready();
    tts.answer = () => NEVER;
    tts.processChunk('long');
    const abort = new AbortController();
    const finalized = failureOf(tts.finalize({ signal: abort.signal }));
    await settle();
    abort.abort();
    expect((await finalized).code).toBe('aborted');
  });

  it('needs an initialized provider', async () => {
    const tts = new FakeRequestTTS({ apiKey: 'key' });
    tts.processChunk('x');
    expect((await failureOf(tts.finalize())).code).toBe('not_ready');
  });
});

describe('byRequests: synthesize()', () => {
  it('rejects with an Error while not initialized', async () => {
    const promise = new FakeRequestTTS({ apiKey: 'key' }).synthesize('x');
    expect(await failureOf(promise)).toBeInstanceOf(Error);
    expect((await failureOf(promise)).message).toContain('await FakeRequestTTS.initialize() first');
  });

  it('gives the complete audio, in the pieces in which it came, as one Blob of its media type', async () => {
    const tts = await ready();
    tts.service.format = { encoding: 'mp3', sampleRate: 24000, channels: 1, container: 'mp3', mimeType: 'audio/mpeg' };
    tts.answer = () => of(audio(1, 1), audio(2, 2));
    const blob = await tts.synthesize('Hello.');
    expect([blob.type, await blobBytes(blob)]).toEqual(['audio/mpeg', [1, 1, 2, 2, 2, 2]]);
  });

  it('says that an empty text cannot be synthesized', async () => {
    expect((await failureOf((await ready()).synthesize('  '))).code).toBe('configuration');
  });

  it('publishes nothing: its audio is the caller’s', async () => {
    const tts = await ready();
    const { chunks } = listenTo(tts);
    tts.answer = () => of(audio(1));
    await tts.synthesize('x');
    expect(chunks).toEqual([]);
  });

  it('puts raw audio of a long text together', async () => {
    const tts = await ready();
    tts.service.limit = 10;
    tts.answer = (text) => of(audio(1, text.length));
    expect(await blobBytes(await tts.synthesize('One. Two. Three. Four.'))).toEqual([9, 9, 6, 6, 5, 5]);
    expect(tts.requested).toEqual(['One. Two.', 'Three.', 'Four.']);
  });

  it('does not let half a sample of one part shift the next', async () => {
    const tts = await ready();
    tts.service.limit = 5;
    tts.answer = (text) => of({ type: 'audio', data: Uint8Array.of(text.length, 0, 99) });
    expect(await blobBytes(await tts.synthesize('One. Three.'))).toEqual([4, 0, 5, 0, 1, 0]);
  });

  it('writes the true sizes into a WAV file whose header was written too early', async () => {
    const tts = await ready();
    tts.service.format = { ...pcm, container: 'wav', mimeType: 'audio/wav' };
    tts.answer = () => of<SynthesisEvent[]>({ type: 'audio', data: wavHeader(pcm) }, audio(50));
    const blob = await tts.synthesize('x');
    const file = new Uint8Array(await blob.arrayBuffer());
    expect(new DataView(file.buffer).getUint32(4, true)).toBe(file.length - 8);
    expect(parseWavHeader(file)).toEqual({ kind: 'wav', metadata: pcm, dataOffset: 44, dataLength: 100 });
    expect(blob.type).toBe('audio/wav');
  });

  it('makes one WAV file of several', async () => {
    const tts = await ready();
    tts.service.limit = 5;
    tts.service.format = { ...pcm, container: 'wav', mimeType: 'audio/wav' };
    tts.answer = (text) => of({ type: 'audio', data: encodeWav(ms(2, text.length), pcm) });
    const file = new Uint8Array(await (await tts.synthesize('One. Four')).arrayBuffer());
    expect(file.slice(44)).toEqual(new Uint8Array([...ms(4, 4)]));
    expect(parseWavHeader(file)).toEqual({ kind: 'wav', metadata: pcm, dataOffset: 44, dataLength: 8 });
  });

  it('says that files of some formats cannot be joined', async () => {
    const tts = await ready();
    tts.service.limit = 5;
    tts.service.format = { encoding: 'opus', sampleRate: 48000, channels: 1, container: 'ogg' };
    tts.answer = () => of(audio(1));
    const error = await failureOf(tts.synthesize('One. Two.'));
    expect([error.code, error.message]).toEqual([
      'configuration',
      'FakeRequestTTS: the text needs 2 requests, and opus files cannot be joined: use speak(), or the format wav, pcm or mp3',
    ]);
  });

  it('waits longer for its first audio than speak() does', async () => {
    const clock = new TestClock();
    const tts = await ready({ scheduler: clock });
    tts.answer = () => timer(59_000, clock).pipe(map(() => audio(1)));
    const blob = tts.synthesize('x');
    await clock.advance(59_000);
    expect((await blobBytes(await blob)).length).toBe(2);
  });

  it('aborts by a signal, before and during the request', async () => {
    const tts = await ready();
    expect((await failureOf(tts.synthesize('x', { signal: AbortSignal.abort() }))).code).toBe('aborted');
    expect(tts.requested).toEqual([]);
    let aborted = 0;
    tts.answer = () => NEVER.pipe(finalize(() => aborted++));
    const abort = new AbortController();
    const promise = failureOf(tts.synthesize('x', { signal: abort.signal }));
    abort.abort(new Error('enough'));
    expect([(await promise).code, aborted]).toEqual(['aborted', 1]);
  });

  it('fails when the provider is disposed', async () => {
    const tts = await ready();
    tts.answer = () => NEVER;
    const promise = failureOf(tts.synthesize('x'));
    await tts.dispose();
    expect((await promise).code).toBe('aborted');
  });
});

describe('byRequests: speak()', () => {
  it('asks for the next sentence while the first is heard, and keeps their order', async () => {
    const tts = await ready();
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const text$ = cold('  (abc|)              ');
      const a$ = cold('     ----1---1|          ', events(1));
      const aSubs = '       ^--------!          ';
      const b$ = cold('     --2--2|             ', events(2));
      const bSubs = '       ^-----!             ';
      const c$ = cold('              -----3-|   ', events(3));
      const cSubs = '       ---------^------!   ';
      const expected = '    ----1---1(22)-3-|   ';
      tts.answer = (text) => ({ a: a$, b: b$, c: c$ })[text] ?? EMPTY;
      expectObservable(tts.speak(text$)).toBe(expected, bytes(1, 2, 3));
      expectSubscriptions(a$.subscriptions).toBe(aSubs);
      expectSubscriptions(b$.subscriptions).toBe(bSubs);
      expectSubscriptions(c$.subscriptions).toBe(cSubs);
    });
  });

  it('lets the first audio through before the rest of its answer', async () => {
    const tts = await ready();
    marbles(({ cold, expectObservable }) => {
      tts.answer = () => cold('-1 900ms 2|', events(1, 2));
      expectObservable(tts.speak(of('a'))).toBe('-1 900ms 2|', bytes(1, 2));
    });
  });

  it('makes one request at a time where the account has only one, over all utterances', async () => {
    const tts = await ready({}, 1);
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const a$ = cold('      --1--|       ', events(1));
      const b$ = cold('           -2|     ', events(2));
      const c$ = cold('             -3|   ', events(3));
      tts.answer = (text) => ({ a: a$, b: b$, c: c$ })[text] ?? EMPTY;
      expectObservable(tts.speak(of('a', 'b'))).toBe('--1---2|', bytes(1, 2));
      expectObservable(tts.speak(of('c'))).toBe('        --------3|', bytes(3));
      expectSubscriptions(b$.subscriptions).toBe('-----^-!');
      expectSubscriptions(c$.subscriptions).toBe('-------^-!');
    });
  });

  it('takes another number of requests at once from the configuration', async () => {
    const tts = await ready({ concurrency: 2 }, 1);
    tts.answer = () => NEVER;
    const subscription = tts.speak(of('a', 'b', 'c')).subscribe();
    tts.speak(of('d')).subscribe({ error: () => undefined });
    expect(tts.requested).toEqual(['a', 'b']);
    subscription.unsubscribe();
    expect(tts.requested).toEqual(['a', 'b', 'd']);
    await tts.dispose();
  });

  it('aborts all its requests when it is unsubscribed', async () => {
    const tts = await ready();
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const a$ = cold('-1-------|', events(1));
      const b$ = cold('---------2', events(2));
      tts.answer = (text) => ({ a: a$, b: b$ })[text] ?? EMPTY;
      expectObservable(tts.speak(of('a', 'b')), '^--!').toBe('-1-', bytes(1));
      expectSubscriptions(a$.subscriptions).toBe('^--!');
      expectSubscriptions(b$.subscriptions).toBe('^--!');
    });
  });

  it('cuts text over the limit of a request at sentences', async () => {
    const tts = await ready();
    tts.service.limit = 12;
    tts.answer = () => of(audio(1));
    tts.speak(of('One is one. Two is two. Three.', ' ', 'Four.')).subscribe();
    expect(tts.requested).toEqual(['One is one.', 'Two is two.', 'Three.', 'Four.']);
  });

  it('estimates the words of each sentence over its own audio', async () => {
    const tts = await ready();
    const { words } = listenTo(tts);
    tts.answer = (text) => of(audio(text.length * 100));
    tts.speak(of('Hi there.', 'Bye.')).subscribe();
    expect(words.map(({ text, startMs, endMs }) => [text, Math.round(startMs), Math.round(endMs)])).toEqual([
      ['Hi', 0, 200],
      ['there.', 300, 900],
      ['Bye.', 900, 1300],
    ]);
  });
});

describe('byRequests: time-outs and retries', () => {
  /** A provider on the test's clock, with what becomes of its utterance. */
  async function speaking(
    answer: (attempt: number, clock: TestClock) => Observable<SynthesisEvent>,
    config: RequestTTSConfig = {},
  ) {
    const clock = new TestClock();
    const tts = await ready({ scheduler: clock, ...config });
    const outcome = { attempts: 0, audio: 0, error: undefined as VoiceError | undefined, done: false };
    tts.answer = () => defer(() => answer(++outcome.attempts, clock));
    const subscription = tts.speak(of('a')).subscribe({
      next: ({ data }) => (outcome.audio += data.length / 2),
      error: (error: unknown) => (outcome.error = VoiceError.from(error)),
      complete: () => (outcome.done = true),
    });
    return { clock, outcome, subscription };
  }

  it('tries once more when no audio came for 5 s, then fails (F27)', async () => {
    const { clock, outcome } = await speaking(() => NEVER);
    await clock.advance(4_999);
    expect([outcome.attempts, clock.pending > 0]).toEqual([1, true]);
    await clock.advance(501);
    expect([outcome.attempts, outcome.error]).toEqual([2, undefined]);
    await clock.advance(5_000);
    expect([outcome.attempts, outcome.error?.code, outcome.error?.provider]).toEqual([2, 'timeout', 'FakeRequestTTS']);
    expect(outcome.error?.message).toBe('FakeRequestTTS: no audio arrived within 5000 ms');
    expect(clock.pending).toBe(0);
  });

  it('takes the time-out from the configuration', async () => {
    const { clock, outcome } = await speaking(() => NEVER, { firstAudioTimeoutMs: 100 });
    await clock.advance(1_000);
    expect(outcome.error?.code).toBe('timeout');
  });

  it('tries once more when an answer ends without audio, then fails', async () => {
    const { clock, outcome } = await speaking(() => EMPTY);
    await clock.advance(500);
    expect([outcome.attempts, outcome.error?.code, outcome.done]).toEqual([2, 'protocol', false]);
    expect(outcome.error?.message).toBe('FakeRequestTTS: the answer has no audio');
    expect(clock.pending).toBe(0);
  });

  it('takes no header for speech, in however many pieces it comes', async () => {
    const header = wavHeader(pcm);
    const listed = concatBytes(
      header.subarray(0, 36),
      Uint8Array.of(76, 73, 83, 84, 2, 0, 0, 0, 65, 65),
      header.slice(36),
    );
    for (const [file, size] of [
      [header, 44],
      [header, 43],
      [header, 20],
      [listed, 60],
    ] as const) {
      const pieces = [file.slice(0, size), file.slice(size)].filter(({ length }) => length > 0);
      const { clock, outcome } = await speaking(() => of(...pieces.map((data) => ({ type: 'audio', data }) as const)));
      await clock.advance(2_000);
      expect([outcome.attempts, outcome.error?.code, outcome.done]).toEqual([2, 'protocol', false]);
    }
  });

  it('speaks what the second attempt brings', async () => {
    const { clock, outcome } = await speaking((attempt) => (attempt === 1 ? NEVER : of(audio(3))));
    await clock.advance(5_500);
    expect(outcome).toEqual({ attempts: 2, audio: 3, error: undefined, done: true });
  });

  it('has no limit on how long an answer takes once it has begun', async () => {
    const { clock, outcome } = await speaking((_, clock) =>
      concat(of(audio(1)), timer(60_000, clock).pipe(map(() => audio(1)))),
    );
    await clock.advance(60_000);
    expect(outcome).toEqual({ attempts: 1, audio: 2, error: undefined, done: true });
  });

  it('tries a failing service twice more within 3 s', async () => {
    const { clock, outcome } = await speaking(() => throwError(() => failure()));
    await clock.advance(3_000);
    expect([outcome.attempts, outcome.error?.code]).toEqual([3, 'server']);
  });

  it('waits exactly as long as the service asks', async () => {
    const { clock, outcome } = await speaking((attempt) =>
      attempt === 1 ? throwError(() => failure({ code: 'rate_limited', retryAfterMs: 2_000 })) : of(audio(1)),
    );
    await clock.advance(1_999);
    expect(outcome.attempts).toBe(1);
    await clock.advance(1);
    expect([outcome.attempts, outcome.done]).toEqual([2, true]);
  });

  it('fails at once when the service asks for more time than anybody listens', async () => {
    const { outcome } = await speaking(() =>
      throwError(() => failure({ code: 'rate_limited', retryAfterMs: 600_000 })),
    );
    expect([outcome.attempts, outcome.error?.retryAfterMs]).toEqual([1, 600_000]);
  });

  it('does not try again what cannot work', async () => {
    const { outcome } = await speaking(() => throwError(() => failure({ code: 'unauthorized', recoverable: false })));
    expect([outcome.attempts, outcome.error?.code]).toEqual([1, 'unauthorized']);
  });

  it('asks a factory for another credential when one is refused, once', async () => {
    for (const [apiKey, attempts] of [
      ['key', 1],
      [() => Promise.resolve('key'), 2],
    ] as const) {
      const tts = new FakeRequestTTS({ apiKey, endpoint: 'http://127.0.0.1:9' });
      await tts.initialize();
      tts.answer = () => throwError(() => failure({ code: 'unauthorized', status: 401, recoverable: false }));
      const error = await failureOf(tts.synthesize('Hi.'));
      expect([tts.requested.length, error.code, error.status, error.recoverable]).toEqual([
        ...[attempts, 'unauthorized', 401, false],
      ]);
      await tts.dispose();
    }
  });

  it('does not speak twice what was heard once', async () => {
    const { clock, outcome } = await speaking(() =>
      concat(
        of(audio(1)),
        throwError(() => failure()),
      ),
    );
    await clock.advance(10_000);
    expect([outcome.attempts, outcome.audio, outcome.error?.code]).toEqual([1, 1, 'server']);
  });

  it('ends a wait for another try when it is unsubscribed', async () => {
    const { clock, outcome, subscription } = await speaking(() => throwError(() => failure({ retryAfterMs: 1_000 })));
    subscription.unsubscribe();
    await clock.advance(5_000);
    expect([outcome.attempts, clock.pending]).toEqual([1, 0]);
  });
});

describe('SSML', () => {
  it('is cut with its elements whole, and only its words are told', async () => {
    const tts = new FakeRequestTTS({ proxyUrl: 'http://127.0.0.1:9' });
    tts.service.markupOf = (text) => (text.startsWith('<speak') ? ssml : undefined);
    tts.service.limit = 40;
    await tts.initialize();
    const { words } = listenTo(tts);
    tts.answer = () => of(audio(100));
    await lastValueFrom(tts.speak(of('<speak><b>One two.</b> Tom &amp; Jerry.</speak>', 'a < b')));
    expect(tts.requested).toEqual(['<speak><b>One two.</b></speak>', '<speak> Tom &amp; Jerry.</speak>', 'a < b']);
    const told = ['One', 'two.', 'Tom', '&', 'Jerry.', 'a', '<', 'b'];
    expect(words.map(({ text }) => text)).toEqual(told);
    tts.processChunk('<speak>One <break/>');
    tts.processChunk('two.</speak>');
    await tts.finalize();
    expect(words.map(({ text }) => text)).toEqual([...told, 'One', 'two.']);
    await tts.dispose();
  });
});

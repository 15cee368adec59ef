/** Slow: connections that drop and are replaced, over real sockets. */
import fc from 'fast-check';
import { NEVER, of, Subject, throwError, type Observable } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import { asNumber, asString, type WireObject } from '../../../lib/core/guard.ts';
import type { TranscriptionResult } from '../../../lib/core/roles.ts';
import { StreamingSTT, type StreamingSTTConfig } from '../../../lib/providers/stt/streaming-stt.ts';
import { heard as heardWords, type STTWire } from '../../../lib/providers/stt/stt-wire.ts';
import type { ReconnectingSocketOptions } from '../../../lib/transport/reconnecting-socket.ts';
import {
  clocked,
  connected,
  failure,
  FakeSockets,
  heard,
  mono16k,
  record,
  settle,
  tape,
  type TestClock,
} from './stt-fixture.ts';

/** The smallest wire: its service says what is final, and what was said. */
const testWire = (switches: { fills: boolean; promises: boolean }): STTWire<StreamingSTTConfig, undefined> => ({
  name: 'TestSTT',
  baseUrl: () => 'wss://service.example',
  path: '/listen',
  accepts: () => [
    { encoding: 'linear16', sampleRates: [16_000, 8_000] },
    { encoding: 'mulaw', sampleRates: [8_000] },
  ],
  rules: {},
  ownKeys: ['interimResults'],
  gapMs: 500,
  promisesMessages: () => switches.promises,
  start: () => undefined,
  read: {
    final: (state, { ms }) => [state, { type: 'finalized', ms: asNumber(ms) ?? 0 }],
    guess: (state, { text, words }, context) => [
      state,
      ...heardWords({
        text: asString(text) ?? '',
        ...(words !== undefined && { words: context.words(words, (word) => asString(word['word'])) }),
      }),
    ],
    said: (state, { text, words }, context) => [
      state,
      {
        ...{ type: 'result', kind: 'complete', text: asString(text) ?? '' },
        words: context.words(words, (word) => asString(word['word'])),
      },
    ],
    notice: (state, { text }) => [state, { type: 'warning', text: asString(text) ?? '' }],
    broken: () => {
      throw new TypeError('canary-7f3a');
    },
  },
  each: (state, { voice }) => (voice === true ? [state, { type: 'voice', is: 'started' }] : [state]),
  commands: { finalize: (state) => [state, { type: 'send-after-audio', message: { type: 'finalize' } }] },
  query: ({ config }) => ({ language: config.language }),
  farewell: () => ['bye'],
  gap: (state) => (switches.fills ? [state, { type: 'silence', ms: 500 }] : [state]),
});

/** The smallest provider. */
class TestSTT extends StreamingSTT<StreamingSTTConfig, undefined> {
  readonly #switches: { fills: boolean; promises: boolean };
  sockets: FakeSockets = new FakeSockets({ pings: false });

  constructor(config: StreamingSTTConfig) {
    const switches = { fills: false, promises: false };
    super(testWire(switches), config);
    this.#switches = switches;
  }

  set fills(fills: boolean) {
    this.#switches.fills = fills;
  }

  set promises(promises: boolean) {
    this.#switches.promises = promises;
  }

  protected override socketOptions(): Partial<ReconnectingSocketOptions> {
    return { openSocket: this.sockets.open };
  }
}

function given(config: StreamingSTTConfig = {}) {
  const { clock, config: base } = clocked();
  const stt = new TestSTT({ ...base, ...config });
  return { clock, stt, ...record(stt) };
}

async function live(config: StreamingSTTConfig = {}) {
  const test = given(config);
  await connected(test.stt);
  return test;
}

/** The sum of what it has dropped since. */
function losses(stt: TestSTT): () => number {
  const all: number[] = [];
  stt.droppedMs$.subscribe((ms) => all.push(ms));
  return () => all.reduce((sum, ms) => sum + ms, 0);
}

/** Disposes of a provider whose service answers nothing. */
async function end({ stt, clock }: { stt: TestSTT; clock: TestClock }): Promise<void> {
  const disposed = stt.dispose();
  await clock.advance(200);
  await disposed;
  expect([clock.pending, stt.sockets.live]).toEqual([0, 0]);
}

async function drop({ stt, clock }: { stt: TestSTT; clock: TestClock }, waitMs: number = 250): Promise<void> {
  stt.sockets.last.drop();
  await clock.advance(waitMs);
  stt.sockets.last.accept();
}

/** Voice: syllables of 160 ms with 40 ms between them, of half the full scale. */
function voice(ms: number): Uint8Array<ArrayBuffer> {
  const sample = (at: number): number => (at % 3_200 >= 2_560 ? 0 : at % 2 ? 16_000 : -16_000);
  return new Uint8Array(Int16Array.from({ length: ms * 16 }, (_, at) => sample(at)).buffer);
}

/** Noise that stays the same, at a level in dBFS. */
function noise(ms: number, level: number): Uint8Array<ArrayBuffer> {
  let seed = 1;
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const peak = Math.sqrt(3) * 32_768 * 10 ** (level / 20);
  return new Uint8Array(Int16Array.from({ length: ms * 16 }, () => peak * (2 * random() - 1)).buffer);
}

describe('StreamingSTT: audio on its way', () => {
  it('F34: keeps what comes before the connection, in order', async () => {
    const { stt, clock } = given();
    stt.sendAudio({ data: tape(150) });
    await stt.initialize();
    const opened = stt.connect();
    stt.sendAudio({ data: tape(30, 150) });
    await settle();
    stt.sendAudio({ data: tape(20, 180) });
    stt.sockets.last.accept();
    await opened;
    stt.sendAudio({ data: tape(100, 200) });
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(300)]));
    await end({ stt, clock });
  });

  it('F34: keeps 60 s, then drops the oldest and reports it once', async () => {
    const { stt, clock, errors } = given();
    const lostMs = losses(stt);
    for (let second = 0; second < 62; second++) stt.sendAudio({ data: tape(1_000, second * 1_000) });
    expect(errors).toMatchObject([{ code: 'overflow', recoverable: true }]);
    expect(lostMs()).toBe(2_000);
    await connected(stt);
    const sent = heard(stt.sockets.last.sent);
    expect([sent.length, sent[0], sent.at(-1)]).toEqual([
      60 * 16_000,
      (2 * 16_000) % 32_768,
      (62 * 16_000 - 1) % 32_768,
    ]);
    await end({ stt, clock });
  });

  it('F34: tells how much of it was lost without a connection', async () => {
    const { stt, clock, errors } = await live();
    const lostMs = losses(stt);
    stt.sockets.last.drop();
    for (let second = 0; second < 61; second++) stt.sendAudio({ data: tape(1_000, second * 1_000) });
    stt.sendAudio({ data: tape(500) });
    expect(lostMs()).toBe(1_500);
    expect(errors.filter(({ code }) => code === 'overflow')).toHaveLength(1);
    await end({ stt, clock });
  });

  it('sends frames of 100 ms at most, and whole samples whatever the pieces', async () => {
    const { stt, clock } = await live();
    const audio = tape(250);
    for (let at = 0; at < audio.length; at += 777) stt.sendAudio({ data: audio.subarray(at, at + 777) });
    const { sent } = stt.sockets.last;
    expect(heard(sent)).toEqual(heard([audio]));
    expect(sent.every(({ length }) => length % 2 === 0 && length <= 3_200)).toBe(true);
    stt.sendAudio({ data: tape(1_000) });
    expect(stt.sockets.last.sent.slice(sent.length - 10).map(({ length }) => length)).toContain(3_200);
    await end({ stt, clock });
  });

  it('never sends an empty frame', async () => {
    const { stt, clock } = await live();
    stt.sendAudio({ data: new Uint8Array() });
    stt.sendAudio({ data: new Uint8Array(1) });
    expect(stt.sockets.last.sent).toEqual([]);
    await end({ stt, clock });
  });

  it('F7: the next connection hears again what was not final, sample by sample, then what came meanwhile', async () => {
    const test = await live();
    const { stt, clock, types } = test;
    stt.sendAudio({ data: tape(1_000) });
    stt.sockets.last.say({ type: 'final', ms: 400.5 });
    await clock.advance(20_000);
    stt.sockets.last.drop();
    stt.sendAudio({ data: tape(100, 1_000) });
    await clock.advance(250);
    stt.sockets.last.accept();
    stt.sendAudio({ data: tape(100, 1_100) });
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(1_200)]).slice(400.5 * 16));
    expect(types()).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
    await end({ stt, clock });
  });

  it('F7: hears again 30 s at most', async () => {
    const test = await live({ silenceTimeoutMs: false });
    for (let second = 0; second < 40; second++) test.stt.sendAudio({ data: tape(1_000, second * 1_000) });
    await drop(test);
    expect(heard(test.stt.sockets.last.sent).length).toBe(30 * 16_000);
    expect(test.errors).toEqual([]);
    await end(test);
  });

  it('F7: over any drops and pieces, what was made final is the whole audio once', async () => {
    const step = fc.oneof(
      fc.record({ send: fc.integer({ min: 1, max: 250 }) }),
      fc.record({ final: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ drop: fc.constantFrom(0, 10, 130) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const test = await live({
          silenceTimeoutMs: false,
          reconnect: { initialMs: 0, quickFailures: { count: 99, withinMs: 0 }, maxTries: 99 },
        });
        const { stt, clock } = test;
        const final: number[] = [];
        let made = 0;
        let last = 0;
        const makeFinal = (share: number): void => {
          const samples = heard(stt.sockets.last.sent);
          const until = Math.floor(last + (samples.length - last) * share);
          final.push(...samples.slice(last, until));
          last = until;
          stt.sockets.last.say({ type: 'final', ms: until / 16 });
        };
        for (const each of steps) {
          if ('send' in each) {
            stt.sendAudio({ data: tape(each.send, made) });
            made += each.send;
          } else if ('final' in each) makeFinal(each.final);
          else {
            stt.sockets.last.drop();
            stt.sendAudio({ data: tape(each.drop, made) });
            made += each.drop;
            await clock.advance(0);
            stt.sockets.last.accept();
            last = 0;
          }
        }
        makeFinal(1);
        stt.sockets.last.terminate();
        await end({ stt, clock });
        expect(final).toEqual(heard([tape(made)]));
      }),
      { numRuns: 40 },
    );
  });

  it('times count from the start of all audio, over connections', async () => {
    const test = await live();
    const { stt, results } = test;
    const say = (start: number): void =>
      stt.sockets.last.say({ type: 'said', text: 'w', words: [{ word: 'w', start, end: start + 0.1, confidence: 1 }] });
    stt.sendAudio({ data: tape(1_000) });
    say(0.2);
    stt.sockets.last.say({ type: 'final', ms: 500 });
    await drop(test);
    say(0.2);
    expect(results.map(({ metadata }) => metadata?.words?.[0]?.startMs)).toEqual([200, 700]);
    await end(test);
  });

  it('silence that stands in for missing audio is no part of the time', async () => {
    const test = await live();
    const { stt, clock, results } = test;
    stt.fills = true;
    stt.sendAudio({ data: tape(1_000) });
    await clock.advance(1_000);
    expect(heard(stt.sockets.last.sent).length).toBe(1_500 * 16);
    stt.sendAudio({ data: tape(1_000, 1_000) });
    const word = (start: number): WireObject => ({ word: 'w', start });
    stt.sockets.last.say({ type: 'said', text: 'w', words: [0.9, 1.2, 1.6].map(word) });
    expect(results[0]?.metadata?.words?.map(({ startMs }) => startMs)).toEqual([900, 1_000, 1_100]);
    await drop(test);
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(2_000)]));
    await end({ stt, clock });
  });

  it('no silence stands in while audio flows', async () => {
    const { stt, clock } = await live();
    stt.fills = true;
    for (let frame = 0; frame < 50; frame++) {
      stt.sendAudio({ data: tape(100, frame * 100) });
      await clock.advance(100);
    }
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(5_000)]));
    await end({ stt, clock });
  });

  it('F7: nor in the middle of what waited for a connection', async () => {
    const { stt, clock } = await live();
    stt.fills = true;
    await clock.advance(10);
    for (let frame = 0; frame < 20; frame++) {
      stt.sendAudio({ data: tape(100, frame * 100) });
      if (frame === 3) stt.sockets.last.drop();
      // Just before a check, and before the next frame.
      await clock.advance(70);
      if (frame === 14) stt.sockets.last.accept();
      await clock.advance(30);
    }
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(2_000)]));
    await end({ stt, clock });
  });
});

describe('StreamingSTT: a service that wants no more than it can hear', () => {
  const sentMs = ({ stt }: { stt: TestSTT }): number => heard(stt.sockets.last.sent).length / 16;

  it('catches up at its speed, and hears live audio after what waited', async () => {
    const test = given({ catchUpSpeed: 2 });
    test.stt.sendAudio({ data: tape(5_000) });
    await connected(test.stt);
    test.stt.sendAudio({ data: tape(100, 5_000) });
    expect(sentMs(test)).toBe(1_000);
    await test.clock.advance(3_000);
    expect(heard(test.stt.sockets.last.sent)).toEqual(heard([tape(5_100)]));
    await end(test);
  });

  it('hears everything on the next connection when one drops on the way, and nothing twice', async () => {
    const test = given({ catchUpSpeed: 2 });
    test.stt.sendAudio({ data: tape(5_000) });
    await connected(test.stt);
    await drop(test, 1_000);
    await test.clock.advance(3_000);
    expect(heard(test.stt.sockets.last.sent)).toEqual(heard([tape(5_000)]));
    await end(test);
  });

  it('says what is about the audio after it, with and without a connection', async () => {
    const test = given({ catchUpSpeed: 2 });
    test.stt.finalize();
    expect(test.results).toEqual([]);
    await test.stt.initialize();
    test.stt.sendAudio({ data: tape(2_000) });
    const opened = test.stt.connect();
    test.stt.finalize();
    await settle();
    test.stt.sockets.last.accept();
    await opened;
    test.stt.sendAudio({ data: tape(100, 2_000) });
    test.stt.finalize();
    await test.clock.advance(2_000);
    const { sent } = test.stt.sockets.last;
    const asked = '{"type":"finalize"}';
    expect(sent.map((data) => (typeof data === 'string' ? data : data.length / 32))).toEqual([
      ...Array.from({ length: 20 }, () => 100),
      ...[asked, 100, asked],
    ]);
    await end(test);
  });

  it('disconnect() says goodbye after all audio, and waits no longer than it may', async () => {
    for (const closeTimeoutMs of [10_000, 500]) {
      const test = given({ catchUpSpeed: 2, closeTimeoutMs });
      test.stt.sendAudio({ data: tape(5_000) });
      await connected(test.stt);
      const { sent } = test.stt.sockets.last;
      const ended = test.stt.disconnect();
      await test.clock.advance(280);
      expect(sent).not.toContain('bye');
      await test.clock.advance(2_120);
      expect([heard(sent).length / 16, sent.at(-1)]).toEqual([5_000, 'bye']);
      test.stt.sockets.last.drop(1000);
      await test.clock.advance(1_000);
      await ended;
      expect([test.clock.pending, test.stt.sockets.live]).toEqual([0, 0]);
    }
  });

  it('hears all of it at once on a connection that only says goodbye', async () => {
    const test = given({ catchUpSpeed: 2 });
    const sent = new Subject<AudioChunk>();
    await test.stt.initialize();
    const results = test.stt.transcribe(sent).subscribe({ error: () => undefined });
    sent.next({ data: tape(3_000) });
    await settle();
    test.stt.sockets.last.accept();
    await settle();
    sent.complete();
    await test.clock.advance(2_000);
    expect(test.stt.sockets.last.texts).toEqual(['bye']);
    await drop(test);
    expect(heard(test.stt.sockets.last.sent)).toEqual(heard([tape(3_000)]));
    expect(test.stt.sockets.last.sent.at(-1)).toBe('bye');
    results.unsubscribe();
    await end(test);
  });

  it('dispose() does not wait for it, in whatever state', async () => {
    for (const prepare of [() => undefined, (stt: TestSTT) => void stt.disconnect()]) {
      const test = given({ catchUpSpeed: 1, closeTimeoutMs: 10_000 });
      test.stt.sendAudio({ data: tape(20_000) });
      await connected(test.stt);
      prepare(test.stt);
      await end(test);
    }
  });

  it('A quiet half-minute, then a reconnect, is not deaf: replay begins a second before the end', async () => {
    const test = given({ catchUpSpeed: 1.25 });
    await connected(test.stt);
    test.stt.sendAudio({ data: new Uint8Array(30_000 * 32) });
    await drop(test);
    test.stt.sendAudio({ data: tape(100) });
    expect(sentMs(test)).toBe(1_000);
    await test.clock.advance(100);
    expect(heard(test.stt.sockets.last.sent)).toEqual([...heard([new Uint8Array(1_000 * 32)]), ...heard([tape(100)])]);
    await end(test);
  });

  it('A quiet half-minute, then a reconnect, is not deaf: neither in a room, which is never the same', async () => {
    const test = given({ catchUpSpeed: 1.25 });
    await connected(test.stt);
    for (let at = 0; at < 300; at++) {
      test.stt.sendAudio({ data: noise(100, at % 3 ? -60 : -50) });
      await test.clock.advance(100);
    }
    await drop(test);
    expect(sentMs(test)).toBe(1_000);
    // More than a second is sent no sooner than it may be: nothing else waits.
    await test.clock.advance(5_000);
    expect(sentMs(test)).toBe(1_000);
    test.stt.sendAudio({ data: tape(100) });
    expect(sentMs(test)).toBe(1_100);
    await end(test);
  });

  it('F7: a voice that nobody answered, quiet audio of an open utterance, and what was not sent are heard again', async () => {
    const room = noise(5_000, -50);
    const spoken = await live();
    for (const data of [room, voice(300), room]) spoken.stt.sendAudio({ data });
    await drop(spoken);
    expect(sentMs(spoken)).toBe(6_300);
    const open = await live();
    open.stt.sockets.last.say({ type: 'guess', text: 'he' });
    open.stt.sendAudio({ data: room });
    await drop(open);
    expect(sentMs(open)).toBe(5_000);
    const waiting = await live();
    waiting.stt.sockets.last.drop();
    waiting.stt.sendAudio({ data: room });
    await waiting.clock.advance(250);
    waiting.stt.sockets.last.accept();
    expect(sentMs(waiting)).toBe(5_000);
    for (const test of [spoken, open, waiting]) await end(test);
  });

  it('catches up in pauses: words, finals and the next connection have the times of the audio all the same', async () => {
    const test = given({ catchUpSpeed: 2 });
    const word = (start: number): WireObject => ({ word: 'w', start });
    const times = (): unknown => test.results.at(-1)?.metadata?.words?.map(({ startMs }) => startMs);
    const pause = new Uint8Array(14_000 * 32);
    for (const data of [voice(1_000), pause, voice(1_000), pause, voice(1_000)]) test.stt.sendAudio({ data });
    await connected(test.stt);
    await test.clock.advance(6_000);
    // Of each pause, 3 s end an utterance, and 1 s comes before the next.
    expect(sentMs(test)).toBe(11_000);
    const say = (message: WireObject): void => test.stt.sockets.last.say(message);
    say({ type: 'said', text: 'w', words: [0.5, 3.9, 4.1, 5.5, 8.9, 9.1, 10.5].map(word) });
    expect(times()).toEqual([500, 3_900, 14_100, 15_500, 18_900, 29_100, 30_500]);
    say({ type: 'final', ms: 10_000 });
    await drop(test);
    expect(sentMs(test)).toBe(1_000);
    say({ type: 'said', text: 'w', words: [word(0.5)] });
    expect(times()).toEqual([30_500]);
    await end(test);
  });

  it('does not consider a service dead before it was sent any speech', async () => {
    const test = given({ catchUpSpeed: 1 });
    test.stt.sendAudio({ data: voice(15_000) });
    await connected(test.stt);
    await test.clock.advance(8_000);
    expect(test.types()).toEqual(['connecting', 'connected']);
    await test.clock.advance(2_500);
    expect(test.types().at(-1)).toBe('reconnecting');
    await end(test);
  });
});

describe('StreamingSTT: formats', () => {
  it('takes the format of the first chunk', async () => {
    const { stt, clock } = given();
    stt.sendAudio({ data: new Uint8Array(80), metadata: { encoding: 'mulaw', sampleRate: 8_000, channels: 1 } });
    await connected(stt);
    expect(stt.sockets.last.byteCount).toBe(80);
    await end({ stt, clock });
  });

  it('refuses what the service does not take, and says what it takes', () => {
    const { stt } = given();
    const wrong = (): void => stt.configureAudio({ encoding: 'opus', sampleRate: 48_000, channels: 2 });
    expect(wrong).toThrow(
      'TestSTT does not support opus 48000 Hz stereo, only linear16 at 16000 or 8000 Hz (mono); mulaw at 8000 Hz (mono)',
    );
  });

  it('refuses another format while connected', async () => {
    const { stt, clock } = await live();
    stt.configureAudio(mono16k);
    expect(() => stt.configureAudio({ ...mono16k, sampleRate: 8_000 })).toThrow('disconnect()');
    await end({ stt, clock });
  });

  it('drops chunks in another format, reporting it once', async () => {
    const { stt, clock, errors } = await live();
    stt.sendAudio({ data: tape(10), metadata: mono16k });
    for (let time = 0; time < 3; time++) {
      stt.sendAudio({ data: new Uint8Array(80), metadata: { ...mono16k, sampleRate: 8_000 } });
    }
    expect([stt.sockets.last.byteCount, errors.length]).toEqual([320, 1]);
    await end({ stt, clock });
  });
});

/** Sends each second once it has sounded: the tenth comes nine seconds after the first. */
async function speak(seconds: number, { stt, clock }: { stt: TestSTT; clock: TestClock }): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1_000);
    stt.sendAudio({ data: voice(1_000) });
  }
}

describe('StreamingSTT: a service that says nothing (F10)', () => {
  it('is replaced after ten seconds of speech, which the next connection hears again', async () => {
    const { stt, clock, errors, events } = await live();
    stt.sendAudio({ data: tape(500) });
    await speak(11, { stt, clock });
    expect(errors).toMatchObject([{ code: 'timeout', recoverable: true }]);
    expect(events.at(-1)).toMatchObject({ type: 'reconnecting', error: { code: 'timeout' } });
    await clock.advance(250);
    stt.sockets.last.accept();
    expect(heard(stt.sockets.last.sent).length).toBe(11_500 * 16);
    await end({ stt, clock });
  });

  it('has ten seconds to answer, however fast a recording is sent', async () => {
    const { stt, clock, errors } = await live();
    for (let second = 0; second < 60; second++) stt.sendAudio({ data: voice(1_000) });
    await speak(9, { stt, clock });
    expect(errors).toEqual([]);
    await speak(1, { stt, clock });
    expect(errors).toMatchObject([{ code: 'timeout' }]);
    await end({ stt, clock });
  });

  it('is given up after three times in a row where it promises messages', async () => {
    const { stt, clock, events, errors } = await live();
    stt.promises = true;
    for (let time = 0; time < 3; time++) {
      await clock.advance(20_000);
      await speak(11, { stt, clock });
      await clock.advance(1_000);
      if (time < 2) stt.sockets.last.accept();
    }
    expect(events.at(-1)).toMatchObject({ type: 'lost', error: { code: 'timeout', recoverable: false } });
    expect(errors.length).toBe(3);
  });

  it('has twice as long each time where it promises none, and the session goes on while it can be connected to', async () => {
    const { stt, clock, errors, types } = await live();
    const waits: number[] = [];
    let seconds = 0;
    for (let time = 0; time < 4; time++) {
      for (; errors.length === time; seconds++) {
        await speak(1, { stt, clock });
      }
      waits.push(seconds);
      seconds = 0;
      await clock.advance(1_000);
      stt.sockets.last.accept();
    }
    expect(waits).toEqual([11, 21, 41, 81]);
    expect([types().includes('lost'), errors.every(({ recoverable }) => recoverable)]).toEqual([false, true]);
    await end({ stt, clock });
  });

  for (const level of [-34, -20, -46]) {
    it(`Steady noise breaks no session, and is sent once: ${level} dBFS for ten minutes`, async () => {
      const { stt, clock, errors, types } = await live();
      const second = noise(1_000, level);
      for (let count = 0; count < 600; count++) {
        await clock.advance(1_000);
        stt.sendAudio({ data: second });
      }
      expect([types(), errors]).toEqual([['connecting', 'connected'], []]);
      expect(stt.sockets.last.byteCount).toBe(600 * 32_000);
      await end({ stt, clock });
    });
  }

  it('is replaced when it does not answer a voice in steady noise', async () => {
    const { stt, clock, types } = await live();
    const rushing = noise(1_000, -34);
    for (let count = 0; count < 60; count++) {
      await clock.advance(1_000);
      stt.sendAudio({ data: rushing });
    }
    await speak(11, { stt, clock });
    expect(types().at(-1)).toBe('reconnecting');
    await end({ stt, clock });
  });

  it('is left alone when nobody speaks, when it says anything, or when it may be silent', async () => {
    const quiet = await live();
    for (let second = 0; second < 100; second++) {
      await quiet.clock.advance(1_000);
      quiet.stt.sendAudio({ data: new Uint8Array(32_000) });
    }
    const talking = await live();
    for (let second = 0; second < 100; second++) {
      await speak(1, talking);
      if (second % 5 === 0) talking.stt.sockets.last.say({ type: 'unknown' });
    }
    const allowed = await live({ silenceTimeoutMs: false });
    await speak(100, allowed);
    for (const { stt, clock, types } of [quiet, talking, allowed]) {
      expect(types()).toEqual(['connecting', 'connected']);
      await end({ stt, clock });
    }
  });
});

describe('StreamingSTT: life', () => {
  it('connects only once it is initialized', () => {
    const { stt } = given();
    expect(() => stt.connect()).toThrow('initialize()');
  });

  it('keeps a copy of what comes before initialize(): a caller may use its buffer again', async () => {
    const { stt, clock } = given();
    const buffer = Buffer.from(tape(100));
    stt.sendAudio({ data: buffer });
    buffer.fill(0);
    await connected(stt);
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(100)]));
    await end({ stt, clock });
  });

  it('calls of connect share one session', async () => {
    const { stt, clock } = given();
    await stt.initialize();
    const both = Promise.all([stt.connect(), stt.connect()]);
    await settle();
    stt.sockets.last.accept();
    await both;
    expect(stt.sockets.all.length).toBe(1);
    await end({ stt, clock });
  });

  it('F44: connect during disconnect begins a session of its own', async () => {
    const { stt, clock, results } = await live();
    stt.sendAudio({ data: tape(100) });
    const first = stt.sockets.last;
    const ended = stt.disconnect();
    const opened = stt.connect();
    first.say({ type: 'said', text: 'tail' });
    first.drop(1000);
    await ended;
    await settle();
    stt.sockets.last.accept();
    await opened;
    first.say({ type: 'said', text: 'stale' });
    stt.sockets.last.say({ type: 'said', text: 'new' });
    expect(results.map(({ text }) => text)).toEqual(['tail', 'new']);
    expect(stt.sockets.last.bytes).toEqual([]);
    await end({ stt, clock });
  });

  it('F1: a session that was lost leaves its audio to the next', async () => {
    const { stt, clock, errors } = given({ reconnect: { jitter: 'none', maxTries: 1 } });
    await stt.initialize();
    stt.sendAudio({ data: tape(100) });
    const failed = failure(stt.connect());
    await settle();
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.drop();
    expect((await failed).code).toBe('connection');
    expect(errors.length).toBe(1);
    stt.sendAudio({ data: tape(100, 100) });
    await connected(stt);
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(200)]));
    await end({ stt, clock });
  });

  it('F1: words that a lost session told as final are not heard again by the next', async () => {
    const { stt, clock, log } = given({ reconnect: { jitter: 'none', maxTries: 1 } });
    await connected(stt);
    stt.sendAudio({ data: tape(1_000) });
    stt.sockets.last.say({ type: 'guess', text: 'one', words: [{ word: 'one', start: 0.1, end: 0.6 }] });
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.drop();
    await settle();
    expect(log.at(-1)).toBe('. one');
    stt.sendAudio({ data: tape(100, 1_000) });
    await connected(stt);
    expect(heard(stt.sockets.last.sent)).toEqual(heard([tape(500, 600)]));
    await end({ stt, clock });
  });

  it('disconnect() without a session forgets the audio that waits, twice at once shares one end', async () => {
    const { stt } = given();
    await stt.initialize();
    stt.sendAudio({ data: tape(100) });
    await stt.disconnect();
    await connected(stt);
    expect(heard(stt.sockets.last.sent)).toEqual([]);
    const both = Promise.all([stt.disconnect(), stt.disconnect()]);
    stt.sockets.last.drop(1000);
    await both;
    expect(stt.sockets.last.texts).toEqual(['bye']);
  });

  it('F43: dispose() says goodbye for 200 ms at most, and leaves nothing', async () => {
    const { stt, clock, types } = await live();
    const disposed = stt.dispose();
    expect(stt.sockets.last.texts).toEqual(['bye']);
    await clock.advance(200);
    await disposed;
    expect([types().at(-1), clock.pending, stt.sockets.live]).toEqual(['closed', 0, 0]);
  });

  it('F43: dispose() during disconnect(), while connecting and while waiting leaves nothing', async () => {
    const closing = await live();
    void closing.stt.disconnect();
    const connecting = given();
    await connecting.stt.initialize();
    connecting.stt.connect().catch(() => undefined);
    await settle();
    const waiting = await live();
    waiting.stt.sockets.last.drop();
    for (const { stt, clock } of [closing, connecting, waiting]) {
      await end({ stt, clock });
      expect([clock.pending, stt.sockets.live]).toEqual([0, 0]);
    }
  });

  it('F44: a connect that waits for disconnect opens nothing once the provider is disposed of', async () => {
    const { stt, clock } = await live();
    const ended = stt.disconnect();
    const opened = failure(stt.connect());
    await stt.dispose();
    await ended;
    expect((await opened).code).toBe('aborted');
    await clock.advance(0);
    expect([clock.pending, stt.sockets.live]).toEqual([0, 0]);
  });

  it('a provider that was disposed of can begin again', async () => {
    const { stt, clock } = await live();
    const disposed = stt.dispose();
    await clock.advance(200);
    await disposed;
    await connected(stt);
    stt.sendAudio({ data: tape(10) });
    expect(stt.sockets.last.byteCount).toBe(320);
  });

  it('F60: a handler that throws costs one message, and the error shows nothing of it', async () => {
    const { stt, clock, errors, results } = await live();
    stt.sockets.last.say({ type: 'broken' });
    stt.sockets.last.say({ type: 'broken' });
    stt.sockets.last.say({ type: 'said', text: 'on' });
    expect([errors.length, results.length]).toEqual([1, 1]);
    expect(String(errors[0])).toContain('malformed message of type broken');
    expect(String(errors[0])).not.toContain('canary');
    expect(String(errors[0]?.cause)).toContain('canary');
    await end({ stt, clock });
  });

  it('tells of a voice before it reads the words of the same message', async () => {
    const { stt, clock, log } = await live();
    stt.sockets.last.say({ type: 'broken', voice: true });
    expect(log).toEqual(['started']);
    await end({ stt, clock });
  });

  it('reads no words of a session that whoever heard the voice has ended', async () => {
    const { stt, log } = await live();
    stt.speech$.subscribe(({ type }) => {
      if (type !== 'started') return;
      void stt.disconnect();
      void stt.dispose();
    });
    stt.sockets.last.say({ type: 'guess', text: 'one', voice: true });
    expect(log).toEqual(['started', 'ended']);
    await stt.dispose();
  });

  it('reports each notice of the service once, and continues', async () => {
    const { stt, clock, errors, types } = await live();
    for (const text of ['slow', 'slow', 'busy']) stt.sockets.last.say({ type: 'notice', text });
    expect(errors.map(({ message, recoverable }) => [message, recoverable])).toEqual([
      ['TestSTT: slow', true],
      ['TestSTT: busy', true],
    ]);
    expect(types()).toEqual(['connecting', 'connected']);
    await end({ stt, clock });
  });

  it('the end of the session completes the newest words, whichever connection heard them', async () => {
    const test = await live();
    test.stt.sendAudio({ data: tape(100) });
    test.stt.sockets.last.say({ type: 'guess', text: 'one' });
    test.stt.sockets.last.say({ type: 'guess', text: 'one two' });
    await drop(test);
    await end(test);
    expect(test.log).toEqual(['started', '~ one', '~ one two', 'ended', '. one two']);
  });

  it('words that were complete are not completed again', async () => {
    const test = await live();
    test.stt.sockets.last.say({ type: 'guess', text: 'one' });
    test.stt.sockets.last.say({ type: 'said', text: 'One.' });
    await end(test);
    expect(test.log).toEqual(['started', '~ one', '. One.', 'ended']);
  });

  it('updateConfig() of what the service is not told changes at once, on the same connection', async () => {
    const { stt, clock, log } = await live();
    stt.sockets.last.say({ type: 'guess', text: 'one' });
    stt.updateConfig({ interimResults: false, closeTimeoutMs: 10 });
    await clock.advance(0);
    stt.sockets.last.say({ type: 'guess', text: 'one two' });
    expect([stt.sockets.all.length, log]).toEqual([1, ['started', '~ one']]);
    stt.updateConfig({ interimResults: true, language: 'fr' });
    await clock.advance(0);
    expect(String(stt.sockets.last.request.url)).toBe('wss://service.example/listen?language=fr');
    await end({ stt, clock });
  });

  it('updateConfig() of what counts later leaves the connection alone', async () => {
    const { stt, clock } = await live();
    stt.updateConfig({ apiKey: 'other', silenceTimeoutMs: false });
    await clock.advance(1_000);
    expect(stt.sockets.all.length).toBe(1);
    stt.updateConfig({ endpoint: 'wss://other.example' });
    await clock.advance(0);
    expect(String(stt.sockets.last.request.url)).toBe('wss://other.example/listen');
    await end({ stt, clock });
  });
});

describe('StreamingSTT: transcribe()', () => {
  const chunks = (...parts: number[]): Observable<AudioChunk> => of(...parts.map((ms) => ({ data: tape(ms) })));

  /** Subscribes, and keeps what comes. */
  function take(result$: Observable<TranscriptionResult>) {
    const texts: string[] = [];
    let error: unknown;
    let completed = false;
    const subscription = result$.subscribe({
      next: ({ text }) => texts.push(text),
      error: (cause: unknown) => (error = cause),
      complete: () => (completed = true),
    });
    return { texts, subscription, error: () => error, completed: () => completed };
  }

  it('connects, sends, has the service finish, and completes with the last result', async () => {
    const { stt } = given();
    await stt.initialize();
    const { texts, completed } = take(stt.transcribe(chunks(100, 50)));
    await settle();
    stt.sockets.last.accept();
    await settle();
    expect([stt.sockets.last.byteCount, stt.sockets.last.texts]).toEqual([4_800, ['bye']]);
    stt.sockets.last.say({ type: 'said', text: 'one' });
    stt.sockets.last.say({ type: 'said', text: 'two' });
    stt.sockets.last.drop(1000);
    await settle();
    expect([texts, completed()]).toEqual([['one', 'two'], true]);
  });

  it('is cold, and can be repeated', async () => {
    const { stt } = given();
    await stt.initialize();
    const result$ = stt.transcribe(chunks(100));
    await settle();
    expect(stt.sockets.all.length).toBe(0);
    for (let time = 1; time < 3; time++) {
      const { completed } = take(result$);
      await settle();
      stt.sockets.last.accept();
      await settle();
      stt.sockets.last.drop(1000);
      await settle();
      expect([stt.sockets.all.length, completed()]).toEqual([time, true]);
    }
  });

  it('waits for the tail as long as the audio may need, and fails when it does not come', async () => {
    const { stt, clock } = given();
    await stt.initialize();
    const { texts, error } = take(stt.transcribe(chunks(5_000)));
    await settle();
    stt.sockets.last.accept();
    await clock.advance(5_000);
    stt.sockets.last.say({ type: 'said', text: 'one' });
    await clock.advance(999);
    expect([texts, error()]).toEqual([['one'], undefined]);
    await clock.advance(1);
    expect(error()).toMatchObject({ code: 'timeout', recoverable: true });
  });

  it('F7: a connection lost at the very end is replaced, and hears and says it all again', async () => {
    const { stt, clock, types } = given();
    await stt.initialize();
    const { texts, completed } = take(stt.transcribe(chunks(100)));
    await settle();
    stt.sockets.last.accept();
    await settle();
    expect(stt.sockets.last.texts).toEqual(['bye']);
    stt.sockets.last.drop(1006);
    await clock.advance(250);
    stt.sockets.last.accept();
    await settle();
    expect([stt.sockets.last.byteCount, stt.sockets.last.texts]).toEqual([3_200, ['bye']]);
    stt.sockets.last.say({ type: 'said', text: 'one' });
    stt.sockets.last.drop(1005);
    await settle();
    expect([texts, completed(), types().at(-1), clock.pending]).toEqual([['one'], true, 'closed', 0]);
  });

  it('of no audio completes without a connection', async () => {
    const { stt } = given();
    await stt.initialize();
    const { completed } = take(stt.transcribe(of()));
    await settle();
    expect([completed(), stt.sockets.all.length]).toEqual([true, 0]);
  });

  it('fails with the error of the audio, of the connection, and of a loss', async () => {
    const { stt, clock } = given({ reconnect: false });
    await stt.initialize();
    const broken = take(stt.transcribe(throwError(() => new Error('microphone'))));
    expect(String(broken.error())).toContain('microphone');

    const refused = take(stt.transcribe(chunks(100)));
    await settle();
    stt.sockets.last.refuse(401);
    await settle();
    expect(refused.error()).toMatchObject({ code: 'unauthorized' });

    const lost = take(stt.transcribe(new Subject<AudioChunk>()));
    expect(lost.error()).toBe(undefined);
    lost.subscription.unsubscribe();

    const audio$ = new Subject<AudioChunk>();
    const dropped = take(stt.transcribe(audio$));
    audio$.next({ data: tape(10) });
    await settle();
    stt.sockets.last.accept();
    stt.sockets.last.drop(1006);
    await settle();
    expect(dropped.error()).toMatchObject({ code: 'connection' });
    expect([clock.pending, audio$.observed]).toEqual([0, false]);
  });

  it('unsubscribing ends the session, and lets go of the audio', async () => {
    const { stt, clock } = given();
    await stt.initialize();
    const audio$ = new Subject<AudioChunk>();
    const { subscription } = take(stt.transcribe(audio$));
    audio$.next({ data: tape(10) });
    await settle();
    stt.sockets.last.accept();
    await settle();
    subscription.unsubscribe();
    expect([audio$.observed, clock.pending, stt.sockets.live]).toEqual([false, 0, 0]);
  });

  it('F62: is refused while the provider is in use, and leaves its session alone', async () => {
    const { stt, clock, types } = await live();
    const { error } = take(stt.transcribe(NEVER));
    expect(VoiceError.is(error())).toBe(true);
    expect(String(error())).toContain('one stream at a time');
    expect(types()).toEqual(['connecting', 'connected']);
    await end({ stt, clock });
  });
});

import { from, of, Subject, Subscription, type Observable } from 'rxjs';
import { VoiceError } from '../../../../lib/core/errors.ts';
import { asString } from '../../../../lib/core/guard.ts';
import { byOrder } from '../../../../lib/providers/tts/sockets/by-order.ts';
import type { SpeechWire } from '../../../../lib/providers/tts/sockets/speech-wire.ts';
import { VoiceConnection } from '../../../../lib/providers/tts/sockets/voice-connection.ts';
import type { SynthesisEvent } from '../../../../lib/providers/tts/utterance.ts';
import { ReconnectingSocket } from '../../../../lib/transport/reconnecting-socket.ts';
import { FakeSockets } from '../../../transport/fake-sockets.ts';
import { settle, TestClock } from '../../../transport/test-clock.ts';
import { ms, pcm } from '../fixture.ts';

const wire: SpeechWire<undefined> = {
  start: undefined,
  typeOf: ({ type }) => asString(type),
  read: {
    binary: (state, _message, { data }) => (typeof data === 'string' ? [state] : [state, { type: 'audio', data }]),
    flushed: (state) => [state, { type: 'end' }],
    cleared: (state) => [state, { type: 'cleared' }],
    refused: (state) => [state, { type: 'unflushed' }],
  },
};

/** What became of one utterance. */
interface Heard {
  readonly subscription: Subscription;
  /** First bytes of the audio, and the texts of the segments. */
  readonly story: (number | string)[];
  error: VoiceError | undefined;
  done: boolean;
}

function given() {
  const clock = new TestClock();
  const sockets = new FakeSockets({ pings: false });
  const reports: VoiceError[] = [];
  const lane = new VoiceConnection({
    wire,
    attribution: byOrder({ flush: 'flush', charactersPerMinute: 100, flushesPerMinute: 6, flushReserve: 3 }),
    errors: {
      error: (text, options) => new VoiceError(`TestTTS: ${text}`, { provider: 'TestTTS', ...options }),
      refusal: () => new VoiceError('refused', { code: 'server' }),
    },
    voice: () => ({ format: pcm, voice: () => ({ say: (text) => `say:${text}`, cancel: 'clear' }) }),
    farewell: ['close'],
    maxTextLength: 40,
    closeError: ({ reason }) => (reason === 'fatal' ? new VoiceError('refused', { code: 'protocol' }) : undefined),
    note: () => undefined,
    session: (options) =>
      new ReconnectingSocket({
        provider: 'TestTTS',
        request: () => Promise.resolve({ url: 'wss://voice.example/speak' }),
        ...{ ...options, scheduler: clock, openSocket: sockets.open, reconnect: { jitter: 'none', maxTries: 3 } },
      }),
    ...{ firstAudioTimeoutMs: 5_000, idleTimeoutMs: 5_000, connectTimeoutMs: 10_000, scheduler: clock },
    report: (error) => reports.push(error),
  });
  const speak = (text$: Observable<string>): Heard => {
    const heard: Heard = { story: [], error: undefined, done: false, subscription: new Subscription() };
    const subscription = lane.speak(text$).subscribe({
      next: (event: SynthesisEvent) => {
        if (event.type === 'audio') heard.story.push(event.data[0] ?? -1);
        else if (event.type === 'segment') heard.story.push(event.text ?? '(cut short)');
      },
      error: (error: unknown) => (heard.error = VoiceError.from(error)),
      complete: () => (heard.done = true),
    });
    heard.subscription.add(subscription);
    return heard;
  };
  return { clock, sockets, lane, speak, reports, sent: () => sockets.last.texts };
}

/** As {@link given}, with a connection that was warmed. */
async function warmed() {
  const test = given();
  test.lane.warm();
  await settle();
  test.sockets.last.accept();
  return test;
}

describe('Attribution by order: speaking', () => {
  it('speaks on a warm connection in the same tick, piece by piece, and flushes the first piece early', async () => {
    const { speak, sent } = await warmed();
    const text$ = new Subject<string>();
    speak(text$);
    text$.next('Hello there.');
    expect(sent()).toEqual(['say:Hello there. ', 'flush']);
  });

  it('speaks when the connection is there, where it was not', async () => {
    const { speak, sockets, sent } = given();
    speak(of('Hello.'));
    await settle();
    expect(sent()).toEqual([]);
    sockets.last.accept();
    expect(sent()).toEqual(['say:Hello. ', 'flush']);
  });

  it('completes after the last segment has been spoken, and not before', async () => {
    const { speak, sockets } = await warmed();
    const heard = speak(of('One.', 'Two.'));
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, 'One.'], false]);
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, 'One.', 2, 'Two.'], true]);
  });

  it('does not complete while text may come', async () => {
    const { speak, sockets } = await warmed();
    const text$ = new Subject<string>();
    const heard = speak(text$);
    text$.next('One.');
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    expect(heard.done).toBe(false);
    text$.complete();
    expect(heard.done).toBe(true);
  });

  it('completes at once without any text, also without a connection, and clears nothing', async () => {
    const { speak, sent, sockets } = given();
    expect(speak(of('', '  ')).done).toBe(true);
    await settle();
    sockets.last.accept();
    expect(sent()).toEqual([]);
  });

  it('keeps the connection for the next utterance', async () => {
    const { speak, sockets, sent } = await warmed();
    speak(of('One.'));
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    const heard = speak(of('Two.'));
    expect(sent()).toEqual(['say:One. ', 'flush', 'say:Two. ', 'flush']);
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done, sockets.all.length]).toEqual([[2, 'Two.'], true, 1]);
  });

  it('cuts text that is too long for one message', async () => {
    const { speak, sent } = await warmed();
    speak(of('A sentence that is long. Another sentence, long as well.'));
    const texts = sent().filter((text) => text.startsWith('say:'));
    expect(texts).toEqual(['say:A sentence that is long. ', 'say:Another sentence, long as well. ']);
  });
});

describe('Attribution by order: the limits of the service', () => {
  it('flushes single sentences while enough flushes are left, then once at the end', async () => {
    const { speak, sent } = await warmed();
    speak(from(['1.', '2.', '3.', '4.', '5.', '6.']));
    expect(sent().map((text) => text.replace('say:', '').trim())).toEqual([
      '1.',
      'flush',
      '2.',
      'flush',
      '3.',
      'flush',
      '4.',
      '5.',
      '6.',
      'flush',
    ]);
  });

  it('keeps flushes for the end of utterances: none is ever sent beyond the limit of a minute', async () => {
    const { speak, sent, sockets, clock } = await warmed();
    for (let turn = 0; turn < 6; turn++) {
      speak(of('Hi.'));
      sockets.last.say(ms(1, 4));
      sockets.last.say({ type: 'flushed' });
    }
    expect(sent().filter((text) => text === 'flush').length).toBe(6);
    const heard = speak(of('Late.'));
    expect(sent().at(-1)).toBe('say:Late. ');
    await clock.advance(64_999);
    expect(sent().at(-1)).toBe('say:Late. ');
    await clock.advance(1);
    expect(sent().at(-1)).toBe('flush');
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    expect(heard.done).toBe(true);
  });

  it('lets text wait that would be too much for a minute, and speaks it then', async () => {
    const { speak, sent, clock, sockets } = await warmed();
    const long = 'x'.repeat(38);
    const heard = speak(of(long, long, long));
    expect(sent()).toEqual([`say:${long} `, 'flush', `say:${long} `, 'flush']);
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    await clock.advance(64_999);
    expect([sent().length, heard.error]).toEqual([4, undefined]);
    await clock.advance(1);
    expect(sent().slice(4)).toEqual([`say:${long} `, 'flush']);
  });

  it('waits for a lost connection, and no longer for a limit that has let more through meanwhile', async () => {
    const { speak, sent, clock, sockets } = await warmed();
    const long = 'x'.repeat(38);
    const heard = speak(of(long, long, long));
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    await clock.advance(64_000);
    sockets.last.drop(1006);
    await clock.advance(3_000);
    expect([sockets.all.length, heard.error]).toEqual([2, undefined]);
    sockets.last.accept();
    expect(sent()).toEqual([`say:${long} `, 'flush']);
  });

  it('counts text that was cleared as well', async () => {
    const { speak, sent } = await warmed();
    speak(of('x'.repeat(38), 'x'.repeat(38))).subscription.unsubscribe();
    speak(of('y'.repeat(38)));
    expect(sent().at(-1)).toBe('clear');
  });

  it('does not let what was sent wait for what may not be sent yet', async () => {
    const { speak, sent } = await warmed();
    speak(from(['1.', '2.', '3.', 'x'.repeat(37), 'y'.repeat(37), 'z'.repeat(37)]));
    expect(sent().at(-1)).toBe('flush');
  });
});

describe('Attribution by order: a flush that the service refuses', () => {
  it('is not answered: its text is flushed again once the allowance is back, and none is said twice', async () => {
    const { speak, sockets, sent, clock } = await warmed();
    const heard = speak(of('One.', 'Two.', 'Three.'));
    const before = ['say:One. ', 'flush', 'say:Two. ', 'flush', 'say:Three. ', 'flush'];
    expect(sent()).toEqual(before);
    await clock.advance(1_000);
    sockets.last.say({ type: 'refused' });
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect(heard.story).toEqual([1, 'One.', 2, 'Two.']);
    await clock.advance(63_999);
    expect([sent(), heard.done, sockets.all.length]).toEqual([before, false, 1]);
    await clock.advance(1);
    expect(sent()).toEqual([...before, 'flush']);
    sockets.last.say(ms(1, 3));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, 'One.', 2, 'Two.', 3, 'Three.'], true]);
  });

  it('is due again although more text may come, with what came meanwhile', async () => {
    const { speak, sockets, sent, clock } = await warmed();
    const text$ = new Subject<string>();
    const heard = speak(text$);
    text$.next('One.');
    sockets.last.say({ type: 'refused' });
    text$.next('Two.');
    await clock.advance(65_000);
    expect(sent()).toEqual(['say:One. ', 'flush', 'say:Two. ', 'flush']);
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, 'One. Two.'], false]);
  });

  it('is refused again, and asked for again', async () => {
    const { speak, sockets, sent, clock } = await warmed();
    const heard = speak(of('One.'));
    for (let count = 0; count < 2; count++) {
      sockets.last.say({ type: 'refused' });
      await clock.advance(65_000);
    }
    expect(sent()).toEqual(['say:One. ', 'flush', 'flush', 'flush']);
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, 'One.'], true]);
  });

  it('is cleared with its text; the next utterance waits for the allowance', async () => {
    const { speak, sockets, sent, clock } = await warmed();
    const first = speak(of('One.'));
    first.subscription.unsubscribe();
    sockets.last.say({ type: 'refused' });
    sockets.last.say({ type: 'cleared' });
    const second = speak(of('Two.'));
    expect(sent()).toEqual(['say:One. ', 'flush', 'clear', 'say:Two. ']);
    await clock.advance(65_000);
    expect(sent().at(-1)).toBe('flush');
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([first.story, second.story, second.done]).toEqual([[], [2, 'Two.'], true]);
  });
});

describe('Attribution by order: cancelling', () => {
  it('clears, and lets what still comes of the utterance go nowhere (F31)', async () => {
    const { speak, sockets, sent } = await warmed();
    const first = speak(of('Hello there.'));
    sockets.last.say(ms(1, 1));
    first.subscription.unsubscribe();
    expect(sent().at(-1)).toBe('clear');
    const second = speak(of('Sure.'));
    expect(sent().slice(-2)).toEqual(['say:Sure. ', 'flush']);
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'cleared' });
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([first.story, second.story, second.done]).toEqual([[1], [2, 'Sure.'], true]);
  });

  it('is not misled by a flush that is answered although it was cleared', async () => {
    const { speak, sockets } = await warmed();
    speak(of('One.', 'Two.')).subscription.unsubscribe();
    const second = speak(of('Three.'));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say({ type: 'flushed' });
    sockets.last.say({ type: 'flushed' });
    sockets.last.say({ type: 'cleared' });
    expect([second.story, second.done]).toEqual([[], false]);
    sockets.last.say(ms(1, 3));
    sockets.last.say({ type: 'flushed' });
    expect([second.story, second.done]).toEqual([[3, 'Three.'], true]);
  });

  it('attributes audio after several quick cancels to the last utterance only', async () => {
    const { speak, sockets, sent } = await warmed();
    const heard = ['One.', 'Two.', 'Three.'].map((text, index) => {
      const each = speak(of(text));
      if (index < 2) each.subscription.unsubscribe();
      return each;
    });
    expect(sent().filter((text) => text === 'clear').length).toBe(2);
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'cleared' });
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'cleared' });
    sockets.last.say(ms(1, 3));
    sockets.last.say({ type: 'flushed' });
    expect(heard.map(({ story }) => story)).toEqual([[], [], [3, 'Three.']]);
  });

  it('clears text that was not flushed yet', async () => {
    const { speak, sent, sockets } = await warmed();
    const text$ = new Subject<string>();
    const first = speak(text$);
    for (const text of ['1.', '2.', '3.', '4.']) text$.next(text);
    sockets.last.say({ type: 'flushed' });
    sockets.last.say({ type: 'flushed' });
    sockets.last.say({ type: 'flushed' });
    first.subscription.unsubscribe();
    expect(sent().slice(-2)).toEqual(['say:4. ', 'clear']);
  });

  it('clears nothing when all has been spoken', async () => {
    const { speak, sent, sockets } = await warmed();
    const first = speak(new Subject<string>());
    first.subscription.unsubscribe();
    speak(of('One.'));
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    expect(sent()).toEqual(['say:One. ', 'flush']);
  });

  it('sends nothing of an utterance that was cancelled before the connection was there', async () => {
    const { speak, sockets, sent } = given();
    speak(of('One.')).subscription.unsubscribe();
    await settle();
    sockets.last.accept();
    expect(sent()).toEqual([]);
  });

  it('drops audio that nobody asked for, and answers to nothing', async () => {
    const { speak, sockets } = await warmed();
    sockets.last.say(ms(1, 9));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say({ type: 'cleared' });
    const heard = speak(of('One.'));
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'flushed' });
    expect(heard.story).toEqual([1, 'One.']);
  });
});

describe('Attribution by order: losing the connection', () => {
  it('continues from the first sentence that was not spoken (F26)', async () => {
    const { speak, sockets, sent, clock } = await warmed();
    const text$ = new Subject<string>();
    const heard = speak(text$);
    for (const text of ['One.', 'Two.', 'Three.']) text$.next(text);
    sockets.last.say(ms(1, 1));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say(ms(1, 2));
    sockets.last.drop(1006);
    text$.next('Four.');
    text$.complete();
    await clock.advance(250);
    sockets.last.accept();
    expect(sent()).toEqual(['say:Two. ', 'flush', 'say:Three. ', 'say:Four. ', 'flush']);
    sockets.last.say(ms(1, 3));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, 'One.', 2, '(cut short)', 3, 'Two.', 4, 'Three. Four.'], true]);
  });

  it('fails an utterance that loses its connection again without a sentence between', async () => {
    const { speak, sockets, clock } = await warmed();
    const heard = speak(of('One.'));
    sockets.last.drop(1011, 'NET-0000');
    await clock.advance(250);
    sockets.last.accept();
    expect(heard.error).toBeUndefined();
    sockets.last.drop(1011, 'NET-0000');
    expect([heard.error?.code, heard.error?.provider, heard.error?.status]).toEqual(['connection', 'TestTTS', 1011]);
  });

  it('fails at once where another connection would not help, and connects for the next utterance', async () => {
    const { speak, sockets, reports } = await warmed();
    const heard = speak(of('One.'));
    sockets.last.drop(1008, 'fatal');
    expect([heard.error?.code, reports]).toEqual(['protocol', []]);
    const next = speak(of('Two.'));
    await settle();
    sockets.last.accept();
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    expect([next.done, sockets.all.length]).toEqual([true, 2]);
  });

  it('lets an idle connection go quietly, and opens another for the next utterance', async () => {
    const { speak, sockets, reports, clock, sent } = await warmed();
    sockets.last.drop(1011, 'NET-0001 idle');
    await clock.advance(60_000);
    expect([sockets.all.length, reports]).toEqual([1, []]);
    const heard = speak(of('One.'));
    await settle();
    sockets.last.accept();
    expect(sent()).toEqual(['say:One. ', 'flush']);
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    expect(heard.done).toBe(true);
  });

  it('does not clear on a new connection what the old one took along', async () => {
    const { speak, sockets, clock, sent } = await warmed();
    const first = speak(of('One.'));
    sockets.last.drop(1006);
    first.subscription.unsubscribe();
    const second = speak(of('Two.'));
    await clock.advance(250);
    sockets.last.accept();
    expect(sent()).toEqual(['say:Two. ', 'flush']);
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([second.story, second.done]).toEqual([[2, 'Two.'], true]);
  });

  it('tells who speaks when the service refuses it, and reports it where nobody speaks', async () => {
    const quiet = given();
    quiet.lane.warm();
    await settle();
    quiet.sockets.last.refuse(401);
    quiet.sockets.last.drop();
    expect(quiet.reports.map(({ code }) => code)).toEqual(['unauthorized']);
    const loud = given();
    const heard = loud.speak(of('One.'));
    await settle();
    loud.sockets.last.refuse(401);
    loud.sockets.last.drop();
    expect([heard.error?.code, loud.reports]).toEqual(['unauthorized', []]);
  });
});

describe('Attribution by order: an answer without audio', () => {
  it('is asked for once more, in order, then fails', async () => {
    const { speak, sockets, clock, sent } = await warmed();
    const heard = speak(of('One.', 'Two.'));
    sockets.last.say({ type: 'flushed' });
    // What is still on its way belongs to what was cleared.
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    sockets.last.say({ type: 'cleared' });
    expect([heard.story, heard.done, heard.error]).toEqual([[], false, undefined]);
    await clock.advance(500);
    expect(sent().slice(4)).toEqual(['clear', 'say:One. ', 'flush', 'say:Two. ', 'flush']);
    sockets.last.say({ type: 'flushed' });
    expect([heard.error?.code, heard.error?.message]).toEqual(['protocol', 'TestTTS: the answer has no audio']);
    expect([sockets.all.length, heard.done]).toEqual([1, false]);
  });

  it('that comes the second time is heard whole', async () => {
    const { speak, sockets, clock } = await warmed();
    const heard = speak(of('One.', 'Two.'));
    sockets.last.say(ms(1, 1));
    for (const type of ['flushed', 'flushed', 'cleared']) sockets.last.say({ type });
    await clock.advance(500);
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, 'One.', 2, 'Two.'], true]);
  });

  it('is the right one for a text without words', async () => {
    const { speak, sockets } = await warmed();
    const heard = speak(of('…'));
    sockets.last.say({ type: 'flushed' });
    expect([heard.done, heard.error]).toEqual([true, undefined]);
  });
});

describe('Attribution by order: time-outs', () => {
  it('tries once more on another connection when no audio came for 5 s, then fails (F27)', async () => {
    const { speak, sockets, clock, sent } = await warmed();
    const heard = speak(of('One.'));
    await clock.advance(4_999);
    expect(sockets.all.length).toBe(1);
    await clock.advance(251);
    sockets.last.accept();
    expect([sockets.all.length, sent()]).toEqual([2, ['say:One. ', 'flush']]);
    await clock.advance(5_000);
    expect([heard.error?.code, heard.error?.message]).toEqual(['timeout', 'TestTTS: no audio arrived within 5000 ms']);
  });

  it('takes every frame for a sign of life', async () => {
    const { speak, sockets, clock } = await warmed();
    const heard = speak(of('One.'));
    for (let count = 0; count < 5; count++) {
      await clock.advance(4_000);
      sockets.last.say(ms(1, 1));
    }
    sockets.last.say({ type: 'flushed' });
    expect([heard.done, sockets.all.length]).toEqual([true, 1]);
  });

  it('continues on another connection when the audio stalls', async () => {
    const { speak, sockets, clock, sent } = await warmed();
    const heard = speak(of('One.'));
    sockets.last.say(ms(1, 1));
    await clock.advance(5_250);
    sockets.last.accept();
    expect(sent()).toEqual(['say:One. ', 'flush']);
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[1, '(cut short)', 2, 'One.'], true]);
  });

  it('does not wait in vain for a clear that is never answered', async () => {
    const { speak, sockets, clock } = await warmed();
    speak(of('One.')).subscription.unsubscribe();
    const heard = speak(of('Two.'));
    await clock.advance(5_250);
    sockets.last.accept();
    sockets.last.say(ms(1, 2));
    sockets.last.say({ type: 'flushed' });
    expect([heard.story, heard.done]).toEqual([[2, 'Two.'], true]);
  });

  it('has patience with a text that comes slowly', async () => {
    const { speak, sockets, clock } = await warmed();
    const text$ = new Subject<string>();
    const heard = speak(text$);
    await clock.advance(30_000);
    text$.next('One.');
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    await clock.advance(30_000);
    text$.complete();
    expect([heard.done, sockets.all.length]).toEqual([true, 1]);
  });

  it('fails when there is no connection for 10 s', async () => {
    const { speak, clock } = given();
    const heard = speak(of('One.'));
    await clock.advance(10_000);
    expect(heard.error?.code).toBe('timeout');
  });

  it('leaves no timer behind an utterance', async () => {
    const { speak, sockets, clock, lane } = await warmed();
    const before = clock.pending;
    speak(of('One.'));
    sockets.last.say(ms(1, 4));
    sockets.last.say({ type: 'flushed' });
    speak(of('x'.repeat(38), 'x'.repeat(38), 'x'.repeat(38))).subscription.unsubscribe();
    expect(clock.pending).toBe(before);
    const closed = lane.close();
    expect(sockets.last.texts.at(-1)).toBe('close');
    sockets.last.drop(1000);
    await closed;
    expect([clock.pending, sockets.live]).toEqual([0, 0]);
  });
});

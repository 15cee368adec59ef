import { of, Subject, Subscription, type Observable } from 'rxjs';
import { VoiceError } from '../../../../lib/core/errors.ts';
import { asNumber, asObject, asObjects, asString } from '../../../../lib/core/guard.ts';
import { byId, type ContextConnection } from '../../../../lib/providers/tts/sockets/by-id.ts';
import type { ContextMessages, ReadEffect, SpeechWire } from '../../../../lib/providers/tts/sockets/speech-wire.ts';
import { VoiceConnectionPool } from '../../../../lib/providers/tts/sockets/voice-connection-pool.ts';
import {
  VoiceConnection,
  type VoiceConnectionOptions,
} from '../../../../lib/providers/tts/sockets/voice-connection.ts';
import type { SynthesisEvent } from '../../../../lib/providers/tts/utterance.ts';
import { ReconnectingSocket } from '../../../../lib/transport/reconnecting-socket.ts';
import { FakeSockets } from '../../../transport/fake-sockets.ts';
import { settle, TestClock } from '../../../transport/test-clock.ts';
import { ms, pcm } from '../fixture.ts';

/** What became of one utterance. */
interface Heard {
  readonly subscription: Subscription;
  /** Milliseconds of audio, words, and the texts of segments. */
  readonly story: (number | string)[];
  error: VoiceError | undefined;
  done: boolean;
}

/** What the tests change of the service. */
type Changes = Partial<ContextConnection> &
  Pick<SpeechWire<undefined>, 'keepAlive'> &
  Pick<ContextMessages, 'endsForGood'>;

/** A wire as simple as can be: `0:open`, `0:say:Hello. `, `0:end`, `0:cancel`; ids count from 0 for each test. */
function given({ keepAlive, endsForGood = false, ...changes }: Changes = {}) {
  const clock = new TestClock();
  const sockets = new FakeSockets({ pings: false });
  const reports: VoiceError[] = [];
  let closed = 0;
  const names = new Map<string, number>();
  let voices = 0;
  const wire: SpeechWire<undefined> = {
    start: undefined,
    typeOf: ({ error }) => (asObject(error) ? 'refusal' : 'speech'),
    read: {
      refusal: (state, { error }) => [
        state,
        { type: 'error', error: new VoiceError('refused', { code: 'server', ...asObject(error) }) },
      ],
      speech: (state, { audio, words, spoken, done }) => [
        state,
        ...asObjects(words).map((word): ReadEffect => ({
          ...{ type: 'word', text: asString(word['text']) ?? '' },
          ...{ startMs: asNumber(word['startMs']) ?? 0, endMs: asNumber(word['endMs']) ?? 0 },
        })),
        ...(asNumber(audio) === undefined ? [] : [{ type: 'audio' as const, data: ms(asNumber(audio) ?? 0) }]),
        ...(spoken === true ? [{ type: 'spoken' as const }] : []),
        ...(done === true ? [{ type: 'end' as const }] : []),
      ],
    },
    ...(keepAlive && { keepAlive }),
  };
  const options: VoiceConnectionOptions = {
    wire,
    attribution: byId({
      contextOf: ({ id }) => [...names].find(([, name]) => name === id)?.[0] ?? asString(id),
      ...{ maxContexts: () => 2, endsCancelled: true, speaksAtOnce: () => true, ...changes },
    }),
    errors: {
      error: (text, options) => new VoiceError(`TestTTS: ${text}`, { provider: 'TestTTS', ...options }),
      refusal: () => new VoiceError('refused', { code: 'server' }),
    },
    voice: () => {
      const voice = voices++;
      return {
        format: pcm,
        voice: (id) => {
          const name = names.size;
          names.set(id, name);
          return {
            opening: [`${name}:open:voice ${voice}`],
            say: (text) => `${name}:say:${text}`,
            ending: [`${name}:end`],
            cancel: `${name}:cancel`,
            endsForGood,
          };
        },
      };
    },
    farewell: ['bye'],
    maxTextLength: 40,
    closeError: ({ reason }) => (reason === 'fatal' ? new VoiceError('refused', { code: 'protocol' }) : undefined),
    session: (options) =>
      new ReconnectingSocket({
        provider: 'TestTTS',
        request: () => Promise.resolve({ url: 'wss://voice.example/speak' }),
        ...{ scheduler: clock, openSocket: sockets.open, reconnect: { jitter: 'none', maxTries: 3 }, ...options },
      }),
    ...{ firstAudioTimeoutMs: 5_000, idleTimeoutMs: 5_000, connectTimeoutMs: 10_000, scheduler: clock },
    report: (error) => reports.push(error),
    note: () => undefined,
  };
  const contexts = new VoiceConnectionPool({
    open: () => new VoiceConnection(options),
    closed: () => closed++,
    ...{ capacity: Infinity, scheduler: clock },
  });
  const speak = (text$: Observable<string>): Heard => {
    const heard: Heard = { story: [], error: undefined, done: false, subscription: new Subscription() };
    const subscription = contexts.speak(text$).subscribe({
      next: (event: SynthesisEvent) => {
        if (event.type === 'audio') heard.story.push(event.data.length / 2);
        else if (event.type === 'word') heard.story.push(`${event.text}@${event.startMs}`);
        else heard.story.push(`[${event.text ?? ''}]`);
      },
      error: (error: unknown) => (heard.error = VoiceError.from(error)),
      complete: () => (heard.done = true),
    });
    heard.subscription.add(subscription);
    return heard;
  };
  const say = (...messages: readonly Record<string, unknown>[]): void => {
    for (const message of messages) sockets.last.say(message);
  };
  const accept = async (): Promise<void> => {
    await settle();
    sockets.last.accept();
  };
  return {
    clock,
    sockets,
    contexts,
    speak,
    reports,
    say,
    accept,
    sent: () => sockets.last.texts,
    closed: () => closed,
  };
}

/** As {@link given}, with a connection that was warmed. */
async function warmed(changes: Changes = {}) {
  const test = given(changes);
  test.contexts.warm();
  await test.accept();
  return test;
}

const word = (text: string, startMs: number, endMs: number): object => ({ text, startMs, endMs });

describe('Attribution by id: speaking', () => {
  it('speaks on a warm connection in the same tick, each piece at once, all in one context', async () => {
    const { speak, sent } = await warmed();
    const text$ = new Subject<string>();
    speak(text$);
    text$.next('Hello there.');
    expect(sent()).toEqual(['0:open:voice 0', '0:say:Hello there. ']);
    text$.next('Bye.');
    text$.complete();
    expect(sent().slice(2)).toEqual(['0:say:Bye. ', '0:end']);
  });

  it('speaks when the connection is there, where it was not', async () => {
    const { speak, accept, sent } = given();
    speak(of('Hello.'));
    await settle();
    expect(sent()).toEqual([]);
    await accept();
    expect(sent()).toEqual(['0:open:voice 0', '0:say:Hello. ', '0:end']);
  });

  it('completes when the service says that it has spoken all', async () => {
    const { speak, say } = await warmed();
    const heard = speak(of('One.', 'Two.'));
    say({ id: 0, audio: 100 });
    expect([heard.story, heard.done]).toEqual([[100], false]);
    say({ id: 0, audio: 50, done: true });
    expect([heard.story, heard.done]).toEqual([[100, 50, '[One. Two.]'], true]);
  });

  it('completes at once without any text, also without a connection, and sends nothing', async () => {
    const { speak, sent, accept } = given();
    expect(speak(of('', '  ')).done).toBe(true);
    await accept();
    expect(sent()).toEqual([]);
  });

  it('tells a word once its audio has come, and the rest at the end', async () => {
    const { speak, say } = await warmed();
    const heard = speak(of('One two three.'));
    say({ id: 0, words: [word('One', 0, 100), word('two', 120, 200), word('three.', 220, 400)] });
    expect(heard.story).toEqual([]);
    say({ id: 0, audio: 150 });
    expect(heard.story).toEqual([150, 'One@0', 'two@120']);
    say({ id: 0, audio: 100 });
    expect(heard.story.slice(3)).toEqual([100]);
    say({ id: 0, done: true });
    expect(heard.story.slice(4)).toEqual(['three.@220', '[One two three.]']);
  });

  it('cuts a piece that is too long for one message', async () => {
    const { speak, sent } = await warmed();
    speak(of('A sentence of some length, which goes on. And more.'));
    expect(sent().slice(1)).toEqual(['0:say:A sentence of some length, ', '0:say:which goes on. And more. ', '0:end']);
  });

  it('hears each of two utterances at the same time for itself (F62)', async () => {
    const { speak, say } = await warmed();
    const first = speak(of('One.'));
    const second = speak(of('Two.'));
    say({ id: 1, audio: 20 }, { id: 0, audio: 10 }, { id: 1, done: true }, { id: 0, done: true });
    expect([first.story, second.story]).toEqual([
      [10, '[One.]'],
      [20, '[Two.]'],
    ]);
  });

  it('waits where the service takes no other context', async () => {
    const { speak, say, sent } = await warmed();
    for (const text of ['One.', 'Two.', 'Three.']) speak(of(text));
    expect(sent().filter((text) => text.includes('open'))).toEqual(['0:open:voice 0', '1:open:voice 1']);
    say({ id: 1, done: true });
    expect(sent().slice(-3)).toEqual(['2:open:voice 2', '2:say:Three. ', '2:end']);
  });

  it('continues in another context when the service ends one too early', async () => {
    const { speak, say, sent } = await warmed();
    const text$ = new Subject<string>();
    const heard = speak(text$);
    text$.next('One.');
    say({ id: 0, audio: 100, done: true });
    expect([heard.story, heard.done]).toEqual([[100, '[One.]'], false]);
    text$.next('Two.');
    text$.complete();
    expect(sent().slice(2)).toEqual(['1:open:voice 0', '1:say:Two. ', '1:end']);
    say({ id: 1, audio: 50, done: true });
    expect([heard.story.slice(2), heard.done]).toEqual([[50, '[Two.]'], true]);
  });

  it('says nothing to a context that has expired, and opens another', async () => {
    const { speak, say, sent, clock } = await warmed({ expiresMs: 700 });
    const text$ = new Subject<string>();
    const heard = speak(text$);
    text$.next('One.');
    say({ id: 0, words: [word('One.', 0, 100)], audio: 100 });
    await clock.advance(699);
    text$.next('Two.');
    expect(sent().at(-1)).toBe('0:say:Two. ');
    say({ id: 0, words: [word('Two.', 120, 200)], audio: 100 });
    await clock.advance(700);
    text$.next('Three.');
    expect(sent().slice(-2)).toEqual(['1:open:voice 0', '1:say:Three. ']);
    say({ id: 1, words: [word('Three.', 0, 50)], audio: 50 });
    await clock.advance(700);
    text$.complete();
    expect([heard.done, sent().at(-1)]).toEqual([true, '1:say:Three. ']);
    expect(heard.story).toEqual([100, 'One.@0', 100, 'Two.@120', '[One. Two.]', 50, 'Three.@0', '[Three.]']);
  });

  it('does not expire a context that has not yet spoken everything', async () => {
    const { speak, say, sent, clock } = await warmed({ expiresMs: 700 });
    const text$ = new Subject<string>();
    speak(text$);
    text$.next('One two.');
    say({ id: 0, words: [word('One', 0, 50), word('two.', 60, 300)], audio: 100 });
    await clock.advance(2_000);
    text$.next('Three.');
    expect(sent().at(-1)).toBe('0:say:Three. ');
  });
});

describe('Attribution by id: cancelling', () => {
  it('cancels at the service, and hears nothing late, in the next utterance neither (F31)', async () => {
    const { speak, say, sent } = await warmed();
    const first = speak(of('One.'));
    say({ id: 0, audio: 10 });
    first.subscription.unsubscribe();
    expect(sent().at(-1)).toBe('0:cancel');
    const second = speak(of('Two.'));
    say({ id: 0, audio: 20 }, { id: 0, done: true }, { id: 1, audio: 30, done: true });
    expect([first.story, second.story]).toEqual([[10], [30, '[Two.]']]);
  });

  it('says nothing of an utterance that is over, or that never began', async () => {
    const { speak, say, sent } = await warmed();
    const over = speak(of('One.'));
    say({ id: 0, audio: 10, done: true });
    over.subscription.unsubscribe();
    const text$ = new Subject<string>();
    speak(text$).subscription.unsubscribe();
    expect(sent()).toEqual(['0:open:voice 0', '0:say:One. ', '0:end']);
  });

  it('counts a cancelled context until the service has ended it, at most 5 s', async () => {
    const { speak, say, sent, clock } = await warmed();
    const opened = (): number => sent().filter((text) => text.includes('open')).length;
    speak(of('One.')).subscription.unsubscribe();
    speak(of('Two.')).subscription.unsubscribe();
    speak(of('Three.'));
    expect(opened()).toBe(2);
    say({ id: 1, done: true });
    expect(opened()).toBe(3);
    speak(of('Four.'));
    await clock.advance(4_999);
    expect(opened()).toBe(3);
    await clock.advance(1);
    expect(opened()).toBe(4);
  });

  it('counts it no more where the service does not say when it is over', async () => {
    const { speak, sent } = await warmed({ endsCancelled: false, maxContexts: () => 1 });
    speak(of('One.')).subscription.unsubscribe();
    speak(of('Two.'));
    expect(sent().slice(-3)).toEqual(['1:open:voice 1', '1:say:Two. ', '1:end']);
  });

  it('can be cancelled by who hears its audio', async () => {
    const { contexts, say, sent } = await warmed();
    const subscription: Subscription = contexts.speak(of('One.')).subscribe(() => subscription.unsubscribe());
    say({ id: 0, audio: 10, words: [word('One.', 0, 10)] });
    expect(sent().at(-1)).toBe('0:cancel');
  });
});

describe('Attribution by id: what goes wrong', () => {
  it('says the first sentence that was not heard to its end again, on another connection (F26)', async () => {
    const { speak, say, sockets, accept, clock, sent } = await warmed();
    const heard = speak(of('One two.', 'Three four.', 'Five.'));
    say({ id: 0, audio: 100, words: [word('One', 0, 40), word('two.', 50, 100)] });
    say({ id: 0, audio: 50, words: [word('Three', 100, 150), word('four.', 300, 400)] });
    sockets.last.drop();
    await clock.advance(250);
    await accept();
    expect(sent()).toEqual(['1:open:voice 0', '1:say:Three four. ', '1:say:Five. ', '1:end']);
    say({ id: 1, audio: 60, words: [word('Three', 0, 60)], done: true });
    expect([heard.story, heard.done]).toEqual([
      [100, 'One@0', 'two.@50', 50, 'Three@100', '[One two.]', 60, 'Three@0', '[Three four. Five.]'],
      true,
    ]);
  });

  it('says all of it again when none was heard', async () => {
    const { speak, sockets, accept, clock, sent } = await warmed();
    speak(of('One.', 'Two.'));
    sockets.last.drop();
    await clock.advance(250);
    await accept();
    expect(sent()).toEqual(['1:open:voice 0', '1:say:One. ', '1:say:Two. ', '1:end']);
  });

  it('fails when it is lost twice without a sentence heard between', async () => {
    const { speak, sockets, accept, clock } = await warmed();
    const heard = speak(of('One.'));
    sockets.last.drop();
    await clock.advance(250);
    await accept();
    sockets.last.drop();
    expect([heard.error?.code, heard.error?.recoverable]).toEqual(['connection', true]);
  });

  it('tries an utterance that the service is too busy for again, after the wait that it asks for', async () => {
    const { speak, say, sent, clock } = await warmed();
    const heard = speak(of('One.'));
    say({ id: 0, error: { recoverable: true, retryAfterMs: 900 } });
    await clock.advance(899);
    expect(sent().length).toBe(3);
    await clock.advance(1);
    expect(sent().slice(3)).toEqual(['1:open:voice 0', '1:say:One. ', '1:end']);
    say({ id: 1, error: { recoverable: true } });
    expect(heard.error?.code).toBe('server');
  });

  it('fails at once with an error that no other try would mend; others speak on', async () => {
    const { speak, say, sent } = await warmed();
    const first = speak(of('One.'));
    const second = speak(of('Two.'));
    say({ id: 0, error: { code: 'not_found' } }, { id: 1, audio: 10, done: true });
    expect([first.error?.code, second.done]).toEqual(['not_found', true]);
    expect(sent().some((text) => text.includes('cancel'))).toBe(false);
  });

  it('fails all utterances with an error that is for none of them', async () => {
    const { speak, say } = await warmed();
    const all = [speak(of('One.')), speak(of('Two.'))];
    say({ error: { code: 'quota' } });
    expect(all.map(({ error }) => error?.code)).toEqual(['quota', 'quota']);
  });

  it('reports such an error while nobody speaks, unless it passes', async () => {
    const { reports, say } = await warmed();
    say({ error: { code: 'quota' } }, { error: { recoverable: true } });
    expect(reports.map(({ code }) => code)).toEqual(['quota']);
  });

  it('connects again when no audio comes, then fails (F27)', async () => {
    const { speak, accept, clock, sockets } = await warmed();
    const heard = speak(of('One.'));
    await clock.advance(5_000);
    await clock.advance(250);
    await accept();
    expect(sockets.last.texts[1]).toBe('1:say:One. ');
    await clock.advance(4_999);
    expect(heard.error).toBeUndefined();
    await clock.advance(1);
    expect(heard.error?.code).toBe('timeout');
  });

  it('asks once more in another context where one ends without audio, then fails', async () => {
    const { speak, say, clock, sent } = await warmed();
    const heard = speak(of('One.'));
    say({ id: 0, done: true });
    expect([heard.done, heard.error]).toEqual([false, undefined]);
    await clock.advance(500);
    expect(sent().slice(-3)).toEqual(['1:open:voice 0', '1:say:One. ', '1:end']);
    say({ id: 1, done: true });
    expect([heard.error?.code, heard.error?.message]).toEqual(['protocol', 'TestTTS: the answer has no audio']);
  });

  it('keeps a connection on which others are answered, and tries in another context there', async () => {
    const { speak, say, clock, sent, sockets } = await warmed({ maxContexts: () => 3 });
    const heard = speak(of('One.'));
    speak(of('Two.'));
    for (let time = 0; time < 5; time++) {
      await clock.advance(1_000);
      say({ id: 1, audio: 10 });
    }
    await clock.advance(500);
    expect([sockets.all.length, sent().slice(-4)]).toEqual([1, ['0:cancel', '2:open:voice 0', '2:say:One. ', '2:end']]);
    say({ id: 0, audio: 10 }, { id: 2, audio: 20, done: true });
    expect(heard.story).toEqual([20, '[One.]']);
  });

  it('gives up when audio stops coming in the middle', async () => {
    const { speak, say, clock, sockets, accept } = await warmed();
    const heard = speak(of('One.'));
    say({ id: 0, audio: 10 });
    await clock.advance(5_000);
    await clock.advance(250);
    await accept();
    expect([heard.story, sockets.last.texts.length]).toEqual([[10, '[]'], 3]);
  });

  it('waits for text as long as it takes', async () => {
    const { speak, say, clock } = await warmed();
    const text$ = new Subject<string>();
    const heard = speak(text$);
    await clock.advance(60_000);
    text$.next('One.');
    say({ id: 0, audio: 10 });
    await clock.advance(60_000);
    expect(heard.error).toBeUndefined();
  });

  it('waits for no audio before the end of the text where the service collects it', async () => {
    const { speak, clock } = await warmed({ speaksAtOnce: () => false });
    const text$ = new Subject<string>();
    const heard = speak(text$);
    text$.next('One.');
    await clock.advance(60_000);
    expect(heard.error).toBeUndefined();
    text$.complete();
    await clock.advance(5_000);
    await clock.advance(250);
    expect(heard.error ?? heard.done).toBe(false);
  });

  it('fails when there is no connection in time', async () => {
    const { speak, clock } = given();
    const heard = speak(of('One.'));
    await clock.advance(10_000);
    expect(heard.error?.code).toBe('timeout');
  });

  it('fails at once with a close that no other connection would mend', async () => {
    const { speak, sockets } = await warmed();
    const heard = speak(of('One.'));
    sockets.last.drop(1008, 'fatal');
    expect([heard.error?.code, sockets.all.length]).toEqual(['protocol', 1]);
  });

  it('lets an idle connection go, and opens one for the next utterance', async () => {
    const { speak, sockets, accept, reports } = await warmed();
    sockets.last.drop(1008, 'idle');
    speak(of('One.'));
    await accept();
    expect([sockets.all.length, sockets.last.texts[1], reports]).toEqual([2, '0:say:One. ', []]);
  });

  it('ignores garbage (F11) with one warning a kind', async () => {
    const { speak, say, sockets, reports } = await warmed();
    const heard = speak(of('One.'));
    for (const garbage of ['', 'null', '[]', '1', '{', '{}', '{"type":5}', '{"__proto__":{"id":0}}']) {
      sockets.last.say(garbage);
    }
    sockets.last.say(new Uint8Array([1, 2, 3]));
    say({ id: 'nobody', audio: 5 }, { id: 0, audio: 10, done: true });
    expect([heard.story, reports.map(({ code }) => code)]).toEqual([
      [10, '[One.]'],
      ['protocol', 'protocol'],
    ]);
  });

  it('passes on what the text itself fails with, and cancels', async () => {
    const { speak, sent } = await warmed();
    const text$ = new Subject<string>();
    const heard = speak(text$);
    text$.next('One.');
    text$.error(new VoiceError('no more', { code: 'aborted' }));
    expect([heard.error?.code, sent().at(-1)]).toEqual(['aborted', '0:cancel']);
  });
});

describe('Attribution by id: the connection', () => {
  const keepAlive = (id: string | undefined): string => `alive:${id === undefined ? 'connection' : 'context'}`;

  it('is kept alive, and each context in it', async () => {
    const { speak, say, clock, sent } = await warmed({ keepAlive });
    await clock.advance(8_000);
    expect(sent()).toEqual(['alive:connection']);
    const text$ = new Subject<string>();
    speak(text$);
    text$.next('One.');
    say({ id: 0, audio: 10 });
    await clock.advance(8_000);
    expect(sent().at(-1)).toBe('alive:context');
  });

  it('keep-alives never go to contexts that were closed', async () => {
    const named = (id: string | undefined): string => `alive:${id ?? 'connection'}`;
    const { speak, say, clock, sent } = await warmed({ keepAlive: named });
    speak(of('One.'));
    say({ id: 0, audio: 10 });
    expect(sent().at(-1)).toBe('0:end');
    // Its audio still comes, but its text has ended.
    for (let seconds = 0; seconds < 12; seconds += 4) {
      say({ id: 0, audio: 10 });
      await clock.advance(4_000);
    }
    expect(sent().filter((message) => message.startsWith('alive'))).toEqual(['alive:connection']);
  });

  it('ends after the last of its utterances once it is retired', async () => {
    const { contexts, speak, say, sent, closed, sockets } = await warmed();
    const heard = speak(of('One.'));
    contexts.retire();
    expect(sent().at(-1)).toBe('0:end');
    say({ id: 0, audio: 10, done: true });
    expect([heard.done, sent().at(-1)]).toEqual([true, 'bye']);
    sockets.last.drop(1000);
    await settle();
    expect(closed()).toBe(1);
  });

  it('leaves nothing behind close()', async () => {
    const { contexts, speak, clock, sockets } = await warmed({ keepAlive });
    speak(of('One.')).subscription.unsubscribe();
    const ended = contexts.close();
    await settle();
    sockets.last.drop(1000);
    await ended;
    expect([sockets.live, clock.pending]).toEqual([0, 0]);
  });
});

describe('Attribution by id: a service that answers each piece', () => {
  const answersPieces = true;

  it('is told of the end of a text when it has answered all of it, so that it drops nothing', async () => {
    const { speak, say, sent } = await warmed({ answersPieces });
    const heard = speak(of('One.', 'Two.'));
    say({ id: 0, audio: 100 }, { id: 0, spoken: true }, { id: 0, audio: 50 });
    expect(sent().at(-1)).toBe('0:say:Two. ');
    say({ id: 0, spoken: true });
    expect([sent().at(-1), heard.done]).toEqual(['0:end', false]);
    say({ id: 0, done: true });
    expect([heard.story, heard.done]).toEqual([[100, 50, '[One. Two.]'], true]);
  });

  it('is told of it at once when nothing is left to answer', async () => {
    const { speak, say, sent } = await warmed({ answersPieces });
    const text$ = new Subject<string>();
    speak(text$);
    text$.next('One.');
    say({ id: 0, audio: 100 }, { id: 0, spoken: true });
    text$.complete();
    expect(sent().at(-1)).toBe('0:end');
  });

  it('has as long for a piece after a pause as for the first', async () => {
    const { speak, say, sockets, clock } = await warmed({ answersPieces });
    const text$ = new Subject<string>();
    const heard = speak(text$);
    text$.next('One.');
    say({ id: 0, audio: 100 }, { id: 0, spoken: true });
    await clock.advance(20_000);
    text$.next('Two.');
    await clock.advance(4_999);
    expect(sockets.all).toHaveLength(1);
    // It stays away.
    await clock.advance(1);
    expect([sockets.all[0]?.terminated, heard.error]).toEqual([true, undefined]);
  });

  it('speaks nothing twice when the answer to what was heard never comes', async () => {
    const { speak, say, accept, sent, clock } = await warmed({ answersPieces });
    const heard = speak(of('One.'));
    say({ id: 0, words: [word('One.', 0, 100)], audio: 100 });
    await clock.advance(5_000);
    await clock.advance(1_000);
    await accept();
    expect([heard.story, heard.done, heard.error]).toEqual([[100, 'One.@0', '[One.]'], true, undefined]);
    expect(sent()).toEqual([]);
  });

  it('gets no message to a context that is ending, where that would close the connection', async () => {
    const { speak, say, sent } = await warmed({ answersPieces, endsForGood: true });
    const heard = speak(of('One.'));
    say({ id: 0, audio: 100 }, { id: 0, spoken: true });
    heard.subscription.unsubscribe();
    expect(sent().at(-1)).toBe('0:end');
    const other = speak(of('Two.'));
    other.subscription.unsubscribe();
    expect(sent().slice(-2)).toEqual(['1:say:Two. ', '1:cancel']);
  });
});

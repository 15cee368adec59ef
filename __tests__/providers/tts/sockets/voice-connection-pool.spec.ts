import { NEVER, of, type Subscription } from 'rxjs';
import { VoiceError } from '../../../../lib/core/errors.ts';
import { byOrder } from '../../../../lib/providers/tts/sockets/by-order.ts';
import { VoiceConnectionPool } from '../../../../lib/providers/tts/sockets/voice-connection-pool.ts';
import { VoiceConnection } from '../../../../lib/providers/tts/sockets/voice-connection.ts';
import { ReconnectingSocket } from '../../../../lib/transport/reconnecting-socket.ts';
import { FakeSockets } from '../../../transport/fake-sockets.ts';
import { settle, TestClock } from '../../../transport/test-clock.ts';
import { pcm } from '../fixture.ts';

function given() {
  const clock = new TestClock();
  const sockets = new FakeSockets({ pings: false });
  const closed: VoiceConnection[] = [];
  const error = (text: string): VoiceError => new VoiceError(text, { code: 'connection' });
  const open = (): VoiceConnection =>
    new VoiceConnection({
      wire: { start: undefined, typeOf: () => undefined, read: {} },
      attribution: byOrder({ flush: 'flush', charactersPerMinute: 1000, flushesPerMinute: 20, flushReserve: 8 }),
      errors: { error, refusal: () => error('refused') },
      voice: () => ({ format: pcm, voice: () => ({ say: (text) => text, cancel: 'clear' }) }),
      ...{ farewell: ['close'], maxTextLength: 100, closeError: () => error('closed'), note: () => undefined },
      session: (options) =>
        new ReconnectingSocket({
          provider: 'TestTTS',
          request: () => Promise.resolve({ url: 'wss://voice.example/speak' }),
          ...{ ...options, scheduler: clock, openSocket: sockets.open },
        }),
      ...{ firstAudioTimeoutMs: 90_000, idleTimeoutMs: 90_000, connectTimeoutMs: 90_000, scheduler: clock },
      report: () => undefined,
    });
  const lanes = new VoiceConnectionPool({
    ...{ open, closed: (each: VoiceConnection) => closed.push(each), capacity: 1, scheduler: clock },
  });
  const speak = (): Subscription => lanes.speak(NEVER).subscribe({ error: () => undefined });
  /** Lets every connection that waits be accepted, and every goodbye be answered. */
  const serve = async (): Promise<void> => {
    await settle();
    for (const socket of sockets.all) {
      if (socket.texts.at(-1) === 'close') socket.drop(1000);
      else if (!accepted.has(socket)) socket.accept();
      accepted.add(socket);
    }
    await settle();
  };
  const accepted = new Set<unknown>();
  return { clock, sockets, lanes, speak, serve, closed };
}

describe('VoiceConnectionPool', () => {
  it('warms one connection, however often it is asked, and speaks on it', async () => {
    const { lanes, sockets, serve } = given();
    lanes.warm();
    lanes.warm();
    await serve();
    lanes.speak(of('One.')).subscribe();
    lanes.warm();
    expect([sockets.all.length, sockets.last.texts]).toEqual([1, ['One. ', 'flush']]);
  });

  it('hands a text and its flush to the system together', async () => {
    const { lanes, sockets, serve } = given();
    lanes.warm();
    await serve();
    lanes.speak(of('One.')).subscribe();
    expect(sockets.last.groups).toEqual([['One. ', 'flush']]);
  });

  it('uses a free connection before it opens another', async () => {
    const { sockets, speak, serve } = given();
    const first = speak();
    speak();
    await serve();
    expect(sockets.all.length).toBe(2);
    first.unsubscribe();
    speak();
    await serve();
    expect(sockets.all.length).toBe(2);
  });

  it('ends a second connection that nobody has used for 30 s, and keeps the first', async () => {
    const { sockets, speak, serve, clock, closed } = given();
    const utterances = [speak(), speak()];
    await serve();
    for (const utterance of utterances) utterance.unsubscribe();
    await clock.advance(29_999);
    expect(sockets.all.map(({ texts }) => texts)).toEqual([[], []]);
    await clock.advance(1);
    await serve();
    expect(sockets.all.map(({ texts }) => texts)).toEqual([[], ['close']]);
    expect([sockets.live, closed.length]).toEqual([1, 1]);
  });

  it('does not end one that has found another utterance meanwhile', async () => {
    const { sockets, speak, serve, clock } = given();
    const first = speak();
    const second = speak();
    await serve();
    second.unsubscribe();
    await clock.advance(20_000);
    const third = speak();
    await clock.advance(60_000);
    expect(sockets.all.map(({ texts }) => texts)).toEqual([[], []]);
    first.unsubscribe();
    third.unsubscribe();
    await clock.advance(29_999);
    expect(sockets.all.flatMap(({ texts }) => texts)).toEqual([]);
  });

  it('retires idle connections at once, busy ones after their utterance', async () => {
    const { lanes, sockets, speak, serve } = given();
    const busy = speak();
    speak().unsubscribe();
    await serve();
    lanes.retire();
    await serve();
    expect(sockets.all.map(({ texts }) => texts)).toEqual([[], ['close']]);
    speak();
    await serve();
    expect(sockets.all.length).toBe(3);
    busy.unsubscribe();
    expect(sockets.all[0]?.texts).toEqual(['close']);
  });

  it('leaves nothing behind close()', async () => {
    const { lanes, sockets, speak, serve, clock, closed } = given();
    const utterances = [speak(), speak(), speak()];
    await serve();
    for (const utterance of utterances) utterance.unsubscribe();
    const ended = lanes.close();
    await serve();
    await ended;
    expect([sockets.live, closed.length, clock.pending]).toEqual([0, 3, 0]);
  });
});

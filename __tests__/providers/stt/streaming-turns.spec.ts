import { asNumber, asString } from '../../../lib/core/guard.ts';
import { StreamingSTT, type StreamingSTTConfig } from '../../../lib/providers/stt/streaming-stt.ts';
import type { STTWire } from '../../../lib/providers/stt/stt-wire.ts';
import type { SocketData, ReconnectingSocketOptions } from '../../../lib/transport/reconnecting-socket.ts';
import { clocked, connected, FakeSockets, heard, record, settle, tape } from './stt-fixture.ts';

/**
 * The smallest wire of a service that hears audio in turns: each begins with a greeting, on the same connection too; an
 * empty frame ends the audio.
 */
const turnWire = (onTurn: (turn: number) => void): STTWire<StreamingSTTConfig, number> => ({
  name: 'TurnSTT',
  baseUrl: () => 'wss://service.example',
  path: '/listen',
  accepts: () => [{ encoding: 'linear16', sampleRates: [16_000] }],
  rules: {},
  endsAudio: true,
  start: () => 0,
  read: {
    final: (turns, { ms }) => [turns, { type: 'finalized', ms: asNumber(ms) ?? 0 }],
    said: (turns, { text, words }, context) => [
      turns,
      {
        ...{ type: 'result', kind: 'complete', text: asString(text) ?? '' },
        words: context.words(words, (word) => asString(word['word'])),
      },
    ],
    over: (turns, _message, { isEnding, pendingMs }) => [
      turns,
      isEnding && pendingMs === 0 ? { type: 'heard-all' } : { type: 'begin-again' },
    ],
  },
  begin: (turns) => {
    onTurn(turns + 1);
    return [turns + 1, { type: 'send', message: `turn ${turns + 1}` }];
  },
});

class TurnSTT extends StreamingSTT<StreamingSTTConfig, number> {
  sockets: FakeSockets = new FakeSockets({ pings: false });

  readonly #begun: number[];

  constructor(config: StreamingSTTConfig) {
    const begun: number[] = [];
    super(
      turnWire((turn) => void begun.push(turn)),
      config,
    );
    this.#begun = begun;
  }

  get turns(): number {
    return this.#begun.length;
  }

  protected override socketOptions(): Partial<ReconnectingSocketOptions> {
    return { openSocket: this.sockets.open };
  }
}

async function live(config: StreamingSTTConfig = {}) {
  const { clock, config: base } = clocked();
  const stt = await connected(new TurnSTT({ ...base, ...config }));
  const say = (message: Record<string, unknown>): void => stt.sockets.last.say(message);
  /** What the newest turn of the newest connection was sent. */
  const turn = (): SocketData[] => {
    const { sent } = stt.sockets.last;
    return sent.slice(sent.findLastIndex((data) => typeof data === 'string'));
  };
  return { clock, stt, say, turn, ...record(stt) };
}
const lengths = (sent: readonly SocketData[]): unknown[] =>
  sent.map((data) => (typeof data === 'string' ? data : data.length / 32));

describe('StreamingSTT: a service that hears in turns', () => {
  it('starts over on the same connection, with what was not final, then live audio', async () => {
    const { stt, say, turn } = await live();
    stt.sendAudio({ data: tape(500) });
    say({ type: 'final', ms: 300 });
    say({ type: 'over' });
    expect(lengths(turn())).toEqual(['turn 2', 100, 100]);
    stt.sendAudio({ data: tape(100, 500) });
    expect(heard(turn())).toEqual(heard([tape(300, 300)]));
    expect(stt.sockets.all.length).toBe(1);
  });

  it('dates by all audio, whichever turn it was heard in', async () => {
    const { stt, say, results } = await live();
    stt.sendAudio({ data: tape(1_000) });
    say({ type: 'final', ms: 400 });
    say({ type: 'over' });
    say({ type: 'final', ms: 100 });
    say({ type: 'over' });
    say({ type: 'said', text: 'w', words: [{ word: 'w', start: 0.1, end: 0.2 }] });
    expect(results[0]?.metadata?.words).toEqual([{ text: 'w', startMs: 600, endMs: 700 }]);
  });

  it('begins nothing where there is no connection', async () => {
    const { stt, say, clock } = await live();
    const [first] = stt.sockets.all;
    stt.sendAudio({ data: tape(100) });
    first?.drop();
    say({ type: 'over' });
    expect(stt.turns).toBe(1);
    await clock.advance(250);
    stt.sockets.last.accept();
    expect([stt.turns, lengths(stt.sockets.last.sent)]).toEqual([2, ['turn 2', 100]]);
  });

  it('disconnect() ends the audio, and closes when the service has heard it', async () => {
    const { stt, say, turn, log } = await live();
    stt.sendAudio({ data: tape(200) });
    const ended = stt.disconnect();
    await settle();
    expect([lengths(turn()), stt.sockets.last.closeCode]).toEqual([['turn 1', 100, 100, 0], undefined]);
    say({ type: 'said', text: 'the end' });
    say({ type: 'final', ms: 200 });
    say({ type: 'over' });
    await settle();
    expect(stt.sockets.last.closeCode).toBe(1_000);
    stt.sockets.last.drop(1_000);
    await ended;
    expect(log).toEqual(['. the end']);
  });

  it('a turn that ends before the audio does is followed by another, which ends it again', async () => {
    const { stt, say, turn } = await live();
    stt.sendAudio({ data: tape(300) });
    const ended = stt.disconnect();
    await settle();
    say({ type: 'final', ms: 100 });
    say({ type: 'over' });
    expect(lengths(turn())).toEqual(['turn 2', 100, 100, 0]);
    say({ type: 'final', ms: 200 });
    say({ type: 'over' });
    await settle();
    stt.sockets.last.drop(1_000);
    await ended;
    expect(stt.turns).toBe(2);
  });

  it('disconnect() waits no longer than its limit for a service that never confirms', async () => {
    const { stt, clock, types } = await live({ closeTimeoutMs: 500 });
    stt.sendAudio({ data: tape(100) });
    let hasEnded = false;
    const ended = stt.disconnect().then(() => (hasEnded = true));
    await clock.advance(499);
    expect(hasEnded).toBe(false);
    await clock.advance(1);
    await ended;
    expect([types().at(-1), clock.pending, stt.sockets.live]).toEqual(['closed', 0, 0]);
  });

  it('disconnect() has one limit for queued audio, the end of it and the close', async () => {
    const { stt, clock, say } = await live({ closeTimeoutMs: 1_000, catchUpSpeed: 1 });
    stt.sockets.last.drop();
    stt.sendAudio({ data: tape(5_000) });
    await clock.advance(250);
    stt.sockets.last.accept();
    let hasEnded = false;
    const ended = stt.disconnect().then(() => (hasEnded = true));
    await clock.advance(900);
    expect(lengths(stt.sockets.last.sent).at(-1)).toBe(0);
    say({ type: 'final', ms: 5_000 });
    say({ type: 'over' });
    await clock.advance(99);
    expect([stt.sockets.last.closeCode, hasEnded]).toEqual([1_000, false]);
    await clock.advance(1);
    await ended;
    expect([clock.pending, stt.sockets.live]).toEqual([0, 0]);
  });

  it('a connection that drops after the end of the audio ends the wait', async () => {
    const { stt, clock } = await live({ reconnect: false });
    stt.sendAudio({ data: tape(100) });
    const ended = stt.disconnect();
    await settle();
    stt.sockets.last.drop();
    await ended;
    expect([clock.pending, stt.sockets.live <= 1]).toEqual([0, true]);
  });

  it('a recording is heard to its end on another connection, when one drops on the way', async () => {
    const { clock, config } = clocked();
    const stt = new TurnSTT(config);
    const { results } = record(stt);
    await stt.initialize();
    let isComplete = false;
    stt.transcribe([{ data: tape(200) }]).subscribe({ complete: () => (isComplete = true) });
    await settle();
    stt.sockets.last.accept();
    await settle();
    expect(lengths(stt.sockets.last.sent)).toEqual(['turn 1', 100, 100, 0]);
    stt.sockets.last.drop();
    await clock.advance(250);
    stt.sockets.last.accept();
    await settle();
    expect(lengths(stt.sockets.last.sent)).toEqual(['turn 2', 100, 100, 0]);
    for (const message of [{ type: 'said', text: 'all' }, { type: 'final', ms: 200 }, { type: 'over' }]) {
      stt.sockets.last.say(message);
    }
    await settle();
    stt.sockets.last.drop(1_000);
    await settle();
    expect([results.map(({ text }) => text), isComplete]).toEqual([['all'], true]);
  });
});

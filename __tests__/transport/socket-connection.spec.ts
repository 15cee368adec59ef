import { reduceSocket, type SocketInput, type SocketPhase } from '../../lib/transport/socket-connection.ts';
import type { RawSocket, SocketData, SocketEvent } from '../../lib/transport/socket.ts';

const socket: RawSocket = {
  bufferedAmount: 0,
  send: () => undefined,
  close: () => undefined,
  terminate: () => undefined,
};
const pinging: RawSocket = { ...socket, ping: () => undefined };
const opened: SocketEvent = { type: 'opened', socket };
/** When it must be ready. */
const until = 10_000;
const at = 1_000;
const rules = { keepAlive: { intervalMs: 5_000 } };
const says = (data: SocketData): SocketEvent => ({ type: 'message', data });
/** What a socket that cannot ping is like; one that can also waits for signs of life. */
const connected = (rest: { hasOpening: boolean; isReady: boolean }): SocketPhase => ({
  ...{ type: 'connected', socket, ...rest },
  ...(rest.isReady ? { until: Infinity, keepAliveAt: at + 5_000 } : { until, keepAliveAt: Infinity }),
});
const held = (rest: { until: number; keepAliveAt: number }): SocketPhase => ({
  ...{ type: 'connected', socket: pinging, hasOpening: true, isReady: true },
  ...rest,
});
const ended: SocketPhase = { type: 'ended', until: Infinity };
const waiting = {
  opensAfter: (data: SocketData): boolean => data === 'welcome',
  isReady: (data: SocketData): boolean => data === 'applied',
};

describe('reduceSocket', () => {
  const connecting: SocketPhase = { type: 'connecting', until };
  const rows: readonly (readonly [string, object, SocketPhase, SocketInput, SocketPhase, readonly string[]])[] = [
    [
      'says the opening and is ready as soon as it is connected',
      ...([{}, connecting, opened, connected({ hasOpening: true, isReady: true }), ['opening', 'ready']] as const),
    ],
    [
      'waits with both for the messages that they wait for',
      ...([waiting, connecting, opened, connected({ hasOpening: false, isReady: false }), []] as const),
    ],
    [
      'delivers a message before it says the opening for it',
      waiting,
      connected({ hasOpening: false, isReady: false }),
      says('welcome'),
      connected({ hasOpening: true, isReady: false }),
      ['message', 'opening'],
    ],
    [
      'says the opening once',
      waiting,
      connected({ hasOpening: true, isReady: false }),
      says('welcome'),
      connected({ hasOpening: true, isReady: false }),
      ['message'],
    ],
    [
      'is ready after the message that says so',
      waiting,
      connected({ hasOpening: true, isReady: false }),
      says('applied'),
      connected({ hasOpening: true, isReady: true }),
      ['message', 'ready'],
    ],
    [
      'is ready once',
      waiting,
      connected({ hasOpening: true, isReady: true }),
      says('applied'),
      connected({ hasOpening: true, isReady: true }),
      ['message'],
    ],
    [
      'takes a pong for a sign of life when it is ready, and for nothing before',
      ...([waiting, connected({ hasOpening: true, isReady: false }), { type: 'alive' }] as const),
      ...([connected({ hasOpening: true, isReady: false }), []] as const),
    ],
    ['hears no message before it is connected', {}, connecting, says('early'), connecting, []],
    [
      'tells of its end',
      {},
      connecting,
      { type: 'closed', close: { code: 1006, reason: '' }, cause: undefined },
      ended,
      ['closed'],
    ],
    [
      'hears nothing any more after a refusal',
      {},
      connecting,
      { type: 'refused', refusal: { status: 401, headers: {}, body: new Uint8Array(0) } },
      ended,
      ['refused'],
    ],
    [
      'tells nothing twice',
      {},
      ended,
      { type: 'closed', close: { code: 1006, reason: '' }, cause: undefined },
      ended,
      [],
    ],
  ];
  for (const [name, options, phase, event, next, effects] of rows) {
    it(name, () => {
      const [after, ...all] = reduceSocket({ ...rules, ...options }, phase, event, at);
      expect([after, all.map(({ type }) => type)]).toEqual([next, effects]);
    });
  }

  it('tells with the end how far the connection had come, on which depends what it means', () => {
    const phase = connected({ hasOpening: true, isReady: true });
    const end: SocketEvent = { type: 'closed', close: { code: 1000, reason: '' }, cause: undefined };
    expect(reduceSocket({}, phase, end, at)).toEqual([ended, { ...end, phase }]);
  });

  it('is held every interval, and lost when three of them bring no sign of life', () => {
    const ready = held({ until: at + 15_000, keepAliveAt: at + 5_000 });
    expect(reduceSocket(rules, { type: 'connecting', until }, { type: 'opened', socket: pinging }, at)[0]).toEqual(
      ready,
    );
    expect(reduceSocket(rules, ready, { type: 'tick' }, at + 5_000)).toEqual([
      held({ until: at + 15_000, keepAliveAt: at + 10_000 }),
      { type: 'keep-alive', socket: pinging },
    ]);
    const heard = held({ until: at + 15_100, keepAliveAt: at + 5_000 });
    expect(reduceSocket(rules, ready, { type: 'alive' }, at + 100)).toEqual([heard]);
    expect(reduceSocket(rules, ready, says('anything'), at + 100)[0]).toEqual(heard);
    expect(reduceSocket(rules, heard, { type: 'tick' }, at + 15_100)).toEqual([
      ended,
      { type: 'stalled', wasReady: true },
    ]);
  });

  it('is lost after a sleep of the machine, without pings too, unless something is heard first (F8)', () => {
    const ready = connected({ hasOpening: true, isReady: true });
    const hourLater = at + 5_000 + 3_600_000;
    expect(reduceSocket(rules, ready, { type: 'tick' }, hourLater)).toEqual([
      ended,
      { type: 'stalled', wasReady: true, sleptMs: 3_600_000 },
    ]);
    const [heard] = reduceSocket(rules, ready, says('still here'), hourLater);
    expect(reduceSocket(rules, heard, { type: 'tick' }, hourLater)[1]).toEqual({ type: 'keep-alive', socket });
    // A hidden page's timers fire once a minute.
    expect(reduceSocket(rules, ready, { type: 'tick' }, at + 65_000)[1]).toEqual({ type: 'keep-alive', socket });
  });

  it('is given up when it is not ready in time, whatever it says meanwhile', () => {
    const [open] = reduceSocket({ ...rules, ...waiting }, { type: 'connecting', until }, opened, at);
    const [after] = reduceSocket({ ...rules, ...waiting }, open, says('not yet'), at + 5_000);
    expect(reduceSocket({ ...rules, ...waiting }, after, { type: 'tick' }, until)).toEqual([
      ended,
      { type: 'stalled', wasReady: false },
    ]);
  });
});

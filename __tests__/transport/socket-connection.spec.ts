import { reduceSocket, type SocketPhase } from '../../lib/transport/socket-connection.ts';
import type { RawSocket, SocketData, SocketEvent } from '../../lib/transport/socket.ts';

const socket: RawSocket = {
  bufferedAmount: 0,
  send: () => undefined,
  close: () => undefined,
  terminate: () => undefined,
};
const opened: SocketEvent = { type: 'opened', socket };
const says = (data: SocketData): SocketEvent => ({ type: 'message', data });
const connected = (rest: { hasOpening: boolean; isReady: boolean }): SocketPhase => ({
  ...{ type: 'connected', socket },
  ...rest,
});
const waiting = {
  opensAfter: (data: SocketData): boolean => data === 'welcome',
  isReady: (data: SocketData): boolean => data === 'applied',
};

describe('reduceSocket', () => {
  const connecting: SocketPhase = { type: 'connecting' };
  const rows: readonly (readonly [string, object, SocketPhase, SocketEvent, SocketPhase, readonly string[]])[] = [
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
      'is ready once; from then on a message is a sign of life',
      waiting,
      connected({ hasOpening: true, isReady: true }),
      says('applied'),
      connected({ hasOpening: true, isReady: true }),
      ['message', 'alive'],
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
      connecting,
      ['closed'],
    ],
  ];
  for (const [name, options, phase, event, next, effects] of rows) {
    it(name, () => {
      const [after, ...all] = reduceSocket(options, phase, event);
      expect([after, all.map(({ type }) => type)]).toEqual([next, effects]);
    });
  }

  it('tells with the end how far the connection had come, on which depends what it means', () => {
    const phase = connected({ hasOpening: true, isReady: true });
    const end: SocketEvent = { type: 'closed', close: { code: 1000, reason: '' }, cause: undefined };
    expect(reduceSocket({}, phase, end)).toEqual([phase, { ...end, phase }]);
  });
});

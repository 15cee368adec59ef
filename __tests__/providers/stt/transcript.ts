import type { ConnectionEvent } from '../../../lib/core/roles.ts';
import type { SocketData } from '../../../lib/transport/reconnecting-socket.ts';
import type { FakeSockets } from '../../transport/fake-sockets.ts';
import { until } from '../../transport/http-fixture.ts';
import { settle, tape, type TestClock } from './stt-fixture.ts';

/** How a wire's messages stand in a transcript. */
export interface Written {
  /** A message of the client's, in whatever form the expected one is brought to as well. */
  readonly sent: (data: SocketData) => unknown;
  /** What the transcript has for it. */
  readonly expected: (line: string) => unknown;
  /** A message of the service's. */
  readonly said: (line: string) => SocketData;
}

/** JSON in text frames, where it is no bare word or `""`, and audio as it is: `<3200 bytes>`. */
export const json: Written = {
  sent: (data) => (typeof data === 'string' ? parsed(data || '""') : `<${data.length} bytes>`),
  expected: parsed,
  said: (line) => line,
};

function parsed(line: string): unknown {
  return line.startsWith('{') ? (JSON.parse(line) as unknown) : line;
}

/** A text of `String.raw`, in which Bun writes an escape for what is not ASCII. */
function inUnicode(text: string): string {
  return text.replace(/\\u([\da-f]{4})/gi, (escape, code: string) => {
    const unit = parseInt(code, 16);
    return unit < 0x80 ? escape : String.fromCharCode(unit);
  });
}

/** Who plays, and what is heard of it. */
export interface Stage {
  readonly stt: {
    readonly sockets: FakeSockets;
    initialize(): Promise<void>;
    connect(): Promise<void>;
    disconnect(): Promise<void>;
    dispose(): Promise<void>;
    sendAudio(chunk: { data: Uint8Array<ArrayBuffer> }): void;
    finalize?(): void;
    updateConfig(config: object): void;
  };
  readonly clock: TestClock;
  /** Results and speech events in short, as `record()` writes them. */
  readonly log: string[];
  readonly events: readonly ConnectionEvent[];
  /** Audio of a length in milliseconds. Default: linear16 at 16 kHz. */
  readonly audio?: (ms: number) => Uint8Array<ArrayBuffer>;
  readonly written?: Written;
}

/**
 * Replays a session as the vendor's reference writes it, a message a line:
 *
 * - `A:` what the application does: `connect`, `audio 2000` (milliseconds), `finalize`, `update {…}`, `disconnect`, `wait 5000`
 * - `C:` what the client has sent, in order and nothing else: `GET <address>` (`…` for anything), a header of it such as
 *   `Authorization: Token k`, a message, `<3200 bytes>`, `x20` behind it for twenty of them, `close 1000`
 * - `S:` what the service says: a status such as `101` or `401 {…}`, a message, `close 1011 reason`
 * - `=` what comes out of it: a result or a speech event, or the connection's event, as in `= lost unauthorized`
 */
export async function replay(stage: Stage, script: string): Promise<void> {
  const { stt, log, events, clock, written = json, audio = tape } = stage;
  const { sockets } = stt;
  const lines = inUnicode(script)
    .split('\n')
    .flatMap((line) => line.trim() || []);
  const pending: Promise<unknown>[] = [];
  let connections = 0;
  let cursor = 0;
  let seen = events.length;

  const act: Readonly<Record<string, (ms: number, rest: string) => unknown>> = {
    connect: () => pending.push(stt.connect().catch(() => undefined)),
    disconnect: () => pending.push(stt.disconnect()),
    audio: (ms) => stt.sendAudio({ data: audio(ms) }),
    wait: (ms) => clock.advance(ms),
    finalize: () => stt.finalize?.(),
    update: (_ms, config) => stt.updateConfig(JSON.parse(config) as object),
  };
  async function client(line: string): Promise<void> {
    const [, what = '', count = '1'] = /^(.*?)(?: x(\d+))?$/.exec(line) ?? [];
    const [, header, value] = /^([\w-]+): (.*)$/.exec(what) ?? [];
    if (what.startsWith('GET ')) {
      connections += 1;
      cursor = 0;
      await until(() => sockets.all.length === connections);
      expect(String(sockets.last.request.url)).toMatch(pattern(what.slice(4)));
    } else if (header !== undefined) {
      const { headers = {}, protocols = [] } = sockets.last.request;
      expect({ 'Sec-WebSocket-Protocol': protocols.join(', '), ...headers }).toMatchObject({ [header]: value });
    } else if (what.startsWith('close ')) {
      await settle();
      expect(sockets.last.closeCode).toBe(Number(what.slice(6)));
    } else {
      const next = sockets.last.sent.slice(cursor, (cursor += Number(count)));
      expect(next.map(written.sent)).toEqual(Array.from({ length: Number(count) }, () => written.expected(what)));
    }
  }
  async function service(line: string): Promise<void> {
    const [, status, body = ''] = /^(\d{3})(?: (.*))?$/.exec(line) ?? [];
    const [, code, reason] = /^close (\d+) ?(.*)$/.exec(line) ?? [];
    if (status === '101') sockets.last.accept();
    else if (status) sockets.last.refuse(Number(status), {}, body);
    else if (code) sockets.last.drop(Number(code), reason);
    else sockets.last.say(written.said(line));
    await settle();
  }

  await stt.initialize();
  for (const [at, line] of lines.entries()) {
    const [, who, what = ''] = /^(A:|C:|S:|=) (.*)$/.exec(line) ?? [];
    if (who === '=') continue;
    if (who === 'C:') await client(what);
    else if (who === 'S:') await service(what);
    else if (who === 'A:') {
      const [, verb = '', rest = ''] = /^(\w+) ?(.*)$/.exec(what) ?? [];
      await act[verb]?.(Number(rest), rest);
      await settle();
    } else throw new Error(`nobody says ${line}`);
    const after = lines.slice(at + 1);
    const end = after.findIndex((each) => !each.startsWith('= '));
    const expected = (end < 0 ? after : after.slice(0, end)).map((each) => each.slice(2));
    const told = events.slice(seen).flatMap((event) => ('error' in event ? `${event.type} ${event.error.code}` : []));
    seen = events.length;
    expect([line, ...log.splice(0), ...told]).toEqual([line, ...expected]);
  }
  // All that was sent stands in the transcript.
  expect(sockets.last.sent.slice(cursor).map(written.sent)).toEqual([]);
  const disposed = stt.dispose();
  await clock.advance(1_000);
  await Promise.all([disposed, ...pending]);
}

function pattern(text: string): RegExp {
  const literal = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('.*')}$`);
}

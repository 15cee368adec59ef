import { joinBytes } from '../../lib/audio/concat.ts';
import type {
  RawSocket,
  RawSocketFactory,
  RawSocketHandler,
  RawSocketLimits,
  SocketData,
  SocketRequest,
} from '../../lib/transport/socket.ts';

/** One connection of a {@link FakeSockets}, seen from the service's side. */
export class FakeSocket implements RawSocket {
  bufferedAmount: number = 0;
  /** Whether the service reads all that is sent at once, instead of what the test has it {@link read}. */
  readsAll: boolean = true;
  pings: number = 0;
  /** The code of the closing handshake that our side began. */
  closeCode: number | undefined;
  terminated: boolean = false;
  readonly sent: SocketData[] = [];
  /** The groups that were handed over together. */
  readonly groups: SocketData[][] = [];
  readonly ping?: () => void;
  readonly request: SocketRequest;
  readonly limits: RawSocketLimits;
  readonly #handler: RawSocketHandler;

  constructor(request: SocketRequest, limits: RawSocketLimits, handler: RawSocketHandler, pings: boolean) {
    this.request = request;
    this.limits = limits;
    this.#handler = handler;
    if (pings) this.ping = () => (this.pings += 1);
  }

  get texts(): string[] {
    return this.sent.filter((data) => typeof data === 'string');
  }

  /** The binary frames, joined. */
  get bytes(): number[] {
    return Array.from(joinBytes(this.sent.filter((data) => typeof data !== 'string')));
  }

  /** How many bytes the binary frames have together. */
  get byteCount(): number {
    return this.sent.reduce((sum, data) => sum + (typeof data === 'string' ? 0 : data.length), 0);
  }

  send(data: SocketData): void {
    this.sent.push(data);
    if (!this.readsAll) this.bufferedAmount += data.length;
  }

  /** Has the service read some of what is buffered. */
  read(bytes: number): void {
    this.bufferedAmount = Math.max(0, this.bufferedAmount - bytes);
  }

  together(send: () => void): void {
    const before = this.sent.length;
    send();
    this.groups.push(this.sent.slice(before));
  }

  close(code: number): void {
    this.closeCode ??= code;
  }

  terminate(): void {
    this.terminated = true;
  }

  accept(): void {
    this.#tell(() => this.#handler.opened());
  }

  say(data: SocketData | Record<string, unknown>): void {
    const message = typeof data === 'string' || data instanceof Uint8Array ? data : JSON.stringify(data);
    this.#tell(() => this.#handler.message(message));
  }

  pong(): void {
    this.#tell(() => this.#handler.alive());
  }

  refuse(status: number, headers: Record<string, string> = {}, body: string = ''): void {
    this.#tell(() => this.#handler.refused({ status, headers, body: new TextEncoder().encode(body) }));
  }

  drop(code: number = 1006, reason: string = '', cause?: unknown): void {
    this.#tell(() => this.#handler.closed({ code, reason }, cause));
  }

  /** What comes after `terminate()` would, on a real socket, go nowhere. */
  #tell(event: () => void): void {
    if (!this.terminated) event();
  }
}

/** A WebSocket factory whose other side is the test. */
export class FakeSockets {
  readonly all: FakeSocket[] = [];
  readonly #pings: boolean;

  constructor({ pings = true }: { pings?: boolean } = {}) {
    this.#pings = pings;
  }

  readonly open: RawSocketFactory = (request, limits, handler) => {
    const socket = new FakeSocket(request, limits, handler, this.#pings);
    this.all.push(socket);
    return socket;
  };

  /** The newest connection. */
  get last(): FakeSocket {
    const socket = this.all.at(-1);
    if (!socket) throw new Error('nothing has connected yet');
    return socket;
  }

  /** Connections that neither side has ended. */
  get live(): number {
    return this.all.filter((socket) => !socket.terminated).length;
  }
}

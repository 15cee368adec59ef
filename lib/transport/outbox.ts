import type { RawSocket, SocketData } from './socket.ts';

const mebibyte = 1024 * 1024;

/** Bounds of an {@link Outbox}, in bytes. */
export interface OutboxOptions {
  /** Most that the connection itself buffers; more waits here. Default: 1 MiB. */
  readonly maxBufferedBytes?: number | undefined;
  /** Most that waits; beyond it the oldest audio is dropped, for control messages matter more. Default: 4 MiB. */
  readonly maxOutboxBytes?: number | undefined;
  /** The bound was reached; told once until all has left. */
  readonly onOverflow: (maxBytes: number) => void;
}

/** Messages that wait for a connection, in their order. */
export class Outbox {
  readonly #maxBufferedBytes: number;
  readonly #maxBytes: number;
  readonly #onOverflow: (maxBytes: number) => void;
  #waiting: SocketData[] = [];
  #bytes = 0;
  #overflowing = false;

  constructor({ maxBufferedBytes = mebibyte, maxOutboxBytes = 4 * mebibyte, onOverflow }: OutboxOptions) {
    this.#maxBufferedBytes = maxBufferedBytes;
    this.#maxBytes = maxOutboxBytes;
    this.#onOverflow = onOverflow;
  }

  /** How many messages wait. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Sends at once what need not wait. */
  trySend(socket: RawSocket, data: SocketData): boolean {
    if (this.#waiting.length > 0 || !this.#hasRoom(socket, data)) return false;
    socket.send(data);
    return true;
  }

  /** Keeps a message; false when something was dropped for it. */
  push(data: SocketData): boolean {
    this.#waiting.push(data);
    this.#bytes += sizeOf(data);
    if (this.#bytes <= this.#maxBytes) return true;

    while (this.#bytes > this.#maxBytes && this.#waiting.length > 0) {
      const audio = this.#waiting.findIndex((each) => typeof each !== 'string');
      for (const dropped of this.#waiting.splice(Math.max(audio, 0), 1)) this.#bytes -= sizeOf(dropped);
    }
    if (!this.#overflowing) {
      this.#overflowing = true;
      this.#onOverflow(this.#maxBytes);
    }
    return false;
  }

  /** Puts messages before all that wait, whatever their size. */
  unshift(messages: readonly SocketData[]): void {
    for (const data of messages) this.#bytes += sizeOf(data);
    this.#waiting = [...messages, ...this.#waiting];
  }

  /** Sends what the connection takes now. */
  drainInto(socket: RawSocket): void {
    let sent = 0;
    for (const data of this.#waiting) {
      if (!this.#hasRoom(socket, data)) break;
      socket.send(data);
      this.#bytes -= sizeOf(data);
      sent++;
    }
    this.#waiting.splice(0, sent);
    if (this.#waiting.length === 0) this.#overflowing = false;
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting = [];
    this.#bytes = 0;
    this.#overflowing = false;
  }

  #hasRoom(socket: RawSocket, data: SocketData): boolean {
    const buffered = socket.bufferedAmount;
    return buffered === 0 || buffered + sizeOf(data) <= this.#maxBufferedBytes;
  }
}

/** Bytes of a message; text counts one a character, as a bound that needs no encoding. */
function sizeOf(data: SocketData): number {
  return data.length;
}

import type { WebSocket } from 'ws';
import { Call } from './call.ts';
import { garbage } from './faults.ts';
import type { FaultPlan } from './faults.ts';
import type { RecordedMessage } from './records.ts';
import type { Timers } from './timers.ts';

/** Bytes of messages that the record of one connection keeps. */
const mostKeptBytes = 16 * 1024 * 1024;

/** An upgrade request that may be accepted. */
export class Upgrade extends Call {
  readonly #accept: (headers: Readonly<Record<string, string>>, opened: (socket: WebSocket) => void) => void;
  readonly #midStreamError: unknown;
  readonly #timers: Timers;

  constructor(
    call: ConstructorParameters<typeof Call>,
    accept: (headers: Readonly<Record<string, string>>, opened: (socket: WebSocket) => void) => void,
    midStreamError: unknown,
    timers: Timers,
  ) {
    super(...call);
    this.#accept = accept;
    this.#midStreamError = midStreamError;
    this.#timers = timers;
  }

  /** Completes the upgrade. */
  accept(opened: (session: Session) => void, headers: Readonly<Record<string, string>> = {}): void {
    this.#accept(headers, (socket) => {
      this.record.status = 101;
      opened(new Session(this, socket, this.#midStreamError, this.#timers));
    });
  }
}

/** A socket of a service, seen from the service. */
export class Session {
  readonly call: Call;
  /** Timers that end with the connection. */
  readonly timers: Timers;
  #keptBytes = 0;
  readonly #socket: WebSocket;
  readonly #midStreamError: unknown;
  #open = true;
  #onText: (text: string) => void = () => undefined;
  #onBytes: (bytes: Uint8Array<ArrayBuffer>) => void = () => undefined;
  #onPing: () => void = () => undefined;
  #onClose: () => void = () => undefined;

  constructor(call: Call, socket: WebSocket, midStreamError: unknown, timers: Timers) {
    this.call = call;
    this.timers = timers.child();
    this.#socket = socket;
    this.#midStreamError = midStreamError;
    socket.binaryType = 'nodebuffer';
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on('ping', () => this.#onPing());
    socket.on('error', (error) => call.log(`socket error: ${error.message}`));
    socket.on('close', (code, reason) => {
      this.#open = false;
      call.record.close = { code, reason: reason.toString() };
      this.timers.clear();
      this.#onClose();
    });
    // A socket that is to be closed at once is so even when the service has nothing to say.
    const { fault } = call.plan;
    if (fault?.kind === 'close' && (fault.after ?? 0) === 0) this.#apply(call.plan.beforeSend());
    else if (fault?.kind === 'dropAfter' && fault.messages === 0) this.#apply(call.plan.beforeSend());
  }

  /** Whether anything sent still reaches the client. */
  get isOpen(): boolean {
    return this.#open && this.#socket.readyState === 1;
  }

  onText(listener: (text: string) => void): void {
    this.#onText = listener;
  }

  onBytes(listener: (bytes: Uint8Array<ArrayBuffer>) => void): void {
    this.#onBytes = listener;
  }

  /** What the protocol itself answers. */
  onPing(listener: () => void): void {
    this.#onPing = listener;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Sends a JSON message as a text frame. */
  send(message: unknown): void {
    if (!this.isOpen || !this.#apply(this.call.plan.beforeSend())) return;
    this.#put(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Sends a JSON message as a binary frame. */
  sendBinary(message: unknown): void {
    if (!this.isOpen || !this.#apply(this.call.plan.beforeSend())) return;
    this.#put(new TextEncoder().encode(JSON.stringify(message)));
  }

  /** Sends a binary frame. */
  sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.isOpen || !this.#apply(this.call.plan.beforeSend())) return;
    if (this.call.plan.fault?.kind !== 'splitEveryByte') this.#put(bytes);
    else for (let at = 0, size = 1; at < bytes.length; at += size, size = 333) this.#put(bytes.subarray(at, at + size));
  }

  /** Closes, with a line in the log when the client is to blame. */
  close(code?: number, reason = '', why?: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.timers.clear();
    if (why !== undefined) {
      this.call.record.refusal = why;
      this.call.log(`close ${code ?? 'without code'} ${reason}: ${why}`);
    }
    if (code === undefined) this.#socket.close();
    else this.#socket.close(code, reason);
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const bytes = new Uint8Array(data);
    this.#keep(bytes.length, isBinary ? { from: 'client', bytes } : { from: 'client', text: data.toString() });
    if (!this.#open || !this.#apply(this.call.plan.afterReceive())) return;
    try {
      if (isBinary) this.#onBytes(bytes);
      else this.#onText(data.toString());
    } catch (error) {
      this.close(1011, '', `the sandbox failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}`);
    }
  }

  /** Does what a fault wants; whether the message itself goes on. */
  #apply(verdict: ReturnType<FaultPlan['beforeSend']>): boolean {
    const { fault } = this.call.plan;
    switch (verdict) {
      case 'send':
        return true;
      case 'swallow':
        return false;
      case 'drop':
        this.#open = false;
        this.#socket.terminate();
        return false;
      case 'close':
        if (fault?.kind === 'close') this.close(fault.code, fault.reason);
        return false;
      case 'error':
        this.#put(JSON.stringify(this.#midStreamError ?? { type: 'Error' }));
        this.close(1011);
        return false;
      case 'garbage':
        for (const payload of (fault?.kind === 'garbage' ? fault.payloads : undefined) ?? garbage) this.#put(payload);
        return true;
    }
  }

  #keep(bytes: number, message: RecordedMessage): void {
    if (!this.call.record.kept) return;
    this.#keptBytes += bytes;
    if (this.#keptBytes <= mostKeptBytes) this.call.record.messages.push(message);
  }

  #put(data: string | Uint8Array): void {
    this.#keep(
      data.length,
      typeof data === 'string' ? { from: 'service', text: data } : { from: 'service', bytes: data },
    );
    this.#socket.send(data);
  }
}

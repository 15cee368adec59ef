import type { ServerResponse } from 'node:http';
import { garbage } from './faults.ts';
import type { FaultPlan } from './faults.ts';
import { concatBytes } from './pcm.ts';
import type { OpenRecord } from './records.ts';
import type { HttpRoute, Refusal } from './vendor.ts';

/** What a request and an upgrade have in common. */
export class Call {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly protocols: readonly string[];
  readonly proxied: boolean;
  readonly record: OpenRecord;
  readonly plan: FaultPlan;
  readonly #log: (line: string) => void;

  constructor(record: OpenRecord, plan: FaultPlan, log: (line: string) => void) {
    this.path = record.path;
    this.query = new URLSearchParams(record.query.map(([name, value]): [string, string] => [name, value]));
    this.headers = record.headers;
    this.protocols = record.protocols;
    this.proxied = record.proxied;
    this.record = record;
    this.plan = plan;
    this.#log = log;
  }

  log(text: string): void {
    this.#log(`[${this.record.service}] ${text}`);
  }
}

/** An HTTP request and its answer. */
export class HttpRequest extends Call {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Aborted when the client goes away before the answer is complete. */
  readonly gone: AbortSignal;
  readonly #response: ServerResponse;
  readonly #midStreamError: string | undefined;

  constructor(call: ConstructorParameters<typeof Call>, response: ServerResponse, gone: AbortSignal, route: HttpRoute) {
    super(...call);
    this.body = concatBytes([this.record.body]);
    this.gone = gone;
    this.#response = response;
    this.#midStreamError = route.midStreamError;
  }

  /** The JSON body. */
  json(invalid: (why: string) => Refusal): unknown {
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(this.body)) as unknown;
    } catch {
      throw invalid('the body is not JSON');
    }
  }

  /** Answers at once. */
  send(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    const stream = this.stream(status, { 'content-type': 'application/json', ...headers });
    stream.write(body instanceof Uint8Array ? body : JSON.stringify(body));
    stream.end();
  }

  /** Answers piece by piece. */
  stream(status: number, headers: Readonly<Record<string, string>>): BodyStream {
    this.record.status = status;
    this.#response.writeHead(status, headers);
    this.#response.flushHeaders();
    return new BodyStream(this.#response, this.plan, this.#midStreamError);
  }
}

/** The body of an answer that is being written. */
export class BodyStream {
  readonly #response: ServerResponse;
  readonly #plan: FaultPlan;
  readonly #midStreamError: string | undefined;
  #open = true;

  constructor(response: ServerResponse, plan: FaultPlan, midStreamError: string | undefined) {
    this.#response = response;
    this.#plan = plan;
    this.#midStreamError = midStreamError;
    if (plan.fault?.kind === 'splitEveryByte') response.socket?.setNoDelay(true);
  }

  /** Whether anything written still reaches the client. */
  get isOpen(): boolean {
    return this.#open && !this.#response.destroyed;
  }

  write(piece: string | Uint8Array): void {
    if (!this.isOpen) return;
    switch (this.#plan.beforeSend()) {
      case 'swallow':
        this.#open = false;
        return;
      case 'drop':
      case 'close':
        this.#open = false;
        // What was written so far must arrive before the cut.
        this.#response.write('', () => this.#response.destroy());
        return;
      case 'error':
        this.#put(this.#midStreamError ?? '');
        this.#open = false;
        if (this.#midStreamError === undefined) this.#response.destroy();
        else this.#response.end();
        return;
      case 'garbage':
        for (const payload of this.#garbage()) this.#put(payload);
        break;
      case 'send':
    }
    this.#put(piece);
  }

  /** Writes one server-sent event. */
  event(data: unknown, name?: string): void {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    this.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`);
  }

  end(): void {
    if (!this.isOpen) return;
    this.#open = false;
    if (this.#plan.fault?.kind === 'stall' && (this.#plan.fault.after ?? 0) === 0) return;
    this.#response.end();
  }

  #garbage(): readonly (string | Uint8Array)[] {
    const fault = this.#plan.fault;
    if (fault?.kind === 'garbage' && fault.payloads) return fault.payloads;
    return garbage.map((payload) => `data: ${payload}\n\n`);
  }

  #put(piece: string | Uint8Array): void {
    const bytes = typeof piece === 'string' ? new TextEncoder().encode(piece) : piece;
    if (this.#plan.fault?.kind !== 'splitEveryByte') {
      if (bytes.length > 0) this.#response.write(bytes);
      return;
    }
    for (let at = 0; at < bytes.length; at++) this.#response.write(bytes.subarray(at, at + 1));
  }
}

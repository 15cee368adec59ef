import type { ProxyLimits } from './limits.ts';
import type { Mask } from './mask.ts';
import { hasLeft, refusalAnswer, type Refusal } from './refusal.ts';
import { answerHeaders, type Upstream } from './upstream.ts';

type Bytes = Uint8Array;

/** One request on its way. */
export interface RequestCall {
  readonly method: string;
  readonly headers: Headers;
  /** Opens the body; only a POST has one. */
  body(): ReadableStream<Bytes> | null;
  /** Aborted when the client has gone, or the proxy cuts the call. */
  readonly signal: AbortSignal;
  readonly limits: ProxyLimits;
  readonly mask: Mask;
  /** Lets the page read the answer. */
  readonly cors: Readonly<Record<string, string>>;
  /** Whether the credential depends on the whole body. */
  readonly isSigned: boolean;
  readonly fetch: typeof fetch;
  /** What the service is asked; of a signed request with its body. */
  upstream(body?: Uint8Array<ArrayBuffer>): Promise<Upstream>;
  /** Called once, when the call has ended; with the reason if it failed. */
  ended(status: number | 'broken off', failure?: Refusal): void;
}

/** A timer that restarts with every sign of life. */
interface Watch {
  refresh(): void;
  stop(): void;
}

/** Sends a request on, and its answer back, both as they come: whoever is slow holds the other up, not the memory. */
export function relayRequest(call: RequestCall): Promise<Response> {
  return new RequestRelay(call).reply;
}

/** One request and its answer, from the client to the service and back. */
class RequestRelay {
  /** Resolves with the answer, once it has begun, or with a refusal. */
  readonly reply: Promise<Response>;
  readonly #call: RequestCall;
  readonly #maxBytes: number;
  readonly #exchange = new AbortController();
  readonly #idle: Watch;
  readonly #late: Watch;
  readonly #gone = (): void => this.#stop(undefined);
  #resolve: (response: Response) => void = ignore;
  #isOver = false;
  /** Whether the service has all of the request. */
  #isComplete: boolean;
  /** The answer, once it has begun. */
  #answering: ReadableStreamDefaultController<Bytes> | undefined;

  constructor(call: RequestCall) {
    const { method, headers, limits, isSigned, signal } = call;
    const maxBytes = isSigned ? limits.maxSignedBodyBytes : limits.maxBodyBytes;
    this.#call = call;
    this.#maxBytes = maxBytes;
    this.#isComplete = method !== 'POST';
    this.reply = new Promise((resolve) => (this.#resolve = resolve));
    this.#idle = watch(limits.idleMs, () => {
      if (this.#isComplete) this.#fail(504, 'no_answer', `The service was silent for ${limits.idleMs} ms`);
      else this.#fail(408, 'too_slow', `The body stood still for ${limits.idleMs} ms`);
    });
    this.#late = watch(limits.bodyMs, () =>
      this.#fail(408, 'too_slow', `The body took longer than ${limits.bodyMs} ms`),
    );
    const { announced, isFramed } = framing(headers);
    signal.addEventListener('abort', this.#gone);
    if (signal.aborted) this.#gone();
    // A client that sends one all the same: some servers would take it for the beginning of the next request.
    else if (method !== 'POST' && isFramed)
      this.#fail(400, 'body_refused', `A ${method} request must not have a body here`);
    else if (announced > maxBytes) this.#tooLarge();
    else void this.#ask().catch(() => this.#unreachable());
  }

  async #ask(): Promise<void> {
    const { method, headers, isSigned, fetch: send } = this.#call;
    const body = method === 'POST' ? this.#call.body() : null;
    if (!body) this.#isComplete = true;
    if (this.#isComplete) this.#late.stop();
    const counted = body && this.#received(body);
    const isWhole = isSigned || isShort(headers);
    const whole = counted && isWhole ? new Uint8Array(await new Response(counted).arrayBuffer()) : undefined;
    const signed = isSigned ? (whole ?? new Uint8Array(0)) : undefined;
    const upstream = await this.#call.upstream(signed).catch(() => undefined);
    if (this.#isOver) return;
    if (!upstream) {
      this.#fail(500, 'internal', 'The proxy cannot sign this request');
      return;
    }
    const sent = whole ?? counted;
    const init: RequestInit & { duplex?: 'half' } = {
      ...{ method, redirect: 'manual', signal: this.#exchange.signal },
      headers: { ...upstream.headers, 'accept-encoding': 'identity' },
      ...(sent && { body: sent, duplex: 'half' }),
    };
    this.#pass(await send(upstream.url, init));
  }

  /** The client's body, counted and timed. */
  #received(body: ReadableStream<Bytes>): ReadableStream<Bytes> {
    const reader = body.getReader();
    let length = 0;
    const pull = async (controller: ReadableStreamDefaultController<Bytes>): Promise<void> => {
      const { done, value } = await reader.read();
      this.#idle.refresh();
      // What was cut must not look whole: the service would take it for the request, and keep the connection.
      if (this.#isOver) throw new Error('The request is over');
      if (done) {
        this.#isComplete = true;
        this.#late.stop();
        controller.close();
        return;
      }
      length += value.length;
      if (length <= this.#maxBytes) {
        controller.enqueue(value);
        return;
      }
      this.#tooLarge();
      controller.error(new Error('The body is too large'));
    };
    this.#exchange.signal.addEventListener('abort', () => void reader.cancel().catch(ignore));
    return new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 });
  }

  /** Passes the service's answer on. */
  #pass(answer: Response): void {
    const { status } = answer;
    if (this.#isOver) {
      void answer.body?.cancel().catch(ignore);
      return;
    }
    if (status === 0 || (status >= 300 && status < 400)) {
      this.#fail(502, 'redirected', 'The service answers with a redirect, which is not followed');
      return;
    }
    if (status < 200 || status > 599) {
      this.#fail(502, 'no_status', 'The service answers with an invalid status');
      return;
    }
    const headers = { ...answerHeaders(answer.headers, this.#call.mask, true), ...this.#call.cors };
    const body = answer.body && this.#masked(answer.body, status);
    if (!body) this.#end(status);
    this.#resolve(new Response(body, { status, headers }));
  }

  /** The answer's body without secrets. */
  #masked(body: ReadableStream<Bytes>, status: number): ReadableStream<Bytes> {
    const reader = body.getReader();
    const masked = this.#call.mask.stream();
    const pull = async (controller: ReadableStreamDefaultController<Bytes>): Promise<void> => {
      let isEmpty = true;
      while (isEmpty) {
        const { done, value } = await reader.read();
        if (this.#isOver) return;
        this.#idle.refresh();
        const piece = done ? masked.end() : masked.push(value);
        isEmpty = piece.length === 0 && !done;
        if (piece.length > 0) controller.enqueue(piece);
        if (done) {
          controller.close();
          this.#end(status);
          // The answer is complete: stop sending what is left of the request's body.
          if (!this.#isComplete) this.#exchange.abort();
        }
      }
    };
    return new ReadableStream<Bytes>(
      {
        start: (controller) => void (this.#answering = controller),
        pull: (controller) => pull(controller).catch(() => this.#unreachable()),
        cancel: this.#gone,
      },
      { highWaterMark: 0 },
    );
  }

  #fail(status: number, code: string, message: string): void {
    this.#stop({ status, code, message });
  }

  #tooLarge(): void {
    this.#fail(413, 'too_large', `The body is larger than ${this.#maxBytes} bytes`);
  }

  #unreachable(): void {
    this.#fail(502, 'unreachable', 'The service cannot be reached, or broke the connection off');
  }

  /** Ends it before its time; the client is told, if it has no answer yet. */
  #stop(refusal: Refusal | undefined): void {
    if (this.#isOver) return;
    this.#end(refusal && !this.#answering ? refusal.status : 'broken off', refusal);
    this.#exchange.abort();
    this.#answering?.error(new Error(refusal?.message ?? 'The client has gone'));
    const { headers, body } = refusalAnswer(refusal ?? hasLeft);
    const shown = { ...this.#call.cors, ...headers };
    this.#resolve(new Response(body, { status: refusal?.status ?? 499, headers: shown }));
  }

  #end(outcome: number | 'broken off', failure?: Refusal): void {
    this.#isOver = true;
    this.#idle.stop();
    this.#late.stop();
    this.#call.signal.removeEventListener('abort', this.#gone);
    this.#call.ended(outcome, failure);
  }
}

const ignore = (): void => undefined;

function framing(headers: Headers): { readonly announced: number; readonly isFramed: boolean } {
  const announced = Number(headers.get('content-length') ?? 0);
  return { announced, isFramed: headers.has('transfer-encoding') || announced > 0 };
}

/** Bodies up to here are sent as one, with their length: not every service takes one without. */
const shortBytes = 256 * 1024;

function isShort(headers: Headers): boolean {
  return headers.has('content-length') && Number(headers.get('content-length')) <= shortBytes;
}

function watch(ms: number, isOver: () => void): Watch {
  let timer: ReturnType<typeof setTimeout> | undefined = setTimeout(isOver, ms);
  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const refresh = (): void => {
    if (timer === undefined) return;
    stop();
    timer = setTimeout(isOver, ms);
  };
  return { refresh, stop };
}

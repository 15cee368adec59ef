import type { ProxyLimits } from './limits.ts';
import type { Mask } from './mask.ts';
import { refusalAnswer, type Refusal } from './refusal.ts';
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

/** A timer that begins anew with every sign of life. */
interface Watch {
  refresh(): void;
  stop(): void;
}

/** Sends a request on, and its answer back, both as they come: whoever is slow holds the other up, not the memory. */
export function relayRequest(call: RequestCall): Promise<Response> {
  const { method, limits, mask, cors, isSigned, signal } = call;
  const maxBytes = isSigned ? limits.maxSignedBodyBytes : limits.maxBodyBytes;
  const exchange = new AbortController();
  let over = false;
  let isComplete = method !== 'POST';
  /** The answer, once it has begun. */
  let answering: ReadableStreamDefaultController<Bytes> | undefined;
  let status = 0;
  let reply: (response: Response) => void = () => undefined;
  const replied = new Promise<Response>((resolve) => (reply = resolve));

  const end = (outcome: number | 'broken off', failure?: Refusal): void => {
    over = true;
    idle.stop();
    late.stop();
    signal.removeEventListener('abort', gone);
    call.ended(outcome, failure);
  };
  /** Ends it before its time; the client is told, if it has no answer yet. */
  const stop = (refusal: Refusal | undefined): void => {
    if (over) return;
    end(refusal && !answering ? refusal.status : 'broken off', refusal);
    exchange.abort();
    answering?.error(new Error(refusal?.message ?? 'The client has gone'));
    const { headers, body } = refusalAnswer(refusal ?? { status: 499, code: 'gone', message: 'The client has gone' });
    reply(new Response(body, { status: refusal?.status ?? 499, headers: { ...cors, ...headers } }));
  };
  const fail = (status: number, code: string, message: string): void => stop({ status, code, message });
  const gone = (): void => stop(undefined);
  const tooLarge = (): void => fail(413, 'too_large', `The body is larger than ${maxBytes} bytes`);
  const unreachable = (): void =>
    fail(502, 'unreachable', 'The service cannot be reached, or broke the connection off');
  const idle = watch(limits.idleMs, () => {
    if (isComplete) fail(504, 'no_answer', `The service was silent for ${limits.idleMs} ms`);
    else fail(408, 'too_slow', `The body stood still for ${limits.idleMs} ms`);
  });
  const late = watch(limits.bodyMs, () => fail(408, 'too_slow', `The body took longer than ${limits.bodyMs} ms`));

  /** The client's body, counted and timed. */
  const received = (body: ReadableStream<Bytes>): ReadableStream<Bytes> => {
    const reader = body.getReader();
    let length = 0;
    const pull = async (controller: ReadableStreamDefaultController<Bytes>): Promise<void> => {
      const { done, value } = await reader.read();
      idle.refresh();
      // What was cut must not look whole: the service would take it for the request, and keep the connection.
      if (over) throw new Error('The request is over');
      if (done) {
        isComplete = true;
        late.stop();
        controller.close();
        return;
      }
      length += value.length;
      if (length <= maxBytes) {
        controller.enqueue(value);
        return;
      }
      tooLarge();
      controller.error(new Error('The body is too large'));
    };
    exchange.signal.addEventListener('abort', () => void reader.cancel().catch(ignore));
    return new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 });
  };

  const pass = (answer: Response): void => {
    status = answer.status;
    if (over) {
      void answer.body?.cancel().catch(ignore);
      return;
    }
    if (status === 0 || (status >= 300 && status < 400)) {
      fail(502, 'redirected', 'The service answers with a redirect, which is not followed');
      return;
    }
    if (status < 200 || status > 599) {
      fail(502, 'no_status', 'The service answers with an invalid status');
      return;
    }
    const headers = { ...answerHeaders(answer.headers, mask, true), ...cors };
    if (!answer.body) {
      end(status);
      reply(new Response(null, { status, headers }));
      return;
    }
    const reader = answer.body.getReader();
    const masked = mask.stream();
    const pull = async (controller: ReadableStreamDefaultController<Bytes>): Promise<void> => {
      let isEmpty = true;
      while (isEmpty) {
        const { done, value } = await reader.read();
        if (over) return;
        idle.refresh();
        const piece = done ? masked.end() : masked.push(value);
        isEmpty = piece.length === 0 && !done;
        if (piece.length > 0) controller.enqueue(piece);
        if (done) {
          controller.close();
          end(status);
          // A body that goes on after its answer is nobody's.
          if (!isComplete) exchange.abort();
        }
      }
    };
    const body = new ReadableStream<Bytes>(
      {
        start: (controller) => void (answering = controller),
        pull: (controller) => pull(controller).catch(unreachable),
        cancel: gone,
      },
      { highWaterMark: 0 },
    );
    reply(new Response(body, { status, headers }));
  };

  const ask = async (): Promise<void> => {
    const body = method === 'POST' ? call.body() : null;
    if (!body) isComplete = true;
    if (isComplete) late.stop();
    const counted = body && received(body);
    const whole =
      counted && (isSigned || isShort(call.headers))
        ? new Uint8Array(await new Response(counted).arrayBuffer())
        : undefined;
    const upstream = await call.upstream(isSigned ? (whole ?? new Uint8Array(0)) : undefined).catch(() => undefined);
    if (over) return;
    if (!upstream) {
      fail(500, 'internal', 'The proxy cannot sign this request');
      return;
    }
    const sent = whole ?? counted;
    const init: RequestInit & { duplex?: 'half' } = {
      ...{ method, redirect: 'manual', signal: exchange.signal },
      headers: { ...upstream.headers, 'accept-encoding': 'identity' },
      ...(sent && { body: sent, duplex: 'half' }),
    };
    const { fetch: send } = call;
    pass(await send(upstream.url, init));
  };

  const { announced, isFramed } = framing(call.headers);
  signal.addEventListener('abort', gone);
  if (signal.aborted) gone();
  // A client that sends one all the same: some servers would take it for the beginning of the next request.
  else if (method !== 'POST' && isFramed) fail(400, 'body_refused', `A ${method} request must not have a body here`);
  else if (announced > maxBytes) tooLarge();
  else void ask().catch(unreachable);
  return replied;
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

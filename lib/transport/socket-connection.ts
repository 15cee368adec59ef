import { failRefused, openSocket as runtimeSocket } from '#websocket';
import { asyncScheduler, catchError, concat, defer, EMPTY, from, map, Observable, switchMap, throwError } from 'rxjs';
import { messageOf, VoiceError, type VoiceErrorOptions } from '../core/errors.ts';
import { redactUrl } from '../core/redact-url.ts';
import { redact as redactText } from '../core/redact.ts';
import { eachEffect, fold, takeStep, type Machine, type Step } from '../stream/fold.ts';
import { mebibyte } from './outbox.ts';
import type { ReconnectingSocketOptions } from './reconnecting-socket-options.ts';
import { openWith } from './websocket-browser.ts';
import {
  addressOf,
  connectSocket,
  type RawSocket,
  type SocketClose,
  type SocketData,
  type SocketEvent,
  type SocketRefusal,
  type SocketRequest,
} from './socket.ts';

/** What one connection needs from its owner. */
export interface SocketConnectionContext {
  /** 1 for the owner's first connection. */
  readonly attempt: number;
  /** The rejection of the previous credential. */
  readonly refused: VoiceError | undefined;
  /** Ends the connection: it fails with each value. */
  readonly failure$: Observable<VoiceError>;
  readonly onMessage: (data: SocketData) => void;
  /** Whether the owner is done: then a close is not a failure, whatever its code. */
  readonly isExpected: (close: SocketClose) => boolean;
  /** Runs while the connection is ready; its error ends the connection. */
  readonly upkeep$: (socket: RawSocket) => Observable<never>;
  /** Called when it has ended. */
  readonly onEnd: () => void;
}

/** A connection's progress, with a deadline: to become ready, then for the next activity. */
export type SocketPhase =
  | { readonly type: 'connecting'; readonly until: number }
  | {
      readonly type: 'connected';
      readonly socket: RawSocket;
      readonly hasOpening: boolean;
      readonly isReady: boolean;
      readonly until: number;
      /** When the next keep-alive is due; Infinity before it is ready. */
      readonly keepAliveAt: number;
    }
  | { readonly type: 'ended'; readonly until: number };

/** Inputs of a connection: events on the wire, and deadlines. */
export type SocketInput = SocketEvent | { readonly type: 'tick' };

/** Effects of an input. */
export type SocketEffect =
  | { readonly type: 'message'; readonly data: SocketData }
  | { readonly type: 'opening'; readonly socket: RawSocket }
  /** The service accepts messages from now on. */
  | { readonly type: 'ready'; readonly socket: RawSocket }
  | { readonly type: 'keep-alive'; readonly socket: RawSocket }
  /** It did not become ready in time, or has become inactive. */
  | { readonly type: 'stalled'; readonly wasReady: boolean; readonly sleptMs?: number }
  | { readonly type: 'refused'; readonly refusal: SocketRefusal }
  | { readonly type: 'closed'; readonly close: SocketClose; readonly cause: unknown; readonly phase: SocketPhase };

type SocketStep = Step<SocketPhase, SocketEffect>;

/** The options that determine a connection's course. */
type SocketRules = Pick<ReconnectingSocketOptions, 'opensAfter' | 'isReady' | 'keepAlive'>;

const ended: SocketPhase = { type: 'ended', until: Infinity };

/**
 * A keep-alive later than this, in milliseconds, means that the machine slept. Hidden pages may run timers only once a
 * minute.
 */
const longestNapMs = 90_000;

const keepAliveMs = ({ keepAlive }: SocketRules): number => keepAlive?.intervalMs ?? 8_000;

/** Folds an input into a connection's state. The opening is sent once, and the connection becomes ready once. */
export function reduceSocket(rules: SocketRules, phase: SocketPhase, input: SocketInput, at: number): SocketStep {
  if (phase.type === 'ended') return [phase];
  const { opensAfter, isReady } = rules;
  switch (input.type) {
    case 'opened': {
      const { socket } = input;
      const { until } = phase;
      const connected = {
        type: 'connected',
        socket,
        hasOpening: false,
        isReady: false,
        until,
        keepAliveAt: Infinity,
      } as const;
      return advance(rules, connected, !opensAfter, !isReady, at);
    }
    case 'message': {
      if (phase.type === 'connecting') return [phase];
      const { data } = input;
      const message = { type: 'message', data } as const;
      const heard = alive(rules, phase, at);
      // Further messages no longer matter.
      if (heard.hasOpening && heard.isReady) return [heard, message];
      const effects: SocketEffect[] = [message];
      const step = advance(rules, heard, opensAfter?.(data) ?? false, isReady?.(data) ?? false, at);
      return [takeStep(effects, step), ...effects];
    }
    case 'alive':
      return [phase.type === 'connecting' ? phase : alive(rules, phase, at)];
    case 'refused':
      return [ended, input];
    case 'closed':
      return [ended, { phase, ...input }];
    case 'tick': {
      const isReady = phase.type === 'connected' && phase.isReady;
      if (at >= phase.until) return [ended, { type: 'stalled', wasReady: isReady }];
      if (!isReady || at < phase.keepAliveAt) return [phase];
      const lateMs = at - phase.keepAliveAt;
      if (lateMs > longestNapMs) return [ended, { type: 'stalled', wasReady: true, sleptMs: lateMs }];
      return [
        { ...phase, keepAliveAt: at + keepAliveMs(rules) },
        { type: 'keep-alive', socket: phase.socket },
      ];
    }
  }
}

type Connected = SocketPhase & { type: 'connected' };

function advance(rules: SocketRules, phase: Connected, opens: boolean, readies: boolean, at: number): SocketStep {
  const { socket } = phase;
  const isOpening = opens && !phase.hasOpening;
  const isReadying = readies && !phase.isReady;
  if (!isOpening && !isReadying) return [phase];
  const opened = isOpening ? { ...phase, hasOpening: true } : phase;
  const next = isReadying
    ? alive(rules, { ...opened, isReady: true, keepAliveAt: at + keepAliveMs(rules) }, at)
    : opened;
  const opening: SocketEffect[] = isOpening ? [{ type: 'opening', socket }] : [];
  return isReadying ? [next, ...opening, { type: 'ready', socket }] : [next, ...opening];
}

/** Activity counts once it is ready. A runtime without pings cannot tell silence from loss. */
function alive(rules: SocketRules, phase: Connected, at: number): Connected {
  if (!phase.isReady) return phase;
  const ms = keepAliveMs(rules);
  const until = phase.socket.ping ? at + 3 * ms : Infinity;
  // A message after a sleep proves that the connection survived it.
  const keepAliveAt = Math.max(phase.keepAliveAt, at - ms);
  // Every message comes by here: a literal costs less than a spread.
  const { type, socket, hasOpening, isReady } = phase;
  return { type, socket, hasOpening, isReady, until, keepAliveAt };
}

/**
 * One connection, from its credential to its end: emits the socket when the service is ready, completes after a normal
 * end, fails after any other. Unsubscribing closes it.
 */
export function connectOnce(
  options: ReconnectingSocketOptions,
  context: SocketConnectionContext,
): Observable<RawSocket> {
  const { request, connectTimeoutMs = 10_000, scheduler = asyncScheduler } = options;
  const { maxMessageBytes = mebibyte, maxFragments = 1_024, WebSocket: Own } = options;
  const { openSocket = Own ? openWith((url, protocols) => new Own(url, protocols)) : runtimeSocket } = options;
  const { attempt, refused, failure$ } = context;

  return new Observable((subscriber) => {
    const abort = new AbortController();
    /** Empty until known. */
    let url: SocketRequest['url'] = '';
    let target: SocketRequest | undefined;

    const wire$ = defer(() => from(request({ attempt, signal: abort.signal, ...(refused && { refused }) }))).pipe(
      switchMap((given) => {
        target = given;
        url = given.url;
        const { extraHeaders } = options;
        return connectSocket(openSocket, extraHeaders ? { ...given, extraHeaders } : given, {
          maxMessageBytes,
          maxFragments,
        });
      }),
    );
    const fail = (cause: unknown): void => {
      const internal = { code: 'internal', cause } as const;
      subscriber.error(VoiceError.is(cause) ? cause : socketError(options, messageOf(cause), internal));
    };
    const enact = (effect: SocketEffect): void => {
      if (subscriber.closed) return;
      switch (effect.type) {
        case 'message':
          context.onMessage(effect.data);
          break;
        case 'opening':
          for (const data of options.opening?.() ?? []) effect.socket.send(data);
          break;
        case 'ready':
          subscriber.next(effect.socket);
          subscriber.add(context.upkeep$(effect.socket).subscribe({ error: fail }));
          break;
        case 'keep-alive':
          hold(effect.socket, options);
          break;
        case 'stalled':
          fail(stallError(effect, url, options));
          break;
        case 'refused':
          subscriber.add(failUpgrade(effect.refusal, url, options).subscribe({ error: fail }));
          break;
        case 'closed': {
          const error = context.isExpected(effect.close) ? undefined : closeError(effect, url, options);
          if (!error) subscriber.complete();
          else if (target && isUnexplained(effect, options))
            subscriber.add(explained(error, target, options).subscribe({ error: fail }));
          else fail(error);
        }
      }
    };
    /** Whether a message no longer changes more than the time of the last one. */
    let isOpen = false;
    // A message that may cut the agent off does not wait for our own bookkeeping.
    const messagesFirst = (event: SocketEvent): SocketInput => {
      if (!isOpen || event.type !== 'message') return event;
      context.onMessage(event.data);
      return { type: 'alive' };
    };
    const machine: Machine<SocketPhase, SocketInput, SocketEffect> = {
      start: { type: 'connecting', until: scheduler.now() + connectTimeoutMs },
      reduce: (phase, input, at) => reduceSocket(options, phase, input, at),
      wakeAt: (phase) => (phase.type === 'connected' ? Math.min(phase.until, phase.keepAliveAt) : phase.until),
      tick: { type: 'tick' },
    };
    subscriber.add(failure$.subscribe({ next: fail, error: fail }));
    subscriber.add(
      wire$.pipe(map(messagesFirst), fold(machine, scheduler)).subscribe({
        next: (step) => {
          const [phase] = step;
          isOpen = phase.type === 'connected' && phase.hasOpening && phase.isReady;
          eachEffect(step, enact);
        },
        error: fail,
      }),
    );
    return () => {
      abort.abort(new VoiceError('the connection was given up', { code: 'aborted', provider: options.provider }));
      context.onEnd();
    };
  });
}

/** Sends a keep-alive, so that neither the service nor anything in between considers the connection dead. */
function hold(socket: RawSocket, { keepAlive }: ReconnectingSocketOptions): void {
  const data = keepAlive?.message?.(socket.ping !== undefined);
  if (data !== undefined) socket.send(data);
  socket.ping?.();
}

type Address = SocketRequest['url'];

function nameOf(url: Address): string {
  return url === '' ? 'the service' : redactUrl(url);
}

function stallError(
  { wasReady, sleptMs }: SocketEffect & { type: 'stalled' },
  url: Address,
  options: ReconnectingSocketOptions,
): VoiceError {
  const { connectTimeoutMs = 10_000 } = options;
  const message =
    sleptMs !== undefined
      ? `this machine slept for ${Math.round(sleptMs / 1000)} s and sent no keep-alive`
      : wasReady
        ? `the service did not answer two keep-alives in a row, ${keepAliveMs(options)} ms apart`
        : `${nameOf(url)} was not ready within ${connectTimeoutMs} ms`;
  return socketError(options, message, { code: wasReady ? 'connection' : 'timeout', recoverable: true });
}

/** Fails with the meaning of an HTTP response in place of the upgrade. */
function failUpgrade(refusal: SocketRefusal, url: Address, options: ReconnectingSocketOptions): Observable<never> {
  const { status } = refusal;
  const { provider, scheduler, logger, redact = redactText, errorOf } = options;
  if (status < 300) {
    const message = `${nameOf(url)} is not a WebSocket service (${status})`;
    return throwError(() => socketError(options, message, { code: 'protocol', status }));
  }
  return failRefused(refusal, provider, { url: new URL(url), scheduler, logger, redact, errorOf });
}

/** Whether the proxy may have refused an upgrade, and the runtime is a browser, which does not say so. */
function isUnexplained(
  { close, cause, phase }: SocketEffect & { type: 'closed' },
  options: ReconnectingSocketOptions,
): boolean {
  return options.isProxied === true && phase.type === 'connecting' && close.code === 1006 && cause === undefined;
}

/** Fails with the proxy's reason, where it tells one, else with an error. Rarely needed, so loaded then. */
function explained(error: VoiceError, target: SocketRequest, options: ReconnectingSocketOptions): Observable<never> {
  const { provider, scheduler, logger, redact = redactText, errorOf, fetch } = options;
  const reason$ = defer(() => import('./why-refused.ts')).pipe(
    catchError(() => EMPTY),
    switchMap((why) =>
      why.failAsTold(addressOf(target, false), { provider, scheduler, logger, redact, errorOf, fetch }),
    ),
  );
  return concat(
    reason$,
    throwError(() => error),
  );
}

/** What a close means; `undefined` for a normal end. */
function closeError(
  { close, cause, phase }: SocketEffect & { type: 'closed' },
  url: Address,
  options: ReconnectingSocketOptions,
): VoiceError | undefined {
  const isReady = phase.type === 'connected' && phase.isReady;
  const verdict = options.classifyClose?.(close) ?? (close.code === 1000 ? 'normal' : 'retry');
  if (verdict === 'normal' && isReady) return undefined;
  if (VoiceError.is(verdict)) return verdict;
  if (VoiceError.is(cause)) return cause.provider ? cause : socketError(options, cause.message, { code: cause.code });

  const why = close.reason || (cause === undefined ? '' : messageOf(cause));
  const what = isReady
    ? 'closed the connection'
    : phase.type === 'connected'
      ? 'closed before it was ready'
      : 'cannot be reached';
  const message = `${nameOf(url)} ${what} (${[close.code, why].filter(Boolean).join(' ')})`;
  return socketError(options, message, { code: 'connection', recoverable: true, status: close.code, cause });
}

/** Creates an error of the provider, masking credentials. */
export function socketError(
  { provider, redact = redactText }: Pick<ReconnectingSocketOptions, 'provider' | 'redact'>,
  message: string,
  options: VoiceErrorOptions,
): VoiceError {
  return new VoiceError(redact(`${provider}: ${message}`), { ...options, provider });
}

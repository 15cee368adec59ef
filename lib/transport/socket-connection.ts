import { failRefused, openSocket as runtimeSocket } from '#websocket';
import {
  asyncScheduler,
  concat,
  concatMap,
  connect,
  defer,
  EMPTY,
  endWith,
  filter,
  finalize,
  from,
  ignoreElements,
  interval,
  map,
  mergeMap,
  of,
  scan,
  switchMap,
  takeWhile,
  tap,
  throwError,
  type Observable,
} from 'rxjs';
import { messageOf, VoiceError, type VoiceErrorOptions } from '../core/errors.ts';
import { redact as redactText, redactUrl } from '../core/redact.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import type { ReconnectingSocketOptions } from './reconnecting-socket-options.ts';
import {
  connectSocket,
  type RawSocket,
  type SocketClose,
  type SocketData,
  type SocketEvent,
  type SocketRefusal,
  type SocketRequest,
} from './socket.ts';
import { merge } from '../stream/merge.ts';

const mebibyte = 1024 * 1024;

/** What one connection needs from its owner. */
export interface SocketConnectionContext {
  /** 1 for the first connection of its owner. */
  readonly attempt: number;
  /** The refusal of the credential before. */
  readonly refused: VoiceError | undefined;
  /** Ends the connection: it fails with each value. */
  readonly failure$: Observable<VoiceError>;
  readonly onMessage: (data: SocketData) => void;
  /** Whether the owner is done, so that this end is no failure, whatever its code. */
  readonly isExpected: (close: SocketClose) => boolean;
  /** Runs while the connection is ready; its error ends the connection. */
  readonly upkeep$: (socket: RawSocket) => Observable<never>;
}

/** How far a connection has come. */
export type SocketPhase =
  | { readonly type: 'connecting' }
  | { readonly type: 'connected'; readonly socket: RawSocket; readonly hasOpening: boolean; readonly isReady: boolean };

/** What follows from an event on the wire. */
export type SocketEffect =
  | { readonly type: 'message'; readonly data: SocketData }
  | { readonly type: 'opening'; readonly socket: RawSocket }
  /** The service takes messages from now on. */
  | { readonly type: 'ready'; readonly socket: RawSocket }
  /** A sign of life, once it is ready. */
  | { readonly type: 'alive'; readonly socket: RawSocket }
  | { readonly type: 'refused'; readonly refusal: SocketRefusal }
  | { readonly type: 'closed'; readonly close: SocketClose; readonly cause: unknown; readonly phase: SocketPhase };

type Step = readonly [SocketPhase, ...SocketEffect[]];

const connecting: Step = [{ type: 'connecting' }];

/** What an event does to a connection. The opening is said once, and it is ready once. */
export function reduceSocket(
  { opensAfter, isReady }: Pick<ReconnectingSocketOptions, 'opensAfter' | 'isReady'>,
  phase: SocketPhase,
  event: SocketEvent,
): Step {
  switch (event.type) {
    case 'opened':
      return advance({ ...event, type: 'connected', hasOpening: false, isReady: false }, !opensAfter, !isReady);
    case 'message': {
      if (phase.type === 'connecting') return [phase];
      const { data } = event;
      const [next, ...effects] = advance(phase, opensAfter?.(data) ?? false, isReady?.(data) ?? false);
      return [next, { type: 'message', data }, ...effects, ...signOfLife(phase)];
    }
    case 'alive':
      return [phase, ...signOfLife(phase)];
    case 'refused':
      return [phase, event];
    case 'closed':
      return [phase, { ...event, phase }];
  }
}

function advance(phase: SocketPhase & { type: 'connected' }, opens: boolean, readies: boolean): Step {
  const { socket } = phase;
  const effects: SocketEffect[] = [];
  if (opens && !phase.hasOpening) effects.push({ type: 'opening', socket });
  if (readies && !phase.isReady) effects.push({ type: 'ready', socket });
  if (effects.length === 0) return [phase];
  return [{ ...phase, hasOpening: phase.hasOpening || opens, isReady: phase.isReady || readies }, ...effects];
}

function signOfLife(phase: SocketPhase): SocketEffect[] {
  return phase.type === 'connected' && phase.isReady ? [{ type: 'alive', socket: phase.socket }] : [];
}

/**
 * One connection, from its credential to its end: emits the socket when the service is ready, completes after a normal
 * end, fails after any other. Unsubscribing cuts it.
 */
export function connectOnce(
  options: ReconnectingSocketOptions,
  context: SocketConnectionContext,
): Observable<RawSocket> {
  const { provider, request, connectTimeoutMs = 10_000, keepAlive = {}, scheduler = asyncScheduler } = options;
  const { maxMessageBytes = mebibyte, maxFragments = 1_024, openSocket = runtimeSocket } = options;
  const { attempt, refused, failure$ } = context;
  const { intervalMs = 8_000, message } = keepAlive;

  return defer(() => {
    const abort = new AbortController();
    let address = 'the service';

    /** `ready` and then signs of life; completes after a normal end. */
    const wire$ = defer(() => from(request({ attempt, signal: abort.signal, ...(refused && { refused }) }))).pipe(
      switchMap((target) => {
        address = redactUrl(target.url);
        return connectSocket(openSocket, target, { maxMessageBytes, maxFragments }).pipe(
          scan(([phase], event: SocketEvent) => reduceSocket(options, phase, event), connecting),
          tap(([, ...effects]) => effects.forEach((effect) => enact(effect, options, context))),
          // Every message passes here: what each of them means costs no subscription of its own.
          connect((step$) =>
            merge(
              step$.pipe(map(signOf), filter(isPresent)),
              step$.pipe(
                map(endOf),
                filter(isPresent),
                concatMap((end) =>
                  end.type === 'refused'
                    ? refusal(end.refusal, options, target)
                    : closure(end, options, context, target),
                ),
              ),
            ),
          ),
        );
      }),
      stallTimeout({
        firstMs: connectTimeoutMs,
        // A runtime that cannot ping cannot tell silence from loss.
        idleMs: ({ socket }) => socket.ping && 3 * intervalMs,
        scheduler,
        error: (stalled) => {
          const message =
            stalled === 'first'
              ? `${address} was not ready within ${connectTimeoutMs} ms`
              : `the service has not answered two keep-alives in a row, ${intervalMs} ms apart`;
          const code = stalled === 'first' ? 'timeout' : 'connection';
          return socketError(options, message, { code, recoverable: true });
        },
      }),
    );
    const keepAlive$ = (socket: RawSocket): Observable<never> =>
      interval(intervalMs, scheduler).pipe(
        tap(() => {
          const data = message?.(socket.ping !== undefined);
          if (data !== undefined) socket.send(data);
          socket.ping?.();
        }),
        ignoreElements(),
      );
    const told$ = failure$.pipe(mergeMap((cause) => throwError(() => cause)));

    return merge(told$, wire$.pipe(endWith(undefined))).pipe(
      filter((step) => step?.type !== 'alive'),
      mergeMap((step): Observable<RawSocket | undefined> => {
        if (!step) return of(undefined);
        const { socket } = step;
        return concat(
          of(socket),
          defer(() => merge(keepAlive$(socket), context.upkeep$(socket))),
        );
      }),
      takeWhile((socket) => socket !== undefined),
      finalize(() => abort.abort(new VoiceError('the connection was given up', { code: 'aborted', provider }))),
    );
  });
}

type Sign = SocketEffect & { type: 'ready' | 'alive' };
type End = SocketEffect & { type: 'refused' | 'closed' };

/** What of a step the owner of the connection goes by. */
function signOf([, ...effects]: Step): Sign | undefined {
  return effects.find((effect): effect is Sign => effect.type === 'ready' || effect.type === 'alive');
}

function endOf([, ...effects]: Step): End | undefined {
  return effects.find((effect): effect is End => effect.type === 'refused' || effect.type === 'closed');
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** Does what can be done at once. */
function enact(effect: SocketEffect, options: ReconnectingSocketOptions, context: SocketConnectionContext): void {
  if (effect.type === 'message') context.onMessage(effect.data);
  if (effect.type !== 'opening') return;
  for (const data of options.opening?.() ?? []) effect.socket.send(data);
}

/** Fails with what an HTTP answer in place of the upgrade means. */
function refusal(refusal: SocketRefusal, options: ReconnectingSocketOptions, target: SocketRequest): Observable<never> {
  const { status } = refusal;
  const { provider, scheduler, logger, redact = redactText, errorOf } = options;
  if (status < 300) {
    const message = `${redactUrl(target.url)} is no WebSocket service (${status})`;
    return throwError(() => socketError(options, message, { code: 'protocol', status }));
  }
  return failRefused(refusal, provider, { url: new URL(target.url), scheduler, logger, redact, errorOf });
}

/** Completes after a normal end, else fails with what it means. */
function closure(
  { close, cause, phase }: SocketEffect & { type: 'closed' },
  options: ReconnectingSocketOptions,
  context: SocketConnectionContext,
  target: SocketRequest,
): Observable<never> {
  if (context.isExpected(close)) return EMPTY;
  const isReady = phase.type === 'connected' && phase.isReady;
  const verdict = options.classifyClose?.(close) ?? (close.code === 1000 ? 'normal' : 'retry');
  if (verdict === 'normal' && isReady) return EMPTY;
  if (VoiceError.is(verdict)) return throwError(() => verdict);
  if (VoiceError.is(cause)) return throwError(() => socketError(options, cause.message, { code: cause.code }));

  const why = close.reason || (cause === undefined ? '' : messageOf(cause));
  const what = isReady
    ? 'closed the connection'
    : phase.type === 'connected'
      ? 'closed before it was ready'
      : 'cannot be reached';
  const message = `${redactUrl(target.url)} ${what} (${[close.code, why].filter(Boolean).join(' ')})`;
  return throwError(() =>
    socketError(options, message, { code: 'connection', recoverable: true, status: close.code, cause }),
  );
}

/** An error of the provider, without credentials. */
export function socketError(
  { provider, redact = redactText }: Pick<ReconnectingSocketOptions, 'provider' | 'redact'>,
  message: string,
  options: VoiceErrorOptions,
): VoiceError {
  return new VoiceError(redact(`${provider}: ${message}`), { ...options, provider });
}

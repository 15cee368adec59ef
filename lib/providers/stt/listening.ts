import {
  connect,
  EMPTY,
  endWith,
  filter,
  firstValueFrom,
  ignoreElements,
  interval,
  map,
  Subject,
  switchMap,
  take,
  tap,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
  Subscription,
} from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { ConnectionEvent, STTProvider } from '../../core/roles.ts';
import { fromInput } from '../../stream/bridge.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import {
  ReconnectingSocket,
  type SocketCloseOptions,
  type SocketData,
  type ReconnectingSocketOptions,
} from '../../transport/reconnecting-socket.ts';
import type { AudioUplink } from './audio-uplink.ts';

/** Longest wait for a clean close on dispose(), in milliseconds. */
export const disposeMs = 200;

/** Interval between checks, while closing, whether all audio was sent, in milliseconds. */
const feedMs = 20;

/** What a {@link Listening} needs from its provider. */
export interface ListeningOptions {
  readonly socket: ReconnectingSocketOptions;
  readonly uplink: AudioUplink;
  readonly scheduler: SchedulerLike;
  /** What to send first when a connection is ready. */
  readonly begin: () => readonly SocketData[];
  readonly farewell: () => Pick<SocketCloseOptions, 'farewell' | 'until'>;
  /** Whether an empty frame ends the audio, and the service confirms it. */
  readonly endsAudio: boolean;
  /** Watches for missing audio during the session. */
  readonly gaps$: Observable<unknown> | undefined;
  readonly onMessage: (data: SocketData) => void;
  readonly onError: (error: VoiceError) => void;
  /** After `closed` and `lost` the session is over. */
  readonly onConnection: (event: ConnectionEvent) => void;
}

/** How a session ends. */
export interface EndOptions extends Pick<SocketCloseOptions, 'reconnect'> {
  /** Longest wait in all: for queued audio, the last results and the close. */
  readonly timeoutMs: number;
}

/** One session of a provider, across connections: from its first audio to the service's last result. */
export class Listening {
  readonly socket: ReconnectingSocket;
  readonly #options: ListeningOptions;
  readonly #life: Subscription = new Subscription();
  readonly #heardAll$ = new Subject<void>();
  readonly #over$ = new Subject<void>();
  #hasBegun: boolean = false;
  #isEnding: boolean = false;
  #isLeaving: boolean = false;

  constructor(options: ListeningOptions) {
    const { begin, gaps$ = EMPTY, onMessage, onError } = options;
    this.#options = options;
    const onFailure = (cause: unknown): void => onError(VoiceError.from(cause));
    this.socket = new ReconnectingSocket({ ...options.socket, replay: begin });
    const { messages$, errors$, connection$ } = this.socket;
    this.#life.add(messages$.subscribe({ next: onMessage, error: onFailure }));
    this.#life.add(errors$.subscribe({ next: onError, error: onFailure }));
    this.#life.add(connection$.subscribe({ next: (event) => this.#onConnection(event), error: onFailure }));
    this.#life.add(gaps$.subscribe({ error: onFailure }));
  }

  /** Whether the audio has ended and the service's confirmation is pending. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Whether the session has ended. */
  get isOver(): boolean {
    return this.#life.closed;
  }

  /** Whether only the farewell remains. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** The service has processed the audio to its end. */
  heardAll(): void {
    this.#heardAll$.next();
  }

  /** Lets the service finish; true when all its results have arrived. */
  async end({ timeoutMs, reconnect = false }: EndOptions): Promise<boolean> {
    const { uplink, scheduler, endsAudio, farewell } = this.#options;
    const deadline = scheduler.now() + timeoutMs;
    const leftMs = (): number => Math.max(0, deadline - scheduler.now());
    // The service needs some of the time to answer.
    if (uplink.isWaiting && timeoutMs > disposeMs) await this.#fed(timeoutMs - disposeMs);
    uplink.flush();
    if (endsAudio && (this.socket.isReady || reconnect) && !(await this.#heardOut(leftMs()))) {
      this.socket.terminate();
      return false;
    }
    this.#isLeaving = true;
    return this.socket.close({ ...farewell(), reconnect, timeoutMs: leftMs() });
  }

  /** Resolves when all audio was sent, when the session ends, or on timeout. */
  async #fed(timeoutMs: number): Promise<void> {
    const { uplink, scheduler } = this.#options;
    const fed$ = interval(feedMs, scheduler).pipe(filter(() => !uplink.isWaiting));
    await firstValueFrom(merge(fed$, this.#over$, patientTimer(timeoutMs, scheduler)), { defaultValue: undefined });
  }

  /** Ends the audio; resolves with whether the service processed all of it in time. */
  async #heardOut(timeoutMs: number): Promise<boolean> {
    const { uplink, scheduler } = this.#options;
    this.#isEnding = true;
    const heard$ = this.#heardAll$.pipe(map(() => true));
    const failed$ = merge(this.#over$, patientTimer(timeoutMs, scheduler)).pipe(map(() => false));
    const outcome = firstValueFrom(merge(heard$, failed$), { defaultValue: false });
    uplink.end();
    return outcome;
  }

  #onConnection(event: ConnectionEvent): void {
    const { begin, uplink, onConnection } = this.#options;
    const isOver = event.type === 'closed' || event.type === 'lost';
    if (event.type === 'connected' && !this.#hasBegun) {
      this.#hasBegun = true;
      for (const data of begin()) this.socket.send(data);
    }
    if (isOver || event.type === 'reconnecting') uplink.close();
    if (isOver) this.#life.unsubscribe();
    onConnection(event);
    if (isOver) this.#over$.next();
  }
}

/** Sends a stream of audio, connecting at its first chunk; emits once, when connected and everything is sent. */
export function sendAll(
  audio$: ObservableInput<AudioChunk>,
  stt: Pick<STTProvider, 'connect' | 'sendAudio'>,
): Observable<unknown> {
  return fromInput(audio$).pipe(
    tap((chunk) => stt.sendAudio(chunk)),
    connect((chunk$) => {
      const connected$ = chunk$.pipe(
        take(1),
        switchMap(() => stt.connect()),
      );
      return merge(connected$, chunk$).pipe(ignoreElements(), endWith(undefined));
    }),
  );
}

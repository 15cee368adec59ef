import { BehaviorSubject, interval, map, Subject, Subscription, tap, type Observable, type SchedulerLike } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { InputProvider } from '../core/roles.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import { eachEffect, fold, type Machine } from '../stream/fold.ts';
import { merge } from '../stream/merge.ts';
import { encodePageWire, type PageCommand } from '../transport/page-wire.ts';
import {
  followCall,
  newCall,
  pingMs,
  reportMs,
  type Call,
  type CallContext,
  type CallEffect,
  type CallInput,
  type Welcome,
} from './call-fold.ts';
import type { OpusStream, PageOpus } from './page-opus.ts';
import { messagesOf, type RemoteLink, type RemoteSocket } from './remote-link.ts';
import type { RemoteSpeaker } from './speaker.ts';

/** One conversation's ends. */
export interface CallOptions {
  readonly open: () => RemoteSocket;
  readonly microphone: InputProvider;
  readonly speaker: RemoteSpeaker;
  /** Asked for, and used if the server has it too. */
  readonly opus: PageOpus | undefined;
  readonly isMuted: () => boolean;
  readonly scheduler: SchedulerLike;
  readonly onEvent: (event: VoiceEvent) => void;
  readonly onLink: (link: RemoteLink) => void;
  /** The server's welcome: the first, or after a reconnect. */
  readonly onWelcome: (welcome: Welcome, isFirst: boolean) => void;
  /** Something failed, and the conversation goes on. */
  readonly onError: (error: VoiceError) => void;
  readonly onEnd: (error: VoiceError) => void;
}

/** How much a socket may buffer, in bytes. */
const maxBufferedBytes = 1024 * 1024;

/** A conversation with a server, over successive sockets: carries out what {@link followCall} decides. */
export class RemoteCall {
  readonly #options: CallOptions;
  readonly #own = new Subscription();
  readonly #inputs$ = new Subject<CallInput>();
  readonly #call$ = new BehaviorSubject(newCall);
  #socket: RemoteSocket | undefined;
  #encoder: OpusStream | undefined;
  #decoder: OpusStream | undefined;

  constructor(options: CallOptions) {
    this.#options = options;
  }

  /** Connects; ends with `close()`. */
  open(): void {
    const { scheduler, speaker, microphone, isMuted, onLink, onEnd } = this.#options;
    onLink({ type: 'connecting' });
    const data$ = messagesOf({
      open: this.#options.open,
      onOpen: (socket) => {
        this.#socket = socket;
        this.#happens({ type: 'open' });
      },
      resumeMs: () => this.#call$.value.welcome?.resumeMs,
      onRetry: (attempt, delayMs, error) => this.#happens({ type: 'lost', attempt, delayMs, error }),
      scheduler,
    });
    const input$: Observable<CallInput> = merge(
      this.#inputs$,
      data$.pipe(map((data) => ({ type: 'received', data }) as const)),
      microphone.audio$.pipe(
        map(({ data }) => ({ type: 'captured', audio: isMuted() ? new Uint8Array(data.length) : data }) as const),
      ),
      merge(speaker.moved$, interval(reportMs, scheduler)).pipe(map(() => ({ type: 'moved' }) as const)),
      interval(pingMs, scheduler).pipe(map(() => ({ type: 'ping' }) as const)),
    );
    const machine: Machine<Call, CallInput, CallEffect> = {
      start: newCall,
      reduce: (call, input) => followCall(call, input, this.#context()),
      wakeAt: () => Infinity,
      tick: { type: 'ping' },
    };
    const work$ = input$.pipe(
      fold(machine, scheduler),
      tap((step) => {
        this.#call$.next(step[0]);
        eachEffect(step, this.#enact);
      }),
    );
    this.#own.add(work$.subscribe({ error: (cause: unknown) => onEnd(VoiceError.from(cause)) }));
  }

  /** Sends a command, now or after reconnecting. */
  command(command: PageCommand): void {
    this.#happens({ type: 'command', command });
  }

  /** Says goodbye, and ends it. */
  close(): void {
    if (this.#call$.value.isLinked) this.#send(encodePageWire({ type: 'bye' }));
    this.#own.unsubscribe();
    this.#encoder?.close();
    this.#decoder?.close();
  }

  #happens(input: CallInput): void {
    this.#inputs$.next(input);
  }

  #context(): CallContext {
    const { scheduler, microphone, speaker, opus } = this.#options;
    const { readyState, bufferedAmount = 0 } = this.#socket ?? {};
    return {
      now: scheduler.now(),
      socket: readyState !== 1 ? 'closed' : bufferedAmount > maxBufferedBytes ? 'full' : 'open',
      hasOpus: opus !== undefined,
      rate: microphone.getMetadata().sampleRate,
      heard: speaker.heard,
      tailMs: speaker.tailMs,
    };
  }

  readonly #enact = (effect: CallEffect): void => {
    const { speaker, opus, onEvent, onLink, onWelcome, onError } = this.#options;
    if (this.#own.closed) return;
    switch (effect.type) {
      case 'send':
        this.#send(effect.data);
        break;
      case 'reconnect':
        this.#socket?.close();
        break;
      case 'link':
        onLink(effect.link);
        break;
      case 'welcome':
        onWelcome(effect.welcome, effect.isFirst);
        break;
      case 'event':
        onEvent(effect.event);
        break;
      case 'error':
        onError(effect.error);
        break;
      case 'begin':
        speaker.begin(effect.from, effect.paused);
        break;
      case 'push':
        speaker.push(effect.samples);
        break;
      case 'volume':
        speaker.setVolume(effect.value);
        break;
      case 'end':
      case 'pause':
      case 'resume':
      case 'stop':
        speaker[effect.type]();
        break;
      case 'decoder.open':
        this.#decoder?.close();
        this.#decoder = opus?.decoder((samples) => this.#happens({ type: 'decoded', samples }), this.#failed);
        break;
      case 'decoder.close':
        this.#decoder?.close();
        break;
      case 'decode':
        this.#decoder?.push(effect.packet);
        break;
      case 'encode':
        this.#encoder ??= opus?.encoder((packet) => this.#happens({ type: 'encoded', packet }), this.#failed);
        this.#encoder?.push(effect.frame);
        break;
      case 'encoder.close':
        this.#encoder?.close();
        this.#encoder = undefined;
    }
  };

  readonly #failed = (cause: unknown): void => this.#happens({ type: 'codec.failed', cause });

  #send(data: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === 1) this.#socket.send(data);
  }
}

import type { AudioMetadata } from '../../audio/types.ts';
import type { VoiceError, VoiceErrorCode } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { AuthType, Query, SocketCredentials } from '../../core/remote-provider.ts';
import type { SpeechEvent, TranscribedWord, Translation } from '../../core/roles.ts';
import type { HttpErrorFacts, HttpErrorOf } from '../../transport/http-error.ts';
import type {
  SocketClose,
  SocketData,
  SocketRequest,
  SocketRequestContext,
} from '../../transport/reconnecting-socket.ts';
import type { StreamingSTTConfig } from './streaming-stt-config.ts';
import type { STTNote } from './stt-notes.ts';
import type { STTHost, STTService } from './stt-service.ts';

export type { STTNote } from './stt-notes.ts';

/**
 * The kind of a result: `interim` may change, `preflight` announces a likely end, `segment` is final but not complete,
 * `complete` is the whole utterance.
 */
export type ResultKind = 'interim' | 'preflight' | 'segment' | 'complete';

/** What a result carries besides its text. */
export interface ResultDetails {
  /** 0 to 1. */
  readonly confidence?: number | undefined;
  readonly words?: readonly TranscribedWord[] | undefined;
  /** BCP 47. Default: the configured one. */
  readonly language?: string | undefined;
  /** Default: that of all the words. */
  readonly speaker?: string | undefined;
  /** The text in other languages. */
  readonly translations?: readonly Translation[] | undefined;
  /** Vendor-specific data, for `metadata`. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

/** Words, with their details. */
export interface Said extends ResultDetails {
  readonly text: string;
}

/** What a failure means, and what to do about it. */
export interface Failure {
  readonly code: VoiceErrorCode;
  /** The equivalent HTTP status. */
  readonly status?: number;
  /** Whether reconnecting may help. Default: false. */
  readonly recoverable?: boolean;
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly hint: string;
}

/** A service's failures, by its name or code for them. */
export type Failures = Readonly<Record<string, Failure>>;

/** For a failure in no table. */
export const unknownFailure: Failure = { code: 'server', recoverable: true, hint: 'reconnecting' };

/** Why a connection cannot continue. */
export type STTFault =
  /** The service's name or code for it, explained by the wire's `failures`, and the service's own message. */
  | { readonly kind: string | number; readonly sentence?: string | undefined }
  /** A failure without a name of the service's; `message` follows the provider's name. */
  | (Omit<Failure, 'hint'> & { readonly message: string });

/**
 * A wire's effects, carried out in order. Where channels are transcribed apart, several utterances are open at once: an
 * effect's `channel`, from 0, says which it concerns. By default, it concerns all audio.
 */
export type STTEffect =
  /** The state of the speaker's voice, and the connection time of the change, if known; repetitions are ignored. */
  | {
      readonly type: 'voice';
      readonly is: SpeechEvent['type'];
      readonly ms?: number | undefined;
      readonly channel?: number | undefined;
    }
  /** The full text of the utterance so far. All results up to a `complete` one belong to one utterance. */
  | ({ readonly type: 'result'; readonly kind: ResultKind; readonly channel?: number | undefined } & Said)
  /** The utterance is over: its latest words are its final text. */
  | { readonly type: 'finish'; readonly channel?: number | undefined }
  /** Whatever follows belongs to another utterance. */
  | { readonly type: 'reset'; readonly channel?: number | undefined }
  /** The audio before a connection time, in milliseconds, is final: the next connection starts there. */
  | { readonly type: 'finalized'; readonly ms: number; readonly channel?: number | undefined }
  /** What the service tells besides its results, for the class's `onNote()`. */
  | { readonly type: 'note'; readonly note: STTNote }
  /** A message; objects are sent as JSON. */
  | { readonly type: 'send'; readonly message: WireObject | SocketData }
  /** A message about the audio so far: sent after that audio, on whichever connection carries it. */
  | { readonly type: 'send-after-audio'; readonly message: WireObject | string }
  /** Sends silence that is not part of the audio. */
  | { readonly type: 'silence'; readonly ms: number }
  /** Like `silence`, after the audio so far. */
  | { readonly type: 'silence-after-audio'; readonly ms: number }
  /** Ends the audio, as at the end of the session; what follows waits for `begin-again`. */
  | { readonly type: 'end-audio' }
  /** A non-fatal error. Each text is reported once, unless `always`. */
  | { readonly type: 'warning'; readonly text: string; readonly code?: VoiceErrorCode; readonly always?: boolean }
  /** A line for the debug log. */
  | { readonly type: 'log'; readonly text: string }
  /** Gives up the connection, reconnecting if that may help. */
  | ({ readonly type: 'failure' } & STTFault)
  /** Reconnects at once. */
  | { readonly type: 'reconnect' }
  /** The service starts over on the same connection: `begin`, then all audio that is not final. */
  | { readonly type: 'begin-again' }
  /** The service has processed the audio to its end; see `endsAudio`. */
  | { readonly type: 'heard-all' }
  /** The next connection requests a new address; see `keepsAddress`. */
  | { readonly type: 'forget-address' };

/** A step of a wire: its next state, then its effects. */
export type STTStep<S> = readonly [state: S, ...effects: STTEffect[]];

/** What a wire can read. Live values. */
export interface STTContext<C> {
  readonly config: Readonly<C>;
  /** The format of the audio being sent. */
  readonly format: AudioMetadata;
  /** The scheduler's time, in milliseconds. */
  readonly now: number;
  /** Milliseconds of audio and silence on the service's clock. */
  readonly sentMs: number;
  /** Frames sent on this connection. */
  readonly sentFrames: number;
  /** End of the audio so far, in milliseconds of the connection; `undefined` without one. */
  readonly audioEndMs: number | undefined;
  /** Milliseconds of audio that the service has not made final. */
  readonly pendingMs: number;
  /** Whether the audio has ended and the service's confirmation is pending. */
  readonly isEnding: boolean;
  /** Whether the connection reuses the previous address; see `keepsAddress`. */
  readonly isResumed: boolean;
  /** Converts a connection time to a position in all audio, in milliseconds. */
  readonly toAudioMs: (connectionMs: number) => number;
  /**
   * Whether the audio before a connection time was already final, so that its results are repeats. Of several channels,
   * each has its own; the next connection starts where the first of them is not final.
   */
  readonly isFinal: (connectionMs: number, channel?: number) => boolean;
  /**
   * Converts the wire's words, whose `start` and `end` count from the connection's start.
   *
   * @param unitMs - Milliseconds per unit. Default: 1,000.
   */
  readonly words: (
    value: unknown,
    textOf: (word: WireObject) => string | undefined,
    unitMs?: number,
  ) => TranscribedWord[];
}

/** How a connection is kept alive during silence. */
export interface STTKeepAlive {
  /** Default: 8,000. */
  readonly intervalMs?: number;
  /** Whether it is only needed after an interval without audio. Default: false. */
  readonly whenQuiet?: boolean;
}

/** Reads a message. Typed as a method, so that a wire of any state fits. */
export type STTReader<C, S> = {
  /** The next state and its effects. Pure. */
  read(state: S, message: WireObject, context: STTContext<C>): STTStep<S>;
}['read'];

/** An additional operation. */
export type STTCommand<C, S> = {
  /** The next state and its effects. Pure. */
  tell(state: S, context: STTContext<C>): STTStep<S>;
}['tell'];

/**
 * How a service is spoken to, and what its messages mean.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The wire's state.
 */
export interface STTDialect<C extends StreamingSTTConfig, S> {
  /** The initial state. */
  start(): S;
  /** Readers by message type. Other types are ignored. */
  readonly read: Readonly<Record<string, STTReader<C, S>>>;
  /**
   * Operations of the class, by name. `finalize` asks for the final result of the audio so far; its answer is a complete
   * result, or `reset` if there is nothing new.
   */
  readonly commands?: Readonly<Record<string, STTCommand<C, S>>>;

  /** Address and credential of one connection. Default: from `path` and `query`. */
  request?(context: SocketRequestContext): Promise<SocketRequest>;
  /** The path below the base address. */
  readonly path?: string;
  /** The query parameters. */
  query?(context: STTContext<C>): Query;
  /** How an upgrade presents the credential. Default: the Authorization header, or subprotocols in a browser. */
  credentials?(key: string, config: Readonly<C>, authType: AuthType): SocketCredentials;
  /** Whether reconnects reuse the address, until the effect `forget-address`. Default: false. */
  readonly keepsAddress?: boolean;

  /** Applies changed keys to the running session. Default, and for `undefined`: reconnect. */
  reconfigure?(state: S, changed: Partial<C>, context: STTContext<C>): STTStep<S> | undefined;

  /** Longest wait for the answer to `finalize`, in milliseconds: then the latest words are final. Default: 2,000. */
  readonly finalMs?: number;
  /** What else to do when the answer to `finalize` did not come. */
  overdue?(state: S, context: STTContext<C>): readonly STTEffect[];

  /** Parses a message; `undefined` if unreadable. Must not throw. Default: JSON. */
  decode?(data: SocketData): WireObject | undefined;
  /** A message's type, for `read`. Default: its `type` field. */
  typeOf?(message: WireObject, state: S): string | undefined;
  /** The service's id of the session, in a message that has one: its support asks for it. */
  requestIdOf?(message: WireObject): unknown;
  /** The query parameter of the address that has the id of the session. */
  readonly idParameter?: string;
  /** Reads each message before its reader does; its effects come first, so that a voice need not wait for its words. */
  readonly each?: STTReader<C, S>;

  /** A new connection is being opened: nothing sent before still applies. */
  connecting?(state: S, context: STTContext<C>): STTStep<S>;
  /** What to send as soon as the connection is open. */
  opening?(context: STTContext<C>): readonly SocketData[];
  /** Whether a message marks the service as ready. Default: it is ready once the connection is open. */
  isReady?(message: WireObject): boolean;
  /**
   * The service is ready; messages sent here precede the audio.
   *
   * @param id - 32 hex digits that identify what it hears from here on.
   */
  begin?(state: S, context: STTContext<C>, id: string): STTStep<S>;
  /**
   * Where a connection resumes, in milliseconds of all audio; `undefined` to resend what is not final, on a new clock.
   */
  resumesAtMs?(state: S, context: STTContext<C>): number | undefined;
  /** Called with the application's audio, connected or not. */
  hear?(state: S, data: Uint8Array<ArrayBuffer>, context: STTContext<C>): STTStep<S>;
  /** How the connection is kept alive; `undefined` for pings only. */
  keepAlive?(config: Readonly<C>): STTKeepAlive;
  /** What a keep-alive sends besides the ping; `canPing` says whether there is one. */
  tick?(state: S, context: STTContext<C>, canPing: boolean): STTStep<S>;
  /** Interval between checks for missing audio, in milliseconds. Default: never. */
  readonly gapMs?: number;
  /** There was no audio for a multiple of `gapMs`; see {@link silenceInGaps}. */
  gap?(state: S, quietMs: number, context: STTContext<C>): STTStep<S>;

  /** Encodes audio for the service. Default: unchanged. */
  encode?(frame: Uint8Array<ArrayBuffer>, state: S, context: STTContext<C>): SocketData;
  /** Shortest frame that the service accepts, in milliseconds. Default: 0. */
  readonly minFrameMs?: number;
  /** Maximum speed for queued audio, as a multiple of real time. Default: no limit. */
  readonly catchUpSpeed?: number;
  /**
   * Silence after which the service ends an utterance, in milliseconds: of pauses in queued audio, what is longer is not
   * sent where there is a `catchUpSpeed`. Default: 3,000.
   */
  endingMs?(config: Readonly<C>): number;
  /** Whether an empty frame ends the audio, and the service confirms it; see `heard-all`. Not with `minFrameMs`. */
  readonly endsAudio?: boolean;
  /** Milliseconds of speech without an answer after which the connection counts as dead. Default: 10,000. */
  readonly silenceTimeoutMs?: number;
  /** Whether the service sends messages about any audio, so that none means that it is dead. Default: false. */
  promisesMessages?(config: Readonly<C>): boolean;

  /** What the service's failures and close codes mean. */
  readonly failures?: Failures;
  /** What else a fault's error says. Default: nothing. */
  factsOf?(fault: STTFault, error: VoiceError): HttpErrorFacts | undefined;
  /** What a close means. Default, and for `undefined`: as in `failures`, else a lost connection. */
  closes?(close: SocketClose, context: STTContext<C>): STTFault | undefined;
  /** With `keepsAddress`: whether a close invalidates the address. */
  forgets?(close: SocketClose): boolean;
  /** What this service's refusals of an upgrade mean beyond their status. */
  readonly refusals?: HttpErrorOf;

  /** All audio was sent; the farewell follows. */
  leave?(state: S, context: STTContext<C>): STTStep<S>;
  /** What to send at the end of a session, on whichever connection. Default: nothing. */
  farewell?(state: S, context: STTContext<C>): readonly SocketData[];
  /** Whether a message is the last one. Default: after a farewell, the service closes. */
  isLast?(message: WireObject, state: S, context: STTContext<C>): boolean;
  /** The session has ended. Default: the latest words become final (`finish`). */
  end?(state: S, context: STTContext<C>): STTStep<S>;
}

/**
 * A streaming speech-to-text service as data: its address, what to send, what its messages mean. All of it is pure;
 * `StreamingSTT` runs it, and owns the connection, the audio, replay, keep-alive, errors and the clock.
 *
 * A provider is one file, or two when its facts are many:
 *
 * 1. its configuration type, and `rules` for it;
 * 2. its state `S`: an immutable object, holding what the service has sent and the application has not received yet. Leave
 *    out what the {@link STTContext} provides: positions, frames, what is final, the configuration;
 * 3. the wire: always `name`, `baseUrl`, `accepts`, `rules`, `start` and `read`; the rest as the service requires;
 * 4. the class: a constructor that passes the wire to `StreamingSTT`, and a line for each of the wire's `commands` except
 *    `finalize`, which `StreamingSTT` has: `configure(): void { this.tell('configure') }`.
 *
 * A step returns the next state and its effects in order; {@link heard} and {@link completed} are the usual two. A
 * reader may throw, which costs only that message. I/O, such as a request before the connection or a signature, does
 * not belong in the wire: the class overrides `request()`, `resolveSocketCredentials()`, `socketOptions()` or
 * `failure()`.
 *
 * A session runs `start`, then for each connection `connecting`, `opening`, `begin` and messages, and finally `leave`
 * and `end`. The state outlives a lost connection; `begin` decides what to keep of it.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The wire's state.
 */
export interface STTWire<C extends StreamingSTTConfig, S> extends STTService<C>, STTDialect<C, S> {}

/** A service whose dialect is code that a page loads when it is needed. */
export interface LateSTTWire<C extends StreamingSTTConfig, S = unknown> extends STTService<C> {
  /** Loads it; awaited by `initialize()`. */
  load(this: void, host: STTHost<C>): Promise<STTDialect<C, S>>;
}

/** The effects as those of a channel; `undefined` for audio that is transcribed as one. */
export function onChannel(channel: number | undefined, effects: readonly STTEffect[]): readonly STTEffect[] {
  return channel === undefined ? effects : effects.map((effect) => ({ ...effect, channel }));
}

/** Speech has started, with words that may change. */
export function heard(said: Said): readonly STTEffect[] {
  return [
    { type: 'voice', is: 'started' },
    { type: 'result', kind: 'interim', ...said },
  ];
}

/** Speech has ended, with its complete text. */
export function completed(said: Said): readonly STTEffect[] {
  return [
    { type: 'voice', is: 'ended' },
    { type: 'result', kind: 'complete', ...said },
  ];
}

/** Longest utterance put together from pieces, in characters: an hour of speech. */
const maxUtteranceLength = 65_536;

/**
 * Whether an utterance has `maxPieces` pieces (some minutes of speech), or more text than anyone speaks. It is then
 * completed without waiting for the service.
 */
export function isEndless(pieces: readonly { readonly text: string }[], maxPieces: number): boolean {
  return (
    pieces.length >= maxPieces || pieces.reduce((length, { text }) => length + text.length, 0) > maxUtteranceLength
  );
}

/** The warning when an utterance {@link isEndless}. */
export const endless: STTEffect = {
  type: 'warning',
  code: 'overflow',
  always: true,
  text: 'the service did not end an overlong utterance, so it was ended here: check how it detects the end of speech',
};

/** Finished results or turns to remember: late messages concern the newest. */
const remembered = 8;

/** Notes what has finished. Any number may be next: one far ahead must not make those that follow look late. */
export function withFinished<T>(finished: readonly T[], id: T | undefined): readonly T[] {
  return id === undefined ? finished : [id, ...finished].slice(0, remembered);
}

/**
 * For `gap`: replaces missing audio with silence until the utterance has ended, then occasionally.
 *
 * @param gapMs - The wire's `gapMs`.
 * @param endingMs - How long to fill continuously.
 * @param idleMs - Interval after that.
 */
export function silenceInGaps(gapMs: number, endingMs: number, idleMs: number) {
  return <S>(state: S, quietMs: number): STTStep<S> =>
    quietMs <= endingMs || quietMs % idleMs === 0 ? [state, { type: 'silence', ms: gapMs }] : [state];
}

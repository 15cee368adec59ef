import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceErrorCode } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { AuthType, Query, SocketCredentials } from '../../core/remote-provider.ts';
import type { SpeechEvent, TranscribedWord } from '../../core/roles.ts';
import type { HttpErrorOf } from '../../transport/http-error.ts';
import type { SocketClose, SocketData } from '../../transport/reconnecting-socket.ts';
import type { StreamingSTTConfig } from './streaming-stt-config.ts';

/**
 * What a result is: `interim` may change, `preflight` announces a likely end, `segment` will not change but is not all,
 * `complete` is the whole utterance.
 */
export type ResultKind = 'interim' | 'preflight' | 'segment' | 'complete';

/** What a result brings beside its text. */
export interface ResultDetails {
  /** 0 to 1. */
  readonly confidence?: number | undefined;
  readonly words?: readonly TranscribedWord[] | undefined;
  /** BCP 47. Default: the configured one. */
  readonly language?: string | undefined;
  /** What the vendor says beyond that, for `metadata`. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

/** Words, and what is known of them. */
export interface Said extends ResultDetails {
  readonly text: string;
}

/** What a failure means, and what to do about it. */
export interface Failure {
  readonly code: VoiceErrorCode;
  /** The HTTP status that it stands for. */
  readonly status?: number;
  /** Whether another connection may do better. Default: false. */
  readonly recoverable?: boolean;
  /** How long the service wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly hint: string;
}

/** A service's failures, by its word or code for them. */
export type Failures = Readonly<Record<string, Failure>>;

/** A failure that no table has. */
export const unknownFailure: Failure = { code: 'server', recoverable: true, hint: 'another connection follows' };

/** Why a connection cannot go on. */
export type STTFault =
  /** The service's word or code for it, which the wire's `failures` explain, and the service's sentence about it. */
  | { readonly kind: string | number; readonly sentence?: string | undefined }
  /** A failure that the service has no word for; `message` follows the provider's name. */
  | (Omit<Failure, 'hint'> & { readonly message: string });

/** What a wire asks of the runner. Enacted in order. */
export type STTEffect =
  /** What becomes of the speaker's voice; told once, however often it is said. */
  | { readonly type: 'voice'; readonly is: SpeechEvent['type'] }
  /** The text of the whole utterance so far. Until one is `complete`, all results are of one utterance. */
  | ({ readonly type: 'result'; readonly kind: ResultKind } & Said)
  /** Nothing more comes of the utterance: its newest words are all of it. */
  | { readonly type: 'finish' }
  /** What comes next belongs to another utterance. */
  | { readonly type: 'reset' }
  /** The service needs no audio before a moment of the connection, in milliseconds: the next connection hears the rest. */
  | { readonly type: 'finalized'; readonly ms: number }
  /** A message, an object as JSON. */
  | { readonly type: 'send'; readonly message: WireObject | SocketData }
  /** A message about the audio so far: it follows that audio, to whichever connection hears it. */
  | { readonly type: 'send-after-audio'; readonly message: WireObject | string }
  /** Silence that is no part of the audio. */
  | { readonly type: 'silence'; readonly ms: number }
  /** An error that ends nothing. Each text is reported once, unless `always`. */
  | { readonly type: 'warning'; readonly text: string; readonly code?: VoiceErrorCode; readonly always?: boolean }
  /** A line for the debug log. */
  | { readonly type: 'log'; readonly text: string }
  /** The connection is given up, and replaced where that may help. */
  | ({ readonly type: 'failure' } & STTFault)
  /** Another connection follows at once. */
  | { readonly type: 'reconnect' }
  /** The service begins anew on the same connection: `begin`, then all audio that is not final. */
  | { readonly type: 'begin-again' }
  /** The service has heard the audio to its end; see `endsAudio`. */
  | { readonly type: 'heard-all' }
  /** The next connection asks for an address of its own; see `keepsAddress`. */
  | { readonly type: 'forget-address' };

/** A step of a wire: its next state, then what it asks for. */
export type STTStep<S> = readonly [state: S, ...effects: STTEffect[]];

/** What a wire may know. Live facts, read only. */
export interface STTContext<C> {
  readonly config: Readonly<C>;
  /** The format of the audio that is sent. */
  readonly format: AudioMetadata;
  /** 32 hex digits, others each time that a service begins to hear. */
  readonly id: string;
  /** The scheduler's time, in milliseconds. */
  readonly now: number;
  /** Milliseconds of audio and silence that were sent, and sent again, since the service's clock began. */
  readonly sentMs: number;
  /** Frames that this connection has been sent. */
  readonly sentFrames: number;
  /** Where the audio so far ends, in milliseconds of the connection; `undefined` without one. */
  readonly audioEndMs: number | undefined;
  /** Milliseconds of audio that the service has not made final. */
  readonly pendingMs: number;
  /** Whether the audio has ended, and the service is to say that it has heard all of it. */
  readonly isEnding: boolean;
  /** Whether the connection has the address of the one before; see `keepsAddress`. */
  readonly isResumed: boolean;
  /** Position in all audio, in milliseconds, of a moment of the connection. */
  readonly toAudioMs: (connectionMs: number) => number;
  /** Whether the audio before a moment of the connection was final already: what is said of it was said before. */
  readonly isFinal: (connectionMs: number) => boolean;
  /**
   * Words of the wire, whose `start` and `end` count from the connection's start.
   *
   * @param unitMs - Milliseconds of a unit of theirs. Default: 1,000.
   */
  readonly words: (
    value: unknown,
    textOf: (word: WireObject) => string | undefined,
    unitMs?: number,
  ) => TranscribedWord[];
}

/** How a connection is held while nothing is said. */
export interface STTKeepAlive {
  /** Default: 8,000. */
  readonly intervalMs?: number;
  /** Whether it matters only after an interval without audio. Default: false. */
  readonly whenQuiet?: boolean;
}

/** What a message does. A method's type, so that wires of any state are wires. */
export type STTReader<C, S> = {
  /** What becomes of the state, and what follows. Pure. */
  read(state: S, message: WireObject, context: STTContext<C>): STTStep<S>;
}['read'];

/** What an extra operation does. */
export type STTCommand<C, S> = {
  /** What becomes of the state, and what follows. Pure. */
  tell(state: S, context: STTContext<C>): STTStep<S>;
}['tell'];

/**
 * A streaming speech-to-text service as data: where it is, what it is told, what its messages mean. All of it is pure;
 * `StreamingSTT` runs it, and owns the connection, the audio, replay, keep-alive, errors and the clock.
 *
 * A provider is one file (`alpha-stt.ts` is the example), or two when its facts are many:
 *
 * 1. its configuration type, and `rules` for it;
 * 2. its state `S`: an immutable object, of what the service has said and the application has not been told. What the
 *    runner knows is in the {@link STTContext} and needs no state: positions, frames, what is final, the configuration;
 * 3. the wire: `name`, `baseUrl`, `accepts`, `rules`, `start` and `read` always; the rest where the service needs it;
 * 4. the class: a constructor that hands the wire to `StreamingSTT`, and a line for each operation of its own:
 *    `finalize(): void { this.tell('finalize') }`.
 *
 * A step returns the next state and effects in the order in which they are to happen; {@link heard} and {@link completed}
 * are the usual two. A reader may throw, which costs that message only. What needs I/O, such as a request before the
 * connection or a signature, is not of the wire: the class overrides `request()`, `resolveSocketCredentials()`,
 * `socketOptions()` or `failure()`.
 *
 * One session goes: `start`, then for each connection `connecting`, `opening`, `begin`, messages, and at last `leave`,
 * `end`. The state outlives a lost connection: `begin` says what of it does.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - What the wire remembers.
 */
export interface STTWire<C extends StreamingSTTConfig, S> {
  /** The class's name. */
  readonly name: string;
  /** Scheme, host and fixed path prefix; `undefined` when only the user knows it. */
  baseUrl(config: Readonly<C>): string | undefined;
  /** Formats that the service takes, best first. */
  accepts(config: Readonly<C>): readonly AudioFormat[];
  /** What the configuration may hold. */
  readonly rules: ConfigRules;
  /** The state before anything was heard. */
  start(): S;
  /** What the service's messages do, by their type. A type that is not here is ignored. */
  readonly read: Readonly<Record<string, STTReader<C, S>>>;
  /** Operations of the class beside the role's, by their name. */
  readonly commands?: Readonly<Record<string, STTCommand<C, S>>>;

  /** Where the service listens, from the base address on. */
  readonly path?: string;
  /** What the address says beside the path. */
  query?(context: STTContext<C>): Query;
  /** How an upgrade presents a credential. Default: the Authorization header, and the subprotocols of SPEC.md. */
  credentials?(key: string, config: Readonly<C>, authType: AuthType): SocketCredentials;
  /** Default: `token`. */
  authType?(config: Readonly<C>): AuthType;
  /** The configuration key that holds the credential, for errors. Default: `apiKey`. */
  readonly credentialKey?: string;
  /** Longest wait for a connection, in milliseconds, where none is configured. Default: 10,000. */
  connectTimeoutMs?(config: Readonly<C>): number;
  /** Whether a lost connection is replaced at the same address, until the effect `forget-address`. Default: false. */
  readonly keepsAddress?: boolean;

  /** What is wrong with the configuration beside the rules, as a sentence. */
  conflict?(config: Readonly<C>, isProxyMode: boolean): string | undefined;
  /** Models that the service has retired, and what to take in their place. */
  readonly retired?: Readonly<Record<string, string>>;
  /** Keys that the service is not told: they change without another connection. */
  readonly ownKeys?: readonly string[];
  /** Applies changed keys to the running session. Default, and for `undefined`: another connection. */
  reconfigure?(state: S, changed: Partial<C>, context: STTContext<C>): STTStep<S> | undefined;

  /** Whether `speech$` tells when a voice falls silent. Default: false. */
  readonly reportsSpeechEnd?: boolean;
  /** A message as an object; `undefined` for one that cannot be read. Must not throw. Default: JSON. */
  decode?(data: SocketData): WireObject | undefined;
  /** What a message is, for `read`. Default: its `type`. */
  typeOf?(message: WireObject, state: S): string | undefined;
  /** Looks at a message before its reader does. */
  each?(state: S, message: WireObject, context: STTContext<C>): STTStep<S>;

  /** An address is asked for: of what the service was told before, nothing counts. */
  connecting?(state: S, context: STTContext<C>): STTStep<S>;
  /** What the service is told as soon as the connection is open. */
  opening?(context: STTContext<C>): readonly SocketData[];
  /** Whether a message says that the service is ready to hear. Default: it is as soon as the connection is open. */
  isReady?(message: WireObject): boolean;
  /** The service begins to hear; what is sent here goes before the audio. */
  begin?(state: S, context: STTContext<C>): STTStep<S>;
  /** Where a connection goes on, in milliseconds of all audio; `undefined` for what is not final, by a clock of its own. */
  resumesAtMs?(state: S, context: STTContext<C>): number | undefined;
  /** The application has given audio, whether or not there is a connection. */
  hear?(state: S, data: Uint8Array<ArrayBuffer>, context: STTContext<C>): STTStep<S>;
  /** How the connection is held; `undefined` leaves it to pings alone. */
  keepAlive?(config: Readonly<C>): STTKeepAlive;
  /** What a keep-alive does beside the ping; `canPing` tells whether there is one. */
  tick?(state: S, context: STTContext<C>, canPing: boolean): STTStep<S>;
  /** How often to look for missing audio, in milliseconds. Default: never. */
  readonly gapMs?: number;
  /** There was no audio for a multiple of `gapMs`; see {@link silenceInGaps}. */
  gap?(state: S, quietMs: number, context: STTContext<C>): STTStep<S>;

  /** Audio as the service wants it. Default: as it is. */
  encode?(frame: Uint8Array<ArrayBuffer>, state: S, context: STTContext<C>): SocketData;
  /** Shortest frame that the service takes, in milliseconds. Default: 0. */
  readonly minFrameMs?: number;
  /** How many times as fast as it sounds the service takes audio. Default: as fast as it goes. */
  readonly catchUpSpeed?: number;
  /** Whether an empty frame ends the audio, which the service answers; see `heard-all`. Not with `minFrameMs`. */
  readonly endsAudio?: boolean;
  /** Milliseconds of speech without a word of the service after which the connection counts as dead. Default: 10,000. */
  readonly silenceTimeoutMs?: number;

  /** What the service's failures mean, and its close codes. */
  readonly failures?: Failures;
  /** What the end of a connection means. Default, and for `undefined`: what `failures` say of its code, else a loss. */
  closes?(close: SocketClose, context: STTContext<C>): STTFault | undefined;
  /** With `keepsAddress`: whether the end of a connection ends what its address stands for. */
  forgets?(close: SocketClose): boolean;
  /** What this service's refusals of an upgrade mean beyond their status. */
  readonly refusals?: HttpErrorOf;

  /** All audio was sent; the farewell follows. */
  leave?(state: S, context: STTContext<C>): STTStep<S>;
  /** What is said at the end of a session, on whichever connection. Default: nothing. */
  farewell?(state: S, context: STTContext<C>): readonly SocketData[];
  /** Whether a message that was read is the last one. Default: after a farewell, the service closes. */
  isLast?(message: WireObject, state: S, context: STTContext<C>): boolean;
  /** The session has ended. Default: the newest words are all that will come (`finish`). */
  end?(state: S, context: STTContext<C>): STTStep<S>;
}

/** A voice is heard, and words of it that may change. */
export function heard(said: Said): readonly STTEffect[] {
  return [
    { type: 'voice', is: 'started' },
    { type: 'result', kind: 'interim', ...said },
  ];
}

/** The voice has fallen silent, and all that it said is known. */
export function completed(said: Said): readonly STTEffect[] {
  return [
    { type: 'voice', is: 'ended' },
    { type: 'result', kind: 'complete', ...said },
  ];
}

/**
 * For `gap`: silence stands in for missing audio until an utterance has ended, after that at times.
 *
 * @param gapMs - The wire's own.
 * @param endingMs - For how long.
 * @param idleMs - How often after that.
 */
export function silenceInGaps(gapMs: number, endingMs: number, idleMs: number) {
  return <S>(state: S, quietMs: number): STTStep<S> =>
    quietMs <= endingMs || quietMs % idleMs === 0 ? [state, { type: 'silence', ms: gapMs }] : [state];
}

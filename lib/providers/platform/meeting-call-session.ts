import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  EMPTY,
  ignoreElements,
  lastValueFrom,
  startWith,
  Subscription,
  tap,
  type BehaviorSubject,
  type Observable,
  type SchedulerLike,
  type Subject,
} from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import { messageOf, type VoiceError, type VoiceErrorCode, type VoiceErrorOptions } from '../../core/errors.ts';
import { asNumber } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { DeviceEvent } from '../../core/roles.ts';
import type { ContextOptions } from '../../playback/audio-context.ts';
import { merge } from '../../stream/merge.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { listenTo } from './listenable.ts';
import { hearMeeting, isOwnVoice, keepOwnVoice } from './meeting-call-audio.ts';
import type {
  CallAgentLike,
  CallCredentialLike,
  LocalAudioStreamLike,
  MeetingCallLike,
  MeetingCallPackages,
  MeetingLocatorLike,
} from './meeting-call-packages.ts';
import type { MeetingEnd } from './meeting-input.ts';

/** The meeting to join: exactly one of `meetingLink`, `meetingId`, `groupId` and `roomId`. */
export interface MeetingPlace {
  /** The meeting's address, such as `https://teams.microsoft.com/l/meetup-join/…`. */
  readonly meetingLink?: string;
  /** The meeting's id, as its invitation shows it. */
  readonly meetingId?: string;
  /** The passcode that belongs to the `meetingId`. Default: none. */
  readonly passcode?: string;
  /** The id of a group call of Azure Communication Services: a UUID. */
  readonly groupId?: string;
  /** The id of a room of Azure Communication Services. */
  readonly roomId?: string;
}

/** How to join it. */
export interface MeetingTerms extends MeetingPlace {
  /** A user access token, or a function that fetches one. */
  readonly token: string | (() => Promise<string>);
  /** The agent's name in the meeting. Default: none. */
  readonly displayName?: string;
}

/** State of a call. */
export type MeetingCallState = 'InLobby' | 'Connected' | 'Disconnected';

/** A state of a call, with the platform's own name for it. */
export interface MeetingCallStateChange {
  /** `InLobby` until admitted, then `Connected` (also while on hold), then `Disconnected`. */
  readonly state: MeetingCallState;
  /** The platform's own name: `None`, `Connecting`, `Ringing`, `InLobby`, `EarlyMedia`, `Connected`, `LocalHold`, … */
  readonly raw: string;
}

/** The platform's ten states. */
export const callStates: Readonly<Record<string, MeetingCallState>> = {
  None: 'InLobby',
  Connecting: 'InLobby',
  Ringing: 'InLobby',
  EarlyMedia: 'InLobby',
  InLobby: 'InLobby',
  Connected: 'Connected',
  LocalHold: 'Connected',
  RemoteHold: 'Connected',
  Disconnecting: 'Disconnected',
  Disconnected: 'Disconnected',
};

/** Why a call ended, by the service's subcodes. */
const endings: Readonly<Record<number, string>> = {
  4097: 'the organizer ended the meeting for everyone',
  4507: 'the token is no longer valid',
  5000: 'someone in the meeting removed the agent',
  5300: 'someone in the meeting removed the agent',
  5723: 'the meeting admits no guests',
  5829: 'the meeting is not open',
  5854: 'someone in the meeting turned it away from the lobby',
  5855: 'nobody let it in from the lobby',
  7000: 'a bot or the service ended the call',
  10009: 'the token is no longer valid',
  10110: 'the call has lasted as long as the service allows',
};

/** Subcodes that are failures although the service counts them as normal ends: broken off, and never let in. */
const failures: readonly number[] = [4521, 5854, 5855];
/** Codes of a network that failed for good. */
const lostCodes: readonly number[] = [410, 490, 491, 496, 497, 498];
/** Subcodes whose error is not `connection`. */
const codes: Readonly<Record<number, VoiceErrorCode>> = {
  4507: 'unauthorized',
  5723: 'forbidden',
  10009: 'unauthorized',
};

/** What the service rejects before a call begins, by subcode. */
const refusals: Readonly<Record<number, string>> = {
  40210: 'the meetingLink is not valid',
  40228: 'this identity is already used by another call agent: dispose that one or use another identity',
  40234: 'the token could not be renewed',
  40235: 'the token has expired',
  44109: 'the token is empty',
  44113: 'the token lacks the scope voip',
};

/** The provider's side of a {@link MeetingCallSession}. */
export interface MeetingCallHost {
  /** How the meeting is captured. */
  readonly context: ContextOptions;
  /** Sample rate of the audio, in Hz. */
  readonly sampleRate: number;
  readonly scheduler: SchedulerLike | undefined;
  readonly logger: Logger;
  readonly callState$: Subject<MeetingCallStateChange>;
  readonly muted$: BehaviorSubject<boolean>;
  readonly error: (problem: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  readonly complain: (problem: string, options: Omit<VoiceErrorOptions, 'provider'>) => void;
  readonly hear: (chunk: AudioChunk) => void;
  readonly tell: (event: DeviceEvent) => void;
  /** The call has ended. */
  readonly ended: (end: MeetingEnd) => void;
}

/** One call: joins the meeting, follows it, and leaves. */
export class MeetingCallSession {
  readonly #host: MeetingCallHost;
  readonly #work = new Subscription();
  #parts: MeetingCallParts | undefined;
  #call: MeetingCallLike | undefined;
  #local: LocalAudioStreamLike | undefined;
  #left: Promise<void> = Promise.resolve();

  constructor(host: MeetingCallHost) {
    this.#host = host;
  }

  /** The package's own call, until it has ended. */
  get call(): MeetingCallLike | undefined {
    return this.#call;
  }

  /** Resolves when the package's objects of a call that has ended are released. */
  get left(): Promise<void> {
    return this.#left;
  }

  /** Joins the meeting, and says there what `voice` says. */
  async join(
    { calling, common }: MeetingCallPackages,
    terms: MeetingTerms,
    voice: MediaStream,
    signal: AbortSignal,
  ): Promise<void> {
    const { token, displayName } = terms;
    const { AzureCommunicationTokenCredential: Credential } = common;
    const credential =
      typeof token === 'string'
        ? new Credential(token)
        : new Credential({ tokenRefresher: () => token(), refreshProactively: true });
    this.#parts = { credential };
    try {
      const client = new calling.CallClient();
      const agent = await client.createCallAgent(credential, { ...(displayName && { displayName }) });
      this.#parts = { credential, agent };
      signal.throwIfAborted();
      const local = new calling.LocalAudioStream(voice);
      const audioOptions = { muted: false, localAudioStreams: [local] };
      this.#local = local;
      const call = agent.join(locatorOf(terms), { audioOptions });
      this.#parts = { credential, agent, call };
      this.#follow(call, local);
    } catch (cause) {
      this.#local = undefined;
      await this.#leave();
      const refusal = refusalOf(cause);
      throw refusal ? this.#host.error(refusal.why, { code: refusal.code }) : cause;
    }
  }

  /** Says in the meeting what another stream says from now on. */
  speakWith(voice: MediaStream): void {
    this.#local
      ?.setMediaStream(voice)
      .catch((cause: unknown) => this.#host.complain(messageOf(cause), { code: 'device', recoverable: true, cause }));
  }

  /** @throws VoiceError `device` while the meeting would hear the microphone, `forbidden` when it does not allow it. */
  async unmute(): Promise<void> {
    const call = this.#call;
    if (!call) throw this.#host.error('there is no call', { code: 'not_ready' });
    if (!isOwnVoice(call, this.#local)) {
      throw this.#host.error('the meeting would hear the microphone instead of the agent', { code: 'device' });
    }
    try {
      await call.unmute();
    } catch (cause) {
      throw this.#host.error('the meeting does not let the agent unmute itself', { code: 'forbidden', cause });
    }
  }

  /** Ends the call, unless it has ended. */
  end(end: MeetingEnd): void {
    if (!this.#call) return;
    this.#call = undefined;
    this.#local = undefined;
    this.#left = this.#leave();
    if (end.reason === 'left') this.#host.callState$.next({ state: 'Disconnected', raw: 'Disconnected' });
    this.#host.ended(end);
  }

  #follow(call: MeetingCallLike, local: LocalAudioStreamLike): void {
    const { context, sampleRate, scheduler = asyncScheduler, logger, complain, hear, tell } = this.#host;
    this.#call = call;
    const state$ = listenTo(call, 'stateChanged').pipe(
      startWith(undefined),
      tap(() => this.#onState(call)),
    );
    const muted$ = listenTo(call, 'isMutedChanged').pipe(
      startWith(undefined),
      tap(() => this.#onMuted(call, local)),
    );
    const voice$ = keepOwnVoice(call, local).pipe(
      tap(() =>
        complain('the meeting would hear the microphone instead of the agent: the call is muted', {
          code: 'device',
        }),
      ),
      catchError((cause: unknown) => {
        complain('the microphone cannot be kept out of the meeting: leaving the call', { code: 'device', cause });
        this.end({ reason: 'left', detail: 'the meeting would have heard the microphone' });
        return EMPTY;
      }),
    );
    const meeting$ = hearMeeting(call, {
      ...context,
      scheduler,
      hz: sampleRate,
      onChunk: hear,
      onDevice: tell,
      onForbidden: (cause) => complain('the service gives no raw audio of this meeting', { code: 'forbidden', cause }),
      onUnready: (cause) => logger.debug(`${context.provider}: ${messageOf(cause)}`),
    });
    const work$ = merge(muted$, voice$, meeting$, state$).pipe(ignoreElements());
    this.#work.add(
      work$.subscribe({
        error: (cause: unknown) => {
          complain('the call cannot be followed: leaving it', { code: 'device', cause });
          this.end({ reason: 'left', detail: messageOf(cause) });
        },
      }),
    );
  }

  #onMuted(call: MeetingCallLike, local: LocalAudioStreamLike): void {
    const { muted$, complain } = this.#host;
    const wasMuted = muted$.value;
    muted$.next(call.isMuted);
    // A mute that keeps the microphone out is reported as such.
    if (!call.isMuted || wasMuted || !isOwnVoice(call, local)) return;
    complain('someone in the meeting has muted the agent, and nobody hears it: call unmute()', {
      code: 'device',
      recoverable: true,
    });
  }

  #onState(call: MeetingCallLike): void {
    const raw = call.state;
    this.#host.callState$.next({ state: callStates[raw] ?? 'InLobby', raw });
    if (raw !== 'Disconnected' || call !== this.#call) return;
    const { code = 0, subCode = 0 } = call.callEndReason ?? {};
    const detail = endingOf({ code, subCode });
    if (detail !== undefined && (code !== 0 || failures.includes(subCode))) {
      const problem = `the call has ended: ${detail} (${code}/${subCode})`;
      this.#host.complain(problem, { code: codes[subCode] ?? 'connection', status: code });
    }
    this.end({ reason: lostCodes.includes(code) ? 'lost' : 'ended', ...(detail !== undefined && { detail }) });
  }

  /** Stops following the call; resolves when the package's objects are released. */
  #leave(): Promise<void> {
    const { scheduler = asyncScheduler, muted$ } = this.#host;
    const parts = this.#parts;
    this.#parts = undefined;
    this.#work.unsubscribe();
    muted$.next(false);
    return parts ? lastValueFrom(leave(parts, scheduler), { defaultValue: undefined }) : Promise.resolve();
  }
}

/** Why a call ended; `undefined` when we left it. */
function endingOf({ code, subCode }: { code: number; subCode: number }): string | undefined {
  if (lostCodes.includes(code)) return 'the network connection failed';
  return endings[subCode] ?? (code === 0 && subCode === 0 ? undefined : `code ${code}, subcode ${subCode}`);
}

/**
 * The package's error in our words, since its own may quote the token. `undefined` for an error that is not the
 * package's.
 */
function refusalOf(cause: unknown): { why: string; code: VoiceErrorCode } | undefined {
  const subCode = asNumber(typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'subCode') : undefined);
  if (subCode === undefined) return undefined;
  const isCredential = (subCode >= 44_100 && subCode < 44_120) || subCode === 40_234 || subCode === 40_235;
  const unknown = isCredential ? 'the token was rejected' : 'the service rejected the call';
  return { why: `${refusals[subCode] ?? unknown} (${subCode})`, code: isCredential ? 'unauthorized' : 'configuration' };
}

/** The meeting, in the package's terms. */
export function locatorOf({
  meetingLink = '',
  meetingId,
  passcode,
  groupId,
  roomId,
}: MeetingPlace): MeetingLocatorLike {
  if (meetingId) return { meetingId, ...(passcode && { passcode }) };
  if (groupId) return { groupId };
  return roomId ? { roomId } : { meetingLink };
}

/** The package's objects of one call. */
interface MeetingCallParts {
  readonly credential: CallCredentialLike;
  readonly agent?: CallAgentLike;
  readonly call?: MeetingCallLike;
}

/** Longest wait for each step of leaving, in milliseconds. */
const stepMs = 5_000;

/** Hangs up, then releases the agent, then the credential: each needs the next one to do so. Never fails. Cold. */
function leave({ credential, agent, call }: MeetingCallParts, scheduler: SchedulerLike): Observable<never> {
  const step$ = (work: () => Promise<void> | void): Observable<never> =>
    defer(() => work() ?? EMPTY).pipe(
      stallTimeout({ firstMs: stepMs, scheduler }),
      catchError(() => EMPTY),
      ignoreElements(),
    );
  return concat(
    step$(() => (call && call.state !== 'Disconnected' ? call.hangUp() : undefined)),
    step$(() => agent?.dispose()),
    step$(() => credential.dispose()),
  );
}

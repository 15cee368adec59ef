import {
  asyncScheduler,
  BehaviorSubject,
  distinctUntilChanged,
  filter,
  ignoreElements,
  lastValueFrom,
  map,
  ReplaySubject,
  Subscription,
  tap,
} from 'rxjs';
import { catchError, EMPTY, merge, startWith, type Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { ContextOutput, type ContextOutputConfig } from '../../playback/context-output.ts';
import { capturedFormat } from '../../playback/media-track.ts';
import type { CallStateChange } from '../../core/calls.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { messageOf, type VoiceErrorCode, type VoiceErrorOptions } from '../../core/errors.ts';
import { asNumber } from '../../core/guard.ts';
import type { ProviderRole } from '../../core/roles.ts';
import { CallInput } from './call-input.ts';
import { listenTo } from './listenable.ts';
import { hearMeeting, isOwnVoice, keepOwnVoice } from './meeting-call-audio.ts';
import { loadMeetingCallPackages } from './meeting-call-packages.ts';
import type { LocalAudioStreamLike, MeetingCallLike, MeetingCallPackages } from './meeting-call-packages.ts';
import { leave, locatorOf, placeProblem, type MeetingCallParts, type MeetingPlace } from './meeting-call-session.ts';
import type { MeetingEnd } from './meeting-input.ts';

/** Configuration of {@link MeetingCallF}. */
export interface MeetingCallFConfig extends ContextOutputConfig, MeetingPlace {
  /**
   * A user access token with the scope `voip` or `voip.join`, or a function that fetches one, now and whenever it
   * expires.
   */
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

const rules: Readonly<Record<string, ConfigRule>> = {
  meetingLink: { type: 'text' },
  meetingId: { type: 'text' },
  passcode: { type: 'text' },
  groupId: { type: 'text' },
  roomId: { type: 'text' },
  displayName: { type: 'text' },
};

/** `callStates$` for some of the platform's states; for the others, `waiting` or `answered`. */
const heldStates: Readonly<Record<string, 'ringing' | 'held' | undefined>> = {
  Ringing: 'ringing',
  LocalHold: 'held',
  RemoteHold: 'held',
};

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
  5829: 'the meeting is not open',
  5854: 'someone in the meeting turned it away from the lobby',
  5855: 'nobody let it in from the lobby',
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

/** Sample rate of the audio, in Hz. */
const sampleRate = 16_000;
const elsewhere = 'a phone provider';

/**
 * Microsoft Teams meetings as a guest, through Azure Communication Services (`@azure/communication-calling`, 1.13.1 or
 * later), in a browser: hears the meeting and speaks in it. The package chooses the service's address. See
 * https://learn.microsoft.com/azure/communication-services/quickstarts/voice-video-calling/get-started-raw-media-access.
 *
 * Needs the optional packages @azure/communication-calling and @azure/communication-common.
 */
export class MeetingCallF extends ContextOutput<MeetingCallFConfig> {
  override readonly name = 'MeetingCallF' as const;
  override readonly roles: readonly ProviderRole[] = ['input', 'output'];
  protected override readonly channels = 1;
  protected override readonly elsewhere: string = elsewhere;
  readonly #callState$ = new ReplaySubject<MeetingCallStateChange>(1);
  readonly #muted$ = new BehaviorSubject(false);
  readonly #mutes$ = this.#muted$.pipe(distinctUntilChanged());
  readonly #input = new CallInput<MeetingEnd>(
    (problem, options) => this.#complain(problem, options),
    (ms) => this.dropped(ms),
  );
  readonly #callStates$: Observable<CallStateChange> = merge(
    this.#callState$.pipe(
      filter(({ state }) => state !== 'Disconnected'),
      map(
        ({ state, raw }) => ({ state: heldStates[raw] ?? (state === 'Connected' ? 'answered' : 'waiting') }) as const,
      ),
    ),
    this.#input.end$.pipe(map(({ reason }) => ({ state: 'ended', reason }) as const)),
  ).pipe(distinctUntilChanged((before, after) => before.state === after.state));
  #call: MeetingCallLike | undefined;
  #parts: MeetingCallParts | undefined;
  #leaving: Promise<void> | undefined;
  #local: LocalAudioStreamLike | undefined;
  #destination: MediaStreamAudioDestinationNode | undefined;
  #work: Subscription = new Subscription();

  /** The meeting's audio, mixed, without the agent's own voice, from `start()` on. Completes with the call. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#input.audio$);
  }

  /** The states of the call. Hot; replays the latest value. */
  get callState$(): Observable<MeetingCallStateChange> {
    return this.handOut('callState$', this.#callState$);
  }

  /** The same in terms common to all platforms, including `held`. Hot; replays the latest value. */
  get callStates$(): Observable<CallStateChange> {
    return this.handOut('callStates$', this.#callStates$);
  }

  /**
   * Whether the agent is muted in the meeting, by an organizer or here: while it is, nobody hears it. Hot; replays the
   * latest value.
   */
  get muted$(): Observable<boolean> {
    return this.handOut('muted$', this.#mutes$);
  }

  /**
   * The package's own `Call`, for what is not offered here; `undefined` before `initialize()` and after the end. Its
   * audio and its end are this provider's.
   */
  getCall(): MeetingCallLike | undefined {
    return this.#call;
  }

  /**
   * Unmutes the agent, for example after an organizer has muted everyone.
   *
   * @throws VoiceError `not_ready` without a call, `device` while the meeting would hear the microphone, `forbidden` when
   * the meeting does not allow it.
   */
  async unmute(): Promise<void> {
    const call = this.#call;
    if (!call) throw this.error(`${this.name}: there is no call`, { code: 'not_ready' });
    if (!isOwnVoice(call, this.#local)) {
      throw this.error(`${this.name}: the meeting would hear the microphone instead of the agent`, { code: 'device' });
    }
    try {
      await call.unmute();
    } catch (cause) {
      throw this.error(`${this.name}: the meeting does not let the agent unmute itself`, { code: 'forbidden', cause });
    }
  }

  /** The end of the call, once. Hot; replayed to late subscribers. */
  get callEnded$(): Observable<MeetingEnd> {
    return this.handOut('callEnded$', this.#input.end$);
  }

  /** Calls back with each state and the platform's own name for it; returns an unsubscribe function. */
  onCallStateChanged(callback: (state: MeetingCallState, raw: string) => void): () => void {
    return this.#input.listen(this.callState$, ({ state, raw }) => callback(state, raw));
  }

  /** Calls back when the call has ended; returns an unsubscribe function. */
  onCallEnded(callback: (end: MeetingEnd) => void): () => void {
    return this.#input.listen(this.callEnded$, callback);
  }

  /** The format of `audio$`. */
  getMetadata(): AudioMetadata {
    return capturedFormat(sampleRate);
  }

  /** Starts `audio$`. */
  start(): Promise<void> {
    return this.#input.start(() => this.assertReady('start'));
  }

  /** Silences playback at once and drops what was not heard. The call and `audio$` continue. */
  // eslint-disable-next-line @typescript-eslint/no-misused-promises -- one method serves both roles, and an input's stop() has a promise
  override stop(): Promise<void> {
    super.stop();
    return Promise.resolve();
  }

  protected override connect(context: AudioContext, node: AudioNode): void {
    this.#destination = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    node.connect(this.#destination);
    // The audio context was replaced: the meeting now hears the new one.
    this.#local
      ?.setMediaStream(this.#destination.stream)
      .catch((cause: unknown) => this.#complain(messageOf(cause), { code: 'device', recoverable: true, cause }));
  }

  protected override configProblem(): string | undefined {
    const { token } = this.config;
    const isToken = typeof token === 'function' || (typeof token === 'string' && token !== '');
    return configProblem(this.config, rules) ?? (isToken ? placeProblem(this.config) : 'token is missing');
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    this.assertConfig();
    const { token, displayName } = this.config;
    const { calling, common } = await this.importPackages();
    await super.onInitialize(signal);
    signal.throwIfAborted();
    this.#work = new Subscription();
    this.#input.begin();
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
      if (!this.#destination) throw this.error(`${this.name} has no audio context`, { code: 'internal' });
      const local = new calling.LocalAudioStream(this.#destination.stream);
      const audioOptions = { muted: false, localAudioStreams: [local] };
      this.#local = local;
      const call = agent.join(locatorOf(this.config), { audioOptions });
      this.#parts = { credential, agent, call };
      this.#follow(call, local);
    } catch (cause) {
      this.#local = undefined;
      void super.onDispose();
      await this.#leave();
      const refusal = refusalOf(cause);
      throw refusal ? this.error(`${this.name}: ${refusal.why}`, { code: refusal.code }) : cause;
    }
  }

  protected override async onDispose(): Promise<void> {
    this.#end({ reason: 'left' });
    this.#input.capture.stop();
    void super.onDispose();
    this.#destination = undefined;
    await this.#leaving;
  }

  /** @internal */
  protected importPackages(): Promise<MeetingCallPackages> {
    return loadMeetingCallPackages(this.name);
  }

  #follow(call: MeetingCallLike, local: LocalAudioStreamLike): void {
    const { workletUrl, scheduler = asyncScheduler } = this.config;
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
        this.#complain('the meeting would hear the microphone instead of the agent: the call is muted', {
          code: 'device',
        }),
      ),
      catchError((cause: unknown) => {
        this.#complain('the microphone cannot be kept out of the meeting: leaving the call', { code: 'device', cause });
        this.#end({ reason: 'left', detail: 'the meeting would have heard the microphone' });
        return EMPTY;
      }),
    );
    const meeting$ = hearMeeting(call, {
      provider: this.name,
      elsewhere,
      workletUrl,
      scheduler,
      hz: sampleRate,
      onChunk: (chunk) => this.#input.capture.push(chunk),
      onDevice: (event) => this.tell(event),
      onForbidden: (cause) =>
        this.#complain('the service gives no raw audio of this meeting', { code: 'forbidden', cause }),
      onUnready: (cause) => this.logger.debug(`${this.name}: ${messageOf(cause)}`),
    });
    const work$ = merge(muted$, voice$, meeting$, state$).pipe(ignoreElements());
    this.#work.add(
      work$.subscribe({
        error: (cause: unknown) => {
          this.#complain('the call cannot be followed: leaving it', { code: 'device', cause });
          this.#end({ reason: 'left', detail: messageOf(cause) });
        },
      }),
    );
  }

  #onMuted(call: MeetingCallLike, local: LocalAudioStreamLike): void {
    const wasMuted = this.#muted$.value;
    this.#muted$.next(call.isMuted);
    // A mute that keeps the microphone out is reported as such.
    if (!call.isMuted || wasMuted || !isOwnVoice(call, local)) return;
    this.#complain('someone in the meeting has muted the agent, and nobody hears it: call unmute()', {
      code: 'device',
      recoverable: true,
    });
  }

  #onState(call: MeetingCallLike): void {
    const raw = call.state;
    this.#callState$.next({ state: callStates[raw] ?? 'InLobby', raw });
    if (raw !== 'Disconnected' || call !== this.#call) return;
    const { code = 0, subCode = 0 } = call.callEndReason ?? {};
    const detail = endingOf({ code, subCode });
    if (detail !== undefined) {
      this.#complain(`the call has ended: ${detail} (${code}/${subCode})`, { code: 'connection', status: code });
    }
    this.#end({ reason: 'ended', ...(detail !== undefined && { detail }) });
  }

  #end(end: MeetingEnd): void {
    const call = this.#call;
    if (!call) return;
    this.#call = undefined;
    this.#local = undefined;
    this.#leaving = this.#leave();
    if (end.reason === 'left') this.#callState$.next({ state: 'Disconnected', raw: 'Disconnected' });
    this.#input.end(end);
    super.stop();
    this.#input.capture.end();
  }

  /** Stops following the call; resolves when the package's objects are released. */
  #leave(): Promise<void> {
    const { scheduler = asyncScheduler } = this.config;
    const parts = this.#parts;
    this.#parts = undefined;
    this.#work.unsubscribe();
    this.#muted$.next(false);
    return parts ? lastValueFrom(leave(parts, scheduler), { defaultValue: undefined }) : Promise.resolve();
  }

  #complain(problem: string, options: Omit<VoiceErrorOptions, 'provider'>): void {
    this.report(this.error(`${this.name}: ${problem}`, options));
  }
}

/** Why a call ended; `undefined` for a normal end. */
function endingOf({ code, subCode = 0 }: { code: number; subCode?: number }): string | undefined {
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

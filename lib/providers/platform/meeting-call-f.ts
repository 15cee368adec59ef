import { BehaviorSubject, distinctUntilChanged, filter, map, merge, ReplaySubject, type Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { ContextOutput, type ContextOutputConfig } from '../../playback/context-output.ts';
import { capturedFormat } from '../../playback/media-track.ts';
import type { CallStateChange } from '../../core/calls.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import type { VoiceErrorOptions } from '../../core/errors.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { ProviderRole } from '../../core/roles.ts';
import { CallInput } from './call-input.ts';
import { loadMeetingCallPackages } from './meeting-call-packages.ts';
import type { MeetingCallLike, MeetingCallPackages } from './meeting-call-packages.ts';
import type {
  MeetingCallSession,
  MeetingCallState,
  MeetingCallStateChange,
  MeetingPlace,
} from './meeting-call-session.ts';
import type { MeetingEnd } from './meeting-input.ts';

export type { MeetingCallState, MeetingCallStateChange } from './meeting-call-session.ts';

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

const rules: Readonly<Record<string, ConfigRule>> = {
  ...{ token: {}, workletUrl: {}, scheduler: {} },
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

/** Sample rate of the audio, in Hz. */
const sampleRate = 16_000;
const elsewhere = 'a phone provider';

const names = ['meetingLink', 'meetingId', 'groupId', 'roomId'] as const;

/** What is wrong with the choice of a meeting, as a sentence; `undefined` if nothing. */
function placeProblem(place: MeetingPlace): string | undefined {
  const given = names.filter((name) => place[name]);
  if (given.length === 0) return 'meetingLink is missing, or a meetingId, groupId or roomId';
  if (given.length > 1) return `${given.join(' and ')} name a meeting each: set one of them`;
  return place.passcode && !place.meetingId ? 'passcode belongs to a meetingId' : undefined;
}

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
  /** The call: from `initialize()` on. */
  #session: MeetingCallSession | undefined;
  #destination: MediaStreamAudioDestinationNode | undefined;

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
    return this.#session?.call;
  }

  /**
   * Unmutes the agent, for example after an organizer has muted everyone.
   *
   * @throws VoiceError `not_ready` without a call, `device` while the meeting would hear the microphone, `forbidden` when
   * the meeting does not allow it.
   */
  async unmute(): Promise<void> {
    if (!this.#session) throw this.error(`${this.name}: there is no call`, { code: 'not_ready' });
    await this.#session.unmute();
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
    this.#session?.speakWith(this.#destination.stream);
  }

  protected override configProblem(): string | undefined {
    const { token } = this.config;
    const isToken = typeof token === 'function' || (typeof token === 'string' && token !== '');
    return configProblem(this.config, rules) ?? (isToken ? placeProblem(this.config) : 'token is missing');
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    this.assertConfig();
    const code = new OnDemand(this.name, () => import('./meeting-call-session.ts'));
    const [packages, { MeetingCallSession }] = await Promise.all([this.importPackages(), code.load()]);
    await super.onInitialize(signal);
    signal.throwIfAborted();
    this.#input.begin();
    const { workletUrl, scheduler } = this.config;
    this.#session = new MeetingCallSession({
      context: { provider: this.name, elsewhere, workletUrl },
      ...{ sampleRate, scheduler, logger: this.logger, callState$: this.#callState$, muted$: this.#muted$ },
      error: (problem, options) => this.error(`${this.name}: ${problem}`, options),
      complain: (problem, options) => this.#complain(problem, options),
      hear: (chunk) => this.#input.capture.push(chunk),
      tell: (event) => this.tell(event),
      ended: (end) => this.#ended(end),
    });
    try {
      if (!this.#destination) throw this.error(`${this.name} has no audio context`, { code: 'internal' });
      await this.#session.join(packages, this.config, this.#destination.stream, signal);
    } catch (cause) {
      void super.onDispose();
      throw cause;
    }
  }

  protected override async onDispose(): Promise<void> {
    this.#session?.end({ reason: 'left' });
    this.#input.capture.stop();
    void super.onDispose();
    this.#destination = undefined;
    await this.#session?.left;
  }

  /** @internal */
  protected importPackages(): Promise<MeetingCallPackages> {
    return loadMeetingCallPackages(this.name);
  }

  #ended(end: MeetingEnd): void {
    this.#input.end(end);
    super.stop();
    this.#input.capture.end();
  }

  #complain(problem: string, options: Omit<VoiceErrorOptions, 'provider'>): void {
    this.report(this.error(`${this.name}: ${problem}`, options));
  }
}

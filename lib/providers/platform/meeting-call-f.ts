// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an optional package that is not installed is declared there
/// <reference path="./optional-packages.d.ts" />
import {
  BehaviorSubject,
  distinctUntilChanged,
  filter,
  from,
  ignoreElements,
  map,
  merge,
  ReplaySubject,
  Subscription,
  switchMap,
  tap,
} from 'rxjs';
import { EMPTY, Subject, type Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { closeContext, keepRunning, openContext } from '../../browser/audio-context.ts';
import { ContextOutput, type ContextOutputConfig } from '../../browser/context-output.ts';
import { resource } from '../../browser/resource.ts';
import { capturedFormat, TrackCapture } from '../../browser/track-capture.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { num } from '../../core/guard.ts';
import { loadOptionalPeer, rethrow } from '../../core/optional-peer.ts';
import type { ProviderRole } from '../../core/roles.ts';
import { Capture } from '../../operators/capture.ts';
import { listen } from './listen.ts';
import type { LocalAudioStreamLike, MeetingCallLike, MeetingCallPackages } from './meeting-call-packages.ts';
import type { MeetingEnd } from './meeting-input.ts';

/** Configuration of {@link MeetingCallF}. */
export interface MeetingCallFConfig extends ContextOutputConfig {
  /** A user access token with the scope `voip` or `voip.join`, or a function that fetches one, now and when it expires. */
  readonly token: string | (() => Promise<string>);
  /** The meeting's address, such as `https://teams.microsoft.com/l/meetup-join/…`. */
  readonly meetingLink: string;
  /** The name under which the others see the agent. Default: none. */
  readonly displayName?: string;
}

/** Where a call is: SPEC.md's names of the states. */
export type MeetingCallState = 'InLobby' | 'Connected' | 'Disconnected';

/** A state of a call, and the platform's own name of it. */
export interface MeetingCallStateChange {
  /** `InLobby` until it is let in, `Connected`, on hold too, then `Disconnected`. */
  readonly state: MeetingCallState;
  /** The platform's own: `None`, `Connecting`, `Ringing`, `InLobby`, `EarlyMedia`, `Connected`, `LocalHold`, … */
  readonly raw: string;
}

const states: Readonly<Record<string, MeetingCallState>> = {
  ...{ None: 'InLobby', Connecting: 'InLobby', Ringing: 'InLobby', EarlyMedia: 'InLobby', InLobby: 'InLobby' },
  ...{ Connected: 'Connected', LocalHold: 'Connected', RemoteHold: 'Connected' },
  ...{ Disconnecting: 'Disconnected', Disconnected: 'Disconnected' },
};

const rules: Readonly<Record<string, ConfigRule>> = {
  meetingLink: { type: 'text', required: true },
  displayName: { type: 'text' },
};

/** Hz of what is heard. */
const sampleRate = 16_000;
const elsewhere = 'a phone provider';

/** Why a call ended, by the service's subcodes. */
const endings: Readonly<Record<number, string>> = {
  5829: 'the meeting is not open now',
  5854: 'somebody has refused it in the lobby',
  5855: 'nobody has let it in',
};

/** What the service refuses before a call begins, by its subcodes. */
const refusals: Readonly<Record<number, string>> = {
  40210: 'the meetingLink is not valid',
  40228: 'this identity is in another call agent: dispose of that one, or take another identity',
  40234: 'the token could not be renewed',
  40235: 'the token has expired',
  44109: 'the token is empty',
  44113: 'the token lacks the scope voip',
};

/**
 * Microsoft Teams meetings as a guest, through Azure Communication Services (`@azure/communication-calling`, 1.13.1 and
 * later), in a browser: hears the meeting and speaks in it. The package finds the service by itself. See
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
  readonly #callEnded$ = new BehaviorSubject<MeetingEnd | undefined>(undefined);
  /** The meeting's streams may have changed. */
  readonly #changed$ = new Subject<void>();
  readonly #capture = new Capture({
    onOverflow: (ms) => {
      const message = `${this.name}: more than ${ms} ms came before start(): the oldest are dropped`;
      this.report(this.error(message, { code: 'overflow', recoverable: true }));
    },
  });
  #call: MeetingCallLike | undefined;
  #local: LocalAudioStreamLike | undefined;
  #destination: MediaStreamAudioDestinationNode | undefined;
  #work: Subscription = new Subscription();

  /** What is said in the meeting, mixed, without our own voice, from `start()` on. Completes with the call. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.#capture.audio$;
  }

  /** The states of the call. Hot; the latest value first. */
  get callState$(): Observable<MeetingCallStateChange> {
    return this.#callState$.asObservable();
  }

  /** The end of the call, once. Hot; late subscribers get it too. */
  get callEnded$(): Observable<MeetingEnd> {
    return this.#callEnded$.pipe(filter((end) => end !== undefined));
  }

  /** Calls back with each state, and the platform's own name of it; returns what undoes it. */
  onCallStateChanged(callback: (state: MeetingCallState, raw: string) => void): () => void {
    return this.#listen(this.callState$, ({ state, raw }) => callback(state, raw));
  }

  /** Calls back when the call has ended; returns what undoes it. */
  onCallEnded(callback: (end: MeetingEnd) => void): () => void {
    return this.#listen(this.callEnded$, callback);
  }

  /** The format of `audio$`. */
  getMetadata(): AudioMetadata {
    return capturedFormat(sampleRate);
  }

  /** Starts `audio$`. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.assertReady('start');
      this.#capture.start();
      resolve();
    });
  }

  /** Silence, at once; drops what was not heard. The call goes on, and so does `audio$`. */
  // eslint-disable-next-line @typescript-eslint/no-misused-promises -- one method serves both roles, and an input's stop() has a promise
  override stop(): Promise<void> {
    super.stop();
    return Promise.resolve();
  }

  protected override connect(context: AudioContext, node: AudioNode): void {
    this.#destination = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    node.connect(this.#destination);
    // A context that was replaced: the meeting hears the new one.
    this.#local?.setMediaStream(this.#destination.stream).catch((cause: unknown) => this.#complain(cause));
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    const { token, meetingLink, displayName } = this.config;
    const isToken = typeof token === 'function' || (typeof token === 'string' && token !== '');
    const problem = configProblem(this.config, rules) ?? (isToken ? undefined : 'token is missing');
    if (problem) throw this.error(problem, { code: 'configuration' });
    const { calling, common } = await this.importPackages();
    await super.onInitialize(signal);
    signal.throwIfAborted();
    this.#work = new Subscription();
    this.#callEnded$.next(undefined);
    this.#capture.reopen();
    try {
      const options = typeof token === 'string' ? token : { tokenRefresher: () => token(), refreshProactively: true };
      const credential = new common.AzureCommunicationTokenCredential(options as never);
      this.#work.add(() => credential.dispose());
      const agent = await new calling.CallClient().createCallAgent(credential as never, {
        ...(displayName && { displayName }),
      });
      this.#work.add(() => void agent.dispose().catch(() => undefined));
      signal.throwIfAborted();
      if (!this.#destination) throw this.error(`${this.name} has no audio context`, { code: 'internal' });
      const local = new calling.LocalAudioStream(this.#destination.stream);
      const audioOptions = { muted: false, localAudioStreams: [local] };
      this.#local = local;
      this.#follow(agent.join({ meetingLink }, { audioOptions }));
    } catch (cause) {
      super.onDispose();
      this.#work.unsubscribe();
      throw this.#refusal(cause);
    }
  }

  protected override onDispose(): void {
    this.#end({ reason: 'left' });
    this.#capture.stop();
    super.onDispose();
    this.#destination = undefined;
  }

  /** @internal */
  protected async importPackages(): Promise<MeetingCallPackages> {
    const calling = await loadOptionalPeer(this.name, '@azure/communication-calling', '>= 1.13.1', () =>
      import('@azure/communication-calling').catch(rethrow),
    );
    const common = await loadOptionalPeer(this.name, '@azure/communication-common', '>= 2.0.0', () =>
      import('@azure/communication-common').catch(rethrow),
    );
    return { calling, common };
  }

  #follow(call: MeetingCallLike): void {
    this.#call = call;
    const on = (event: string, listener: () => void): void => {
      call.on(event, listener);
      this.#work.add(() => call.off(event, listener));
    };
    on('stateChanged', () => this.#onState(call));
    on('remoteAudioStreamsUpdated', () => this.#changed$.next());
    on('localAudioStreamsUpdated', () => this.#verify(call));
    this.#work.add(this.#hear(call).subscribe());
    this.#onState(call);
  }

  #onState(call: MeetingCallLike): void {
    const raw = call.state;
    const state = states[raw] ?? 'InLobby';
    this.#callState$.next({ state, raw });
    if (state === 'Connected') {
      this.#verify(call);
      this.#changed$.next();
    }
    if (raw !== 'Disconnected' || call !== this.#call) return;
    const { code = 0, subCode = 0 } = call.callEndReason ?? {};
    const detail = endings[subCode] ?? (code === 0 && subCode === 0 ? undefined : `code ${code}, subcode ${subCode}`);
    if (detail !== undefined) {
      this.report(
        this.error(`${this.name}: the call has ended: ${detail} (${code}/${subCode})`, {
          code: 'connection',
          status: code,
        }),
      );
    }
    this.#end({ reason: 'ended', ...(detail !== undefined && { detail }) });
  }

  /** The package takes the user's microphone where it cannot take our stream: nobody has asked for that. */
  #verify(call: MeetingCallLike): void {
    if (call.localAudioStreams.every(({ mediaStreamType }) => mediaStreamType === 'RawMedia')) return;
    const message = `${this.name}: the meeting would hear the microphone in place of the agent: it is muted`;
    this.report(this.error(message, { code: 'device' }));
    call.mute().catch((cause: unknown) => this.#complain(cause));
  }

  /** The meeting's mixed audio, from one stream after the other. */
  #hear(call: MeetingCallLike): Observable<never> {
    const { workletUrl, scheduler } = this.config;
    const context$ = resource(() => openContext({ provider: this.name, elsewhere, workletUrl }), closeContext);
    const onChunk = (chunk: AudioChunk): void => this.#capture.push(chunk);
    return context$.pipe(
      switchMap((context) => {
        const capture$ = resource(
          () => Promise.resolve(new TrackCapture({ context, sampleRate, onChunk })),
          (capture) => capture.close(),
        );
        const heard$ = capture$.pipe(
          switchMap((capture) =>
            merge(from([undefined]), this.#changed$).pipe(
              switchMap(() => this.#remoteTrack(call)),
              distinctUntilChanged(),
              tap((track) => capture.connect(track)),
            ),
          ),
        );
        return merge(keepRunning(context, scheduler).pipe(tap((event) => this.tell(event))), heard$).pipe(
          ignoreElements(),
        );
      }),
    );
  }

  #remoteTrack(call: MeetingCallLike): Observable<MediaStreamTrack | undefined> {
    try {
      const [stream] = call.remoteAudioStreams;
      if (!stream) return from([undefined]);
      const opened = stream.getMediaStream().catch((cause: unknown) => {
        // Not there yet: an update follows.
        this.logger.debug(`${this.name}: ${messageOf(cause)}`);
        return undefined;
      });
      return from(opened).pipe(map((media) => media?.getAudioTracks()[0]));
    } catch (cause) {
      const message = `${this.name}: the service gives no raw audio of this meeting`;
      this.report(this.error(message, { code: 'forbidden', cause }));
      return EMPTY;
    }
  }

  #end(end: MeetingEnd): void {
    const call = this.#call;
    if (!call) return;
    this.#call = undefined;
    this.#local = undefined;
    if (call.state !== 'Disconnected') call.hangUp().catch(() => undefined);
    this.#work.unsubscribe();
    if (end.reason === 'left') this.#callState$.next({ state: 'Disconnected', raw: 'Disconnected' });
    this.#callEnded$.next(end);
    super.stop();
    this.#capture.end();
  }

  #listen<T>(values$: Observable<T>, callback: (value: T) => void): () => void {
    return listen(values$, callback, (cause) =>
      this.report(this.error(`${this.name}: a callback failed: ${messageOf(cause)}`, { code: 'internal', cause })),
    );
  }

  #complain(cause: unknown): void {
    this.report(this.error(`${this.name}: ${messageOf(cause)}`, { code: 'device', recoverable: true, cause }));
  }

  /** What the package threw, without its own words: they may quote the token. */
  #refusal(cause: unknown): Error {
    const subCode = num(typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'subCode') : undefined);
    if (subCode === undefined) return cause instanceof Error ? cause : new Error(messageOf(cause));
    const isCredential = (subCode >= 44_100 && subCode < 44_120) || subCode === 40_234 || subCode === 40_235;
    const why =
      refusals[subCode] ?? (isCredential ? 'the token is not accepted' : 'the service does not take the call');
    return this.error(`${this.name}: ${why} (${subCode})`, { code: isCredential ? 'unauthorized' : 'configuration' });
  }
}

import {
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  finalize,
  map,
  mergeMap,
  of,
  repeat,
  startWith,
  Subscription,
  switchMap,
  tap,
  type Observable,
  type SchedulerLike,
  type Subject,
} from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { messageOf } from '../../core/errors.ts';
import { SpeakerMixer } from '../../playback/speaker-mixer.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import { ChatVoicePlayer, decodeMember } from './chat-voice-audio.ts';
import type { ChatVoiceCConfig, ChatVoiceEnd, SpeakingMember } from './chat-voice-c.ts';
import type { ChatVoicePackages, VoiceConnectionLike } from './chat-voice-packages.ts';
import { listenTo } from './listenable.ts';
import type { SpeakerAudio } from './meeting-input.ts';

export { tryCodec } from './chat-voice-audio.ts';

/** Members decoded at the same time; opusscript has memory for 18 codecs per process. */
const maxVoices = 64;
const maxScriptVoices = 16;

/**
 * `AfterInactivity` of the package's `EndBehaviorType`: no packets. Some clients send silence instead of nothing. For the
 * package they are still speaking, so that it would not announce what they say after a stream that ended with it.
 */
const afterInactivity = 2;

/** The provider's side of a {@link ChatVoiceCall}. */
export interface ChatVoiceHost {
  readonly config: () => Readonly<ChatVoiceCConfig>;
  readonly scheduler: SchedulerLike;
  readonly packages: ChatVoicePackages;
  readonly connection: VoiceConnectionLike;
  /** The format of what is heard. */
  readonly format: AudioMetadata;
  readonly speakerAudio$: Subject<SpeakerAudio>;
  readonly speaking$: Subject<SpeakingMember>;
  readonly complain: (code: 'connection' | 'internal' | 'protocol', problem: string) => void;
  /** Reports each kind of problem once. */
  readonly warn: (problem: string) => void;
  readonly hear: (chunk: AudioChunk) => void;
  /** The connection can play. */
  readonly ready: () => void;
  readonly end: (end: ChatVoiceEnd) => void;
}

/** A call on a connection: hears its members, plays to them, and watches over it. */
export class ChatVoiceCall {
  readonly #host: ChatVoiceHost;
  readonly #player: ChatVoicePlayer;
  readonly #mixer: SpeakerMixer;
  /** Members whom the package considers to be speaking. */
  readonly #speaking = new Set<string>();
  /** Members being decoded. */
  readonly #voices = new Set<string>();
  readonly #work = new Subscription();

  constructor(host: ChatVoiceHost) {
    const { scheduler, packages, connection, format, complain } = host;
    this.#host = host;
    this.#mixer = new SpeakerMixer({ metadata: format, scheduler });
    this.#player = new ChatVoicePlayer({
      ...{ packages, connection, scheduler },
      failed: (problem) => complain('internal', problem),
    });
  }

  /** Begins to hear and to watch, which may end it at once. */
  start(): void {
    const { config, scheduler, connection, complain, hear, speaking$ } = this.#host;
    const { reconnectMs = 5000, connectTimeoutMs = 20_000 } = config();
    const { speaking } = connection.receiver;
    const members$ = merge(
      listenTo<string>(speaking, 'start').pipe(
        tap((userId) => this.#speaking.add(userId)),
        filter((userId) => this.#isHeard(userId)),
        mergeMap((userId) => this.#hear(userId)),
      ),
      listenTo<string>(speaking, 'end').pipe(
        tap((userId) => this.#speaking.delete(userId)),
        filter((userId) => this.#isHeard(userId)),
        tap((userId) => speaking$.next({ userId, isSpeaking: false })),
      ),
      this.#mixer.mixed$.pipe(tap(hear)),
    );
    const connection$ = merge(
      listenTo(connection, 'error').pipe(
        tap((error) => complain('connection', `the connection failed: ${messageOf(error)}`)),
      ),
      watchConnection(connection, { reconnectMs, connectTimeoutMs, scheduler }).pipe(tap((turn) => this.#onTurn(turn))),
    );
    this.#work.add(merge(members$, connection$).subscribe());
  }

  /** Accepts 20 ms of linear16 at 48 kHz, stereo, that follow the frame before. */
  write(frame: Uint8Array<ArrayBuffer>): void {
    this.#player.write(frame);
  }

  /** Silences playback at once. */
  clear(): void {
    this.#player.clear();
  }

  /** Leaves the connection alone. */
  close(): void {
    this.#player.close();
    this.#mixer.stop();
    this.#work.unsubscribe();
  }

  #onTurn(turn: ChatVoiceTurn): void {
    const { connection, complain, ready, end } = this.#host;
    const { closeCode } = connection.state;
    if (turn === 'ready') ready();
    else if (turn !== 'late') end({ reason: turn, ...(closeCode !== undefined && { closeCode }) });
    else {
      const causes =
        'does the bot have the intent GuildVoiceStates, and @discordjs/voice 0.19.1 or later without daveEncryption: false?';
      complain('connection', `the connection is not ready: ${causes}`);
    }
  }

  #isHeard(userId: string): boolean {
    const { listensTo } = this.#host.config();
    if (typeof listensTo !== 'function') return listensTo?.includes(userId) ?? true;
    try {
      return listensTo(userId);
    } catch (cause) {
      this.#host.complain('internal', `listensTo failed: ${messageOf(cause)}`);
      return false;
    }
  }

  /** Starts decoding a member who was silent. */
  #hear(userId: string): Observable<unknown> {
    const { config, packages, connection, format, speakerAudio$, speaking$, warn } = this.#host;
    const { silenceMs = 1000 } = config();
    const { Decoder } = packages.opus;
    const most = Decoder.type === 'opusscript' ? maxScriptVoices : maxVoices;
    const isNew = !this.#voices.has(userId);
    if (isNew && this.#voices.size >= most) warn(`more than ${most} members are speaking: the others are not heard`);
    speaking$.next({ userId, isSpeaking: true });
    if (!isNew || this.#voices.size >= most) return EMPTY;
    this.#voices.add(userId);
    const end = { behavior: afterInactivity, duration: silenceMs };
    return defer(() => decodeMember(connection.receiver.subscribe(userId, { end }), Decoder, warn)).pipe(
      // One packet that cannot be decrypted ends a stream, and the rest of what the member says is not announced.
      repeat({ delay: () => (this.#speaking.has(userId) ? of(undefined) : EMPTY) }),
      tap((data) => {
        speakerAudio$.next({ userId, chunk: { data, metadata: format } });
        if (!this.#mixer.push(userId, data)) warn('a member sends audio faster than real time');
      }),
      finalize(() => this.#voices.delete(userId)),
    );
  }
}

/** What happens to a connection: `late` when it takes so long to become ready that someone should check why. */
type ChatVoiceTurn = 'ready' | 'late' | 'destroyed' | 'disconnected';

/** How long to wait for a connection. */
interface ChatVoicePatience {
  /** How long it may stay disconnected, in milliseconds. */
  readonly reconnectMs: number;
  /** How long it may take to become ready, at first or again, in milliseconds. */
  readonly connectTimeoutMs: number;
  readonly scheduler: SchedulerLike;
}

/**
 * Watches a connection. The package resumes and rejoins by itself, endlessly even where that is hopeless (a wrong
 * token, missing encryption): `late` reports it, however often it restarts. Only a `disconnected` connection needs
 * someone to act: the application has `reconnectMs` to rejoin. Cold.
 */
function watchConnection(
  connection: VoiceConnectionLike,
  { reconnectMs, connectTimeoutMs, scheduler }: ChatVoicePatience,
): Observable<ChatVoiceTurn> {
  const status$ = listenTo(connection, 'stateChange').pipe(
    startWith(undefined),
    map(() => connection.state.status),
    distinctUntilChanged(),
  );
  const late$ = patientTimer(connectTimeoutMs, scheduler).pipe(map(() => 'late' as const));
  const givenUp$ = patientTimer(reconnectMs, scheduler).pipe(map(() => 'disconnected' as const));
  const ready$ = status$.pipe(
    map((status) => status === 'ready'),
    distinctUntilChanged(),
    switchMap((isReady) => (isReady ? of('ready' as const) : late$)),
  );
  const ended$ = status$.pipe(
    switchMap((status) => {
      if (status === 'destroyed') return of('destroyed' as const);
      return status === 'disconnected' ? givenUp$ : EMPTY;
    }),
  );
  return merge(ready$, ended$);
}

import {
  defer,
  EMPTY,
  NEVER,
  Observable,
  ReplaySubject,
  Subscription,
  switchMap,
  tap,
  throwError,
  type SchedulerLike,
  type Subscriber,
} from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { AgentHeard, OutputProvider, PlaybackEvent } from '../../core/roles.ts';
import { fromInput } from '../../stream/bridge.ts';
import { eager } from '../../stream/eager.ts';
import { feed } from '../../stream/feed.ts';
import { holdUntil } from '../../stream/hold-until.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import type { Emit } from '../event-bus.ts';
import type { SpeechSource, VoiceEventEnvelope } from '../events.ts';
import type { AgentReport } from '../fold/inputs.ts';
import type { Validate } from '../malformed.ts';
import { errorOf } from '../provider-error.ts';
import { Script, type Heard, type Pace, type Waste } from './script.ts';
import type { Soundings } from './sounding.ts';

/** One thing to say. */
export interface SpeechRequest {
  readonly id: string;
  readonly turnId?: string;
  readonly source: SpeechSource;
  readonly interruptible: boolean;
  /** Whether it is remembered. Default: true. */
  readonly stored?: boolean;
  /** Whether it goes before others that wait for the output. */
  readonly urgent?: boolean;
  /**
   * The audio, with `piece` before the audio of the very first piece. Keeps the script: what the TTS was given, and
   * which audio it returned.
   *
   * @param playedMs - How much of the audio was heard so far.
   * @param sources - Takes what a cut ends right after the output: the voice, then the model.
   */
  synthesize(script: Script, playedMs: () => number, sources: Subscription): Observable<AudioChunk | 'piece'>;
  /** Nothing is audible, and no event is emitted, before this emits; it replays. */
  readonly gate$: Observable<unknown>;
}

type Envelope = Omit<VoiceEventEnvelope, 'at'>;

/** The milestones of a speech. */
export type SpeechMark = 'first-piece' | 'first-audio' | 'audible';

/** The outcome of a speech. */
export interface SpeechResult {
  readonly heard: Heard;
  /** The complete text. */
  readonly text: string;
  readonly interrupted: boolean;
  /** When its last sample sounds, on the scheduler's clock. */
  readonly silentAt: number;
  /** What was synthesized but not heard. */
  readonly wasted: Waste;
}

/** Everything was heard. */
const noWaste: Waste = { characters: 0, audioMs: 0 };

/** Nothing of a speech that has not begun. */
export const nothingHeard: SpeechResult = {
  heard: { text: '', rounds: [], estimated: false, characters: 0 },
  text: '',
  interrupted: true,
  silentAt: 0,
  wasted: noWaste,
};

/** Shared by all speeches of a conversation. */
export interface SpeechContext {
  /** The text-to-speech provider, or the agent, unless the script names another. */
  readonly voice: { readonly name: string };
  readonly output: Pick<OutputProvider, 'name' | 'play' | 'positionMs' | 'tailMs'>;
  /** Converts between TTS and output, if their formats differ. */
  transcode(audio$: Observable<AudioChunk>, sourceOf: (chunk: AudioChunk) => string): Observable<AudioChunk>;
  readonly emit: Emit;
  /** Where a speech requests the output, and reports that it is audible. */
  readonly report: (report: AgentReport) => void;
  /** Emits once, when a speech may use the output, and completes. */
  readonly mayPlay$: (speechId: string) => Observable<unknown>;
  readonly scheduler: SchedulerLike;
  /** Longest stall of the play-head beyond the remaining audio, in milliseconds. */
  readonly playoutMs: () => number;
  /**
   * Whether the output is paused, or about to be, because the user may be interrupting; starts with the current value.
   */
  readonly playbackHold$: Observable<boolean>;
  readonly pace: Pace;
  /** Remembers what is heard. */
  readonly soundings: Soundings;
  /** Called with what was heard of a speech that was cut off. */
  readonly onCut?: (heard: AgentHeard) => void;
  readonly validate: Validate;
}

/**
 * Speaks one request: synthesizes and plays it. Subscribing starts it; unsubscribing cuts it off in the same tick, down
 * to the network requests. Emits its marks; completes once the last sample has been heard.
 *
 * @param onEnd - Called exactly once: before completion or an error is passed on, or in the teardown. The play-head is
 * read before anything is silenced. The caller reports the end of the speech, which frees the output.
 */
export function speech(
  request: SpeechRequest,
  context: SpeechContext,
  onEnd: (result: SpeechResult) => void,
): Observable<SpeechMark> {
  return new Observable((subscriber) => new Speech(request, context, onEnd).start(subscriber));
}

class Speech {
  readonly #request: SpeechRequest;
  readonly #context: SpeechContext;
  readonly #onEnd: (result: SpeechResult) => void;
  readonly #turn: { readonly turnId?: string };
  readonly #envelope: { readonly speechId: string; readonly turnId?: string };
  readonly #script: Script;
  // A cut ends these first: the streams around them are many.
  readonly #playing = new Subscription();
  readonly #sources = new Subscription();
  readonly #playback = new Subscription();
  readonly #synthesis = new Subscription();
  #phase: 'silent' | 'created' | 'playing' | 'audible' | 'ended' = 'silent';
  #isFinished = false;
  /** Of its last audio. */
  #utteranceId: string | undefined;

  constructor(request: SpeechRequest, context: SpeechContext, onEnd: (result: SpeechResult) => void) {
    this.#request = request;
    this.#context = context;
    this.#onEnd = onEnd;
    this.#turn = request.turnId === undefined ? {} : { turnId: request.turnId };
    this.#envelope = { speechId: request.id, ...this.#turn };
    this.#script = new Script(context.pace);
  }

  /** @returns What cuts it off. */
  start(subscriber: Subscriber<SpeechMark>): () => void {
    const synthesized$ = this.#request.synthesize(this.#script, this.#playedMs, this.#sources);
    const prepared = prepare(synthesized$, ({ utteranceId }, isFirst) => {
      this.#utteranceId = utteranceId ?? this.#utteranceId;
      // Marked when it arrives, however long it is withheld.
      if (isFirst) subscriber.next('first-audio');
    });
    this.#synthesis.add(prepared.subscription);
    const playback$ = prepared.something$.pipe(
      holdUntil(this.#request.gate$),
      switchMap((something) => (something ? this.#play(prepared, subscriber) : EMPTY)),
    );
    this.#playback.add(
      playback$.subscribe({
        next: (event) => this.#follow(event, subscriber),
        error: (error: unknown) => {
          this.#end(true);
          subscriber.error(error);
        },
        complete: () => {
          this.#end(false);
          subscriber.complete();
        },
      }),
    );
    return () => {
      this.#end(true);
    };
  }

  /** Asks for the output, and plays once that is granted. */
  #play(prepared: Prepared, subscriber: Subscriber<SpeechMark>): Observable<PlaybackEvent> {
    const { id, source, interruptible, stored = true, urgent = false } = this.#request;
    const { emit, report, mayPlay$ } = this.#context;
    this.#phase = 'created';
    emit('speech.created', { source, interruptible, stored }, this.#envelope);
    subscriber.next('first-piece');
    report({ type: 'speech.ready', speech: { id, source, interruptible, urgent, ...this.#turn } });
    return mayPlay$(id).pipe(
      switchMap(() => {
        this.#phase = 'playing';
        return playToTheEnd(this.#context, this.#script, prepared, this.#playing, this.#onChunk);
      }),
    );
  }

  #follow({ type }: PlaybackEvent, subscriber: Subscriber<SpeechMark>): void {
    this.#isFinished ||= type === 'finished';
    if (type !== 'started' || this.#phase !== 'playing') return;
    this.#phase = 'audible';
    const { id, source } = this.#request;
    const { emit, report, soundings } = this.#context;
    if (!this.#script.isShown) soundings.begin(this.#script, this.#playedMs, this.#envelope);
    emit('speech.started', { source }, this.#envelope);
    report({ type: 'speech.audible', id });
    subscriber.next('audible');
  }

  readonly #playedMs = (): number =>
    this.#phase === 'playing' || this.#phase === 'audible' ? this.#context.output.positionMs : 0;

  readonly #onChunk = (chunk: AudioChunk): void => {
    this.#context.emit('audio.chunk', { chunk }, this.#ofVoice(this.#script.providerOf(chunk.utteranceId)));
  };

  #ofVoice(provider: string = this.#context.voice.name): Envelope {
    // Written out, as each chunk takes one: a copy of the envelope that grows is slower to make.
    return { speechId: this.#request.id, ...this.#turn, role: 'tts', provider };
  }

  #end(interrupted: boolean): void {
    if (this.#phase === 'ended') return;
    const { source } = this.#request;
    const { emit, output, scheduler, soundings, onCut } = this.#context;
    const script = this.#script;
    const wasCreated = this.#phase !== 'silent';
    const position = this.#playedMs();
    const tailMs = this.#phase === 'audible' ? (output.tailMs ?? 0) : 0;
    this.#phase = 'ended';
    // First silence, then cancel what was being prepared, then read the words.
    this.#playing.unsubscribe();
    this.#sources.unsubscribe();
    this.#playback.unsubscribe();
    this.#synthesis.unsubscribe();
    const now = scheduler.now();
    const silentAt = now + (interrupted ? tailMs : 0);
    const heard = script.heardAt(position, this.#isFinished);
    const sounded = interrupted ? script.soundedBetween(0, position) : heard.text;
    soundings.end(script, position, sounded, now);
    const { text, characters } = script;
    if (wasCreated) {
      emit('speech.ended', { source, text, heardText: heard.text, interrupted, playedMs: position }, this.#envelope);
      for (const [provider, said] of script.charactersByVoice) {
        emit('usage', { characters: said }, this.#ofVoice(provider));
      }
    }
    if (interrupted && this.#utteranceId !== undefined) {
      onCut?.({ utteranceId: this.#utteranceId, playedMs: position, text: heard.text });
    }
    const audioMs = Math.max(0, script.receivedMs - position);
    const wasted = interrupted ? { characters: characters - heard.characters, audioMs } : noWaste;
    this.#onEnd({ heard, text, interrupted, silentAt, wasted });
  }
}

/** A synthesis in progress. */
interface Prepared {
  /** Emits whether there is anything to say as soon as that is known, and completes. Replays. */
  readonly something$: Observable<boolean>;
  readonly chunks$: Observable<AudioChunk>;
  readonly subscription: Subscription;
  /** Whether no more audio will arrive. */
  readonly isComplete: () => boolean;
}

/** Starts synthesis at once, even while another speech has the output. */
function prepare(
  synthesized$: Observable<AudioChunk | 'piece'>,
  onAudio: (chunk: AudioChunk, isFirst: boolean) => void,
): Prepared {
  const something$ = new ReplaySubject<boolean>(1);
  let hasSounded = false;
  let isComplete = false;
  const audio$ = new Observable<AudioChunk>((subscriber) => {
    feed(synthesized$, subscriber, {
      next: (step) => {
        if (step === 'piece') {
          something$.next(true);
          something$.complete();
          return;
        }
        onAudio(step, !hasSounded);
        hasSounded = true;
        subscriber.next(step);
      },
      error: (error) => {
        isComplete = true;
        something$.error(VoiceError.from(error));
        subscriber.error(error);
      },
      complete: () => {
        isComplete = true;
        something$.next(false);
        something$.complete();
        subscriber.complete();
      },
    });
  });
  const { stream$, source } = eager(audio$);
  return { something$, chunks$: stream$, subscription: source, isComplete: () => isComplete };
}

/** An output may withhold less than this, in milliseconds, until a frame is full. */
const leastToPlayMs = 1_000;

/**
 * Plays all audio. Fails if the play-head stalls without reason: although there is more to play, or everything has
 * arrived.
 *
 * @param playing - Receives the subscription to the output.
 */
function playToTheEnd(
  context: SpeechContext,
  script: Script,
  { chunks$, isComplete }: Prepared,
  playing: Subscription,
  onChunk: (chunk: AudioChunk) => void,
): Observable<PlaybackEvent> {
  const { output, scheduler, playbackHold$, validate, voice } = context;
  const sourceOf = ({ utteranceId }: AudioChunk): string => script.providerOf(utteranceId) ?? voice.name;
  const playoutMs = context.playoutMs();
  const watch$: Observable<never> = defer(() => {
    const position = output.positionMs;
    const leftMs = Math.max(0, script.receivedMs - position);
    const isBusy = isComplete() || leftMs > leastToPlayMs;
    return patientTimer(leftMs + playoutMs, scheduler).pipe(
      switchMap(() => {
        if (output.positionMs > position || !isBusy) return watch$;
        return throwError(() => timedOut(output.name, 'playback stands still', playoutMs));
      }),
    );
  });
  const stalls$ = playbackHold$.pipe(switchMap((isHeld) => (isHeld ? NEVER : watch$)));
  let last: AudioChunk = { data: new Uint8Array(0) };
  const note = (chunk: AudioChunk): void => {
    last = chunk;
    onChunk(chunk);
  };
  return new Observable((subscriber) => {
    const none = (): void => undefined;
    const played$ = defer(() => fromInput(output.play(context.transcode(chunks$.pipe(tap(note)), sourceOf))));
    const playback = feed(played$, subscriber, {
      // What cannot be decoded is the voice's.
      error: (cause) => {
        const isAudio = VoiceError.is(cause) && cause.code === 'unsupported_format';
        subscriber.error(errorOf(isAudio ? sourceOf(last) : output.name, cause));
      },
      next: (event) => {
        if (validate.accepts('playback', event)) subscriber.next(event);
      },
      complete: () => subscriber.complete(),
    });
    playing.add(playback);
    feed(stalls$, subscriber, { next: none, complete: none });
  });
}

/** The role that an error of a speech concerns. */
export function roleOf(error: unknown, outputName: string): 'output' | 'tts' {
  return VoiceError.is(error) && error.provider === outputName ? 'output' : 'tts';
}

/** A provider missed a deadline. */
export function timedOut(provider: string, what: string, ms: number): VoiceError {
  const message = `${provider}: ${what} within ${ms / 1000} seconds`;
  return new VoiceError(message, { code: 'timeout', recoverable: true, provider });
}

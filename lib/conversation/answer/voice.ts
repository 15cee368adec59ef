import {
  concatMap,
  defer,
  filter,
  identity,
  map,
  Observable,
  of,
  pipe,
  Subscription,
  switchMap,
  take,
  tap,
  timer,
  type ObservableInput,
  type OperatorFunction,
  type SchedulerLike,
  type Subscriber,
} from 'rxjs';
import { durationMs, isPcmLike } from '../../audio/formats.ts';
import type { AudioChunk } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { SpokenWord } from '../../core/roles.ts';
import { sentences } from '../../operators/sentences.ts';
import { speakable } from '../../operators/speakable.ts';
import { fromInput } from '../../stream/bridge.ts';
import { feed, type FeedHandlers } from '../../stream/feed.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import type { SpokenPiece } from '../../text/spoken-piece.ts';
import { hasWords } from '../../text/words.ts';
import type { ActiveAgent } from './active-agent.ts';
import type { Validate } from '../malformed.ts';
import { errorOf } from '../provider-error.ts';
import type { Script } from './script.ts';
import { timedOut, type SpeechRequest } from './speech.ts';

/** Text is withheld while more audio than this is unplayed, so that a barge-in wastes less. */
const maxUnplayedMs = 5_000;
/** Longer than any voice takes for a character, even a slow one that spells out a number. */
const mostMsPerCharacter = 3_000;
/** More than compressed speech ever has: its length is never overestimated. */
const mostBytesPerMs = 40;
/** Longest interval between checks of the play-head. */
const recheckMs = 100;

/** How a conversation's text becomes audio. */
export interface VoiceContext {
  readonly scheduler: SchedulerLike;
  readonly validate: Validate;
}

/** The text of one round of the model, and the voice that speaks it. */
export interface SpokenRound {
  readonly text$: Observable<string>;
  readonly agent: Pick<ActiveAgent, 'tts' | 'locale' | 'codeNotice' | 'text' | 'timeouts'>;
}

/** The text to speak. */
export interface SpokenText {
  readonly rounds$: Observable<SpokenRound>;
  /** Nothing is synthesized before this emits; it replays. */
  readonly gate$: Observable<unknown>;
  /** Whether the first clause is synthesized before the gate opens. */
  readonly speakAhead?: boolean;
  /** Called with the length of each piece that can be spoken, as written. */
  readonly onPiece?: (characters: number) => void;
}

/** A voice's progress with each round's text: asked to speak it, has begun to read it, has all of it, has spoken it. */
type RoundStep = 'asked' | 'taken' | 'given' | 'spoken';
type VoiceStep = AudioChunk | 'piece' | RoundStep;

/** Text to audio, round by round: sentences, made speakable, no faster than the output plays them. */
export function synthesizeText(text: SpokenText, context: VoiceContext): SpeechRequest['synthesize'] {
  return (script, playedMs, sources) => {
    // There before the model, so the voice is told first.
    const voices = new Subscription();
    sources.add(voices);
    return new Synthesis(text, context, { script, playedMs, voices }).audio$;
  };
}

/** What a synthesis uses of the speech that it is for. */
interface Spoken {
  readonly script: Script;
  readonly playedMs: () => number;
  /** Takes each voice: a cut ends them right after the output. */
  readonly voices: Subscription;
}

/** The synthesis of one speech. */
class Synthesis {
  readonly #text: SpokenText;
  readonly #context: VoiceContext;
  readonly #speech: Spoken;
  readonly #open$: Observable<unknown>;
  readonly #words = new Subscription();
  /** The voices whose words are noted. */
  readonly #known = new Set<unknown>();
  #isOpen = false;
  /** Whether a voice was given any text. */
  #hasBegun = false;
  /** The round that is being spoken. */
  #round: RoundVoice | undefined;

  constructor(text: SpokenText, context: VoiceContext, speech: Spoken) {
    this.#text = text;
    this.#context = context;
    this.#speech = speech;
    this.#open$ = text.gate$.pipe(take(1));
  }

  /** The audio, with `piece` before that of the very first piece. Fails when a voice owes audio for too long. */
  get audio$(): Observable<AudioChunk | 'piece'> {
    return this.#steps$.pipe(
      stallTimeout({
        idleMs: (step) => (this.#round?.owesAfter(step) ? this.#round.agent.timeouts.ttsFirstAudioMs : undefined),
        // Audio without a text to it is not heard.
        isProgress: (step) => this.#round?.isTaken === true || typeof step === 'string',
        error: (_stalled, ms) => {
          const what = this.#round?.isTaken ? 'no audio came' : 'it has not read its text';
          return timedOut(this.#round?.agent.tts.name ?? '', what, ms);
        },
        scheduler: this.#context.scheduler,
      }),
      filter((step) => step === 'piece' || typeof step !== 'string'),
    );
  }

  get #steps$(): Observable<VoiceStep> {
    return new Observable((subscriber) => {
      subscriber.add(this.#words);
      const open = (): void => void (this.#isOpen = true);
      feed(this.#open$, subscriber, { next: open, complete: () => undefined });
      const handOver = (give: () => void): void => {
        const isFirst = !this.#hasBegun;
        this.#hasBegun = true;
        give();
        if (isFirst) subscriber.next('piece');
      };
      feed(this.#text.rounds$.pipe(concatMap((round) => this.#speak(round, handOver))), subscriber, {
        next: (step) => subscriber.next(step),
        complete: () => subscriber.complete(),
      });
    });
  }

  /** @param handOver - Gives the voice a piece, then reports the very first. */
  #speak({ text$, agent }: SpokenRound, handOver: (give: () => void) => void): Observable<VoiceStep> {
    const { tts } = agent;
    const { script, voices } = this.#speech;
    const { onPiece } = this.#text;
    return new Observable((subscriber) => {
      const round = new RoundVoice(agent, script, subscriber, this.#context.validate);
      this.#round = round;
      script.beginRound(tts.name, tts.delivers);
      const piece$ = text$.pipe(
        toPieces(agent),
        onPiece ? tap(({ visual }) => onPiece(visual.length)) : identity,
        concatMap((piece) => this.#whenWanted(piece)),
      );
      subscriber.next('asked');
      this.#listenTo(tts);
      const audio$ = defer(() => fromInput(tts.speak(round.textOf(piece$, handOver))));
      voices.add(feed(audio$, subscriber, round));
    });
  }

  /** Withholds a piece before the gate opens, but for the very first, and while enough audio is unplayed. */
  #whenWanted(piece: SpokenPiece): ObservableInput<SpokenPiece> {
    const { speakAhead = false } = this.#text;
    const isFree = this.#isOpen || (speakAhead && !this.#hasBegun);
    if (isFree && this.#excessMs <= 0) return [piece];
    const wanted$ = isFree ? this.#credit$ : this.#open$.pipe(switchMap(() => this.#credit$));
    return wanted$.pipe(map(() => piece));
  }

  /** Emits once little enough audio is unplayed. */
  readonly #credit$: Observable<unknown> = defer(() => {
    const excessMs = this.#excessMs;
    if (excessMs <= 0) return of(true);
    return timer(Math.max(excessMs, recheckMs), this.#context.scheduler).pipe(switchMap(() => this.#credit$));
  });

  get #excessMs(): number {
    return this.#speech.script.receivedMs - this.#speech.playedMs() - maxUnplayedMs;
  }

  /** Without word timings from the TTS, words are computed from the length of the audio. */
  #listenTo(tts: SpokenRound['agent']['tts']): void {
    const { words$ } = tts;
    if (!words$ || this.#known.has(tts)) return;
    this.#known.add(tts);
    const next = (word: SpokenWord): void => {
      if (this.#context.validate.accepts('word', word)) this.#speech.script.addWord(word);
    };
    this.#words.add(words$.subscribe({ next, error: () => undefined }));
  }
}

/** One round with its voice: what the voice is given, and what comes of it. */
class RoundVoice implements FeedHandlers<AudioChunk> {
  readonly agent: SpokenRound['agent'];
  /** Whether the voice has begun to read its text. */
  isTaken: boolean = false;
  readonly #script: Script;
  readonly #subscriber: Subscriber<VoiceStep>;
  readonly #validate: Validate;
  /** Whether the voice has its whole text. */
  #isGiven = false;
  #hasPieces = false;
  #hasWords = false;
  #isHeard = false;
  #characters = 0;
  #audioMs = 0;

  constructor(agent: SpokenRound['agent'], script: Script, subscriber: Subscriber<VoiceStep>, validate: Validate) {
    this.#validate = validate;
    this.agent = agent;
    this.#script = script;
    this.#subscriber = subscriber;
  }

  /** Whether the voice owes audio, or a sign that it reads, after a step. */
  owesAfter(step: VoiceStep): boolean {
    if (step === 'piece') return !this.#isHeard;
    return step === 'asked' || (step !== 'spoken' && this.#isGiven);
  }

  /** The text for the voice, which is given each piece through `handOver`. */
  textOf(piece$: Observable<SpokenPiece>, handOver: (give: () => void) => void): Observable<string> {
    return new Observable((voice) => {
      this.isTaken = true;
      this.#subscriber.next('taken');
      feed(piece$, voice, {
        // Not by way of the voice, which may not listen to errors.
        error: (cause) => this.#subscriber.error(cause),
        next: (piece) => {
          this.#script.addPiece(piece);
          const { spoken } = piece;
          if (spoken.trim() === '') return;
          this.#hasPieces = true;
          this.#hasWords ||= hasWords(spoken);
          this.#characters += spoken.length;
          handOver(() => voice.next(spoken));
        },
        complete: () => {
          this.#isGiven = true;
          this.#subscriber.next('given');
          voice.complete();
          // A voice that was given no text has nothing to say: nobody waits for it.
          if (!this.#hasPieces) this.#finish();
        },
      });
    });
  }

  /** Some of the voice's audio has arrived. */
  next(chunk: AudioChunk): void {
    if (!this.#validate.accepts('audio', chunk)) return;
    const told = this.#script.addAudio(chunk);
    if (told.data.byteLength === 0) return;
    this.#isHeard = true;
    this.#audioMs += leastMs(told);
    const { tts, timeouts } = this.agent;
    const isOverrun = this.#audioMs > timeouts.ttsOverrunMs + this.#characters * mostMsPerCharacter;
    if (isOverrun) this.#subscriber.error(overrun(tts.name, this.#audioMs, this.#characters));
    else this.#subscriber.next(told);
  }

  error(cause: unknown): void {
    this.#subscriber.error(errorOf(this.agent.tts.name, cause));
  }

  /** The voice has ended. */
  complete(): void {
    const { name } = this.agent.tts;
    const fail = (problem: string): void => this.#subscriber.error(mute(name, problem));
    if (!this.isTaken) fail('it has ended without reading its text');
    else if (this.#hasWords && !this.#isHeard) fail('no audio came for a text with words in it');
    else this.#finish();
  }

  #finish(): void {
    if (this.#subscriber.closed) return;
    this.#script.endRound();
    this.#subscriber.next('spoken');
    this.#subscriber.complete();
  }
}

/** A round's text as pieces for its voice: sentences, made speakable; or as it is, if it is only read. */
function toPieces({ tts, locale, codeNotice, text }: SpokenRound['agent']): OperatorFunction<string, SpokenPiece> {
  if (tts.delivers) return map(asWritten);
  const { maxTextLength: maxChars, normalizesText } = tts;
  return pipe(
    sentences({ ...(locale === undefined ? {} : { locale }), ...(maxChars === undefined ? {} : { maxChars }) }),
    speakable(text, { locale, codeNotice, normalizesText }),
  );
}

/** A piece of text that is read, not spoken. */
function asWritten(text: string): SpokenPiece {
  const { length } = text;
  return {
    spoken: text,
    visual: text,
    spans: [{ spokenStart: 0, spokenEnd: length, visualStart: 0, visualEnd: length }],
  };
}

/** How much audio a chunk has, or at least has, in milliseconds. */
function leastMs({ data, metadata }: AudioChunk): number {
  if (!metadata) return 0;
  return isPcmLike(metadata.encoding) ? durationMs(data.byteLength, metadata) : data.byteLength / mostBytesPerMs;
}

function overrun(provider: string, ms: number, characters: number): VoiceError {
  const message = `${provider}: more than ${Math.floor(ms / 1_000)} s of audio came for ${characters} characters: it was cut off`;
  return new VoiceError(message, { code: 'overflow', recoverable: true, provider });
}

/** Without this error, silence would count as an answer. */
function mute(provider: string, problem: string): VoiceError {
  return new VoiceError(`${provider}: ${problem}`, { code: 'protocol', recoverable: true, provider });
}

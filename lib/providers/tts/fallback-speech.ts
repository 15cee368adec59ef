import { defer, identity, Observable, of, type SchedulerLike, Subject, type Subscriber, Subscription } from 'rxjs';
import { durationMs, isPcmLike } from '../../audio/formats.ts';
import { isConvertible } from '../../audio/negotiate.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { SpokenWord, TTSProvider } from '../../core/roles.ts';
import { transcode } from '../../operators/transcode.ts';
import { feed } from '../../stream/feed.ts';
import { Alarm } from '../../stream/patient-timer.ts';
import { countCharacters, placedWords } from '../../text/placed-words.ts';
import { hasWords } from '../../text/words.ts';
import { allFailed, type Failures } from '../fallback-provider.ts';

/** Pieces of a text that are synthesized at once, so that there is no pause between them. */
const lookahead = 2;
/** Longest silence of a voice in the middle of a piece, in milliseconds. */
const idleMs = 5_000;
/** Rounding of chunks to samples must not cost a word. */
const toleranceMs = 0.5;
/** Most words of a piece whose audio has not begun. */
const maxWords = 10_000;

/** A voice, and its place in the chain. */
export interface Voice {
  readonly voice: Pick<TTSProvider, 'name' | 'speak' | 'words$' | 'getMetadata'>;
  readonly index: number;
}

/** What {@link sayInTurn} needs. */
export interface SayInTurnOptions {
  /** The id of all its audio and words, whoever speaks. */
  readonly utteranceId: string;
  /** The voice in use. */
  readonly current: () => Voice;
  /** Notes that a voice has failed; returns the one to go on with. */
  readonly replace: (index: number, error: unknown) => Voice | undefined;
  readonly failures: Failures;
  /** Longest wait for the first audio of a piece, in milliseconds. */
  readonly firstAudioMs: number;
  readonly scheduler: SchedulerLike;
  readonly onFormat: (metadata: AudioMetadata) => void;
  readonly onChunk: (chunk: AudioChunk) => void;
  readonly onWord: (word: SpokenWord) => void;
}

/** A piece of the text, and what a voice has made of it so far. */
interface Line {
  text: string;
  /** How many characters of the whole text stand before it, white space aside. */
  from: number;
  /** Whether the next word is the first of an attempt that follows another. */
  isAnew: boolean;
  voice: Voice;
  attempt: Subscription;
  /** The voice's own id of it. */
  id: string | undefined;
  metadata: AudioMetadata | undefined;
  /** Whether the voice has given any of its audio. */
  hasSounded: boolean;
  /** Audio and words before its turn. */
  chunks: AudioChunk[];
  words: SpokenWord[];
  /** The words told so far. */
  told: SpokenWord[];
  /** Milliseconds of its audio passed on. */
  passedMs: number;
  isDone: boolean;
  /** No voice is left for it. */
  isHopeless: boolean;
}

/**
 * Speaks a text piece by piece, in order, with the next one already under way. When a voice fails, another one says what
 * is left: from the first piece, or word, of which nothing was passed on.
 */
export function sayInTurn(text$: Observable<string>, options: SayInTurnOptions): Observable<AudioChunk> {
  return new Observable((subscriber) => {
    const speech = new SpeechInTurn(options, subscriber);
    subscriber.add(() => speech.cancel());
    feed(text$, subscriber, { next: (text) => speech.add(text), complete: () => speech.end() });
  });
}

class SpeechInTurn {
  readonly #options: SayInTurnOptions;
  readonly #subscriber: Subscriber<AudioChunk>;
  readonly #alarm: Alarm;
  readonly #audio$ = new Subject<AudioChunk>();
  #outlet: Subscription | undefined;
  readonly #waiting: string[] = [];
  /** The piece that is heard, and those under way. */
  readonly #lines: Line[] = [];
  /** Where the audio of the first line starts, in milliseconds; `undefined` behind compressed audio. */
  #baseMs: number | undefined = 0;
  /** Characters of the pieces begun, white space aside. */
  #begun = 0;
  #hasEnded = false;
  #isBusy = false;
  #isStale = false;

  constructor(options: SayInTurnOptions, subscriber: Subscriber<AudioChunk>) {
    this.#options = options;
    this.#subscriber = subscriber;
    this.#alarm = new Alarm(options.scheduler, () => this.#onStall());
  }

  add(text: string): void {
    this.#waiting.push(text);
    this.#advance();
  }

  /** There is no more text. */
  end(): void {
    this.#hasEnded = true;
    this.#advance();
  }

  cancel(): void {
    this.#alarm.unsubscribe();
    for (const { attempt } of this.#lines.splice(0)) attempt.unsubscribe();
    this.#outlet?.unsubscribe();
  }

  /** Passes on what is due, and starts what may start; a voice may answer in the middle of it. */
  #advance(): void {
    this.#isStale = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#isStale && !this.#subscriber.closed) {
      this.#isStale = false;
      this.#takeTurns();
    }
    this.#isBusy = false;
  }

  #takeTurns(): void {
    for (let first = this.#lines[0]; first; first = this.#lines[0]) {
      this.#pass(first);
      if (first.isHopeless) this.#subscriber.error(allFailed(this.#options.failures));
      if (!first.isDone) break;
      this.#moveBase(first);
      this.#lines.shift();
      this.#watch();
    }
    while (this.#lines.length < lookahead && this.#waiting.length > 0) {
      const line = blankLine(this.#waiting.shift() ?? '', this.#options.current(), this.#begun);
      this.#begun += countCharacters(line.text);
      this.#lines.push(line);
      if (this.#lines.length === 1) this.#watch();
      this.#start(line);
    }
    if (!this.#hasEnded || this.#lines.length > 0) return;
    // What a conversion still holds comes first.
    this.#audio$.complete();
    this.#subscriber.complete();
  }

  #start(line: Line): void {
    const { voice } = line.voice;
    const attempt = new Subscription();
    line.attempt = attempt;
    attempt.add(voice.words$?.subscribe({ next: (word) => this.#hearWord(line, word), error: () => undefined }));
    attempt.add(
      defer(() => voice.speak(of(line.text))).subscribe({
        next: (chunk) => this.#hear(line, chunk),
        error: (error: unknown) => this.#replace(line, error),
        complete: () => {
          const isMute = !line.hasSounded && hasWords(line.text);
          if (isMute) this.#replace(line, mute(voice.name));
          else line.isDone = true;
          attempt.unsubscribe();
          this.#advance();
        },
      }),
    );
  }

  #hear(line: Line, chunk: AudioChunk): void {
    if (chunk.data.byteLength === 0) return;
    line.hasSounded = true;
    line.id ??= chunk.utteranceId;
    line.chunks.push(chunk);
    this.#watch();
    if (this.#lines[0] === line) this.#pass(line);
  }

  #hearWord(line: Line, word: SpokenWord): void {
    if (line.words.length < maxWords) line.words.push(word);
    if (this.#lines[0] === line) this.#passWords(line);
  }

  /** Passes on what a line has; it is its turn. */
  #pass(line: Line): void {
    for (const chunk of line.chunks.splice(0)) this.#passChunk(line, chunk);
    this.#passWords(line);
  }

  #passChunk(line: Line, { data, metadata }: AudioChunk): void {
    const { utteranceId, onFormat, onChunk } = this.#options;
    const known = metadata ?? line.metadata ?? line.voice.voice.getMetadata?.();
    const isNew = known !== line.metadata;
    const isRaw = known !== undefined && isPcmLike(known.encoding);
    const timestamp = isRaw && this.#baseMs !== undefined ? this.#baseMs + line.passedMs : undefined;
    line.metadata = known;
    if (isRaw) line.passedMs += durationMs(data.byteLength, known);
    else this.#baseMs = undefined;
    if (!this.#outlet) {
      if (known) onFormat(known);
      const convert = known && isConvertible(known) ? transcode(known) : identity;
      this.#outlet = this.#audio$.pipe(convert).subscribe({
        next: (chunk) => {
          onChunk(chunk);
          this.#subscriber.next(chunk);
        },
        error: (error: unknown) => this.#subscriber.error(error),
      });
    }
    this.#audio$.next({
      data,
      utteranceId,
      ...(isNew && known && { metadata: known }),
      ...(timestamp !== undefined && { timestamp }),
    });
  }

  #passWords(line: Line): void {
    if (line.id === undefined) return;
    const base = this.#baseMs;
    const { utteranceId, onWord } = this.#options;
    for (const word of line.words.splice(0)) {
      if (word.utteranceId !== line.id) continue;
      line.told.push(word);
      if (base === undefined) continue;
      const at = word.resumesAt ?? (line.isAnew ? 0 : undefined);
      const resumesAt = at !== undefined && { resumesAt: line.from + at };
      line.isAnew = false;
      onWord({ ...word, ...resumesAt, utteranceId, startMs: base + word.startMs, endMs: base + word.endMs });
    }
  }

  /** Has another voice say what is left of a line, and the lines after it. */
  #replace(line: Line, error: unknown): void {
    const { voice } = line;
    line.attempt.unsubscribe();
    const next = this.#options.replace(voice.index, error);
    if (!next) {
      line.isHopeless = true;
      this.#advance();
      return;
    }
    const rest = this.#lines.slice(this.#lines.indexOf(line));
    for (const each of rest) if (each.voice.index === voice.index) this.#sayAnew(each, next);
    this.#watch();
    this.#advance();
  }

  #sayAnew(line: Line, voice: Voice): void {
    const [first] = this.#lines;
    if (line === first) this.#pass(line);
    line.attempt.unsubscribe();
    const hasPassed = line.passedMs > 0;
    const text = hasPassed ? restOf(line) : line.text;
    if (hasPassed) this.#moveBase(line);
    const from = line.from + countCharacters(line.text) - countCharacters(text);
    Object.assign(line, blankLine(text, voice, from), { isAnew: hasPassed });
    if (hasPassed && !hasWords(text)) line.isDone = true;
    else this.#start(line);
  }

  #moveBase({ passedMs }: Line): void {
    if (this.#baseMs !== undefined) this.#baseMs += passedMs;
  }

  /** Waits anew for the audio of the first line. */
  #watch(): void {
    const [first] = this.#lines;
    const { scheduler, firstAudioMs } = this.#options;
    this.#alarm.set(first ? scheduler.now() + (first.hasSounded ? idleMs : firstAudioMs) : Infinity);
  }

  #onStall(): void {
    const [line] = this.#lines;
    if (!line) return;
    const { name } = line.voice.voice;
    const ms = line.hasSounded ? idleMs : this.#options.firstAudioMs;
    const message = `${name}: no ${line.hasSounded ? 'more ' : ''}audio within ${ms} ms`;
    this.#replace(line, new VoiceError(message, { code: 'timeout', recoverable: true, provider: name }));
  }
}

function blankLine(text: string, voice: Voice, from: number): Line {
  return {
    ...{
      text,
      from,
      isAnew: false,
      voice,
      attempt: Subscription.EMPTY,
      id: undefined,
      metadata: undefined,
      hasSounded: false,
    },
    ...{ chunks: [], words: [], told: [], passedMs: 0, isDone: false, isHopeless: false },
  };
}

/** What is left of a line's text: from the word on that was not passed on whole; all of it if nobody knows. */
function restOf({ text, told, passedMs }: Line): string {
  let at = 0;
  for (const { word, to } of placedWords(text, told)) {
    if (word.estimated === true || word.endMs > passedMs + toleranceMs) break;
    at = Math.max(at, to);
  }
  return text.slice(at).trimStart();
}

function mute(provider: string): VoiceError {
  const message = `${provider}: no audio came for a text with words in it`;
  return new VoiceError(message, { code: 'protocol', recoverable: true, provider });
}

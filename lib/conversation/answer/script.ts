import { durationMs, isPcmLike } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { SpokenWord, TTSProvider } from '../../core/roles.ts';
import { placedWords } from '../../text/placed-words.ts';
import { visualPrefix, type SpokenPiece } from '../../text/spoken-piece.ts';
import { endOfWord, joinWords, wholeWords } from '../../text/words.ts';

/** The pace of most voices. */
const usualMsPerCharacter = 85;
/** Slower than any voice speaks, so that no more is remembered than was heard. */
const cautiousMsPerCharacter = 160;
/** The same in scripts in which a character is a syllable or more. */
const cautiousMsPerSyllable = 320;
const syllables = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u;
/** Faster than anybody speaks: a voice with less audio per letter has ended early. */
const leastMsPerLetter = 20;
/** Audio too short to judge, in milliseconds. */
const leastToTellMs = 500;
/** Rounding of chunks to samples and frames must not cost a word. */
const toleranceMs = 0.5;

/** One call of the TTS: the text of one round of the model. */
interface Part {
  readonly pieces: SpokenPiece[];
  /** The provider that speaks it, if not the speech's own. */
  readonly provider: string | undefined;
  /** What the voice delivers instead of speech. */
  readonly delivers: TTSProvider['delivers'];
  utteranceId: string | undefined;
  metadata: AudioMetadata | undefined;
  receivedMs: number;
  /** Whether its duration cannot be derived from its bytes: only the output's decoder knows it. */
  isCompressed: boolean;
  complete: boolean;
}

/** What was heard of a speech. */
export interface Heard {
  /** A prefix, in whole words, of the text. */
  readonly text: string;
  /** The same for each round of the model. */
  readonly rounds: readonly string[];
  /** True when it was computed without word timings from the service. */
  readonly estimated: boolean;
  /** How many characters of the text given to the voice were heard. */
  readonly characters: number;
}

/** One round of a script. Times are milliseconds. */
export interface ScriptRound {
  readonly pieces: readonly SpokenPiece[];
  /** Whether it is complete. */
  readonly isOver: boolean;
  /** All that is spoken of it so far. */
  readonly spoken: string;
  /** Timed from its start. */
  readonly words: readonly SpokenWord[];
  /** Where it begins in the text. */
  readonly visualStart: number;
  /** When it begins. */
  readonly startMs: number;
  /** When the first `characters` of it have sounded, from its start. */
  msAt(characters: number): number;
}

/** What was synthesized but not heard. */
export interface Waste {
  readonly characters: number;
  /** Milliseconds; 0 for compressed audio, whose length only the output knows. */
  readonly audioMs: number;
}

/** A voice's speaking rate, learned from its speech. */
export interface Pace {
  msPerCharacter: number | undefined;
}

/** The pace of a voice that has not spoken yet. */
export function unknownPace(): Pace {
  return { msPerCharacter: undefined };
}

/** A pace so cautious that nothing counts as heard that was not. */
function cautiousPace({ msPerCharacter }: Pace, text: string): number {
  return msPerCharacter ?? (syllables.test(text) ? cautiousMsPerSyllable : cautiousMsPerCharacter);
}

/** Maps one speech's audio to its text, so that a play-head can be read as words. */
export class Script {
  readonly #parts: Part[] = [];
  readonly #words: SpokenWord[] = [];
  #wordsLength = 0;
  readonly #pace: Pace;

  /** @param pace - The voice's pace, updated by this speech. */
  constructor(pace: Pace = unknownPace()) {
    this.#pace = pace;
  }

  /**
   * Opens the next round; what follows belongs to it.
   *
   * @param provider - Who speaks it.
   * @param delivers - What the voice delivers instead of speech.
   */
  beginRound(provider?: string, delivers?: TTSProvider['delivers']): void {
    const nothing = { utteranceId: undefined, metadata: undefined, receivedMs: 0 };
    this.#parts.push({ provider, delivers, ...nothing, pieces: [], isCompressed: false, complete: false });
  }

  /** This round's audio is complete. */
  endRound(): void {
    const part = this.#parts.at(-1);
    if (!part) return;
    part.complete = true;
    const spoken = spokenOf(part);
    const { length } = spoken;
    if (length && part.receivedMs && isWhole(part, spoken, untimed))
      this.#pace.msPerCharacter = part.receivedMs / length;
  }

  /** The provider that speaks an utterance. */
  providerOf(utteranceId: string | undefined): string | undefined {
    return (this.#parts.find((part) => part.utteranceId === utteranceId) ?? this.#parts.at(-1))?.provider;
  }

  /** Number of characters sent to the TTS. */
  get characters(): number {
    return this.#parts.reduce((sum, part) => sum + charactersOf(part), 0);
  }

  /** The same for each voice, by provider; `undefined` for the speech's own. */
  get charactersByVoice(): ReadonlyMap<string | undefined, number> {
    const sums = new Map<string | undefined, number>();
    for (const part of this.#parts) {
      const characters = charactersOf(part);
      if (characters > 0 && part.delivers === undefined)
        sums.set(part.provider, (sums.get(part.provider) ?? 0) + characters);
    }
    return sums;
  }

  /** Whether all of it is only read: it makes no sound that could come back as an echo. */
  get isShown(): boolean {
    return this.#parts.every(({ delivers }) => delivers === 'text');
  }

  addPiece(piece: SpokenPiece): void {
    this.#parts.at(-1)?.pieces.push(piece);
  }

  /** @returns The chunk with its format. */
  addAudio(chunk: AudioChunk): AudioChunk {
    const part = this.#parts.at(-1);
    if (!part) return chunk;
    part.metadata = chunk.metadata ?? part.metadata;
    part.utteranceId = chunk.utteranceId ?? part.utteranceId;
    if (part.metadata) {
      part.isCompressed ||= !isPcmLike(part.metadata.encoding);
      if (!part.isCompressed) part.receivedMs += durationMs(chunk.data.byteLength, part.metadata);
    }
    return chunk.metadata || !part.metadata ? chunk : Object.assign({}, chunk, { metadata: part.metadata });
  }

  /** Ignores words once they add up to far more than the text. */
  addWord(word: SpokenWord): void {
    this.#wordsLength += word.text.length;
    if (this.#wordsLength <= 4 * this.characters + 1_024) this.#words.push(word);
  }

  /** Milliseconds of audio received. */
  get receivedMs(): number {
    return this.#parts.reduce((sum, part) => sum + part.receivedMs, 0);
  }

  /** The complete text. */
  get text(): string {
    return this.#parts.map(visualOf).reduce(joinWords, '');
  }

  /**
   * What was heard after `positionMs` of the audio.
   *
   * @param isFinished - Whether the output has played everything, which for compressed audio only it knows.
   */
  heardAt(positionMs: number, isFinished: boolean = false): Heard {
    let startMs = 0;
    let estimated = false;
    let sum = 0;
    const upTo = (part: Part, characters: number): string => {
      sum += characters;
      return visualPrefix(part.pieces, characters);
    };
    if (isFinished) this.#learnPace(positionMs);
    const rounds = this.#parts.map((part) => {
      const localMs = positionMs - startMs;
      const spoken = spokenOf(part);
      startMs += part.isCompressed ? spoken.length * cautiousPace(this.#pace, spoken) : part.receivedMs;
      if (localMs <= 0 || (!part.isCompressed && part.receivedMs === 0)) return '';
      const words = this.#wordsOf(part);
      if (isFinished && part.isCompressed) {
        // By now the amount of audio is known.
        const timed = timedBy(spoken, words, () => true);
        return upTo(part, saysAll(localMs, spoken, timed) ? spoken.length : timed.farthest);
      }
      const { characters, exact } = charactersAt(part, words, localMs, this.#pace);
      estimated ||= !exact;
      return upTo(part, characters);
    });
    return { text: rounds.reduce(joinWords, ''), rounds, estimated, characters: sum };
  }

  /** What sounded between two positions of the audio, in milliseconds, including words that sounded only in part. */
  soundedBetween(fromMs: number, toMs: number): string {
    if (toMs <= 0) return '';
    const { text } = this;
    return text.slice(this.heardAt(fromMs).text.length, endOfWord(text, this.heardAt(toMs).text.length));
  }

  /** A round of the model, for captions: its words and their times. */
  roundAt(index: number): ScriptRound | undefined {
    const part = this.#parts[index];
    if (!part) return undefined;
    const { msPerCharacter: paceMs = usualMsPerCharacter } = this.#pace;
    const before = this.#parts.slice(0, index);
    const spoken = spokenOf(part);
    const words = this.#wordsOf(part);
    const text = before.map(visualOf).reduce(joinWords, '');
    const visual = visualOf(part);
    return {
      pieces: part.pieces,
      isOver: part.complete,
      spoken,
      words,
      visualStart: joinWords(text, visual).length - visual.length,
      startMs: before.reduce(
        (ms, each) => ms + (each.isCompressed ? spokenOf(each).length * paceMs : each.receivedMs),
        0,
      ),
      msAt: (characters) => msAt(part, words, characters, paceMs),
    };
  }

  /** When each match of a pattern in the text ends, in milliseconds of the audio. */
  endsOf(pattern: RegExp): number[] {
    let startMs = 0;
    const { msPerCharacter: paceMs = usualMsPerCharacter } = this.#pace;
    return this.#parts.flatMap((part) => {
      const spoken = spokenOf(part);
      const partMs = startMs;
      startMs += part.isCompressed ? spoken.length * paceMs : part.receivedMs;
      const matches = [...spoken.matchAll(pattern)];
      const words = matches.length > 0 ? this.#wordsOf(part) : [];
      return matches.map(({ 0: match, index }) => partMs + msAt(part, words, index + match.length, paceMs));
    });
  }

  #wordsOf({ utteranceId }: Part): SpokenWord[] {
    return this.#words.filter((word) => word.utteranceId === utteranceId);
  }

  /** For compressed audio, only a complete speech reveals the speaking rate. */
  #learnPace(playedMs: number): void {
    const { characters } = this;
    if (characters && playedMs && this.#parts.every((part) => part.isCompressed)) {
      this.#pace.msPerCharacter = playedMs / characters;
    }
  }
}

function charactersOf({ pieces }: Part): number {
  return pieces.reduce((length, piece) => length + piece.spoken.length, 0);
}

function spokenOf(part: Part): string {
  return part.pieces.map(({ spoken }) => spoken).join('');
}

function visualOf(part: Part): string {
  return part.pieces.map(({ visual }) => visual).join('');
}

/** How far the words with known timings reach in a part's text and in its audio. */
function timedBy(
  spoken: string,
  words: readonly SpokenWord[],
  isWanted: (to: number, word: SpokenWord) => boolean,
): Timed & { readonly exact: boolean; readonly next?: SpokenWord } {
  let [characters, farthest, ms] = [0, 0, 0];
  let exact = words.length > 0;
  for (const { word, to } of placedWords(spoken, words)) {
    if (!isWanted(to, word)) return { characters, farthest, ms, exact: exact && !word.estimated, next: word };
    [characters, ms] = [to, word.endMs];
    farthest = Math.max(farthest, to);
    exact &&= !word.estimated;
  }
  return { characters, farthest, ms, exact };
}

/** How far word timings reach in a text, and in its audio. */
interface Timed {
  /** The end of the last word. */
  readonly characters: number;
  /** The end of the farthest word in the text: a voice that restarted may still be behind it. */
  readonly farthest: number;
  readonly ms: number;
}

/** Without word timings. */
const untimed: Timed = { characters: 0, farthest: 0, ms: 0 };

/** Whether a part's audio is complete and long enough for its whole text. */
function isWhole({ complete, isCompressed, receivedMs }: Part, spoken: string, timed: Timed): boolean {
  return complete && !isCompressed && saysAll(receivedMs, spoken, timed);
}

/** Whether this much audio can be the whole text: else the voice ended early. */
function saysAll(receivedMs: number, spoken: string, { characters, ms }: Timed): boolean {
  const most = (receivedMs - ms + toleranceMs) / leastMsPerLetter;
  if (receivedMs < leastToTellMs || spoken.length - characters <= most) return true;
  return spoken.slice(characters).replace(/[^\p{L}\p{N}]/gu, '').length <= most;
}

/** How long a character of a part lasts, where no word timing says so. */
function msPerCharacter(part: Part, spoken: string, timed: Timed, paceMs: number): number {
  const { characters, ms } = timed;
  const rest = spoken.length - characters;
  // The audio so far covers at most the text given so far.
  const least = rest > 0 ? (part.receivedMs - ms) / rest : 0;
  if (rest > 0 && isWhole(part, spoken, timed)) return least;
  return Math.max(least, characters > 0 ? ms / characters : paceMs);
}

/** How many characters of a part's spoken text were heard: by word timings as far as available, else by proportion. */
function charactersAt(
  part: Part,
  words: readonly SpokenWord[],
  localMs: number,
  pace: Pace,
): { characters: number; exact: boolean } {
  const spoken = spokenOf(part);
  const timed = timedBy(spoken, words, (_, { endMs }) => endMs <= localMs + toleranceMs);
  const { characters, farthest, ms, exact } = timed;
  if (timed.next) return { characters: farthest, exact };
  const isOver = localMs >= part.receivedMs - toleranceMs;
  if (isOver && isWhole(part, spoken, timed)) return { characters: spoken.length, exact: true };
  const each = msPerCharacter(part, spoken, timed, cautiousPace(pace, spoken));
  const more = each > 0 ? Math.floor((localMs + toleranceMs - ms) / each) : 0;
  const length = Math.min(spoken.length, characters + Math.max(0, more));
  return { characters: Math.max(farthest, wholeWords(spoken, length)), exact: false };
}

/** When the first `characters` of a part's spoken text have sounded. */
function msAt(part: Part, words: readonly SpokenWord[], characters: number, paceMs: number): number {
  const spoken = spokenOf(part);
  const timed = timedBy(spoken, words, (to) => to <= characters);
  // Punctuation has no sound of its own.
  const rest = spoken.slice(timed.characters, characters);
  if (!/[\p{L}\p{N}]/u.test(rest)) return timed.ms;
  return timed.ms + rest.length * msPerCharacter(part, spoken, timed, paceMs);
}

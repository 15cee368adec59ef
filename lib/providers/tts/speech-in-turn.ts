import { durationMs, isPcmLike } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { SpokenWord, TTSProvider } from '../../core/roles.ts';
import { takeStep, type Machine, type Step } from '../../stream/fold.ts';
import { countCharacters, placedWords } from '../../text/placed-words.ts';
import { hasWords } from '../../text/words.ts';

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

/** A chunk, with its format where that is new; `ms` is its length, if that is known. */
interface Sound {
  readonly data: AudioChunk['data'];
  readonly metadata: AudioMetadata | undefined;
  readonly ms: number | undefined;
}

/** A piece of the text, and what a voice has made of it so far. */
interface Piece {
  /** The current attempt; reports of earlier ones are late. */
  readonly attempt: number;
  readonly text: string;
  /** How many characters of the whole text precede it, not counting white space. */
  readonly from: number;
  /** Whether its next word is the first after an attempt that failed midway. */
  readonly isRestarted: boolean;
  /** The voice's own id of it. */
  readonly id: string | undefined;
  readonly metadata: AudioMetadata | undefined;
  /** Whether the voice has delivered any of its audio. */
  readonly hasSounded: boolean;
  /** Audio and words that wait for the pieces before it. */
  readonly sounds: readonly Sound[];
  readonly words: readonly SpokenWord[];
  /** The words emitted so far. */
  readonly told: readonly SpokenWord[];
  /** Milliseconds of its audio emitted so far. */
  readonly playedMs: number;
  /** `lost`: no voice is left to speak it. */
  readonly state: 'spoken' | 'complete' | 'lost';
}

/** A text that voices speak in turn. */
export interface Speech {
  /** The piece that is heard, then those synthesized ahead of it. */
  readonly pieces: readonly Piece[];
  /** Texts waiting for their turn. */
  readonly waiting: readonly string[];
  readonly hasEnded: boolean;
  /** Where the audio of the first piece starts, in milliseconds; `undefined` after compressed audio. */
  readonly startMs: number | undefined;
  /** Characters of all pieces begun, not counting white space. */
  readonly characters: number;
  readonly attempts: number;
  /** When the voice of the first piece counts as stalled; Infinity without a piece. */
  readonly stallsAt: number;
}

/** Inputs of a speech. */
export type ChainSpeechInput =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'end' | 'stalled' }
  /** `usual`: the voice's format where the audio names none. */
  | {
      readonly type: 'chunk';
      readonly attempt: number;
      readonly chunk: AudioChunk;
      readonly usual: AudioMetadata | undefined;
    }
  | { readonly type: 'word'; readonly attempt: number; readonly word: SpokenWord }
  | { readonly type: 'completed'; readonly attempt: number }
  | { readonly type: 'failed'; readonly attempt: number; readonly error: unknown }
  /** `attempts` are those of the voice that failed; `voice` speaks instead, if there is one. */
  | {
      readonly type: 'replaced';
      readonly attempt: number;
      readonly attempts: readonly number[];
      readonly voice: Voice | undefined;
    };

/** Effects of a speech. */
export type ChainSpeechEffect =
  /** Without a `voice`, the one in use speaks. */
  | { readonly type: 'speak'; readonly attempt: number; readonly text: string; readonly voice?: Voice }
  | { readonly type: 'cancel'; readonly attempt: number }
  /** `problem`: the voice's error, by its name. */
  | { readonly type: 'replace'; readonly attempt: number; readonly problem: (name: string) => unknown }
  | { readonly type: 'audio'; readonly chunk: AudioChunk }
  | { readonly type: 'word'; readonly word: SpokenWord }
  | { readonly type: 'complete' | 'fail' };

type ChainSpeechStep = Step<Speech, ChainSpeechEffect>;

const silent: Speech = {
  ...{ pieces: [], waiting: [], hasEnded: false, startMs: 0, characters: 0, attempts: 0, stallsAt: Infinity },
};

/**
 * A text that is spoken piece by piece, in order, with the next one already under way; another voice says what is left by
 * one that fails.
 *
 * @param firstAudioMs - Longest wait for the first audio of a piece, in milliseconds.
 */
export function speechInTurn(firstAudioMs: number): Machine<Speech, ChainSpeechInput, ChainSpeechEffect> {
  return {
    start: silent,
    reduce: (speech, input, at) => {
      const effects: ChainSpeechEffect[] = [];
      const heard = takeStep(effects, hear(speech, input, firstAudioMs));
      const next = takeStep(effects, takeTurns(heard));
      // Any audio is a sign of life; so is whatever changes the piece that is heard.
      const isNew = next.pieces[0]?.attempt !== speech.pieces[0]?.attempt || input.type === 'replaced';
      const [first] = next.pieces;
      if (isNew || input.type === 'chunk') {
        const waitMs = first?.hasSounded ? idleMs : firstAudioMs;
        return [{ ...next, stallsAt: first ? at + waitMs : Infinity }, ...effects];
      }
      return [next, ...effects];
    },
    wakeAt: ({ stallsAt }) => stallsAt,
    tick: { type: 'stalled' },
  };
}

/** Applies an input. */
function hear(speech: Speech, input: ChainSpeechInput, firstAudioMs: number): ChainSpeechStep {
  switch (input.type) {
    case 'text':
      return [{ ...speech, waiting: [...speech.waiting, input.text] }];
    case 'end':
      return [{ ...speech, hasEnded: true }];
    case 'stalled':
      return onStall({ ...speech, stallsAt: Infinity }, firstAudioMs);
    case 'replaced':
      return onReplaced(speech, input);
    default:
  }
  const piece = speech.pieces.find(({ attempt }) => attempt === input.attempt);
  if (!piece) return [speech];
  switch (input.type) {
    case 'chunk':
      return [withPiece(speech, withSound(piece, input.chunk, input.usual))];
    case 'word':
      if (piece.words.length >= maxWords) return [speech];
      return [withPiece(speech, { ...piece, words: [...piece.words, input.word] })];
    case 'failed':
      return [speech, { type: 'replace', attempt: piece.attempt, problem: () => input.error }];
    case 'completed': {
      const isMute = !piece.hasSounded && hasWords(piece.text);
      if (isMute) return [speech, { type: 'replace', attempt: piece.attempt, problem: mute }];
      return [withPiece(speech, { ...piece, state: 'complete' }), { type: 'cancel', attempt: piece.attempt }];
    }
  }
}

function onStall(speech: Speech, firstAudioMs: number): ChainSpeechStep {
  const [first] = speech.pieces;
  if (!first) return [speech];
  const { attempt, hasSounded } = first;
  const message = `no ${hasSounded ? 'more ' : ''}audio within ${hasSounded ? idleMs : firstAudioMs} ms`;
  const problem = (provider: string): VoiceError =>
    new VoiceError(`${provider}: ${message}`, { code: 'timeout', recoverable: true, provider });
  return [speech, { type: 'replace', attempt, problem }];
}

/** Has another voice say what is left of a piece, and of the pieces after it that the failed voice speaks too. */
function onReplaced(
  speech: Speech,
  { attempt, attempts, voice }: Extract<ChainSpeechInput, { readonly type: 'replaced' }>,
): ChainSpeechStep {
  const at = speech.pieces.findIndex((piece) => piece.attempt === attempt);
  const failed = speech.pieces[at];
  if (!failed) return [speech];
  if (!voice) return [withPiece(speech, { ...failed, state: 'lost' }), { type: 'cancel', attempt }];
  const effects: ChainSpeechEffect[] = [];
  let next = speech;
  for (const piece of speech.pieces.slice(at)) {
    if (attempts.includes(piece.attempt)) next = takeStep(effects, restart(next, piece, voice));
  }
  return [next, ...effects];
}

function restart(speech: Speech, piece: Piece, voice: Voice): ChainSpeechStep {
  const isRestarted = piece.playedMs > 0;
  const text = isRestarted ? restOf(piece) : piece.text;
  const from = piece.from + countCharacters(piece.text) - countCharacters(text);
  const isOver = isRestarted && !hasWords(text);
  const attempt = speech.attempts;
  const again: Piece = { ...pieceOf(attempt, text, from), isRestarted, state: isOver ? 'complete' : 'spoken' };
  const pieces = speech.pieces.map((each) => (each.attempt === piece.attempt ? again : each));
  const next = { ...advanced(speech, piece.playedMs), attempts: attempt + 1, pieces };
  const cancel: ChainSpeechEffect = { type: 'cancel', attempt: piece.attempt };
  return isOver ? [next, cancel] : [next, cancel, { type: 'speak', attempt, text, voice }];
}

/** Emits what is due, moves on when a piece is complete, and starts the pieces that may start. */
function takeTurns(before: Speech): ChainSpeechStep {
  const effects: ChainSpeechEffect[] = [];
  let speech = before;
  for (;;) {
    speech = takeStep(effects, emit(speech));
    const [first, ...rest] = speech.pieces;
    if (first?.state === 'lost') return [speech, ...effects, { type: 'fail' }];
    if (first?.state !== 'complete') break;
    speech = { ...advanced(speech, first.playedMs), pieces: rest };
  }
  while (speech.pieces.length < lookahead && speech.waiting.length > 0) {
    const [text = '', ...waiting] = speech.waiting;
    const { attempts, characters, pieces } = speech;
    effects.push({ type: 'speak', attempt: attempts, text });
    speech = {
      ...speech,
      waiting,
      attempts: attempts + 1,
      characters: characters + countCharacters(text),
      pieces: [...pieces, pieceOf(attempts, text, characters)],
    };
  }
  if (speech.hasEnded && speech.pieces.length === 0) effects.push({ type: 'complete' });
  return [speech, ...effects];
}

/** Emits what there is of the piece that is heard: its audio, and the words known to be its own. */
function emit(speech: Speech): ChainSpeechStep {
  const [first] = speech.pieces;
  if (!first || (first.sounds.length === 0 && first.words.length === 0)) return [speech];
  const effects: ChainSpeechEffect[] = [];
  let { startMs } = speech;
  let { playedMs, isRestarted } = first;
  for (const { data, metadata, ms } of first.sounds) {
    const timestamp = ms === undefined || startMs === undefined ? undefined : startMs + playedMs;
    const chunk = { data, ...(metadata && { metadata }), ...(timestamp !== undefined && { timestamp }) };
    effects.push({ type: 'audio', chunk });
    playedMs += ms ?? 0;
    if (ms === undefined) startMs = undefined;
  }
  // Whose words they are is known with the first audio.
  const words = first.id === undefined ? [] : first.words.filter(({ utteranceId }) => utteranceId === first.id);
  for (const word of startMs === undefined ? [] : words) {
    const at = word.resumesAt ?? (isRestarted ? 0 : undefined);
    isRestarted = false;
    const times = { startMs: (startMs ?? 0) + word.startMs, endMs: (startMs ?? 0) + word.endMs };
    effects.push({
      type: 'word',
      word: { ...word, ...times, ...(at !== undefined && { resumesAt: first.from + at }) },
    });
  }
  const piece: Piece = {
    ...first,
    playedMs,
    isRestarted,
    sounds: [],
    told: [...first.told, ...words],
    words: first.id === undefined ? first.words : [],
  };
  return [withPiece({ ...speech, startMs }, piece), ...effects];
}

function pieceOf(attempt: number, text: string, from: number): Piece {
  return {
    attempt,
    text,
    from,
    isRestarted: false,
    id: undefined,
    metadata: undefined,
    hasSounded: false,
    sounds: [],
    words: [],
    told: [],
    playedMs: 0,
    state: 'spoken',
  };
}

function withPiece(speech: Speech, piece: Piece): Speech {
  return { ...speech, pieces: speech.pieces.map((each) => (each.attempt === piece.attempt ? piece : each)) };
}

function withSound(piece: Piece, { data, metadata, utteranceId }: AudioChunk, usual: AudioMetadata | undefined): Piece {
  const format = metadata ?? piece.metadata ?? usual;
  const ms = format && isPcmLike(format.encoding) ? durationMs(data.byteLength, format) : undefined;
  const sound = { data, metadata: format === piece.metadata ? undefined : format, ms };
  return {
    ...piece,
    metadata: format,
    hasSounded: true,
    sounds: [...piece.sounds, sound],
    id: piece.id ?? utteranceId,
  };
}

/** A speech with more audio emitted. */
function advanced(speech: Speech, ms: number): Speech {
  return speech.startMs === undefined ? speech : { ...speech, startMs: speech.startMs + ms };
}

/** What is left of a piece's text: from the first word on that was not heard whole; all of it if nobody knows. */
function restOf({ text, told, playedMs }: Piece): string {
  let at = 0;
  for (const { word, to } of placedWords(text, told)) {
    if (word.estimated === true || word.endMs > playedMs + toleranceMs) break;
    at = Math.max(at, to);
  }
  return text.slice(at).trimStart();
}

function mute(provider: string): VoiceError {
  const message = `${provider}: no audio came for a text with words in it`;
  return new VoiceError(message, { code: 'protocol', recoverable: true, provider });
}

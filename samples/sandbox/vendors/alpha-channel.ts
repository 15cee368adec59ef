import type { Session } from '../session.ts';
import { languageOf } from '../languages.ts';
import { meanConfidence, plain, round, sentence, Transcriber } from '../transcriber.ts';
import type { AudioSettings, Word } from '../transcriber.ts';

const digits = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/** Text with its numbers in digits. */
function inDigits(text: string): string {
  return text.replace(/[a-z]+/gi, (word) => {
    const digit = digits.indexOf(word.toLowerCase());
    return digit < 0 ? word : String(digit);
  });
}

/** The gaps of the modem would end every character with less; real services have such a floor too. */
const shortestEndpointing = 0.1;
/** A segment that runs longer becomes final although the speaker goes on. */
const longestSegment = 5;

/** What is said of a segment. */
interface SegmentFlags {
  readonly is_final: boolean;
  readonly speech_final: boolean;
  readonly from_finalize?: boolean;
}

/** One channel of a stream, or all of it as one: its words, and when its utterances end. */
export class AlphaChannel {
  readonly #session: Session;
  readonly #query: URLSearchParams;
  readonly #requestId: string;
  /** Its number, and how many there are. */
  readonly #index: readonly [channel: number, of: number];
  readonly #interims: boolean;
  readonly #formatted: boolean;
  readonly #endpointing: number;
  readonly #utteranceEnd: number;
  readonly #transcriber: Transcriber;
  #segmentStart = 0;
  #lastWordEnd: number | undefined;
  #inSpeech = false;
  #unfinished = false;
  #closing = false;
  /** Whether numbers are written in digits. */
  numerals: boolean;

  constructor(
    session: Session,
    query: URLSearchParams,
    requestId: string,
    format: AudioSettings,
    index: readonly [channel: number, of: number] = [0, 1],
  ) {
    this.#session = session;
    this.#query = query;
    this.#requestId = requestId;
    this.#index = index;
    const on = (name: string): boolean => query.get(name) === 'true';
    this.#interims = on('interim_results');
    this.#formatted = on('punctuate') || on('smart_format');
    this.numerals = on('numerals');
    const endpointing = query.get('endpointing') ?? '10';
    this.#endpointing =
      endpointing === 'false'
        ? Number.POSITIVE_INFINITY
        : Math.max(shortestEndpointing, (Number(endpointing) || 10) / 1000);
    this.#utteranceEnd = Number(query.get('utterance_end_ms') ?? Number.POSITIVE_INFINITY) / 1000;
    this.#transcriber = new Transcriber(format, {
      voice: (at) => this.#voice(at),
      word: () => this.#word(),
      step: () => this.#step(),
    });
  }

  /** Seconds of audio heard. */
  get now(): number {
    return this.#transcriber.now;
  }

  push(bytes: Uint8Array): void {
    this.#transcriber.push(bytes);
  }

  finalize(): void {
    this.#transcriber.finish();
    this.#result({ is_final: true, speech_final: true, from_finalize: true });
    this.#unfinished = false;
  }

  close(): void {
    this.#closing = true;
    this.#transcriber.finish();
    this.#result({ is_final: true, speech_final: false });
  }

  #voice(at: number): void {
    if (this.#inSpeech) return;
    this.#inSpeech = true;
    if (this.#query.get('vad_events') !== 'true') return;
    this.#session.send({ type: 'SpeechStarted', channel: this.#index, timestamp: round(at) });
  }

  #word(): void {
    const last = this.#transcriber.words.at(-1);
    if (!last || this.#closing) return;
    this.#lastWordEnd = last.end;
    this.#unfinished = true;
    if (last.end - this.#segmentStart > longestSegment) this.#result({ is_final: true, speech_final: false });
    else if (this.#interims) this.#result({ is_final: false, speech_final: false });
  }

  #step(): void {
    const { now, quiet, words } = this.#transcriber;
    if (quiet >= this.#endpointing && this.#unfinished) {
      this.#result({ is_final: true, speech_final: true });
      this.#unfinished = false;
    }
    if (quiet >= Math.max(shortestEndpointing, Math.min(this.#endpointing, 1))) this.#inSpeech = false;
    if (
      this.#lastWordEnd !== undefined &&
      now - this.#lastWordEnd >= this.#utteranceEnd &&
      quiet >= shortestEndpointing
    ) {
      this.#session.send({ type: 'UtteranceEnd', channel: this.#index, last_word_end: round(this.#lastWordEnd) });
      this.#lastWordEnd = undefined;
    }
    if (now - this.#segmentStart <= longestSegment || quiet < shortestEndpointing) return;
    const hasWords = words.length > 0;
    if (hasWords || quiet > longestSegment) this.#result({ is_final: true, speech_final: !hasWords });
  }

  #result(flags: SegmentFlags): void {
    const heard = this.#transcriber.words;
    const words = this.numerals ? heard.map((word) => ({ ...word, text: inDigits(word.text) })) : heard;
    const now = this.#transcriber.now;
    const shown = words.map((word) => this.#wire(word));
    const isMulti = this.#query.get('language') === 'multi';
    const language = isMulti ? { languages: [languageOf(sentence(words))] } : {};
    this.#session.send({
      type: 'Results',
      channel_index: this.#index,
      duration: round(now - this.#segmentStart),
      start: round(this.#segmentStart),
      is_final: flags.is_final,
      speech_final: flags.speech_final,
      channel: {
        alternatives: [
          {
            transcript: this.#formatted ? sentence(words) : words.map(({ text }) => plain(text)).join(' '),
            confidence: meanConfidence(words),
            ...language,
            words: shown,
          },
        ],
      },
      metadata: {
        request_id: this.#requestId,
        model_info: { name: 'general-nova-3', version: '2025-04-17.21547', arch: 'nova-3' },
        model_uuid: '40bd3654-e622-47c4-a111-63a61b23bfe8',
      },
      from_finalize: flags.from_finalize ?? false,
    });
    if (!flags.is_final) return;
    this.#transcriber.reset();
    this.#segmentStart = now;
  }

  #wire({ text, start, end, confidence }: Word): Record<string, unknown> {
    return {
      ...{ word: plain(text), start: round(start), end: round(end), confidence },
      ...(this.#query.get('language') === 'multi' ? { language: languageOf(text) } : {}),
      ...(this.#formatted ? { punctuated_word: text } : {}),
      ...(this.#query.get('diarize') === 'true' || this.#query.has('diarize_model') ? { speaker: 0 } : {}),
    };
  }
}

import type { OperatorFunction } from 'rxjs';
import { concatBytes } from '../../audio/concat.ts';
import { rawFormat } from '../../audio/accepted.ts';
import { sameFormat } from '../../audio/described.ts';
import { durationMs, frameBytes, isPcmLike } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { WavReader } from '../../audio/wav-reader.ts';
import { VoiceError } from '../../core/errors.ts';
import type { SpokenWord } from '../../core/roles.ts';
import { incremental, type IncrementalStage } from '../../stream/incremental.ts';
import { afterCharacters, countCharacters } from '../../text/placed-words.ts';
import { spreadWords, type WordTiming } from './words/spread-words.ts';

/** A wire's output while an utterance is synthesized. */
export type SynthesisEvent =
  /** Raw bytes, split anywhere, with or without a WAV header. */
  | {
      readonly type: 'audio';
      readonly data: Uint8Array<ArrayBuffer>;
      readonly metadata?: AudioMetadata;
      readonly requestId?: string | undefined;
    }
  /** A word's time as given by the service, from the start of the segment. */
  | ({ readonly type: 'word' } & WordTiming)
  /**
   * The end of a segment: all audio since the last one (or the start) belongs to this text. Without a text its audio has
   * no words. Of one that was cut short, what follows the text is said again.
   */
  | { readonly type: 'segment'; readonly text?: string; readonly isCut?: boolean };

/** An utterance's output: its chunks, and its words, each after the audio it came with. */
export type UtteranceEvent =
  { readonly type: 'chunk'; readonly chunk: AudioChunk } | { readonly type: 'word'; readonly word: SpokenWord };

/** What chunks and words are assembled with. */
export interface UtteranceOptions {
  /** The provider's name. */
  readonly provider: string;
  /** The id of the synthesis. */
  readonly utteranceId: string;
  /** The format of the bytes; if unknown, each segment's first bytes must include it. */
  readonly format: AudioMetadata | undefined;
  /** The utterance's text so far. */
  readonly text: () => string;
}

/** Most words before the first audio, in characters. */
const maxEarlyLength = 1_048_576;
/** Most bytes of one compressed file. */
const maxFileBytes = 32 * 1024 * 1024;

/**
 * Assembles chunks and words from a wire's output. Audio is emitted as it arrives: raw samples in whole frames and
 * without a WAV header; a segment's compressed file with its end marked. If the service gives no word timings, they are
 * estimated for each finished segment, and at the end for the rest.
 */
export function assembleUtterance(options: UtteranceOptions): OperatorFunction<SynthesisEvent, UtteranceEvent> {
  return incremental(() => new Utterance(options));
}

class Utterance implements IncrementalStage<SynthesisEvent, UtteranceEvent> {
  readonly #options: UtteranceOptions;
  #segment: SegmentReader;
  /** Milliseconds of audio so far, and at the start of the current segment. */
  #positionMs: number = 0;
  #segmentMs: number = 0;
  #format: AudioMetadata | undefined;
  /** The id of the request that the audio comes from. */
  #requestId: string | undefined;
  /** Whether the service timed words of the current segment. */
  #isTimed: boolean = false;
  /** Whether the last segment was cut short, and no word has come since. */
  #wasCut: boolean = false;
  /** Whether the start of the current segment is unknown, after a compressed one of unknown length. */
  #isStartUnknown: boolean = false;
  /** Words received before the first audio. */
  #early: UtteranceEvent[] = [];
  #earlyLength: number = 0;
  /** Characters (without white space) of finished segments. */
  #assigned: number = 0;

  constructor(options: UtteranceOptions) {
    this.#options = options;
    this.#segment = new SegmentReader(options);
  }

  push(event: SynthesisEvent): UtteranceEvent[] {
    switch (event.type) {
      case 'audio':
        this.#requestId = event.requestId;
        return this.#audio(this.#segment.push(event.data, event.metadata));
      case 'word': {
        const { text, startMs, endMs } = event;
        // A number from a wire can be infinite.
        if (this.#isStartUnknown || !Number.isFinite(startMs) || !Number.isFinite(endMs)) return [];
        this.#isTimed = true;
        return this.#words([{ text, startMs: startMs + this.#segmentMs, endMs: endMs + this.#segmentMs }], false);
      }
      case 'segment': {
        const rest = this.#endSegment(event.text ?? '');
        this.#wasCut = event.isCut ?? false;
        return rest;
      }
    }
  }

  flush(): UtteranceEvent[] {
    return this.#endSegment(this.#restOfText());
  }

  #endSegment(text: string): UtteranceEvent[] {
    const rest = this.#audio(this.#segment.flush());
    const words = this.#isTimed ? [] : this.#words(spreadWords(text, this.#segmentMs, this.#positionMs), true);
    this.#assigned += countCharacters(text);
    this.#segmentMs = this.#positionMs;
    this.#isStartUnknown ||= this.#format !== undefined && !isPcmLike(this.#format.encoding);
    this.#isTimed = false;
    this.#segment = new SegmentReader(this.#options);
    return [...rest, ...words];
  }

  /** The text behind finished segments. */
  #restOfText(): string {
    const text = this.#options.text();
    return text.slice(afterCharacters(text, this.#assigned));
  }

  #audio(piece: AudioPiece | undefined): UtteranceEvent[] {
    if (!piece) return [];
    const { data, metadata, endsFile } = piece;
    const { utteranceId } = this.#options;
    const isNew = !this.#format || !sameFormat(this.#format, metadata);
    const raw = isPcmLike(metadata.encoding);
    this.#format = metadata;
    const chunk: AudioChunk = {
      data,
      utteranceId,
      ...(isNew && { metadata }),
      ...(raw && { timestamp: this.#positionMs }),
      ...(endsFile && { endsFile }),
      ...(this.#requestId !== undefined && { requestId: this.#requestId }),
    };
    if (raw) this.#positionMs += durationMs(data.byteLength, metadata);
    return [{ type: 'chunk', chunk }, ...this.#early.splice(0)];
  }

  #words(words: readonly WordTiming[], estimated: boolean): UtteranceEvent[] {
    const { utteranceId, provider } = this.#options;
    const events = words.map(({ text, startMs, endMs }, index): UtteranceEvent => {
      const resumesAt = index === 0 && this.#wasCut && { resumesAt: this.#assigned };
      return {
        type: 'word',
        word: { text, startMs, endMs, ...resumesAt, utteranceId, ...(estimated && { estimated }) },
      };
    });
    if (events.length > 0) this.#wasCut = false;
    if (this.#format) return events;
    this.#early.push(...events);
    this.#earlyLength += words.reduce((length, { text }) => length + text.length, 0);
    if (this.#earlyLength <= maxEarlyLength) return [];
    const message = `${provider}: more than ${maxEarlyLength} characters of words came before any audio`;
    throw new VoiceError(message, { code: 'overflow', provider });
  }
}

interface AudioPiece {
  readonly data: Uint8Array<ArrayBuffer>;
  readonly metadata: AudioMetadata;
  /** Whether it is the last of a compressed file. */
  readonly endsFile?: boolean;
}

/** Reads the bytes of one segment. */
class SegmentReader {
  readonly #provider: string;
  readonly #wav: WavReader = new WavReader();
  #declared: AudioMetadata | undefined;
  #carry: PcmCarry | undefined;
  /** A compressed file's last byte so far: it waits until it is known whether the file ends with it. */
  #lastByte: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #fileBytes: number = 0;

  constructor({ provider, format }: UtteranceOptions) {
    this.#provider = provider;
    this.#declared = format;
  }

  push(data: Uint8Array<ArrayBuffer>, metadata?: AudioMetadata): AudioPiece | undefined {
    this.#declared = metadata ?? this.#declared;
    if (this.#declared && !isPcmLike(this.#declared.encoding)) return this.#compressed(data, this.#declared);
    const samples = this.#wav.push(data);
    if (this.#wav.kind === 'unsupported') {
      throw this.#error(`the WAV file cannot be read: ${this.#wav.problem ?? ''}`, 'unsupported_format');
    }
    return this.#frames(samples);
  }

  /** Returns what is left at the end. */
  flush(): AudioPiece | undefined {
    const metadata = this.#declared;
    if (!metadata || isPcmLike(metadata.encoding)) return this.#frames(this.#wav.flush());
    return this.#fileBytes > 0 ? { data: this.#lastByte, metadata, endsFile: true } : undefined;
  }

  #frames(samples: Uint8Array<ArrayBuffer>): AudioPiece | undefined {
    if (samples.length === 0) return undefined;
    const metadata = this.#wav.metadata ?? (this.#declared && rawFormat(this.#declared));
    if (!metadata) throw this.#error('the format of the audio is unknown', 'protocol');
    const size = frameBytes(metadata);
    const data = size === 1 ? samples : (this.#carry ??= new PcmCarry(size)).push(samples);
    return data.length > 0 ? { data, metadata } : undefined;
  }

  #compressed(data: Uint8Array<ArrayBuffer>, metadata: AudioMetadata): AudioPiece | undefined {
    if (data.length === 0) return undefined;
    this.#fileBytes += data.length;
    if (this.#fileBytes > maxFileBytes) throw this.#error(`the audio is longer than ${maxFileBytes} bytes`, 'overflow');
    const known = concatBytes(this.#lastByte, data.subarray(0, -1));
    this.#lastByte = data.slice(-1);
    return known.length > 0 ? { data: known, metadata } : undefined;
  }

  #error(message: string, code: 'unsupported_format' | 'protocol' | 'overflow'): VoiceError {
    return new VoiceError(`${this.#provider}: ${message}`, { code, provider: this.#provider });
  }
}

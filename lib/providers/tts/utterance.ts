import type { OperatorFunction } from 'rxjs';
import { joinBytes } from '../../audio/concat.ts';
import { durationMs, frameBytes, isPcmLike, sameFormat } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { WavReader } from '../../audio/wav-reader.ts';
import { VoiceError } from '../../core/errors.ts';
import type { SpokenWord } from '../../core/roles.ts';
import { incremental, type IncrementalStage } from '../../stream/incremental.ts';
import { spreadWords, type WordTiming } from './words/spread-words.ts';

/** What a wire says while an utterance is synthesized. */
export type SynthesisEvent =
  /** Bytes as they came: split anywhere, a WAV header among them or not. */
  | { readonly type: 'audio'; readonly data: Uint8Array<ArrayBuffer>; readonly metadata?: AudioMetadata }
  /** A word's time as the service gives it, from the start of the segment. */
  | ({ readonly type: 'word' } & WordTiming)
  /**
   * A segment ends here: all audio since the last one (or the start) is this text's. Without a text it was cut short,
   * and its audio stays without words.
   */
  | { readonly type: 'segment'; readonly text?: string };

/** What an utterance consists of: its chunks, and its words, each after the audio that it came with. */
export type UtteranceEvent =
  { readonly type: 'chunk'; readonly chunk: AudioChunk } | { readonly type: 'word'; readonly word: SpokenWord };

/** What {@link assembleUtterance} must know. */
export interface UtteranceOptions {
  readonly provider: string;
  readonly utteranceId: string;
  /** The format of the bytes; where it is not known, each segment's first bytes must bring it. */
  readonly format: AudioMetadata | undefined;
  /** The text that the utterance was given so far. */
  readonly text: () => string;
}

/** Most bytes of one compressed file. */
const maxFileBytes = 32 * 1024 * 1024;

/**
 * Makes chunks and words of what a wire says. Raw samples leave as they come, in whole frames and without a WAV header;
 * a compressed file, of which no part can be decoded by itself, leaves as one chunk at its segment's end. Where the
 * service gives no word timings they are estimated for each finished segment, and at the end for what is left.
 */
export function assembleUtterance(options: UtteranceOptions): OperatorFunction<SynthesisEvent, UtteranceEvent> {
  return incremental(() => new Utterance(options));
}

class Utterance implements IncrementalStage<SynthesisEvent, UtteranceEvent> {
  readonly #options: UtteranceOptions;
  #segment: SegmentReader;
  /** Milliseconds of audio so far, and where the current segment began. */
  #positionMs: number = 0;
  #segmentMs: number = 0;
  #format: AudioMetadata | undefined;
  /** Whether the service itself timed words of the current segment. */
  #timed: boolean = false;
  /** Whether nobody knows when the current segment begins: a compressed one, of unknown length, was before it. */
  #adrift: boolean = false;
  /** Words that came before the first audio. */
  #early: UtteranceEvent[] = [];
  /** Characters (without white space) of the segments that have ended. */
  #assigned: number = 0;

  constructor(options: UtteranceOptions) {
    this.#options = options;
    this.#segment = new SegmentReader(options);
  }

  push(event: SynthesisEvent): UtteranceEvent[] {
    switch (event.type) {
      case 'audio':
        return this.#audio(this.#segment.push(event.data, event.metadata));
      case 'word': {
        const { text, startMs, endMs } = event;
        // A number from a wire can be too large for one.
        if (this.#adrift || !Number.isFinite(startMs) || !Number.isFinite(endMs)) return [];
        this.#timed = true;
        return this.#words([{ text, startMs: startMs + this.#segmentMs, endMs: endMs + this.#segmentMs }], false);
      }
      case 'segment':
        return this.#endSegment(event.text ?? '');
    }
  }

  flush(): UtteranceEvent[] {
    return this.#endSegment(withoutFirst(this.#options.text(), this.#assigned));
  }

  #endSegment(text: string): UtteranceEvent[] {
    const rest = this.#audio(this.#segment.flush());
    const words = this.#timed ? [] : this.#words(spreadWords(text, this.#segmentMs, this.#positionMs), true);
    this.#assigned += text.replace(/\s/g, '').length;
    this.#segmentMs = this.#positionMs;
    this.#adrift ||= this.#format !== undefined && !isPcmLike(this.#format.encoding);
    this.#timed = false;
    this.#segment = new SegmentReader(this.#options);
    return [...rest, ...words];
  }

  #audio(piece: AudioPiece | undefined): UtteranceEvent[] {
    if (!piece) return [];
    const { data, metadata } = piece;
    const { utteranceId } = this.#options;
    const isNew = !this.#format || !sameFormat(this.#format, metadata);
    const raw = isPcmLike(metadata.encoding);
    this.#format = metadata;
    const chunk: AudioChunk = {
      data,
      utteranceId,
      ...(isNew && { metadata }),
      ...(raw && { timestamp: this.#positionMs }),
    };
    if (raw) this.#positionMs += durationMs(data.byteLength, metadata);
    return [{ type: 'chunk', chunk }, ...this.#early.splice(0)];
  }

  #words(words: readonly WordTiming[], estimated: boolean): UtteranceEvent[] {
    const { utteranceId } = this.#options;
    const events = words.map(({ text, startMs, endMs }): UtteranceEvent => {
      return { type: 'word', word: { text, startMs, endMs, utteranceId, ...(estimated && { estimated }) } };
    });
    if (this.#format) return events;
    this.#early.push(...events);
    return [];
  }
}

interface AudioPiece {
  readonly data: Uint8Array<ArrayBuffer>;
  readonly metadata: AudioMetadata;
}

/** Reads the bytes of one segment. */
class SegmentReader {
  readonly #provider: string;
  readonly #wav: WavReader = new WavReader();
  #declared: AudioMetadata | undefined;
  #carry: PcmCarry | undefined;
  /** The pieces of a compressed file. */
  #file: Uint8Array<ArrayBuffer>[] = [];
  #fileBytes: number = 0;

  constructor({ provider, format }: UtteranceOptions) {
    this.#provider = provider;
    this.#declared = format;
  }

  push(data: Uint8Array<ArrayBuffer>, metadata?: AudioMetadata): AudioPiece | undefined {
    this.#declared = metadata ?? this.#declared;
    if (this.#declared && !isPcmLike(this.#declared.encoding)) {
      this.#keep(data);
      return undefined;
    }
    const samples = this.#wav.push(data);
    if (this.#wav.kind === 'unsupported') {
      throw this.#error(`the WAV file cannot be read: ${this.#wav.problem ?? ''}`, 'unsupported_format');
    }
    return this.#frames(samples);
  }

  /** What is left at the end. */
  flush(): AudioPiece | undefined {
    const metadata = this.#declared;
    if (!metadata || isPcmLike(metadata.encoding)) return this.#frames(this.#wav.flush());
    return this.#fileBytes > 0 ? { data: joinBytes(this.#file), metadata } : undefined;
  }

  #frames(samples: Uint8Array<ArrayBuffer>): AudioPiece | undefined {
    if (samples.length === 0) return undefined;
    const metadata = this.#wav.metadata ?? (this.#declared && rawFormat(this.#declared));
    if (!metadata) throw this.#error('the format of the audio is not known', 'protocol');
    this.#carry ??= new PcmCarry(frameBytes(metadata));
    const data = this.#carry.push(samples);
    return data.length > 0 ? { data, metadata } : undefined;
  }

  #keep(data: Uint8Array<ArrayBuffer>): void {
    this.#file.push(data);
    this.#fileBytes += data.length;
    if (this.#fileBytes > maxFileBytes) throw this.#error(`the audio is longer than ${maxFileBytes} bytes`, 'overflow');
  }

  #error(message: string, code: 'unsupported_format' | 'protocol' | 'overflow'): VoiceError {
    return new VoiceError(`${this.#provider}: ${message}`, { code, provider: this.#provider });
  }
}

/** The format of samples once the WAV header around them is gone; other formats as they are. */
export function rawFormat(format: AudioMetadata): AudioMetadata {
  if (format.container !== 'wav') return format;
  const { encoding, sampleRate, channels, bitDepth } = format;
  return { encoding, sampleRate, channels, ...(bitDepth !== undefined && { bitDepth }) };
}

/** The text after its first `count` characters that are no white space. */
function withoutFirst(text: string, count: number): string {
  let at = 0;
  for (let left = count; left > 0 && at < text.length; at++) if (/\S/.test(text.charAt(at))) left--;
  return text.slice(at);
}

import { EMPTY, type Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { Logger } from '../../../lib/core/logger.ts';
import type { SpokenWord } from '../../../lib/core/roles.ts';
import { BaseTTS, type TTSConfig } from '../../../lib/providers/tts/base-tts.ts';
import { RestTTS, type RestTTSConfig, type SpeechRequest } from '../../../lib/providers/tts/rest-tts.ts';
import type { SynthesisEvent } from '../../../lib/providers/tts/utterance.ts';

/** linear16 at 1 kHz: a millisecond is two bytes. */
export const pcm: AudioMetadata = { encoding: 'linear16', sampleRate: 1000, channels: 1, bitDepth: 16 };

/** So many milliseconds of {@link pcm}. */
export const ms = (length: number, value: number = 1): Uint8Array<ArrayBuffer> =>
  new Uint8Array(length * 2).fill(value);

export const audio = (length: number, value: number = 1): SynthesisEvent => ({
  type: 'audio',
  data: ms(length, value),
});

/** A voice whose wire is the test's. */
export class FakeTTS extends BaseTTS<TTSConfig> {
  override readonly name: string = 'FakeTTS';
  override readonly type = 'websocket' as const;
  protected override readonly defaultBaseUrl: string = 'https://voice.example';
  /** What each utterance's wire gives. */
  wire: (text$: Observable<string>) => Observable<SynthesisEvent> = () => EMPTY;

  override getMetadata(): AudioMetadata {
    return pcm;
  }
  override processChunk(): void {}
  override finalize(): Promise<void> {
    return Promise.resolve();
  }
  override cancel(): void {}
  protected override synthesis(text$: Observable<string>): Observable<SynthesisEvent> {
    return this.wire(text$);
  }
}

/** A voice by requests, each of which the test answers. */
export class FakeRestTTS extends RestTTS<RestTTSConfig> {
  override readonly name: string = 'FakeRestTTS';
  protected override readonly defaultBaseUrl: string = 'https://voice.example';
  protected override readonly maxConcurrency: number;
  format: AudioMetadata = pcm;
  limit: number = Infinity;
  readonly requested: string[] = [];
  answer: (text: string) => Observable<SynthesisEvent> = () => EMPTY;

  constructor(config: RestTTSConfig, maxConcurrency: number = Infinity, logger?: Logger) {
    super(config, logger);
    this.maxConcurrency = maxConcurrency;
  }
  override get maxTextLength(): number {
    return this.limit;
  }
  protected override wireFormat(): AudioMetadata {
    return this.format;
  }
  protected override request(text: string): SpeechRequest {
    return { path: '/', json: { text } };
  }
  protected override exchange(text: string): Observable<SynthesisEvent> {
    this.requested.push(text);
    return this.answer(text);
  }
}

/** Keeps everything that a voice publishes. */
export function listenTo(tts: Pick<BaseTTS<TTSConfig>, 'audio$' | 'metadata$' | 'words$' | 'errors$'>) {
  const chunks: AudioChunk[] = [];
  const formats: AudioMetadata[] = [];
  const words: SpokenWord[] = [];
  const errors: VoiceError[] = [];
  tts.audio$.subscribe((chunk) => chunks.push(chunk));
  tts.metadata$.subscribe((format) => formats.push(format));
  tts.words$.subscribe((word) => words.push(word));
  tts.errors$.subscribe((error) => errors.push(error));
  return { chunks, formats, words, errors, bytes: () => bytesOf(chunks) };
}

export const bytesOf = (chunks: readonly AudioChunk[]): number[] => chunks.flatMap(({ data }) => [...data]);

/** The error of a promise that must fail. */
export async function failureOf(promise: Promise<unknown>): Promise<VoiceError> {
  try {
    await promise;
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

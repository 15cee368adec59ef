import { defer, EMPTY, filter, Subject, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { Logger } from '../../../lib/core/logger.ts';
import { RemoteProvider } from '../../../lib/core/remote-provider.ts';
import type { SpokenWord, TTSProvider } from '../../../lib/core/roles.ts';
import { RemoteTTS } from '../../../lib/providers/tts/remote-tts.ts';
import { byRequests, type RequestVoice } from '../../../lib/providers/tts/requests/by-requests.ts';
import type { RequestTTSConfig } from '../../../lib/providers/tts/requests/request-wire.ts';
import {
  isAudible,
  SynthesisOutputs,
  type SynthesisCallbacks,
  type SynthesisStreams,
} from '../../../lib/providers/tts/synthesis-outputs.ts';
import { assembleUtterance, type SynthesisEvent, type UtteranceOptions } from '../../../lib/providers/tts/utterance.ts';
import type { RemoteVoice, TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import type { Markup } from '../../../lib/text/markup.ts';
import type { HttpResponse } from '../../../lib/transport/http.ts';

/** linear16 at 1 kHz: a millisecond is two bytes. */
export const pcm: AudioMetadata = { encoding: 'linear16', sampleRate: 1000, channels: 1, bitDepth: 16 };

/** So many milliseconds of {@link pcm}. */
export const ms = (length: number, value: number = 1): Uint8Array<ArrayBuffer> =>
  new Uint8Array(length * 2).fill(value);

export const audio = (length: number, value: number = 1): SynthesisEvent => ({
  type: 'audio',
  data: ms(length, value),
});

/** A voice whose service is the test's. */
export class FakeTTS extends RemoteProvider<TTSConfig> implements TTSProvider {
  override readonly name: string = 'FakeTTS';
  override readonly roles = ['tts'] as const;
  override readonly type = 'websocket' as const;
  protected override readonly defaultBaseUrl: string = 'https://voice.example';
  /** What each synthesis's service gives. */
  wire: (text$: Observable<string>) => Observable<SynthesisEvent> = () => EMPTY;
  #callbacks: SynthesisCallbacks = { onAudio: undefined, onMetadata: undefined };
  readonly #streams: SynthesisStreams = { audio$: new Subject(), metadata$: new Subject(), words$: new Subject() };
  readonly #outputs = new SynthesisOutputs({
    provider: 'FakeTTS',
    streams: this.#streams,
    callbacks: () => this.#callbacks,
    report: (error) => this.report(error),
  });

  get audio$(): Observable<AudioChunk> {
    return this.#streams.audio$;
  }
  get metadata$(): Observable<AudioMetadata> {
    return this.#streams.metadata$;
  }
  get words$(): Observable<SpokenWord> {
    return this.#streams.words$;
  }
  onAudio(onAudio: SynthesisCallbacks['onAudio']): void {
    this.#callbacks = { ...this.#callbacks, onAudio };
  }
  onMetadata(onMetadata: SynthesisCallbacks['onMetadata']): void {
    this.#callbacks = { ...this.#callbacks, onMetadata };
  }
  isAudioReady(chunk: AudioChunk): boolean {
    return isAudible(chunk);
  }
  getConfig(): TTSConfig {
    return { ...this.config };
  }
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return defer(() => {
      this.assertReady('speak');
      return this.#outputs.speak(text$, (pieces$) => ({
        ...{
          utterance$: (options: UtteranceOptions) => defer(() => this.wire(pieces$)).pipe(assembleUtterance(options)),
          format: pcm,
          ended$: this.aborted$('was disposed while it spoke'),
        },
      }));
    });
  }
  protected override onInitialize(): void {
    this.assertAuth();
  }
}

/** What the tests set on a wire by requests. */
interface FakeService {
  format: AudioMetadata;
  limit: number;
  markupOf: (text: string) => Markup | undefined;
}

/** A voice by requests, each of which the test answers. */
export class FakeRequestTTS extends RemoteTTS<RequestTTSConfig> {
  readonly service: FakeService;
  readonly requested: string[] = [];
  answer: (text: string) => Observable<SynthesisEvent> = () => EMPTY;

  constructor(config: RequestTTSConfig, maxConcurrency: number = Infinity, logger?: Logger) {
    const service: FakeService = { format: pcm, limit: Infinity, markupOf: () => undefined };
    super(
      byRequests({
        name: 'FakeRequestTTS',
        baseUrl: 'https://voice.example',
        rules: () => ({}),
        format: () => service.format,
        maxTextLength: () => service.limit,
        markupOf: (text) => service.markupOf(text),
        concurrency: maxConcurrency,
        request: (text) => ({ path: '/', json: { text } }),
        exchange: (text) => {
          this.requested.push(text);
          return this.answer(text);
        },
      }),
      config,
      logger,
    );
    this.service = service;
  }
}

/** Reads a response as an initialized voice by requests does. */
export function readResponse(tts: RemoteVoice, response: HttpResponse): Observable<SynthesisEvent> {
  return (tts as unknown as { readonly speaker: RequestVoice }).speaker.read(response);
}

/** Keeps everything that a voice publishes, but for the news that its model retires. */
export function listenTo(tts: Required<Pick<TTSProvider, 'audio$' | 'metadata$' | 'words$' | 'errors$'>>) {
  const chunks: AudioChunk[] = [];
  const formats: AudioMetadata[] = [];
  const words: SpokenWord[] = [];
  const errors: VoiceError[] = [];
  tts.audio$.subscribe((chunk) => chunks.push(chunk));
  tts.metadata$.subscribe((format) => formats.push(format));
  tts.words$.subscribe((word) => words.push(word));
  tts.errors$.pipe(filter(({ code }) => code !== 'retiring')).subscribe((error) => errors.push(error));
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

import { defer, from, ignoreElements, Observable, Subject, tap, type ObservableInput } from 'rxjs';
import { frameBytes, isPcmLike } from '../audio/formats.ts';
import { PcmCarry } from '../audio/pcm-carry.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { WavReader } from '../audio/wav-reader.ts';
import { VoiceError } from '../core/errors.ts';
import type { ProviderRole, TTSProvider } from '../core/roles.ts';
import { fromInput } from '../stream/bridge.ts';
import { merge } from '../stream/merge.ts';
import { Ready } from './ready.ts';

/**
 * Recorded speech: `say()` plays it instead of the voice. The text given with it is its transcript, for the history and
 * the captions; an interruption cuts both at the same word.
 *
 * @example
 * ```ts
 * import { Recording, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 *
 * const response = await fetch('/notice.wav');
 * const notice = new Recording(new Uint8Array(await response.arrayBuffer()));
 * pipeline.say('This call may be recorded.', { tts: notice });
 * ```
 */
export class Recording extends Ready implements TTSProvider {
  readonly name = 'Recording';
  readonly roles: readonly ProviderRole[] = ['tts'];
  readonly delivers = 'recording';
  readonly #bytes$: Observable<Uint8Array<ArrayBuffer>>;
  readonly #format: AudioMetadata | undefined;
  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  #utterances = 0;

  /** The audio being played. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#audio$);
  }

  /** The format of `audio$`. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#metadata$);
  }

  /**
   * @param audio$ - The whole recording, or a stream such as a response's `body`, which can be played once.
   * @param format - The format; a WAV file states its own.
   */
  constructor(audio$: Uint8Array<ArrayBuffer> | ObservableInput<Uint8Array<ArrayBuffer>>, format?: AudioMetadata) {
    super();
    this.#bytes$ = ArrayBuffer.isView(audio$) ? from([audio$]) : fromInput(audio$);
    this.#format = format;
  }

  getMetadata(): AudioMetadata | undefined {
    return this.#format;
  }

  /** @throws VoiceError `configuration` if the format is missing, `unsupported_format` for an unreadable WAV file. */
  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return defer(() => {
      const utteranceId = `recording-${(this.#utterances += 1)}`;
      const reader = new WavReader();
      let carry: PcmCarry | undefined;
      let metadata: AudioMetadata | undefined;
      const chunksOf = (bytes: Uint8Array<ArrayBuffer>): AudioChunk[] => {
        if (bytes.length === 0) return [];
        if (!metadata) {
          metadata = formatOf(reader, this.#format);
          this.#metadata$.next(metadata);
          if (isPcmLike(metadata.encoding)) carry = new PcmCarry(frameBytes(metadata));
        }
        // Chunks hold whole samples.
        const data = carry?.push(bytes) ?? bytes;
        return data.length === 0 ? [] : [{ data, metadata, utteranceId }];
      };
      const read$ = new Observable<AudioChunk>((subscriber) =>
        this.#bytes$.subscribe({
          next: (bytes) => {
            try {
              const samples = reader.push(bytes);
              if (reader.kind === 'unsupported') throw refused(reader.problem ?? 'it is no audio');
              for (const chunk of chunksOf(samples)) subscriber.next(chunk);
            } catch (error) {
              subscriber.error(error);
            }
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            try {
              for (const chunk of chunksOf(reader.flush())) subscriber.next(chunk);
              subscriber.complete();
            } catch (error) {
              subscriber.error(error);
            }
          },
        }),
      );
      // Ends when both audio and text have ended.
      return merge(from(text$).pipe(ignoreElements()), read$).pipe(tap((chunk) => this.#audio$.next(chunk)));
    });
  }
}

function formatOf({ metadata }: WavReader, given: AudioMetadata | undefined): AudioMetadata {
  const format = metadata ?? given;
  if (format) return format;
  const message = 'Recording: the audio is not a WAV file: pass its format: new Recording(audio, { encoding: … })';
  throw new VoiceError(message, { code: 'configuration', provider: 'Recording' });
}

function refused(problem: string): VoiceError {
  return new VoiceError(`Recording: ${problem}`, { code: 'unsupported_format', provider: 'Recording' });
}

import {
  concat,
  concatMap,
  defer,
  EMPTY,
  endWith,
  finalize,
  from,
  Observable,
  of,
  switchMap,
  type MonoTypeOperatorFunction,
} from 'rxjs';
import { sameFormat } from '../audio/described.ts';
import { isConvertible } from '../audio/negotiate.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { VoiceError } from '../core/errors.ts';

/** Marks a point in a stream of audio before which everything is complete. */
export interface AudioMark {
  /** Called when the mark is reached. */
  readonly onMark: () => void;
}

/** Decodes one compressed file as it arrives. */
export interface FileDecoder {
  /** Takes the next bytes; resolves when the decoder has taken them. */
  push(data: Uint8Array<ArrayBuffer>): Promise<void>;
  /** The file is complete: resolves when everything was decoded. */
  end(): Promise<void>;
  close(): void;
}

/** Opens a decoder, which delivers samples as it has them. */
export type OpenFile = (
  metadata: AudioMetadata,
  to: { readonly next: (chunk: AudioChunk) => void; readonly error: (cause: unknown) => void },
) => FileDecoder;

/**
 * Decodes compressed audio as it arrives; raw samples pass through at once. A file ends with the chunk that says so, at
 * a mark, at the end of the source, or where another utterance or format begins; the next one follows without a gap.
 *
 * @param load - Loads the decoders, which only compressed audio needs.
 *
 * Errors: VoiceError `unsupported_format` for what cannot be decoded, `overflow` for a file too long to be held.
 */
export function decodeAudio<M extends AudioMark>(
  load: () => Promise<OpenFile>,
): MonoTypeOperatorFunction<AudioChunk | M> {
  return (source$) =>
    new Observable((subscriber) => {
      let file: OpenedFile | undefined;
      const finish$ = (): Observable<never> => {
        const ending = file;
        file = undefined;
        return ending ? ending.end() : EMPTY;
      };
      const take$ = (chunk: AudioChunk): Observable<AudioChunk> => {
        const taking = file;
        if (!taking) return EMPTY;
        return chunk.endsFile ? concat(taking.push(chunk.data), defer(finish$)) : taking.push(chunk.data);
      };
      const begin$ = (chunk: AudioChunk, metadata: AudioMetadata): Observable<AudioChunk> => {
        file = new OpenedFile(load, { ...chunk, metadata }, subscriber);
        return take$(chunk);
      };
      // After a file's end, chunks without a format still have that of the file.
      let last: AudioMetadata | undefined;
      const items$ = source$.pipe(
        endWith(undefined),
        concatMap((item): Observable<AudioChunk | M> => {
          if (!item) return finish$();
          if (isMark(item)) return concat(finish$(), of(item));
          if (file?.takes(item)) return take$(item);
          const metadata = item.metadata ?? last;
          last = metadata;
          const before$ = finish$();
          if (!metadata || isConvertible(metadata)) return before$ === EMPTY ? of(item) : concat(before$, of(item));
          return concat(
            before$,
            defer(() => begin$(item, metadata)),
          );
        }),
        finalize(() => file?.close()),
      );
      return items$.subscribe(subscriber);
    });
}

function isMark<M extends AudioMark>(item: AudioChunk | M): item is M {
  return 'onMark' in item;
}

/** A compressed file that is being decoded. */
class OpenedFile {
  readonly #metadata: AudioMetadata;
  readonly #utteranceId: string | undefined;
  readonly #decoder: Promise<FileDecoder>;
  #isClosed = false;

  constructor(
    load: () => Promise<OpenFile>,
    { metadata, utteranceId }: AudioChunk & { readonly metadata: AudioMetadata },
    to: { readonly next: (chunk: AudioChunk) => void; readonly error: (cause: unknown) => void },
  ) {
    this.#metadata = metadata;
    this.#utteranceId = utteranceId;
    const named = utteranceId === undefined ? {} : { utteranceId };
    this.#decoder = load().then((open) =>
      open(metadata, {
        next: (chunk) => {
          if (!this.#isClosed) to.next({ ...chunk, ...named });
        },
        error: (cause) => {
          if (!this.#isClosed) to.error(VoiceError.from(cause));
        },
      }),
    );
  }

  /** Whether a chunk continues the file. */
  takes({ metadata, utteranceId }: AudioChunk): boolean {
    return (
      (metadata === undefined || sameFormat(metadata, this.#metadata)) &&
      (utteranceId === undefined || utteranceId === this.#utteranceId)
    );
  }

  push(data: Uint8Array<ArrayBuffer>): Observable<never> {
    return this.#with((decoder) => decoder.push(data));
  }

  end(): Observable<never> {
    return concat(
      this.#with((decoder) => decoder.end()),
      defer(() => {
        this.close();
        return EMPTY;
      }),
    );
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#decoder.then(
      (decoder) => decoder.close(),
      () => undefined,
    );
  }

  #with(run: (decoder: FileDecoder) => Promise<void>): Observable<never> {
    return from(this.#decoder).pipe(
      switchMap((decoder) => run(decoder)),
      switchMap(() => EMPTY),
    );
  }
}

import {
  connect,
  EMPTY,
  endWith,
  filter,
  ignoreElements,
  map,
  switchMap,
  takeUntil,
  type BehaviorSubject,
  type MonoTypeOperatorFunction,
} from 'rxjs';
import { isPcmLike, silenceByte } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { bufferUntil } from '../stream/buffer-until.ts';
import { merge } from '../stream/merge.ts';

/** Most audio kept from before push-to-talk, in milliseconds: first words often start early. */
const preRollMs = 600;

/** The streams that control the microphone. */
export interface MicrophoneGateOptions {
  /** False while push-to-talk is not pressed. */
  readonly isOpen$: BehaviorSubject<boolean>;
  readonly isMuted$: BehaviorSubject<boolean>;
  /** Whether opening the gate also passes what was captured just before. */
  readonly isPushToTalk: boolean;
  /** The format of chunks without one. */
  readonly metadata: AudioMetadata;
}

/**
 * Decides which captured audio the speech-to-text service receives.
 *
 * The rest is replaced with silence of the same length: the connection stays alive, and the service's clock stays
 * correct. Compressed audio cannot be replaced and is omitted. Pressing push-to-talk first sends what was captured just
 * before, unless the microphone was muted then.
 *
 * ```text
 * audio      a-b-c-d-
 * open       f---t---
 * result     _-_-(bc)d       _: silence; b is no older than the pre-roll
 * ```
 */
export function microphoneGate({
  isOpen$,
  isMuted$,
  isPushToTalk,
  metadata,
}: MicrophoneGateOptions): MonoTypeOperatorFunction<AudioChunk> {
  const told = (chunk: AudioChunk): AudioChunk => (chunk.metadata ? chunk : Object.assign({}, chunk, { metadata }));
  const isShut = (): boolean => isMuted$.value || !isOpen$.value;
  if (!isPushToTalk) return map((chunk) => (isShut() ? silenced(chunk, metadata) : told(chunk)));
  const isPcm = (chunk: AudioChunk): boolean => isPcmLike((chunk.metadata ?? metadata).encoding);

  return connect((audio$) => {
    const ended$ = audio$.pipe(ignoreElements(), endWith(undefined));
    const silence$ = audio$.pipe(
      filter(isShut),
      map((chunk) => silenced(chunk, metadata)),
    );
    const voice$ = audio$.pipe(
      filter((chunk) => isOpen$.value || isPcm(chunk)),
      map(told),
      bufferUntil(isOpen$, { maxMs: preRollMs }),
    );
    // Muting discards buffered audio.
    const heard$ = isMuted$.pipe(
      switchMap((isMuted) => (isMuted ? EMPTY : voice$)),
      takeUntil(ended$),
    );
    return merge(silence$, heard$);
  });
}

/** Silence as long as a chunk; nothing for compressed audio. */
export function silenced(chunk: AudioChunk, metadata: AudioMetadata): AudioChunk {
  const { encoding } = chunk.metadata ?? metadata;
  if (!isPcmLike(encoding)) return { ...chunk, data: new Uint8Array(0) };
  return { ...chunk, data: new Uint8Array(chunk.data.length).fill(silenceByte(encoding)) };
}

import {
  connect,
  endWith,
  ignoreElements,
  merge,
  switchMap,
  take,
  tap,
  type Observable,
  type ObservableInput,
} from 'rxjs';
import type { AudioChunk } from '../../../audio/types.ts';
import { fromInput } from '../../../core/bridge.ts';
import type { STTProvider } from '../../../core/roles.ts';

/** Sends a stream of audio, and connects at its first chunk; emits once, when it is connected and all is sent. */
export function sendAll(
  audio$: ObservableInput<AudioChunk>,
  stt: Pick<STTProvider, 'connect' | 'sendAudio'>,
): Observable<unknown> {
  return fromInput(audio$).pipe(
    tap((chunk) => stt.sendAudio(chunk)),
    connect((chunk$) => {
      const connected$ = chunk$.pipe(
        take(1),
        switchMap(() => stt.connect()),
      );
      return merge(connected$, chunk$).pipe(ignoreElements(), endWith(undefined));
    }),
  );
}

import { BehaviorSubject, NEVER, Subject } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import { microphoneGate } from '../../lib/pipeline/microphone-gate.ts';
import { marbles } from '../operators/marbles.ts';

const metadata: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
/** 20 ms. */
const chunk = (kind: number, format: AudioMetadata = metadata): AudioChunk => ({
  data: new Uint8Array(160).fill(kind),
  metadata: format,
});
const silence = 0xff;

/** A gate with the test at both ends; what comes out is told by its first byte. */
function given({ isOpen = true, isMuted = false }: { isOpen?: boolean; isMuted?: boolean } = {}) {
  const audio$ = new Subject<AudioChunk>();
  const [isOpen$, isMuted$] = [new BehaviorSubject(isOpen), new BehaviorSubject(isMuted)];
  const heard: (number | undefined)[] = [];
  const subscription = audio$
    .pipe(microphoneGate({ isOpen$, isMuted$, isPushToTalk: true, metadata }))
    .subscribe(({ data }) => heard.push(data[0]));
  return { audio$, isOpen$, isMuted$, heard, subscription };
}

describe('microphoneGate', () => {
  it('touches nothing while it is open', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const values = { a: chunk(1), b: chunk(2) };
      const source$ = cold('-a-b-|', values);
      const options = {
        ...{ isOpen$: new BehaviorSubject(true), isMuted$: new BehaviorSubject(false) },
        ...{ isPushToTalk: true, metadata },
      };
      expectObservable(source$.pipe(microphoneGate(options))).toBe('-a-b-|', values);
      expectSubscriptions(source$.subscriptions).toBe('^----!');
    });
  });

  it('says silence of the same length while it is shut, and what was captured just before when it opens', () => {
    const { audio$, isOpen$, heard } = given({ isOpen: false });
    for (const kind of [1, 2]) audio$.next(chunk(kind));
    isOpen$.next(true);
    audio$.next(chunk(3));
    isOpen$.next(false);
    audio$.next(chunk(4));
    expect(heard).toEqual([silence, silence, 1, 2, 3, silence]);
  });

  it('keeps no more than 600 ms from before', () => {
    const { audio$, isOpen$, heard } = given({ isOpen: false });
    for (let kind = 0; kind < 100; kind++) audio$.next(chunk(kind));
    heard.length = 0;
    isOpen$.next(true);
    expect(heard).toEqual(Array.from({ length: 30 }, (_, index) => 70 + index));
  });

  it('forgets what was captured before it was muted, and keeps nothing while it is', () => {
    const { audio$, isOpen$, isMuted$, heard } = given({ isOpen: false });
    audio$.next(chunk(1));
    isMuted$.next(true);
    audio$.next(chunk(2));
    isMuted$.next(false);
    audio$.next(chunk(3));
    isOpen$.next(true);
    expect(heard).toEqual([silence, silence, silence, 3]);
  });

  it('leaves compressed audio out: nothing stands for silence in it', () => {
    const webm: AudioMetadata = { encoding: 'opus', sampleRate: 48_000, channels: 1, container: 'webm' };
    const { audio$, isOpen$, heard } = given({ isOpen: false });
    audio$.next(chunk(1, webm));
    isOpen$.next(true);
    audio$.next(chunk(2, webm));
    expect(heard).toEqual([undefined, 2]);
  });

  it('passes an error at once, also while it is shut, and waits for ever with a source that does', () => {
    marbles(({ cold, expectObservable }) => {
      const [isOpen$, isMuted$] = [new BehaviorSubject(false), new BehaviorSubject(true)];
      expectObservable(
        cold<AudioChunk>('--#').pipe(microphoneGate({ isOpen$, isMuted$, isPushToTalk: true, metadata })),
      ).toBe('--#');
      expectObservable(NEVER.pipe(microphoneGate({ isOpen$, isMuted$, isPushToTalk: true, metadata }))).toBe('---');
    });
  });

  it('lets go of everything when it is unsubscribed', () => {
    const { audio$, isOpen$, isMuted$, subscription } = given();
    subscription.unsubscribe();
    expect([audio$.observed, isOpen$.observed, isMuted$.observed]).toEqual([false, false, false]);
  });
});

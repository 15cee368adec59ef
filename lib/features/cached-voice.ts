import { ignoreElements, lastValueFrom, Observable, of, ReplaySubject, Subject, tap } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import type { InitializeOptions, ProviderRole, SpokenWord, TTSProvider } from '../core/roles.ts';
import { sentences } from '../operators/sentences.ts';
import { fromInput } from '../stream/bridge.ts';
import { feed } from '../stream/feed.ts';
import { merge } from '../stream/merge.ts';
import { PhraseCache, textOf, type CachedVoiceOptions, type Piece } from './phrase-cache.ts';

/** A voice that plays phrases from a cache. */
export interface CachedVoice extends TTSProvider {
  /**
   * Synthesizes whatever the cache lacks, one phrase after another: greetings and notices before a call. Initialize the
   * voice first, by `pipeline.initialize()` if a pipeline uses it: the output's format is part of the key. Pass texts
   * as they are spoken, without Markdown.
   *
   * @throws VoiceError What the voice throws; earlier phrases are kept.
   */
  prepare(phrases: readonly string[], options?: { readonly locale?: string }): Promise<void>;
}

/** Most pieces of a text waiting for the voice. */
const maxPieces = 10_000;

/**
 * A voice that synthesizes each phrase once. A phrase is any text that is complete when it is said: a string passed to
 * `say()`, a greeting, a tool's filler. An answer that the model is still writing passes straight through and is not
 * kept. A phrase is kept, with its word times, once all of it has been spoken, under a key of the voice, its settings
 * and the text.
 *
 * @example
 * ```ts
 * import { AlphaTTS, cachedVoice, MemoryPhrases } from 'rxvoice';
 *
 * const voice = cachedVoice(new AlphaTTS({ apiKey: '…' }), { store: new MemoryPhrases() });
 * await voice.initialize();
 * await voice.prepare(['Hello! How can I help you?']);
 * ```
 */
export function cachedVoice(tts: TTSProvider, options: CachedVoiceOptions): CachedVoice {
  const audio$ = new Subject<AudioChunk>();
  const metadata$ = new Subject<AudioMetadata>();
  const words$ = new Subject<SpokenWord>();
  const cache = new PhraseCache(tts, options);
  let utterances = 0;

  const play$ = (piece$: Observable<Piece>): Observable<AudioChunk> =>
    new Observable((subscriber) => {
      const ids = new Map<string | undefined, string>();
      let format: AudioMetadata | undefined;
      feed(piece$, subscriber, {
        next: (piece) => {
          if ('word' in piece) {
            const utteranceId = ids.get(piece.word.utteranceId);
            if (utteranceId !== undefined) words$.next({ ...piece.word, utteranceId });
            return;
          }
          const { metadata, utteranceId: of } = piece.chunk;
          const utteranceId = ids.get(of) ?? `cached-${(utterances += 1)}`;
          ids.set(of, utteranceId);
          if (metadata && metadata !== format) metadata$.next((format = metadata));
          const chunk = { ...piece.chunk, utteranceId };
          audio$.next(chunk);
          subscriber.next(chunk);
        },
        complete: () => subscriber.complete(),
      });
    });

  const voice: CachedVoice = {
    name: tts.name,
    roles: ['tts'] satisfies readonly ProviderRole[],
    audio$: merge(tts.audio$, audio$),
    metadata$: merge(tts.metadata$, metadata$),
    words$: tts.words$ ? merge(tts.words$, words$) : words$.asObservable(),
    ...(tts.state$ ? { state$: tts.state$ } : {}),
    ...(tts.errors$ ? { errors$: tts.errors$ } : {}),
    ...(tts.connection$ ? { connection$: tts.connection$ } : {}),
    get maxTextLength() {
      return tts.maxTextLength;
    },
    get normalizesText() {
      return tts.normalizesText;
    },
    ...(tts.delivers ? { delivers: tts.delivers } : {}),
    initialize: (options?: InitializeOptions) => tts.initialize(options),
    dispose: () => tts.dispose(),
    isReady: () => tts.isReady(),
    getMetadata: () => tts.getMetadata?.(),
    configureOutput: (accepts: readonly AudioFormat[]) => tts.configureOutput?.(accepts),
    warm: () => tts.warm?.(),
    speak: (text$) =>
      new Observable((subscriber) => {
        const pieces: string[] = [];
        // A voice may take its text later than it comes.
        const held$ = new ReplaySubject<string>(maxPieces);
        let isComplete = false as boolean;
        const given$ = fromInput(text$).pipe(
          tap({ next: (piece) => pieces.push(piece), complete: () => (isComplete = true) }),
        );
        subscriber.add(given$.subscribe(held$));
        const isPhrase = isComplete && pieces.length > 0;
        subscriber.add((isPhrase ? cache.say(pieces, play$) : tts.speak(held$)).subscribe(subscriber));
      }),
    prepare: async (phrases, { locale } = {}) => {
      for (const text of phrases) {
        const { maxTextLength: maxChars } = tts;
        const piece$ = of(text).pipe(
          sentences({ ...(locale === undefined ? {} : { locale }), ...(maxChars === undefined ? {} : { maxChars }) }),
        );
        const pieces: string[] = [];
        await lastValueFrom(piece$.pipe(tap((piece) => pieces.push(piece))), { defaultValue: undefined });
        if (textOf(pieces) === '') continue;
        await lastValueFrom(
          cache.prepare(pieces, (piece$) => piece$.pipe(ignoreElements())),
          { defaultValue: undefined },
        );
      }
    },
  };
  return voice;
}

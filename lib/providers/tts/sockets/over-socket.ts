import {
  catchError,
  concatMap,
  EMPTY,
  endWith,
  finalize,
  ignoreElements,
  lastValueFrom,
  type Observable,
  ReplaySubject,
  Subject,
  Subscription,
  takeUntil,
} from 'rxjs';
import { VoiceError } from '../../../core/errors.ts';
import { OnDemand } from '../../../core/on-demand.ts';
import type { ConnectionEvent } from '../../../core/roles.ts';
import { fromAbort } from '../../../stream/bridge.ts';
import type { UtteranceEvent, UtteranceOptions } from '../utterance.ts';
import type { Speaker, TTSCallOptions, TTSConfig, VoiceHost, VoiceRunner } from '../voice-service.ts';
import type { LateSocketWire, SocketWire } from './socket-wire.ts';
import type { VoiceSockets } from './voice-sockets.ts';

/** Most pieces of text that a synthesis queues while others are spoken. */
const maxPieces = 10_000;

/** One synthesis of `processChunk()` and `finalize()`. */
interface Draft {
  readonly text$: ReplaySubject<string>;
  /** Completes when it was spoken or cancelled; fails when that failed. */
  readonly over$: Subject<void>;
}

/**
 * Runs the wire of a text-to-speech service over WebSocket. The connection is opened in advance and stays open between
 * texts; a lost one is replaced, and the text resumes from the first piece that was not heard to its end.
 */
export function overSocket<C extends TTSConfig, S>(wire: SocketWire<C, S> | LateSocketWire<C>): VoiceRunner<C> {
  return { service: wire, type: 'websocket', speaker: (host) => new SocketSpeaker(wire, host) };
}

/** Longest text without an end of a word that is kept back, in characters. */
const maxRest = 200;

/** A text's whole words, and what may be the start of another: a model's tokens end anywhere. */
function wholeWords(text: string): readonly [whole: string, rest: string] {
  const rest =
    text
      .slice(-maxRest - 1)
      .split(/\s/)
      .at(-1) ?? '';
  // A mark after a digit may stand in the middle of a number.
  const isWhole = rest.length > maxRest || /(^|\D)[.,;:!?…。！？，、；：]$/.test(rest);
  return isWhole ? [text, ''] : [text.slice(0, text.length - rest.length), rest];
}

class SocketSpeaker<C extends TTSConfig, S> implements Speaker {
  readonly #wire: SocketWire<C, S> | LateSocketWire<C>;
  readonly #host: VoiceHost<C>;
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly connection$: Observable<ConnectionEvent> = this.#connection$.asObservable();
  #sockets: VoiceSockets<C> | undefined;
  /** What `processChunk()` adds to. */
  #draft: Draft | undefined;
  /** The start of a word whose rest may follow. */
  #rest = '';
  /** All unfinished drafts. */
  readonly #drafts = new Set<Draft>();
  readonly #drafts$ = new Subject<Draft>();
  #speaking: Subscription = Subscription.EMPTY;

  constructor(wire: SocketWire<C, S> | LateSocketWire<C>, host: VoiceHost<C>) {
    this.#wire = wire;
    this.#host = host;
  }

  warm(): void {
    this.#sockets?.warm();
  }

  processChunk(text: string): void {
    this.#host.assertReady('processChunk');
    if (!this.#draft) {
      this.#draft = { text$: new ReplaySubject(maxPieces), over$: new Subject() };
      this.#drafts.add(this.#draft);
      this.#drafts$.next(this.#draft);
    }
    const [whole, rest] = wholeWords(this.#rest + text);
    this.#rest = rest;
    if (whole) this.#draft.text$.next(whole);
  }

  async finalize({ signal }: TTSCallOptions = {}): Promise<void> {
    this.#host.assertReady('finalize');
    const draft = this.#draft;
    this.#draft = undefined;
    if (!draft) return;
    if (this.#rest) draft.text$.next(this.#rest);
    this.#rest = '';
    draft.text$.complete();
    const over$ = draft.over$.pipe(
      takeUntil(fromAbort(signal)),
      finalize(() => draft.over$.complete()),
    );
    await lastValueFrom(over$, { defaultValue: undefined });
  }

  cancel(): void {
    this.#draft = undefined;
    this.#rest = '';
    // The last one first: when the first ends, the next would start.
    for (const { over$ } of [...this.#drafts].reverse()) over$.complete();
  }

  synthesis(pieces$: Observable<string>, options: UtteranceOptions): Observable<UtteranceEvent> {
    return this.#sockets?.speak(pieces$, options) ?? EMPTY;
  }

  async synthesize(text: string, options?: TTSCallOptions): Promise<Blob> {
    return (await this.#sockets?.synthesize(text, options)) ?? new Blob([]);
  }

  retune(): void {
    this.warm();
  }

  async start(signal: AbortSignal): Promise<void> {
    // Loaded here, so that a page can render without it.
    const wire = this.#wire;
    const { name } = this.#host.provider;
    const code = new OnDemand(name, () => import('./voice-sockets.ts'));
    const [{ VoiceSockets }, dialect] = await Promise.all([code.load(), 'load' in wire ? wire.load(name) : wire]);
    signal.throwIfAborted();
    const dialectOf = typeof dialect === 'function' ? dialect : () => dialect;
    this.#sockets = new VoiceSockets(
      (config) => ({ ...wire, ...dialectOf(config) }),
      this.#host,
      (event) => this.#connection$.next(event),
    );
    this.#speaking = this.#drafts$
      .pipe(concatMap((draft) => this.#speakDraft(draft)))
      .subscribe({ error: () => undefined });
    this.warm();
  }

  async stop(): Promise<void> {
    const sockets = this.#sockets;
    this.#sockets = undefined;
    await sockets?.close();
    this.cancel();
    this.#speaking.unsubscribe();
    this.#drafts.clear();
    sockets?.terminate();
  }

  /** Speaks one draft until it ends, fails or is cancelled. */
  #speakDraft(draft: Draft): Observable<never> {
    return this.#host.provider.speak(draft.text$).pipe(
      ignoreElements(),
      catchError((cause: unknown) => {
        const error = VoiceError.from(cause, { provider: this.#host.provider.name });
        draft.over$.error(error);
        // `finalize()` will throw it, but perhaps much later.
        if (this.#draft === draft && error.code !== 'aborted') this.#host.report(error);
        return EMPTY;
      }),
      takeUntil(
        draft.over$.pipe(
          catchError(() => EMPTY),
          endWith(undefined),
        ),
      ),
      finalize(() => {
        draft.over$.complete();
        this.#drafts.delete(draft);
      }),
    );
  }
}

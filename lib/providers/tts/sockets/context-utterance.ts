import { Subject, type Observable, type Subscriber, type Subscription } from 'rxjs';
import { durationMs, isPcmLike } from '../../../audio/formats.ts';
import type { AudioMetadata } from '../../../audio/types.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { ContextEvent, ContextTalk, ContextVoice, ContextWire } from './context-wire.ts';
import { SpokenText } from './spoken-text.ts';
import type { SynthesisEvent } from '../utterance.ts';

/** How far a word's end may lie behind its audio, in milliseconds: times and samples are rounded apart. */
const toleranceMs = 50;

/** A context that is open for an utterance. */
interface Context {
  readonly id: string;
  readonly talk: ContextTalk;
  audioBytes: number;
  /** Told by the service, and waiting for their audio. */
  readonly words: Extract<ContextEvent, { type: 'word' }>[];
}

/** One utterance, in a context of its service: what it says there, and what it hears. Where one is lost, another goes on. */
export class ContextUtterance {
  readonly text: SpokenText = new SpokenText();
  /** When its context was last heard, or a wait began. */
  readonly heard: { at: number } = { at: 0 };
  /** Until the next try. */
  pause: Subscription | undefined;
  /** Contexts that were lost in a row, without a piece of text heard to its end. */
  losses: number = 0;
  context: Context | undefined;
  readonly #wait$ = new Subject<void>();
  readonly #subscriber: Subscriber<SynthesisEvent>;
  readonly #wire: ContextWire;
  /** The settings are those of its beginning. */
  readonly #voice: ContextVoice;
  readonly #format: AudioMetadata;
  /** No more text will come. */
  #ended: boolean = false;
  /** The service has been told so. */
  #finished: boolean = false;

  constructor(subscriber: Subscriber<SynthesisEvent>, wire: ContextWire) {
    this.#subscriber = subscriber;
    this.#wire = wire;
    this.#voice = wire.voice();
    this.#format = wire.format();
  }

  /** Emits when what is waited for has changed. */
  get wait$(): Observable<void> {
    return this.#wait$.asObservable();
  }

  get isOver(): boolean {
    return this.#subscriber.closed;
  }

  /** Whether there is anything that the service could be told. */
  get wantsToSay(): boolean {
    return !this.isOver && !this.pause && (this.context !== undefined || !this.text.isSaid);
  }

  /** What is waited for has changed. */
  waitAnew(): void {
    this.#wait$.next();
  }

  fail(error: unknown): void {
    this.#subscriber.error(error);
  }

  /** No more text will come. */
  end(): void {
    this.#ended = true;
  }

  /** Completes, once all of its text has been heard. */
  settle(): void {
    if (this.#ended && !this.context && this.text.isSaid && this.text.isHeard) this.#subscriber.complete();
  }

  /** Speaks in a context from now on; gives the messages that open it. */
  enter(id: string): readonly string[] {
    const talk = this.#voice(id);
    this.context = { id, talk, audioBytes: 0, words: [] };
    return talk.opening;
  }

  /** The messages that tell its context all that is to be said. */
  say(): readonly string[] {
    const talk = this.context?.talk;
    if (!talk) return [];
    const wasSilent = !this.text.isBegun;
    const isEnding = this.#ended && !this.#finished;
    const messages = this.text.say().map((piece) => talk.say(`${piece} `));
    this.#finished ||= isEnding;
    if (isEnding || wasSilent) this.waitAnew();
    return isEnding ? [...messages, ...talk.ending] : messages;
  }

  /** Hears a message of its context; returns whether the context is over with it. */
  hear(message: WireObject): boolean {
    const { context } = this;
    if (!context) return false;
    for (const event of context.talk.read(message)) {
      if (event.type === 'word') {
        if (Number.isFinite(event.startMs) && Number.isFinite(event.endMs)) context.words.push(event);
      } else if (event.data.length > 0) {
        const isFirst = context.audioBytes === 0;
        context.audioBytes += event.data.length;
        if (isFirst) this.waitAnew();
        this.#subscriber.next(event);
      }
      // A listener may have ended it.
      if (this.context !== context) return false;
    }
    const isEnd = this.#wire.isEnd(message);
    this.#tellWords(context, isEnd ? Infinity : this.#soundedMs(context));
    return isEnd && this.context === context;
  }

  /** Leaves its context: what was not heard of it is said in another, with times of its own. */
  leave(): void {
    const { context } = this;
    this.context = undefined;
    this.#finished = false;
    const text = this.text.restart();
    this.waitAnew();
    if (context && context.audioBytes > 0) this.#subscriber.next({ type: 'segment', text });
  }

  /** Whether its context, all of whose text was spoken, has been idle for so long that it would take no more. */
  hasExpired(now: number): boolean {
    const { expiresMs = Infinity } = this.#wire;
    const isSpoken = this.#hasSounded && this.text.isHeard && !this.#finished;
    return isSpoken && now - this.heard.at >= expiresMs;
  }

  /** What the service keeps it waiting for: `undefined` when it waits for nothing. */
  get awaits(): 'audio' | 'more audio' | undefined {
    if (!this.context) return undefined;
    if (this.#hasSounded) return this.#finished ? 'more audio' : undefined;
    return this.#finished || (this.#wire.speaksAtOnce && this.text.isBegun) ? 'audio' : undefined;
  }

  get #hasSounded(): boolean {
    return this.context !== undefined && this.context.audioBytes > 0;
  }

  /** Milliseconds of audio that its context has brought; those of a compressed format cannot be counted. */
  #soundedMs({ audioBytes }: Context): number {
    return isPcmLike(this.#format.encoding) ? durationMs(audioBytes, this.#format) : Infinity;
  }

  /** Words are told once they have sounded, so that none is told of audio that is then lost. */
  #tellWords({ words }: Context, untilMs: number): void {
    for (let [word] = words; word && word.endMs <= untilMs + toleranceMs; word = words[0]) {
      words.shift();
      this.text.hear(word.text);
      this.#subscriber.next(word);
    }
  }
}

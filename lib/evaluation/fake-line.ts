import { asyncScheduler, firstValueFrom, type SchedulerLike, Subscription, takeUntil, tap, timer } from 'rxjs';
import type { InputProvider, OutputProvider, STTProvider, TTSProvider } from '../core/roles.ts';
import { fromAbort } from '../stream/bridge.ts';
import { FakeInput } from '../testing/fake-input.ts';
import { FakeOutput, FakeSTT, FakeTTS } from '../testing/fakes.ts';
import { audioToText } from '../testing/text-audio.ts';
import type { Phrase } from './manner.ts';
import type { CallerLine } from './scenario.ts';
import { bySpeech } from './by-speech.ts';

/** Options of a {@link FakeLine}. Times in milliseconds. */
export interface FakeLineOptions {
  /** The call's clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
  /** How long a word takes to say. Default: 300. */
  readonly msPerWord?: number;
  /** How long a character of the agent's takes to hear. Default: 50. */
  readonly msPerCharacter?: number;
  /** Silence after which the speech-to-text ends an utterance. Default: 500. */
  readonly endpointMs?: number;
  /** What speech-to-text makes of the words: for words that are misheard. Default: the words. */
  hears?(text: string): string;
}

/** A line without sound: the caller's words come out of a fake speech-to-text, word by word, on any clock. */
export class FakeLine implements CallerLine {
  readonly #stt = new FakeSTT();
  readonly #output: FakeOutput;
  readonly #options: Required<FakeLineOptions>;
  /** Input, speech-to-text, voice and output: with a model, these are a pipeline's. */
  readonly providers: readonly [InputProvider, STTProvider, TTSProvider, OutputProvider];
  #words: string[] = [];
  #utterance = 0;
  #ending = new Subscription();

  constructor(options: FakeLineOptions = {}) {
    const usual = { scheduler: asyncScheduler, msPerWord: 300, msPerCharacter: 50, endpointMs: 500 };
    this.#options = { ...usual, hears: (text) => text, ...options };
    const { scheduler, msPerCharacter } = this.#options;
    this.#output = new FakeOutput({ scheduler });
    this.providers = [new FakeInput(), this.#stt, new FakeTTS({ scheduler, msPerCharacter }), this.#output];
  }

  async speak(phrases: readonly Phrase[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { msPerWord, endpointMs, hears } = this.#options;
    for (const { text, pauseMs } of phrases) {
      this.#ending.unsubscribe();
      this.#stt.hearVoice(this.#words.length > 0 ? 'resumed' : 'started');
      for (const word of text.split(' ')) {
        await this.#wait(msPerWord, signal);
        if (signal.aborted) return;
        this.#words.push(word);
        this.#stt.hearWords(FakeSTT.result(hears(this.#words.join(' ')), 'interim', this.#id));
      }
      this.#stt.hearVoice('ended');
      this.#ending = timer(endpointMs, this.#options.scheduler)
        .pipe(tap(() => this.#endUtterance()))
        .subscribe();
      await this.#wait(pauseMs, signal);
    }
  }

  async noise(ms: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#stt.hearVoice('started');
    await this.#wait(ms, signal);
    this.#stt.hearVoice('ended');
  }

  received(endedAt: readonly number[]): string {
    const { msPerCharacter } = this.#options;
    return bySpeech(this.#output.heard, endedAt)
      .map((audio) => audioToText(audio, msPerCharacter))
      .join(' ');
  }

  close(): void {
    this.#ending.unsubscribe();
  }

  get #id(): string {
    return `utterance-${this.#utterance}`;
  }

  #endUtterance(): void {
    const text = this.#options.hears(this.#words.join(' '));
    const id = this.#id;
    this.#words = [];
    this.#utterance++;
    this.#stt.hearWords(FakeSTT.result(text, 'final', id));
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (ms === 0) return;
    const waiting$ = timer(ms, this.#options.scheduler).pipe(takeUntil(fromAbort(signal)));
    await firstValueFrom(waiting$, { defaultValue: 0 }).catch(() => undefined);
  }
}

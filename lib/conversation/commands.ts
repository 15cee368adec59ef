import { Subject, type Observable, type ObservableInput } from 'rxjs';
import type { MessageImage } from '../core/messages.ts';
import type { TTSProvider } from '../core/roles.ts';
import type { AnswerOptions, SettingsChange } from './conversation-options.ts';

/** Options of `say()`. */
export interface SayOptions {
  /** Whether the user can interrupt it. Default: true. */
  readonly interruptible?: boolean;
  /** Whether it is added to the history. Default: true. */
  readonly store?: boolean;
  /** `high` goes before other queued speech, `normal` after it. Default: `normal`. */
  readonly priority?: 'normal' | 'high';
  /** The voice that says it: another one, or a `Recording` of the text. Default: the voice that answers. */
  readonly tts?: TTSProvider;
}

/** Options of `send()`. */
export interface SendOptions {
  /** Whether it interrupts the agent; otherwise it waits until agent and user have finished. Default: true. */
  readonly interrupt?: boolean;
  /** Images that the message is about; only some models can see them. */
  readonly images?: readonly MessageImage[];
  /** How this message is answered; each key overrides that of the pipeline's `answer`. */
  readonly answer?: AnswerOptions;
}

/** The outcome of a request. */
export interface SpeechOutcome {
  /** The audible part, in whole words. */
  readonly heardText: string;
  readonly interrupted: boolean;
}

/** The outcome of what was cut off before anything was heard. */
export const notHeard: SpeechOutcome = { heardText: '', interrupted: true };

/** A request by the application, in progress. */
export interface SpeechHandle {
  /** Resolves when it was spoken, cut off, or failed; never rejects. */
  readonly done: Promise<SpeechOutcome>;
  /** What was heard; empty until it has ended. */
  readonly heardText: string;
  /** Cuts it off. */
  interrupt(): void;
}

/** The conversation's side of a {@link SpeechHandle}. */
export class SpeechTicket implements SpeechHandle {
  readonly done: Promise<SpeechOutcome>;
  readonly #cut$ = new Subject<void>();
  /** Emits when the application cuts it off. */
  readonly cut$: Observable<void> = this.#cut$.asObservable();
  #settle: (outcome: SpeechOutcome) => void = () => undefined;
  #heardText = '';
  #settled = false;

  constructor() {
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get heardText(): string {
    return this.#heardText;
  }

  interrupt(): void {
    this.#cut$.next();
  }

  /** Only the first call has an effect. */
  settle(outcome: SpeechOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#heardText = outcome.heardText;
    this.#settle(outcome);
    this.#cut$.complete();
  }
}

/** The application's commands. */
export type Command =
  | {
      readonly type: 'say';
      readonly text$: ObservableInput<string>;
      readonly options: SayOptions;
      readonly source: 'say' | 'greeting';
      readonly ticket: SpeechTicket;
    }
  | { readonly type: 'send'; readonly text: string; readonly options: SendOptions; readonly ticket: SpeechTicket }
  /** Cuts off whatever is being said or prepared. */
  | { readonly type: 'interrupt' }
  /** Push-to-talk. */
  | { readonly type: 'begin' | 'commit' | 'cancel' }
  /** Changes settings; each one takes effect when its documentation says so. */
  | { readonly type: 'update'; readonly changes: SettingsChange }
  /** Ends the conversation; with `drain`, once the agent has finished speaking. */
  | { readonly type: 'stop'; readonly drain?: boolean };

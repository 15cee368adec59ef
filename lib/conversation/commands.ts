import { Subject, type Observable, type ObservableInput } from 'rxjs';

/** Options of `say()`. */
export interface SayOptions {
  /** Whether the user can cut it off. Default: true. */
  readonly interruptible?: boolean;
  /** Whether the history remembers it. Default: true. */
  readonly store?: boolean;
  /** `high` goes before other speeches that wait, `normal` after them. Default: `normal`. */
  readonly priority?: 'normal' | 'high';
}

/** Options of `send()`. */
export interface SendOptions {
  /** Whether it cuts off what the agent is saying; else it waits for the end. Default: true. */
  readonly interrupt?: boolean;
}

/** How something that was asked for came out. */
export interface SpeechOutcome {
  /** What was audible, in whole words. */
  readonly heardText: string;
  readonly interrupted: boolean;
}

/** Something under way that the application asked for. */
export interface SpeechHandle {
  /** Resolves when it has been said, cut off, or failed; never rejects. */
  readonly done: Promise<SpeechOutcome>;
  /** What was heard; empty until it ended. */
  readonly heardText: string;
  /** Cuts it off. */
  interrupt(): void;
}

/** The conversation's side of a {@link SpeechHandle}. */
export class SpeechTicket implements SpeechHandle {
  readonly done: Promise<SpeechOutcome>;
  readonly #cut$ = new Subject<void>();
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

  /** Emits when the application cuts it off. */
  get cut$(): Observable<void> {
    return this.#cut$.asObservable();
  }

  interrupt(): void {
    this.#cut$.next();
  }

  /** The first time counts. */
  settle(outcome: SpeechOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#heardText = outcome.heardText;
    this.#settle(outcome);
    this.#cut$.complete();
  }
}

/** What the application asks of a conversation. */
export type Command =
  | {
      readonly type: 'say';
      readonly text$: ObservableInput<string>;
      readonly options: SayOptions;
      readonly source: 'say' | 'greeting';
      readonly ticket: SpeechTicket;
    }
  | { readonly type: 'send'; readonly text: string; readonly options: SendOptions; readonly ticket: SpeechTicket }
  /** Cuts off what is being said or prepared. */
  | { readonly type: 'interrupt' }
  /** Push-to-talk. */
  | { readonly type: 'begin' | 'commit' | 'cancel' }
  /** Ends the conversation. */
  | { readonly type: 'stop' };

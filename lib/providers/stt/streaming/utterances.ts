import { Subject, type Observable } from 'rxjs';
import type { SpeechEvent, TranscribedWord, TranscriptionResult } from '../../../core/roles.ts';

/**
 * What a result is: `interim` may change, `preflight` announces a likely end, `segment` will not change but is not all,
 * `complete` is the whole utterance.
 */
export type ResultKind = 'interim' | 'preflight' | 'segment' | 'complete';

/** What a result brings beside its text. */
export interface ResultDetails {
  /** 0 to 1. */
  readonly confidence?: number | undefined;
  readonly words?: readonly TranscribedWord[] | undefined;
  /** BCP 47. Default: the configured one. */
  readonly language?: string | undefined;
  /** What the vendor says beyond that, for `metadata`. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

/** Words, and what is known of them. */
export interface Said extends ResultDetails {
  readonly text: string;
}

/** What the utterances of a provider have in common. */
export interface UtteranceOptions {
  /** Stands before the number of each utterance in its id. */
  readonly name: string;
  readonly language: string | undefined;
  readonly interimResults: boolean;
}

/** A provider's results and speech events: numbers the utterances, and tells a voice's start and end once each. */
export class Utterances {
  readonly transcripts$: Observable<TranscriptionResult>;
  readonly speech$: Observable<SpeechEvent>;

  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly #options: () => UtteranceOptions;
  #count: number = 0;
  #id: string | undefined;
  /** The newest words of an utterance that is not complete. */
  #open: readonly [string, ResultDetails] | undefined;
  #speaking: boolean = false;

  constructor(options: () => UtteranceOptions) {
    this.#options = options;
    this.transcripts$ = this.#transcripts$.asObservable();
    this.speech$ = this.#speech$.asObservable();
  }

  /** A voice is heard. */
  started(): void {
    this.#speaks(true, 'started');
  }

  /** The voice has fallen silent. */
  ended(): void {
    this.#speaks(false, 'ended');
  }

  /** The voice goes on after all. */
  resumed(): void {
    this.#speaks(true, 'resumed');
  }

  /** Words of a voice that may change: an interim result. */
  heard(text: string, details?: ResultDetails): void {
    this.started();
    this.result('interim', text, details);
  }

  /** The voice has fallen silent, and all that it said is known: a complete result. */
  complete(text: string, details?: ResultDetails): void {
    this.ended();
    this.result('complete', text, details);
  }

  /** Nothing more comes of the utterance: its newest words are all of it. */
  finish(): void {
    this.ended();
    if (this.#open) this.result('complete', ...this.#open);
  }

  /** Publishes a result: the text of the whole utterance so far. Until one is complete, all are of one utterance. */
  result(kind: ResultKind, text: string, details: ResultDetails = {}): void {
    const { confidence, words, language, fields } = details;
    const options = this.#options();
    this.#open = kind === 'complete' ? undefined : [text, details];
    if (kind === 'interim' && !options.interimResults) return;
    const spoken = language ?? options.language;
    const speaker = soleSpeaker(words ?? []);
    const utteranceId = (this.#id ??= `${options.name}-${++this.#count}`);
    if (kind === 'complete') this.#id = undefined;
    this.#transcripts$.next({
      text,
      isFinal: kind === 'segment' || kind === 'complete',
      utteranceComplete: kind === 'complete',
      isPreflight: kind === 'preflight',
      ...(confidence !== undefined && { confidence }),
      utteranceId,
      metadata: {
        ...fields,
        ...(words && { words }),
        ...(spoken !== undefined && { language: spoken }),
        ...(speaker !== undefined && { speaker }),
      },
    });
  }

  /** What comes next belongs to another utterance. */
  reset(): void {
    this.ended();
    this.#open = undefined;
    this.#id = undefined;
  }

  #speaks(speaking: boolean, type: SpeechEvent['type']): void {
    if (this.#speaking === speaking) return;
    this.#speaking = speaking;
    this.#speech$.next({ type });
  }
}

/** Who said all of some words; `undefined` when several did, or when nobody knows. */
function soleSpeaker(words: readonly TranscribedWord[]): string | undefined {
  const [first, ...others] = words;
  return others.every(({ speaker }) => speaker === first?.speaker) ? first?.speaker : undefined;
}

/** The mean of the words' confidences; `undefined` without any. */
export function meanConfidence(words: readonly TranscribedWord[]): number | undefined {
  const known = words.flatMap(({ confidence }) => confidence ?? []);
  return known.length > 0 ? known.reduce((sum, each) => sum + each, 0) / known.length : undefined;
}

import {
  catchError,
  defer,
  EMPTY,
  firstValueFrom,
  map,
  mergeMap,
  of,
  Subject,
  takeUntil,
  timer,
  type SchedulerLike,
  type Subscription,
} from 'rxjs';
import { messageOf, VoiceError } from '../../core/errors.ts';
import type { LLMEvent } from '../../core/messages.ts';
import { fromInput } from '../../stream/bridge.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { guardedOutput, type GuardContext } from '../../text/text-transform.ts';
import type { ActiveAgent } from './active-agent.ts';
import type { Emit } from '../event-bus.ts';
import type { AgentReport } from '../fold/inputs.ts';
import type { SpeechRequest } from './speech.ts';
import type { Say } from '../fold/state.ts';
import { synthesizeText, type VoiceContext } from './voice.ts';

/** Most characters that are read ahead of what is heard: about two minutes of speech, many sentences. */
const maxAhead = 2_000;
/** How often a reader that is ahead looks again, in milliseconds. */
const recheckMs = 100;

/** What {@link synthesizeSay} needs. */
export interface SayTextContext extends VoiceContext {
  readonly emit: Emit;
  readonly report: (report: AgentReport) => void;
}

/** Turns a text of the application into audio: read no further ahead than it is heard, and guarded like an answer. */
export function synthesizeSay(
  { content }: Say,
  agent: ActiveAgent,
  { emit, report, ...voice }: SayTextContext,
): SpeechRequest['synthesize'] {
  const { scheduler, validate } = voice;
  const reader = new Reader(scheduler);
  const { tts = agent.tts } = 'tts' in content ? content : {};
  const text$ = 'text$' in content ? fromInput(content.text$, () => reader.pause()) : EMPTY;
  const tokens$ = text$.pipe(
    stallTimeout({ idleMs: agent.timeouts.llmStallMs, scheduler, error: textStalled }),
    // Earlier pieces are spoken.
    catchError((error: unknown) => {
      report({ type: 'say.failed', error: textFailed(error), role: 'tts' });
      return EMPTY;
    }),
    map((text): LLMEvent => ({ type: 'token', text })),
    validate('said'),
  );
  const guards: GuardContext = { scheduler, tell: (told) => emit('guard.acted', told), end: () => undefined };
  // The application's own: what it throws ends this speech alone.
  const guarded$ = defer(() => guardedOutput(tokens$, agent.text, guards)).pipe(
    mergeMap((event) => (event.type === 'token' ? [event.text] : [])),
  );
  const rounds$ = of({ text$: guarded$, agent: { ...agent, tts } });
  const onPiece = (characters: number): void => reader.add(characters);
  const synthesize = synthesizeText({ rounds$, gate$: of(true), onPiece }, voice);
  return (script, playedMs, sources) => {
    reader.follow(() => script.heardAt(playedMs()).text.length, sources);
    return synthesize(script, playedMs, sources);
  };
}

/** Holds up the reading of a text while much of it is ahead of what is heard. */
class Reader {
  readonly #scheduler: SchedulerLike;
  readonly #ended$ = new Subject<void>();
  /** Characters read, and known to be heard. */
  #read = 0;
  #heard = 0;
  #heardNow = (): number => 0;

  constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler;
  }

  /** More of the text has been read. */
  add(characters: number): void {
    this.#read += characters;
  }

  /** @param sources - Ends the wait for more to be heard. */
  follow(heardNow: () => number, sources: Subscription): void {
    this.#heardNow = heardNow;
    sources.add(() => this.#ended$.next());
  }

  /** A wait before the next piece. Its value, an empty text, tells that it was not the application that was slow. */
  pause(): Promise<string> | undefined {
    if (!this.#isAhead()) return undefined;
    const wait$ = timer(recheckMs, this.#scheduler).pipe(
      map(() => ''),
      takeUntil(this.#ended$),
    );
    return firstValueFrom(wait$, { defaultValue: '' });
  }

  #isAhead(): boolean {
    if (this.#read - this.#heard <= maxAhead) return false;
    this.#heard = this.#heardNow();
    return this.#read - this.#heard > maxAhead;
  }
}

/** The error, which says that it was the application's text that failed. */
function textFailed(error: unknown): unknown {
  if (VoiceError.is(error)) return error;
  return new VoiceError(`the text given to say() failed: ${messageOf(error)}`, { code: 'internal', cause: error });
}

function textStalled(_: string, ms: number): VoiceError {
  const message = `the text given to say() stalled: nothing more came within ${ms / 1000} seconds`;
  return new VoiceError(message, { code: 'timeout', recoverable: true });
}

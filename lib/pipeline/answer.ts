import { Observable, ReplaySubject, Subscription, tap } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { ProviderRole } from '../core/roles.ts';
import type { SpeechTicket } from './commands.ts';
import type { TurnEndReason } from './events.ts';
import { generateAnswer, type GenerationContext, type GenerationStep, type RunningTools } from './generation.ts';
import type { History, Spoken } from './history.ts';
import { speech, type SpeechContext, type SpeechMark, type SpeechResult } from './speech.ts';
import type { Turn, TurnMoment } from './turn.ts';

/** Something that the agent may answer: for sure once `committed$` has emitted, until then on speculation. */
export interface Candidate {
  readonly turn: Turn;
  readonly text: string;
  readonly startedAt: number;
  readonly committed$: ReplaySubject<true>;
  /** Token events that its generation has brought so far. */
  tokens: number;
  readonly ticket?: SpeechTicket;
}

/** What every answer of a conversation shares. */
export interface AnswerContext {
  readonly generation: Pick<
    GenerationContext,
    'llm' | 'tools' | 'emit' | 'scheduler' | 'stopped$' | 'llmFirstTokenMs' | 'llmStallMs'
  >;
  readonly speech: SpeechContext;
  readonly history: History;
  readonly systemPrompt: string | undefined;
  readonly speakAhead: boolean;
  newId(prefix: string): string;
  /** Why the answer is being cut off, and since when; asked in the teardown. */
  cut(): { readonly reason: TurnEndReason; readonly at: number };
  onError(error: unknown, role: ProviderRole, turn: Turn): void;
  onEnded(turn: Turn): void;
  /** What was prepared is void: if the turn is committed, it is answered anew. */
  onSpeculationFailed(candidate: Candidate): void;
}

const moments: Readonly<Record<SpeechMark, TurnMoment>> = {
  'first-piece': 'firstPiece',
  'first-audio': 'firstAudio',
  audible: 'audible',
};

/**
 * Answers a candidate: asks the model and says what it writes. Subscribing starts both, unsubscribing cuts both off,
 * and records what was heard. Never errors: what fails is reported, and ends the turn. Emits nothing; completes when
 * the answer was heard.
 */
export function answer(candidate: Candidate, context: AnswerContext): Observable<never> {
  return new Observable((subscriber) => {
    const { turn, committed$ } = candidate;
    const { history, generation } = context;
    const { emit, scheduler } = generation;
    const envelope = { turnId: turn.id, role: 'llm', provider: generation.llm.name } as const;
    const work = new Subscription();
    const rounds$ = new ReplaySubject<Observable<string>>(Infinity);
    const parts: Part[] = [];
    /** Steps that nobody may know of yet; undefined once the turn is committed. */
    let untold: GenerationStep[] | undefined = [];
    let running: RunningTools | undefined;
    /** The round whose request is under way: not while tools run, nor what is said meanwhile. */
    let asking: Part | undefined;
    let failed = false;

    const fail = (error: unknown, role: ProviderRole): void => {
      if (!turn.isCommitted) {
        context.onSpeculationFailed(candidate);
        return;
      }
      failed = true;
      context.onError(error, role, turn);
    };
    const remember = ({ heard, interrupted }: SpeechResult): void => {
      if (!turn.isCommitted) return;
      if (running) {
        const { part, text, calls, round } = running;
        const outcomes = round.interrupt((late) => {
          history.updateToolResult(late);
        });
        const item = history.addToolRound(text, calls, outcomes);
        Object.assign(parts[part] ?? {}, { item });
      }
      for (const [index, part] of parts.entries()) {
        const spoken: Spoken = {
          generated: part.text,
          heard: heard.rounds[index] ?? '',
          interrupted: interrupted && heard.rounds[index] !== part.text,
          estimated: heard.estimated,
        };
        if (part.item !== undefined) history.settle(part.item, spoken);
        else if (part.stored) history.addAssistant(spoken);
      }
    };
    let ended = false;
    const end = (result: SpeechResult, reason: TurnEndReason): void => {
      if (ended) return;
      ended = true;
      const cut = context.cut();
      const silentAt = scheduler.now();
      remember(result);
      work.unsubscribe();
      const text = parts.map((part) => part.text).join('');
      const unheard = text ? 1 - result.heard.text.length / text.length : 1;
      if (!turn.isCommitted) return;
      if (asking) emit('llm.aborted', { text: asking.text }, envelope);
      if (result.interrupted) turn.addWaste(Math.round(candidate.tokens * Math.max(0, unheard)));
      if (reason === 'interrupted') turn.note({ bargeInCut: silentAt - cut.at });
      turn.end(reason);
      context.onEnded(turn);
      candidate.ticket?.settle({ heardText: result.heard.text, interrupted: result.interrupted });
    };

    const publish = (step: GenerationStep): void => {
      if (!parts[step.part]?.stored) return;
      if (step.type === 'started') emit('llm.started', { round: step.round }, envelope);
      else if (step.type === 'token') emit('llm.token', { delta: step.text }, envelope);
      else {
        const { text, finishReason, usage } = step;
        emit('llm.completed', { text, finishReason, ...(usage ? { usage } : {}) }, envelope);
        if (usage) emit('usage', { tokens: usage }, envelope);
      }
    };
    /** A step's event comes before what is said of it. */
    const onStep = (step: GenerationStep): void => {
      if (step.type === 'started') {
        const part: Part = { text: '', text$: new ReplaySubject(Infinity), stored: step.stored, item: undefined };
        parts[step.part] = part;
        if (part.stored) asking = part;
        turn.mark('request');
      }
      const part = parts[step.part];
      if (!part) return;
      if (step.type === 'ended' && part === asking) asking = undefined;
      if (step.type === 'token') {
        part.text += step.text;
        if (part.stored) candidate.tokens++;
        turn.mark('firstToken');
      }
      if (untold) untold.push(step);
      else publish(step);
      if (step.type === 'started') rounds$.next(part.text$);
      else if (step.type === 'token') part.text$.next(step.text);
      else part.text$.complete();
    };

    const request = {
      id: context.newId('speech'),
      turnId: turn.id,
      source: 'answer',
      interruptible: true,
      rounds$,
      gate$: committed$,
      speakAhead: context.speakAhead,
      // What tools have come to is asked for first.
      onSilence: (): void => {
        if (!running) work.unsubscribe();
      },
    } as const;
    const onSpeechEnd = (result: SpeechResult): void => {
      // A speech that fails reports its error right after this, and ends the turn with it.
      if (!result.interrupted) end(result, failed ? 'error' : 'completed');
      else last = result;
    };
    let last: SpeechResult | undefined;

    work.add(
      committed$
        .pipe(
          tap(() => {
            const steps = untold ?? [];
            untold = undefined;
            for (const step of steps) publish(step);
          }),
        )
        .subscribe(),
    );
    const speaking = speech(request, context.speech, onSpeechEnd).subscribe({
      next: (mark) => {
        turn.mark(moments[mark]);
      },
      error: (error: unknown) => {
        const isVoice = VoiceError.is(error) && error.provider !== context.speech.output.name;
        fail(error, isVoice ? 'tts' : 'output');
        end(last ?? nothingHeard, 'error');
        subscriber.complete();
      },
      complete: () => {
        subscriber.complete();
      },
    });
    const finish = (): void => {
      asking = undefined;
      for (const { text$ } of parts) text$.complete();
      rounds$.complete();
    };
    work.add(
      generateAnswer({
        ...generation,
        emit: (type, payload) => {
          emit(type, payload, { turnId: turn.id });
        },
        gate$: committed$,
        messages: () => history.messages(context.systemPrompt, turn.isCommitted ? undefined : candidate.text),
        onToolsRunning: (tools) => {
          running = tools;
        },
        onToolRound: (part, text, calls, outcomes) => {
          const item = history.addToolRound(text, calls, outcomes);
          Object.assign(parts[part] ?? {}, { item });
        },
      }).subscribe({
        next: onStep,
        error: (error: unknown) => {
          fail(error, 'llm');
          finish();
        },
        complete: finish,
      }),
    );
    return () => {
      speaking.unsubscribe();
      end(last ?? nothingHeard, failed ? 'error' : context.cut().reason);
    };
  });
}

interface Part {
  text: string;
  /** The same for the voice, as it comes. */
  readonly text$: ReplaySubject<string>;
  readonly stored: boolean;
  /** The history item that a round with tool calls already has. */
  item: string | undefined;
}

const nothingHeard: SpeechResult = { heard: { text: '', rounds: [], estimated: false }, text: '', interrupted: true };

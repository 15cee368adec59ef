import { EMPTY, Subject, switchMap, tap, type BehaviorSubject, type Observable, type SchedulerLike } from 'rxjs';
import type { OutputProvider } from '../core/roles.ts';
import { countWords } from '../core/text.ts';
import type { AgentActivity } from './agent-activity.ts';
import { bargeIn, type BargeInRules, type BargeInSign, type BargeInStage } from './barge-in.ts';
import type { BargeInOptions } from './conversation-options.ts';
import type { Emit } from './event-bus.ts';
import type { IgnoreReason } from './events.ts';
import type { UserSignal } from './turn-taking.ts';

/** What {@link Interruptions} needs to know. */
export interface InterruptionsOptions {
  readonly bargeIn: boolean | 'immediate' | BargeInOptions;
  readonly output: Pick<OutputProvider, 'positionMs' | 'pause' | 'resume' | 'setVolume'>;
  /** Whether the speech-to-text service tells when a voice falls silent. */
  readonly reportsSpeechEnd: boolean;
  /** BCP 47, for counting words. */
  readonly locale: string | undefined;
  /** While true nothing new starts to sound: the user may be about to say something. */
  readonly held$: BehaviorSubject<boolean>;
  readonly activity: AgentActivity;
  readonly emit: Emit;
  readonly scheduler: SchedulerLike;
  /** Silences the agent in this very tick. */
  readonly cutOff: (reason: 'interrupted' | 'merged') => void;
  /** An interruption was confirmed, and the agent is silent. */
  readonly onConfirmed: () => void;
}

/** What the user does while the agent has the floor, and what that does to the agent: ducked, paused, cut, resumed. */
export class Interruptions {
  readonly #options: InterruptionsOptions;
  readonly #bargeIn: BargeInOptions;
  readonly #activity: AgentActivity;
  readonly #emit: Emit;
  readonly #signs$ = new Subject<BargeInSign>();
  #suspectedAt = 0;
  #paused = false;

  constructor(options: InterruptionsOptions) {
    this.#options = options;
    this.#bargeIn = typeof options.bargeIn === 'object' ? options.bargeIn : {};
    this.#activity = options.activity;
    this.#emit = options.emit;
  }

  /** Whether the user may cut off what the agent is saying. */
  get areAllowed(): boolean {
    return this.#options.bargeIn !== false && (this.#activity.speaking?.request.interruptible ?? true);
  }

  /** Enacts barge-ins while it is subscribed to. */
  get enacted$(): Observable<unknown> {
    return this.#activity.busy$.pipe(
      switchMap((busy) => {
        if (busy) return this.#signs$.pipe(bargeIn(() => this.#rules(), this.#options.scheduler));
        this.takeBack();
        return EMPTY;
      }),
      tap((stage) => this.#enter(stage)),
    );
  }

  /** Takes a signal as a sign of a barge-in; true when it is the user's turn, and not the agent's any more. */
  giveWay(signal: UserSignal): boolean {
    if (!this.areAllowed) {
      if (this.#bargeIn.whileUninterruptible === 'queue') return true;
      this.#ignore(signal, this.#options.bargeIn === false ? 'disabled' : 'uninterruptible');
      return false;
    }
    const sign = toSign(signal, this.#options.locale);
    if (sign) this.#signs$.next(sign);
    // The sign may have confirmed the interruption: then it is the first of the user's turn.
    if (this.#activity.status === 'free') return true;
    this.#ignore(signal, 'too-short');
    return false;
  }

  /** The agent has the floor undisturbed, or has lost it: nothing is ducked, paused or held any more. */
  takeBack(): void {
    if (!this.#options.held$.value) return;
    this.#options.output.setVolume?.(1);
    if (this.#paused) this.#options.output.resume();
    this.#paused = false;
    this.#options.held$.next(false);
  }

  #ignore(signal: UserSignal, reason: IgnoreReason): void {
    if (signal.type !== 'transcript') return;
    const { result } = signal;
    const { text, utteranceComplete } = result;
    if (!text.trim()) return;
    if (utteranceComplete) this.#emit('bargeIn.ignored', { reason, text, result });
    else this.#emit('transcript.interim', { text, result }, { role: 'stt' });
  }

  #rules(): BargeInRules {
    const status = this.#activity.status;
    const inGreeting = this.#activity.speaking?.request.source === 'greeting' ? this.#bargeIn.greeting : undefined;
    // In thinking, words alone confirm: a cough delays the answer, and never deletes it.
    const inThinking =
      status === 'thinking' ? { minWords: 1, confirmAfterMs: Infinity, ...this.#bargeIn.thinking } : {};
    return {
      pauseAfterMs: 200,
      confirmAfterMs: 500,
      minWords: 2,
      resumeAfterMs: 1_200,
      ...this.#bargeIn,
      ...inGreeting,
      ...inThinking,
      immediate: this.#options.bargeIn === 'immediate' && status === 'speaking',
      voiceEnds: this.#options.reportsSpeechEnd,
    };
  }

  #enter(stage: BargeInStage): void {
    const { output } = this.#options;
    const emit = this.#emit;
    const envelope = this.#activity.envelope;
    switch (stage) {
      case 'suspected':
        this.#suspectedAt = this.#options.scheduler.now();
        this.#options.held$.next(true);
        output.setVolume?.(10 ** (-(this.#bargeIn.duckDb ?? 12) / 20));
        emit('bargeIn.suspected', {}, envelope);
        break;
      case 'paused':
        this.#paused = true;
        output.pause();
        emit('bargeIn.paused', {}, envelope);
        if (envelope.speechId) emit('speech.paused', { positionMs: output.positionMs }, envelope);
        break;
      case 'confirmed':
        this.#confirm();
        break;
      case 'resumed':
        emit('bargeIn.resumed', {}, envelope);
        if (this.#paused && envelope.speechId) emit('speech.resumed', { positionMs: output.positionMs }, envelope);
        this.takeBack();
        break;
    }
  }

  #confirm(): void {
    const { scheduler, cutOff, onConfirmed } = this.#options;
    const { envelope, status } = this.#activity;
    const confirmedAt = scheduler.now();
    const detectMs = confirmedAt - this.#suspectedAt;
    this.#activity.answering?.note({ bargeInDetect: detectMs });
    cutOff(status === 'thinking' ? 'merged' : 'interrupted');
    this.#emit('bargeIn.confirmed', { detectMs, cutMs: scheduler.now() - confirmedAt }, envelope);
    onConfirmed();
  }
}

function toSign(signal: UserSignal, locale: string | undefined): BargeInSign | undefined {
  if (signal.type === 'speech') return { type: signal.event === 'ended' ? 'voice-ended' : 'voice-started' };
  if (signal.type !== 'transcript' || !signal.result.text.trim()) return undefined;
  return { type: 'words', count: countWords(signal.result.text, locale), final: signal.result.utteranceComplete };
}

import {
  asyncScheduler,
  catchError,
  defer,
  EMPTY,
  filter,
  firstValueFrom,
  map,
  mergeMap,
  of,
  Subject,
  switchMap,
  take,
  takeUntil,
  timer,
  type Observable,
} from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import type { LLMEvent } from '../core/messages.ts';
import { fromInput } from '../stream/bridge.ts';
import { merge } from '../stream/merge.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { guardedOutput, type GuardContext } from '../text/text-transform.ts';
import { answer, type AnswerContext } from './answer.ts';
import type { Answerer, Shared } from './answerer.ts';
import type { ConversationOptions, ConversationSettings } from './conversation-options.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { activeAgent, type ActiveAgent, type AnswerSources } from './active-agent.ts';
import type { Effect } from './inputs.ts';
import { converse, withTickets } from './conversation.ts';
import type { VoiceEvent } from './events.ts';
import { handOver } from './handoff.ts';
import { judgeTurn } from './input-guards.ts';
import { rulesOf } from './rules.ts';
import { sayIt } from './say.ts';
import { roleOf, type SpeechRequest } from './speech.ts';
import type { Say } from './state.ts';
import type { SttFacts } from './turn-rules.ts';
import { synthesizeText, type VoiceContext } from './voice.ts';

/**
 * A whole conversation as one function: streams in, events out. Subscribing starts it; it completes after the command
 * `stop`, and never errors. The guides on turn-taking, barge-in and preflight describe its behavior.
 */
export function conversation(ports: ConversationPorts, options: ConversationOptions): Observable<VoiceEvent> {
  const { scheduler = asyncScheduler, history, greeting, hearing, agents = {}, voices = {}, ...rest } = options;
  const [first] = Object.keys(agents);
  const settings: ConversationSettings = { ...(first === undefined ? {} : { agent: first }), ...rest };
  return converse({
    ports,
    history,
    scheduler,
    greeting,
    stage: hearing,
    settings,
    rules: rulesOf(settings, factsOf(ports), ports.phrases),
    finalize: ports.finalize,
    pushToTalk: ports.pushToTalk,
    listen: ports.listen,
    commands$: ports.commands$.pipe(withTickets()),
    answerer: (shared) => modelAndVoice(ports, { ...ports, agents, voices }, shared),
  });
}

function factsOf({ sttName = '', sttPauseMs = Infinity, ...ports }: ConversationPorts): SttFacts {
  const { reportsSpeechEnd = false, finalize, voice$ } = ports;
  const canFinalize = finalize !== undefined;
  return { stt: sttName, pauseMs: sttPauseMs, canFinalize, reportsSpeechEnd, detectsVoice: voice$ !== undefined };
}

/** Answers with an LLM and a TTS. */
function modelAndVoice(ports: ConversationPorts, sources: AnswerSources, shared: Shared): Answerer {
  const { state$, now, ...rest } = shared;
  const { emit, scheduler, validate, report } = rest;
  const { tts, output } = ports;
  const agent = (): ActiveAgent => activeAgent(now(), sources);
  const speech = {
    ...shared.speech,
    voice: tts,
    playoutMs: () => agent().timeouts.playoutMs,
    transcode: (audio$: Observable<AudioChunk>, sourceOf: (chunk: AudioChunk) => string) =>
      ports.transcode?.(audio$, sourceOf) ?? audio$,
  };
  const hooks$ = new Subject<Extract<Effect, { readonly type: 'hook' }>>();
  const voice: VoiceContext = { scheduler, validate };
  const context: AnswerContext = {
    report,
    history: shared.history,
    joined: shared.joined,
    speech,
    voice,
    committed$: (id) =>
      state$.pipe(
        filter(({ candidate }) => candidate?.id === id && candidate.phase === 'committed'),
        take(1),
      ),
    generation: {
      agent,
      emit,
      scheduler,
      validate,
      stopped$: state$.pipe(filter(({ isStopped }) => isStopped)),
      handOver: (name) => handOver(name, sources.agents, shared),
    },
  };
  const synthesize = ({ content }: Say): SpeechRequest['synthesize'] => {
    let [ready, heard] = [0, 0];
    let heardNow = (): number => 0;
    const ended$ = new Subject<void>();
    const isAhead = (): boolean => ready - heard > maxAhead && ready - (heard = heardNow()) > maxAhead;
    // The empty text tells that it was not the application's wait.
    const wait$ = timer(recheckMs, scheduler).pipe(
      map(() => ''),
      takeUntil(ended$),
    );
    const pause = (): Promise<string> | undefined =>
      isAhead() ? firstValueFrom(wait$, { defaultValue: '' }) : undefined;
    const text$ = 'text$' in content ? fromInput(content.text$, pause) : EMPTY;
    const { tts = agent().tts } = 'tts' in content ? content : {};
    const playing = { ...agent(), tts };
    const inTime$ = text$.pipe(
      stallTimeout({ idleMs: playing.timeouts.llmStallMs, scheduler, error: textStalled }),
      // Earlier pieces are spoken.
      catchError((error: unknown) => {
        report({ type: 'say.failed', error: ofSaid(error), role: 'tts' });
        return EMPTY;
      }),
    );
    const tokens$ = inTime$.pipe(
      map((text): LLMEvent => ({ type: 'token', text })),
      validate('said'),
    );
    const context: GuardContext = { scheduler, tell: (told) => emit('guard.acted', told), end: () => undefined };
    const guarded$ = guardedOutput(tokens$, playing.text, context).pipe(
      mergeMap((event) => (event.type === 'token' ? [event.text] : [])),
    );
    const rounds$ = of({ text$: guarded$, agent: playing });
    const onPiece = (characters: number): void => void (ready += characters);
    const synthesized$ = synthesizeText({ rounds$, gate$: of(true), onPiece }, voice);
    return (script, playedMs, sources) => {
      heardNow = () => script.heardAt(playedMs(), false).text.length;
      sources.add(() => ended$.next());
      return synthesized$(script, playedMs, sources);
    };
  };
  return {
    answer: (candidate) => answer(candidate, context),
    say: (say) => sayIt(say, { ...rest, speech, synthesize, roleOf: (error) => roleOf(error, output.name) }),
    // The request that needs the connection will report its problems.
    warm$: defer(() => {
      const { llm, tts: current } = agent();
      return merge(...[llm, current].map((each) => defer(() => each.warm?.() ?? EMPTY).pipe(catchError(() => EMPTY))));
    }),
    hook: (effect) => hooks$.next(effect),
    input$: hooks$.pipe(switchMap((effect) => judgeTurn(effect, shared))),
  };
}

/** Most characters that are read ahead of what is heard: about two minutes of speech, many sentences. */
const maxAhead = 2_000;
/** How often one who is ahead looks again, in milliseconds. */
const recheckMs = 100;

/** Says that it was the application's text that failed. */
function ofSaid(error: unknown): unknown {
  if (VoiceError.is(error)) return error;
  return new VoiceError(`the text given to say() failed: ${messageOf(error)}`, { code: 'internal', cause: error });
}

function textStalled(_: string, ms: number): VoiceError {
  const message = `the text given to say() stalled: nothing more came within ${ms / 1000} seconds`;
  return new VoiceError(message, { code: 'timeout', recoverable: true });
}

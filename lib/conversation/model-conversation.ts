import { asyncScheduler, filter, noop, Subject, switchMap, type Observable } from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { callSafely } from '../core/application-code.ts';
import { firstWhere } from '../stream/first-where.ts';
import { activeAgent, type ActiveAgent, type AnswerSources } from './answer/active-agent.ts';
import { answer, type AnswerContext } from './answer/answer.ts';
import type { Answerer, Shared } from './answerer.ts';
import type { ConversationOptions, ConversationSettings } from './conversation-options.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { converse, withTickets } from './conversation.ts';
import type { VoiceEvent } from './events.ts';
import { handOver } from './answer/handoff.ts';
import type { Effect } from './fold/inputs.ts';
import { judgeTurn } from './answer/input-guards.ts';
import { rulesOf } from './fold/rules.ts';
import { synthesizeSay } from './answer/say-text.ts';
import { sayIt } from './answer/say.ts';
import { roleOf, type SpeechRequest } from './answer/speech.ts';
import type { Say } from './fold/state.ts';
import type { SttFacts } from './turn-taking/turn-rules.ts';
import type { VoiceContext } from './answer/voice.ts';

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
    rules: rulesOf(settings, sttFactsOf(ports), ports.phrases),
    finalize: ports.finalize,
    pushToTalk: ports.pushToTalk,
    listen: ports.listen,
    commands$: ports.commands$.pipe(withTickets()),
    answerer: (shared) => modelAndVoice(ports, { agents, voices, ...ports }, shared),
  });
}

function sttFactsOf({ sttName = '', sttPauseMs = Infinity, ...ports }: ConversationPorts): SttFacts {
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
    voice: tts,
    playoutMs: () => agent().timeouts.playoutMs,
    transcode: (audio$: Observable<AudioChunk>, sourceOf: (chunk: AudioChunk) => string) =>
      ports.transcode?.(audio$, sourceOf) ?? audio$,
    ...shared.speech,
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
      state$.pipe(firstWhere(({ candidate }) => candidate?.id === id && candidate.phase === 'committed')),
    generation: {
      agent,
      emit,
      scheduler,
      validate,
      stopped$: state$.pipe(filter(({ isStopped }) => isStopped)),
      handOver: (name) => handOver(name, sources.agents, shared),
    },
  };
  const synthesize = (say: Say): SpeechRequest['synthesize'] => synthesizeSay(say, agent(), { ...voice, emit, report });
  return {
    answer: (candidate) => answer(candidate, context),
    say: (say) => sayIt(say, { ...rest, speech, synthesize, roleOf: (error) => roleOf(error, output.name) }),
    // The request that needs the connection will report its problems.
    warm: () => {
      const { llm, tts: current } = agent();
      for (const each of [llm, current]) callSafely(() => each.warm?.(), undefined, noop);
    },
    hook: (effect) => hooks$.next(effect),
    input$: hooks$.pipe(switchMap((effect) => judgeTurn(effect, shared))),
  };
}

import { asyncScheduler, catchError, defer, EMPTY, filter, of, take, type Observable } from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { fromInput } from '../stream/bridge.ts';
import { merge } from '../stream/merge.ts';
import { answer, type AnswerContext } from './answer.ts';
import type { Answerer, Shared } from './answerer.ts';
import type { ConversationOptions, ConversationPorts, PreflightOptions } from './conversation-options.ts';
import { converse, withTickets } from './conversation.ts';
import { roleOf } from './enact.ts';
import type { VoiceEvent } from './events.ts';
import type { Rules } from './reduce.ts';
import { sayIt } from './say.ts';
import type { SpeechRequest } from './speech.ts';
import type { Say } from './state.ts';
import { synthesizeText, type VoiceContext } from './voice.ts';

/**
 * A whole conversation as one function: streams in, events out. Subscribing starts it; it completes after the command
 * `stop`, and never errors. The guides on turn-taking, barge-in and preflight describe its behavior.
 */
export function conversation(ports: ConversationPorts, options: ConversationOptions): Observable<VoiceEvent> {
  const { scheduler = asyncScheduler, history, greeting, bargeIn } = options;
  return converse({
    ports,
    history,
    scheduler,
    greeting,
    rules: rulesOf(ports, options),
    finalize: ports.finalize,
    duckDb: (typeof bargeIn === 'object' ? bargeIn.duckDb : undefined) ?? 12,
    commands$: ports.commands$.pipe(withTickets()),
    answerer: (shared) => modelAndVoice(ports, options, shared),
  });
}

/** An LLM and a TTS as answerer. */
function modelAndVoice(ports: ConversationPorts, options: ConversationOptions, shared: Shared): Answerer {
  const { state$, ...rest } = shared;
  const { emit, scheduler, validate, report } = rest;
  const { llm, tts, output } = ports;
  const { systemPrompt, timeouts = {}, tools = [], locale, speechText } = options;
  const { llmFirstTokenMs = 10_000, llmStallMs = 30_000, ttsFirstAudioMs = 11_000, playoutMs = 3_000 } = timeouts;
  const speech = {
    ...shared.speech,
    voice: tts,
    playoutMs,
    transcode: (audio$: Observable<AudioChunk>) => ports.transcode?.(audio$) ?? audio$,
  };
  const voice: VoiceContext = {
    tts,
    scheduler,
    validate,
    ttsFirstAudioMs,
    ...(locale === undefined ? {} : { locale }),
    ...(speechText === undefined ? {} : { text: speechText }),
  };
  const context: AnswerContext = {
    report,
    history: shared.history,
    speech,
    voice,
    systemPrompt,
    speakAhead: preflightOf(options).speak,
    committed$: (id) =>
      state$.pipe(
        filter(({ candidate }) => candidate?.id === id && candidate.phase === 'committed'),
        take(1),
      ),
    generation: {
      llm,
      tools,
      emit,
      scheduler,
      validate,
      llmFirstTokenMs,
      llmStallMs,
      stopped$: state$.pipe(filter(({ isStopped }) => isStopped)),
    },
  };
  const synthesize = ({ content }: Say): SpeechRequest['synthesize'] => {
    const text$ = 'text$' in content ? fromInput(content.text$) : EMPTY;
    return synthesizeText({ rounds$: of(text$), gate$: of(true) }, voice);
  };
  return {
    answer: (candidate) => answer(candidate, context),
    say: (say) => sayIt(say, { ...rest, speech, synthesize, roleOf: (error) => roleOf(error, output.name) }),
    // The request that needs the connection will report its problems.
    warm$: merge(...[llm, tts].map((each) => defer(() => each.warm?.() ?? EMPTY).pipe(catchError(() => EMPTY)))),
    input$: EMPTY,
  };
}

function rulesOf({ reportsSpeechEnd = false }: ConversationPorts, options: ConversationOptions): Rules {
  const { bargeIn = true, turnTaking = {}, locale, timeouts } = options;
  const { whileUninterruptible = 'discard' } = typeof bargeIn === 'object' ? bargeIn : {};
  return {
    bargeIn,
    reportsSpeechEnd,
    locale,
    turnTaking,
    whileUninterruptible,
    preflight: preflightOf(options),
    idleMs: timeouts?.idleMs ?? 15_000,
    sttTimeoutMs: turnTaking.sttTimeoutMs ?? 5_000,
  };
}

function preflightOf({ preflight = true }: ConversationOptions): Required<PreflightOptions> {
  const {
    enabled = true,
    speak = false,
    maxStarts = 3,
    maxSpeechMs = 10_000,
  } = typeof preflight === 'object' ? preflight : { enabled: preflight };
  return { enabled, speak, maxStarts, maxSpeechMs };
}

import {
  catchError,
  defer,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  filter,
  finalize,
  ignoreElements,
  map,
  mergeMap,
  Observable,
  of,
  ReplaySubject,
  skip,
  switchMap,
  take,
  takeUntil,
  tap,
  withLatestFrom,
} from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import { messageOf, VoiceError } from '../../core/errors.ts';
import type { AgentFunctionEnd, AgentProvider, OutputProvider, ProviderRole } from '../../core/roles.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { verbatim } from '../../text/spoken-piece.ts';
import type { Answerer, Shared } from '../answerer.ts';
import type { Command } from '../commands.ts';
import type { ConversationPorts } from '../conversation-ports.ts';
import type { Emit } from '../event-bus.ts';
import type { Input } from '../fold/inputs.ts';
import { errorOf, isAway } from '../provider-error.ts';
import { sayIt } from '../answer/say.ts';
import { nothingHeard, speech, type SpeechContext, type SpeechRequest, type SpeechResult } from '../answer/speech.ts';
import { candidateOf, sameCandidate, type Candidate, type ConversationState, type ReplyPart } from '../fold/state.ts';
import { momentOf, type TurnMoment } from '../fold/turn.ts';

/** What a conversation needs from an agent. */
export type Agent = Pick<
  AgentProvider,
  'name' | 'transcripts$' | 'speech$' | 'tokens$' | 'audio$' | 'audioDone$' | 'latency$'
> &
  Pick<AgentProvider, 'injectUserMessage' | 'injectAgentMessage'> &
  Partial<Pick<AgentProvider, 'functionCalls$' | 'functionEnds$' | 'usage$' | 'unanswered$' | 'cutOff'>> &
  Partial<Pick<AgentProvider, 'interrupt' | 'startTurn' | 'endTurn' | 'cancelTurn'>>;

/** The streams and functions that make up a conversation with an agent. */
export interface AgentPorts {
  readonly agent: Agent;
  readonly output: Pick<OutputProvider, 'name' | 'play' | 'positionMs' | 'tailMs' | 'pause' | 'resume' | 'setVolume'>;
  readonly commands$: Observable<Command>;
  /** The state of the microphone. Default: it always works. */
  readonly device$?: ConversationPorts['device$'];
  /** @internal The code of captions while somebody listens to them. */
  readonly captions$?: ConversationPorts['captions$'];
  /** Converts between agent and output, if their formats differ. */
  transcode?(audio$: Observable<AudioChunk>, sourceOf: (chunk: AudioChunk) => string): Observable<AudioChunk>;
}

/** Longest silence of an agent that owes a reply: as long as a function may run. */
const replyTimeoutMs = 30_000;
/** Most parts of a reply that may arrive in the tick in which it begins. */
const maxWaitingParts = 1_024;

interface Context extends Shared {
  readonly agent: Agent;
  readonly voice: SpeechContext;
}

/** Answers with an agent: a service that manages turns itself. */
export function agentAnswerer(ports: AgentPorts, shared: Shared): Answerer {
  const { agent } = ports;
  const voice: SpeechContext = {
    ...shared.speech,
    voice: agent,
    playoutMs: () => 3_000,
    onCut: (heard) => {
      try {
        agent.cutOff?.(heard);
      } catch (error) {
        shared.report({ type: 'say.failed', error: errorOf(agent.name, error), role: 'llm' });
      }
    },
    transcode: (audio$, sourceOf) => ports.transcode?.(audio$, sourceOf) ?? audio$,
  };
  const context: Context = { ...shared, agent, voice };
  return {
    answer: (candidate) => answer(candidate, context),
    say: (say) =>
      sayIt(say, {
        ...shared,
        speech: voice,
        roleOf: (error) => roleOf(error, context),
        synthesize: ({ content }) => playReply('reply$' in content ? content.reply$ : EMPTY, undefined, context),
      }),
    inject: ({ as, text, ticket }) => {
      try {
        if (as === 'user') agent.injectUserMessage(text);
        else agent.injectAgentMessage(text);
        return undefined;
      } catch (error) {
        return { type: 'agent.refused', error: unreached(agent, as === 'user' ? 'send()' : 'say()', error), ticket };
      }
    },
    input$: merge(replies(context), unanswered(context), latencies(agent), toolEvents(context), usages(context)),
  };
}

/**
 * Waits for the agent's reply to a candidate, and plays it. Unsubscribing cuts it off, and records what was heard.
 * Never errors: failures are reported, and end the turn.
 */
function answer({ id, turnId, speechId }: Candidate, context: Context): Observable<never> {
  const { agent, state$, history, report, scheduler } = context;
  return new Observable((subscriber) => {
    let failed = false;
    let result: SpeechResult = nothingHeard;
    const moments: Partial<Record<TurnMoment, number>> = {};
    const mark = (moment: TurnMoment): void => {
      moments[moment] ??= scheduler.now();
    };
    const replyTo$ = state$.pipe(map(({ candidate }) => (candidate?.id === id ? candidate.reply$ : undefined)));
    // A call by the agent is progress: the reply waits for its result.
    const called$ = agent.functionCalls$?.pipe(map(() => undefined)) ?? EMPTY;
    mark('request');
    const playing = merge(replyTo$.pipe(distinctUntilChanged()), called$, unansweredBy(agent))
      .pipe(
        stallTimeout({ idleMs: replyTimeoutMs, scheduler, error: () => late(agent) }),
        filter((reply$) => reply$ !== undefined),
        take(1),
        switchMap((reply$) => {
          const request: SpeechRequest = {
            id: speechId,
            turnId,
            source: 'answer',
            interruptible: true,
            gate$: of(true),
            synthesize: playReply(reply$, turnId, context),
          };
          return speech(request, context.voice, (ended) => {
            result = ended;
          });
        }),
      )
      .subscribe({
        next: (passed) => mark(momentOf[passed]),
        error: (error: unknown) => {
          failed = true;
          report({ type: 'answer.failed', candidate: id, error, role: roleOf(error, context) });
          subscriber.complete();
        },
        complete: () => subscriber.complete(),
      });
    return () => {
      playing.unsubscribe();
      const { heard, text, interrupted, silentAt, wasted } = result;
      const { text: heardText, estimated } = heard;
      const facts = { at: scheduler.now(), turnId };
      history.addAssistant({ generated: text, heard: heardText, interrupted, estimated }, facts);
      report({
        type: 'answer.ended',
        candidate: id,
        failed,
        moments,
        tokens: 0,
        wastedTokens: 0,
        wasted: { voice: agent.name, ...wasted },
        unanswered: undefined,
        outcome: { heardText, interrupted },
        silentAt: Math.max(silentAt, scheduler.now()),
      });
    };
  });
}

/** Plays an agent's reply, and publishes its text. */
function playReply(
  reply$: Observable<ReplyPart>,
  turnId: string | undefined,
  { agent, emit, scheduler }: Context,
): SpeechRequest['synthesize'] {
  const envelope = { role: 'llm', provider: agent.name, ...(turnId === undefined ? {} : { turnId }) } as const;
  return (script) =>
    defer(() => {
      // One reply is one round: the service does not say which audio belongs to which text.
      script.beginRound();
      return reply$.pipe(
        stallTimeout({ idleMs: replyTimeoutMs, scheduler, error: () => late(agent) }),
        tap({
          next: (part) => {
            if (part.type !== 'text') return;
            script.addPiece(verbatim(part.text));
            emit('llm.token', { delta: part.text }, envelope);
          },
          complete: () => script.endRound(),
        }),
        filter((part) => part.type === 'audio'),
        mergeMap(({ chunk }, index) => {
          const told = script.addAudio(chunk);
          return index === 0 ? (['piece', told] as const) : [told];
        }),
      );
    });
}

/** The agent's replies: each begins with its first text or audio, and ends with its last audio or its turn. */
function replies({ agent, state$, validate }: Context): Observable<Input> {
  const part$ = merge(
    agent.tokens$.pipe(map((text): ReplyPart => ({ type: 'text', text }))),
    agent.audio$.pipe(
      validate('audio'),
      filter(({ data }) => data.byteLength > 0),
      map((chunk): ReplyPart => ({ type: 'audio', chunk })),
      catchError((error: unknown) => {
        throw errorOf(agent.name, error);
      }),
    ),
  );
  const newTurn$ = state$.pipe(
    map(candidateOf),
    distinctUntilChanged(sameCandidate),
    skip(1),
    filter((candidate) => candidate !== undefined),
  );
  return part$.pipe(
    exhaustMap((first) => {
      const reply$ = new ReplaySubject<ReplyPart>(maxWaitingParts);
      reply$.next(first);
      const begun: Input = { type: 'agent.reply', reply$ };
      const rest$ = part$.pipe(
        tap((part) => reply$.next(part)),
        ignoreElements(),
        takeUntil(merge(agent.audioDone$, newTurn$)),
      );
      return merge(of(begun), rest$.pipe(finalize(() => reply$.complete())));
    }),
    catchError((error: unknown) => of<Input>({ type: 'agent.lost', error })),
  );
}

/** What the service was told, and has not answered while nothing else was under way. */
function unanswered({ agent, state$, scheduler }: Context): Observable<Input> {
  return state$.pipe(
    map(({ awaitingReply, candidate, says }) => (candidate || says.length > 0 ? [] : awaitingReply)),
    distinctUntilChanged((one, other) => one === other || (one.length === 0 && other.length === 0)),
    switchMap((tickets) => {
      if (tickets.length === 0) return EMPTY;
      const none$ = patientTimer(replyTimeoutMs, scheduler).pipe(map(() => late(agent)));
      return merge(none$, agent.unanswered$ ?? EMPTY).pipe(
        take(1),
        mergeMap((error) => tickets.map((ticket): Input => ({ type: 'agent.refused', error, ticket }))),
      );
    }),
  );
}

/** Why a text could not be passed on, in terms of what the application called. */
function unreached({ name }: Agent, method: string, error: unknown): VoiceError {
  if (!VoiceError.is(error) || error.code !== 'not_ready' || error.cause === undefined) return errorOf(name, error);
  const why = messageOf(error.cause).replace(`${name}: `, '');
  const recoverable = isAway(error.cause);
  const advice = recoverable ? 'try again once it is connected' : 'mend that, then stop() and start() the pipeline';
  const message = `${name}: ${method} has reached nobody, as the session has ended (${why}): ${advice}`;
  return new VoiceError(message, { code: 'not_ready', recoverable, provider: name, cause: error });
}

/** Fails when there will be no reply. */
function unansweredBy({ unanswered$ = EMPTY }: Agent): Observable<never> {
  return unanswered$.pipe(
    map((error) => {
      throw error;
    }),
  );
}

function latencies(agent: Agent): Observable<Input> {
  return agent.latency$.pipe(map((latency): Input => ({ type: 'agent.latency', latency })));
}

/** What the agent's model costs, as events of the turn. */
function usages({ agent, state$, emit }: Context): Observable<never> {
  return (agent.usage$ ?? EMPTY).pipe(
    withLatestFrom(state$),
    tap(([tokens, state]) => emit('usage', { tokens }, { ...envelope(state), role: 'llm', provider: agent.name })),
    ignoreElements(),
  );
}

/** The turn that is being answered. */
function envelope({ answering }: ConversationState): { readonly turnId?: string } {
  return answering ? { turnId: answering.id } : {};
}

/** The agent's calls, as events of the turn. */
function toolEvents({ agent, state$, emit }: Context): Observable<never> {
  const calls$ = (agent.functionCalls$ ?? EMPTY).pipe(
    withLatestFrom(state$),
    tap(([call, state]) => emit('tool.call', { call }, envelope(state))),
  );
  const ends$ = (agent.functionEnds$ ?? EMPTY).pipe(
    withLatestFrom(state$),
    tap(([end, state]) => publishEnd(end, emit, envelope(state))),
  );
  return merge(calls$, ends$).pipe(ignoreElements());
}

function publishEnd(end: AgentFunctionEnd, emit: Emit, envelope: { readonly turnId?: string }): void {
  const { call, durationMs } = end;
  if (end.type === 'cancelled') emit('tool.cancelled', { call }, envelope);
  else emit(`tool.${end.type}`, { call, content: end.content, durationMs }, envelope);
}

function roleOf(error: unknown, { voice: { output } }: Context): ProviderRole {
  return VoiceError.is(error) && error.provider === output.name ? 'output' : 'llm';
}

function late({ name }: Agent): VoiceError {
  const message = `${name}: no reply came within ${replyTimeoutMs / 1000} seconds`;
  return new VoiceError(message, { code: 'timeout', recoverable: true, provider: name });
}

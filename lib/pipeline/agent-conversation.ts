import {
  asyncScheduler,
  catchError,
  defer,
  EMPTY,
  filter,
  finalize,
  map,
  merge,
  mergeMap,
  Observable,
  reduce,
  Subject,
  switchMap,
  takeUntil,
  takeWhile,
  tap,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import { fromInput } from '../core/bridge.ts';
import { VoiceError } from '../core/errors.ts';
import type { AgentProvider, OutputProvider, ProviderRole } from '../core/roles.ts';
import type { SpokenPiece } from '../operators/text/spoken-piece.ts';
import type { Command, SpeechTicket } from './commands.ts';
import { createEventBus } from './event-bus.ts';
import type { AgentState, VoiceEvent } from './events.ts';
import type { History } from './history.ts';
import { Script } from './script.ts';
import { Turn } from './turn.ts';

/** The streams and functions that a conversation with an agent is made of. */
export interface AgentPorts {
  readonly agent: Pick<
    AgentProvider,
    | 'name'
    | 'transcripts$'
    | 'speech$'
    | 'tokens$'
    | 'audio$'
    | 'audioDone$'
    | 'latency$'
    | 'injectUserMessage'
    | 'injectAgentMessage'
  >;
  readonly output: Pick<OutputProvider, 'name' | 'play' | 'positionMs'>;
  readonly commands$: Observable<Command>;
  /** Between agent and output, where their formats differ. */
  transcode?(audio$: Observable<AudioChunk>): Observable<AudioChunk>;
}

/** Options of {@link agentConversation}. */
export interface AgentConversationOptions {
  /** Where what was said and heard is remembered. */
  readonly history: History;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * A conversation whose turns a service keeps: the agent listens, thinks and speaks behind one connection; here its
 * audio is played, cut off when the user speaks, and what was heard is remembered. The same events as `conversation`,
 * as far as the service tells.
 */
export function agentConversation(
  ports: AgentPorts,
  { history, scheduler = asyncScheduler }: AgentConversationOptions,
): Observable<VoiceEvent> {
  const { agent, output, commands$ } = ports;
  return new Observable((subscriber) => {
    const bus = createEventBus(scheduler);
    const { emit } = bus;
    const stopped$ = new Subject<void>();
    const cut$ = new Subject<void>();
    let ids = 0;
    let turn: Turn | undefined;
    let state: AgentState = 'idle';
    let script = newScript();
    /** Of what the service was given, and has not replied to. */
    let waiting: SpeechTicket[] = [];

    const enter = (next: AgentState): void => {
      if (next === state) return;
      emit('agent.state', { state: next, previous: state });
      state = next;
    };
    const endTurn = (reason: 'completed' | 'interrupted' | 'stopped'): void => {
      turn?.end(reason);
      turn = undefined;
      enter('listening');
    };
    /** One reply: from its first audio to its last, or to the cut. */
    function play(first: AudioChunk): Observable<unknown> {
      return defer(() => {
        const speechId = `speech-${++ids}`;
        const envelope = { speechId, ...(turn ? { turnId: turn.id } : {}) };
        const done = Symbol('done');
        let audible = false;
        let settled = false;
        const tickets = waiting;
        waiting = [];
        const cutByTicket$ = merge(...tickets.map((ticket) => ticket.cut$));
        turn?.mark('firstAudio');
        emit('speech.created', { source: 'answer', interruptible: true }, envelope);
        const settle = (interrupted: boolean): void => {
          if (settled) return;
          settled = true;
          const playedMs = audible ? output.positionMs : 0;
          script.endRound();
          const { text: heardText, estimated } = script.heardAt(playedMs);
          const { text } = script;
          script = newScript();
          emit('speech.ended', { source: 'answer', text, heardText, interrupted, playedMs }, envelope);
          history.addAssistant({ generated: text, heard: heardText, interrupted, estimated });
          for (const ticket of tickets) ticket.settle({ heardText, interrupted });
          endTurn(interrupted ? 'interrupted' : 'completed');
        };
        const audio$ = merge(
          defer(() => [first]),
          agent.audio$,
          agent.audioDone$.pipe(map(() => done)),
        ).pipe(
          takeWhile((chunk): chunk is AudioChunk => chunk !== done),
          tap((chunk) => {
            emit('audio.chunk', { chunk: script.addAudio(chunk) }, { ...envelope, role: 'tts', provider: agent.name });
          }),
        );
        return output.play(ports.transcode?.(audio$) ?? audio$).pipe(
          tap({
            next: ({ type }) => {
              if (type !== 'started') return;
              audible = true;
              turn?.mark('audible');
              emit('speech.started', { source: 'answer' }, envelope);
              enter('speaking');
            },
            complete: () => {
              settle(false);
            },
            unsubscribe: () => {
              settle(true);
            },
          }),
          catchError((error: unknown) => {
            settle(true);
            reportError(error, 'output', output.name);
            return EMPTY;
          }),
          takeUntil(merge(cut$, cutByTicket$)),
        );
      });
    }
    const reportError = (cause: unknown, role: ProviderRole, provider: string): void => {
      const { code, message, recoverable } = VoiceError.from(cause);
      emit('error', { code, message, recoverable, cause }, { role, provider });
    };
    const refuse = (ticket: SpeechTicket, error: unknown): void => {
      reportError(error, 'llm', agent.name);
      ticket.settle({ heardText: '', interrupted: true });
    };
    /** Hands something to the agent, and the ticket on to its reply. */
    const inject = (ticket: SpeechTicket, send: () => void): void => {
      try {
        send();
        waiting.push(ticket);
      } catch (error) {
        refuse(ticket, error);
      }
    };
    const cut = (): void => {
      cut$.next();
    };

    let playing = false;
    const replies$ = agent.audio$.pipe(
      filter((chunk) => !playing && chunk.data.byteLength > 0),
      switchMap((chunk) => {
        playing = true;
        return play(chunk).pipe(
          finalize(() => {
            playing = false;
          }),
        );
      }),
    );
    const work$ = merge(
      agent.speech$.pipe(
        tap(({ type }) => {
          if (type === 'started') cut();
          emit('user.state', { state: type === 'ended' ? 'silent' : 'speaking' });
        }),
      ),
      agent.transcripts$.pipe(
        tap((result) => {
          if (!result.utteranceComplete) return;
          const { text } = result;
          turn?.end('completed');
          turn = new Turn(`turn-${++ids}`, 'speech', emit, scheduler);
          emit('transcript.final', { text, result }, { turnId: turn.id, role: 'stt', provider: agent.name });
          history.addUser(text);
          turn.commit(text, undefined);
          enter('thinking');
        }),
      ),
      agent.tokens$.pipe(
        tap((delta) => {
          script.addPiece(asItIs(delta));
          turn?.mark('firstToken');
          emit('llm.token', { delta }, { ...(turn ? { turnId: turn.id } : {}), role: 'llm', provider: agent.name });
        }),
      ),
      replies$,
      commands$.pipe(
        tap((command) => {
          if (command.type === 'send') {
            inject(command.ticket, () => {
              agent.injectUserMessage(command.text);
            });
          }
          if (command.type === 'interrupt') cut();
          if (command.type === 'stop') stop();
        }),
      ),
      commands$.pipe(
        filter((command) => command.type === 'say'),
        mergeMap(({ text$, ticket }) =>
          fromInput(text$).pipe(
            reduce((text, piece) => text + piece, ''),
            tap((text) => {
              if (!text.trim()) ticket.settle({ heardText: '', interrupted: false });
              else
                inject(ticket, () => {
                  agent.injectAgentMessage(text);
                });
            }),
            catchError((error: unknown) => {
              refuse(ticket, error);
              return EMPTY;
            }),
          ),
        ),
      ),
    ).pipe(takeUntil(stopped$));
    const stop = (): void => {
      cut();
      turn?.end('stopped');
      turn = undefined;
      for (const ticket of waiting) ticket.settle({ heardText: '', interrupted: true });
      stopped$.next();
      bus.close();
    };

    subscriber.add(bus.events$.subscribe(subscriber));
    subscriber.add(
      work$.subscribe({
        error: (error: unknown) => {
          reportError(error, 'stt', agent.name);
          stop();
        },
      }),
    );
    subscriber.add(stop);
    enter('listening');
  });
}

/** An agent's reply is one round: its service does not tell which audio belongs to which text. */
function newScript(): Script {
  const script = new Script();
  script.beginRound();
  return script;
}

/** Text that is said exactly as it is written. */
function asItIs(text: string): SpokenPiece {
  const { length } = text;
  const span = { spokenStart: 0, spokenEnd: length, visualStart: 0, visualEnd: length };
  return { spoken: text, visual: text, spans: [span] };
}

import { catchError, defer, EMPTY, map, type Observable, of, type SchedulerLike, Subscription, switchMap } from 'rxjs';
import { describeFormat } from '../audio/described.ts';
import { OnDemand } from '../core/on-demand.ts';
import type * as AgentCode from '../conversation/agent-conversation.ts';
import type { Command } from '../conversation/commands.ts';
import type { Captions } from '../conversation/conversation-ports.ts';
import type { Emit } from '../conversation/event-bus.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import type { ServiceUsage } from '../conversation/measurements.ts';
import type { History } from '../conversation/history.ts';
import type * as ModelCode from '../conversation/model-conversation.ts';
import { isAway } from '../conversation/provider-error.ts';
import { isPushToTalk } from '../conversation/turn-taking/is-push-to-talk.ts';
import type { Phrases } from '../text/phrases.ts';
import { adapt, type AudioPath, type AudioRoute } from './audio-path.ts';
import { publishCall } from './call-events.ts';
import { CapturePath } from './capture-path.ts';
import { farewell } from './farewell.ts';
import { hearAgain } from './hear-again.ts';
import { publishInputOutput } from './input-output-events.ts';
import type { PipelineOptions } from './pipeline-options.ts';
import type { ErrorOrigin } from './provider-events.ts';
import type { Roles } from './roles.ts';
import { SessionUsage } from './session-usage.ts';

export { assertPlayable } from './audio-path.ts';

/** The code of a conversation: with an agent, or with an LLM and a TTS. */
export type ConversationCode = Partial<typeof AgentCode & typeof ModelCode> & { readonly phrases?: Phrases };

/** The parts that one session of a pipeline is wired from. */
export interface SessionParts {
  readonly code: ConversationCode;
  readonly roles: Roles;
  readonly options: PipelineOptions;
  readonly history: History;
  readonly scheduler: SchedulerLike;
  readonly commands$: Observable<Command>;
  /** Whether anybody listens to an event. */
  readonly wants$: (type: 'caption.word' | 'input.level' | 'output.level') => Observable<boolean>;
  readonly isMuted: boolean;
  readonly emit: Emit;
  readonly reportError: (error: unknown, origin: ErrorOrigin) => void;
  /** Called with each event of the conversation. */
  readonly onEvent: (event: VoiceEvent) => void;
  /** Called when the conversation cannot continue, or has come to its end. */
  readonly onComplete: () => void;
  /** Called when the call has ended. */
  readonly onCallEnd: () => void;
}

type OnPath = (path: AudioPath, route: AudioRoute) => void;

/** A session of a pipeline: listener, answerer and events, wired by {@link start}. */
export class Session {
  /** The microphone. */
  readonly captured: CapturePath;
  readonly #parts: SessionParts;
  readonly #usage: SessionUsage;
  readonly #onPath: OnPath;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#onPath = publishFormats(parts.emit);
    this.captured = captureFor(parts, this.#onPath);
    this.#usage = new SessionUsage(parts.emit, parts.roles.listener, () => this.captured.capturedMs);
  }

  /**
   * @param work - Takes each subscription as it is made, so that a start which fails leaves none.
   * @throws VoiceError `unsupported_format` when the listener cannot accept the captured audio; what a provider throws.
   */
  start(work: Subscription): void {
    const { roles, emit, scheduler, wants$, reportError, onEvent, onComplete, onCallEnd } = this.#parts;
    // First, so that a loss just before the end is told.
    work.add(publishInputOutput(roles, { emit, scheduler, wants$, onError: reportError }));
    work.add(this.#usage.watch());
    work.add(this.captured.start());
    const next = (event: VoiceEvent): void => {
      onEvent(event);
      this.#usage.follow(event);
    };
    const onError = (cause: unknown): void => reportError(cause, { provider: roles.input.name, role: 'input' });
    const events$ = conversationOf(this.#parts, this.captured, this.#onPath);
    work.add(events$.subscribe({ next, complete: onComplete, error: onError }));
    work.add(publishCall(roles.input, emit, onCallEnd, onError));
  }

  /** Reconnects the listener whenever it is lost from now on; unsubscribe to stop. */
  hearAgain(): Subscription {
    const { roles, scheduler } = this.#parts;
    if (roles.stt) return hearAgain(roles.stt, scheduler).subscribe();
    // A service that has ended an agent's conversation for good meant to.
    return roles.agent ? hearAgain(roles.agent, scheduler, isAway).subscribe() : Subscription.EMPTY;
  }

  /** Publishes the remaining usage. @returns The sum of each service. */
  endUsage(): readonly ServiceUsage[] {
    return this.#usage.end();
  }
}

/** Publishes the chosen formats: each synthesis chooses its own again, but hardly ever a different one. */
function publishFormats(emit: Emit): OnPath {
  const known = new Map<string, string>();
  return ({ from, to, transcoded }, { source, target }) => {
    const settled = { from: `${source} ${describeFormat(from)}`, to: `${target} ${describeFormat(to)}`, transcoded };
    if (known.get(source) === settled.from + settled.to) return;
    known.set(source, settled.from + settled.to);
    emit('provider.format', settled);
  };
}

/** The path of captured audio to the listener. */
function captureFor(parts: SessionParts, onPath: OnPath): CapturePath {
  const { roles, options, scheduler, isMuted, emit, reportError } = parts;
  const { input, listener } = roles;
  return new CapturePath({
    input,
    listener,
    scheduler,
    isMuted,
    onPath,
    isPushToTalk: isPushToTalk(options),
    vad: options.vad,
    onChunk: (chunk) => {
      if (options.inputEvents) emit('audio.input', { chunk }, { role: 'input', provider: input.name });
    },
    onError: (error, { name, roles: [role = 'stt'] }) => reportError(error, { provider: name, role }),
  });
}

/**
 * The conversation between the roles. Subscribing starts it; it completes when it cannot continue.
 *
 * @param captured - When the audio being heard was captured.
 */
function conversationOf(
  { code, roles, options, history, scheduler, commands$, wants$, reportError }: SessionParts,
  captured: CapturePath,
  onPath: OnPath,
): Observable<VoiceEvent> {
  const { input, stt, llm, tts, output, agent } = roles;
  const route = { source: (agent ?? tts)?.name ?? '', target: output.name };
  const transcode = adapt(output.accepts, route, onPath);
  const captions$ = captionsWhile(wants$('caption.word'), (error) =>
    reportError(error, { provider: output.name, role: 'output' }),
  );
  const shared = { output, commands$, transcode, captions$, device$: input.device$ ?? EMPTY };
  if (agent && code.agentConversation) return code.agentConversation({ agent, ...shared }, { history, scheduler });
  if (!stt || !llm || !tts || !code.conversation) return EMPTY;
  const { transcripts$, speech$, connection$ = EMPTY, reportsSpeechEnd = false } = stt;
  const ports = {
    llm,
    tts,
    transcripts$,
    speech$,
    connection$,
    reportsSpeechEnd,
    sttName: stt.name,
    sttPauseMs: stt.pauseMs,
    finalize: stt.finalize && ((): void => stt.finalize?.()),
    listen: (isOn: boolean) => captured.listen(isOn),
    pushToTalk: (isOn: boolean) => captured.setPushToTalk(isOn),
    capturedAt: (positionMs: number) => captured.timeOf(positionMs),
    ...(code.phrases ? { phrases: code.phrases } : {}),
    ...(captured.voice$ ? { voice$: captured.voice$ } : {}),
    ...shared,
  };
  const { providers: _providers, inputEvents: _events, logger: _logger, vad: _vad, ...settings } = options;
  return code.conversation(ports, { ...settings, history, scheduler });
}

/** The code of captions while anybody listens to them: it is not loaded otherwise. */
function captionsWhile(
  isWanted$: Observable<boolean>,
  onError: (error: unknown) => void,
): Observable<Captions | undefined> {
  const code = new OnDemand('Pipeline', () => import('../conversation/answer/captions.ts'));
  const loaded$ = defer(() => code.load()).pipe(
    map((loaded) => loaded.captions),
    catchError((error: unknown) => {
      onError(error);
      return EMPTY;
    }),
  );
  return isWanted$.pipe(switchMap((isWanted) => (isWanted ? loaded$ : of(undefined))));
}

/** Silences the output and ends the input and the listener: if one of them fails, the others end all the same. */
export async function endSession(
  { input, output, listener }: Roles,
  scheduler: SchedulerLike,
  onError: (error: unknown) => void,
): Promise<void> {
  const ends = [() => output.stop(), () => input.stop(), () => listener.disconnect()];
  await Promise.all(ends.map((end) => farewell(end, scheduler).catch(onError)));
}

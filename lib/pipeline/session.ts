import { catchError, EMPTY, map, type Observable, of, type SchedulerLike, switchMap } from 'rxjs';
import { OnDemand } from '../core/on-demand.ts';
import type { Command } from '../conversation/commands.ts';
import type * as AgentCode from '../conversation/agent-conversation.ts';
import type * as ModelCode from '../conversation/model-conversation.ts';
import type { Captions } from '../conversation/conversation-ports.ts';
import type { Emit } from '../conversation/event-bus.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import type { History } from '../conversation/history.ts';
import type { Phrases } from '../text/phrases.ts';
import { adapt, type AudioEnds, type AudioPath } from './audio-path.ts';
import { CapturePath } from './capture-path.ts';
import { farewell } from './farewell.ts';
import type * as OptionRules from './option-rules.ts';
import type { PipelineOptions } from './pipeline-options.ts';
import type { ErrorOrigin } from './provider-events.ts';
import type { AssignedRoles, Roles } from './roles.ts';

/** The code of a conversation: with an agent, or with an LLM and a TTS. */
export type ConversationCode = Partial<typeof AgentCode & typeof ModelCode & typeof OptionRules> & {
  readonly phrases?: Phrases;
};

/**
 * Loads the code of the conversation: an application with an agent does not load the other, nor vice versa.
 *
 * @param locale - Whose phrases to load with it.
 * @throws ProviderInitializationError when the code cannot be loaded.
 */
export async function loadConversation({ agent }: AssignedRoles, locale?: string): Promise<ConversationCode> {
  const rules = new OnDemand('Pipeline', () => import('./option-rules.ts'));
  if (agent) {
    const code = new OnDemand(agent.name, () => import('../conversation/agent-conversation.ts'));
    const [loaded, checks] = await Promise.all([code.load(), rules.load()]);
    return { ...loaded, ...checks };
  }
  const code = new OnDemand('Pipeline', () => import('../conversation/model-conversation.ts'));
  const languages = new OnDemand('Pipeline', () => import('../text/phrases.ts'));
  const [loaded, { loadPhrases }, checks] = await Promise.all([code.load(), languages.load(), rules.load()]);
  return { ...loaded, ...checks, phrases: await loadPhrases(locale) };
}

/** The parts that one session of a pipeline is wired from. */
export interface SessionParts {
  readonly code: ConversationCode;
  readonly roles: Roles;
  readonly options: PipelineOptions;
  readonly history: History;
  readonly scheduler: SchedulerLike;
  readonly commands$: Observable<Command>;
  /** Whether anybody listens to captions. */
  readonly wantsCaptions$: Observable<boolean>;
  readonly isMuted: boolean;
  readonly emit: Emit;
  readonly reportError: (error: unknown, origin: ErrorOrigin) => void;
  /** Called with each chosen format. */
  readonly onPath: (path: AudioPath, ends: AudioEnds) => void;
}

function isPushToTalk({ turnTaking, endpointing }: PipelineOptions): boolean {
  return turnTaking?.strategy === 'manual' || (typeof endpointing === 'function' && endpointing.isManual === true);
}

/** The path of captured audio to the listener. */
export function captureFor(parts: SessionParts): CapturePath {
  const { roles, options, scheduler, isMuted, emit, reportError, onPath } = parts;
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
export function conversationOf(
  { code, roles, options, history, scheduler, commands$, wantsCaptions$, onPath, reportError }: SessionParts,
  captured: CapturePath,
): Observable<VoiceEvent> {
  const { input, stt, llm, tts, output, agent } = roles;
  const ends = { source: (agent ?? tts)?.name ?? '', target: output.name };
  const transcode = adapt(output.accepts, ends, onPath);
  const captions$ = captionsWhile(wantsCaptions$, (error) =>
    reportError(error, { provider: output.name, role: 'output' }),
  );
  const shared = { output, commands$, transcode, captions$, device$: input.device$ ?? EMPTY };
  if (agent && code.agentConversation) return code.agentConversation({ ...shared, agent }, { history, scheduler });
  if (!stt || !llm || !tts || !code.conversation) return EMPTY;
  const { transcripts$, speech$, connection$ = EMPTY, reportsSpeechEnd = false } = stt;
  const ports = {
    ...shared,
    llm,
    tts,
    transcripts$,
    speech$,
    connection$,
    reportsSpeechEnd,
    ...(code.phrases ? { phrases: code.phrases } : {}),
    ...(captured.voice$ ? { voice$: captured.voice$ } : {}),
    ...{ sttName: stt.name, sttPauseMs: stt.pauseMs },
    finalize: stt.finalize && ((): void => stt.finalize?.()),
    listen: (isOn: boolean) => captured.listen(isOn),
    pushToTalk: (isOn: boolean) => captured.setPushToTalk(isOn),
    capturedAt: (positionMs: number) => captured.timeOf(positionMs),
  };
  const { providers: _providers, inputEvents: _events, logger: _logger, vad: _vad, ...settings } = options;
  return code.conversation(ports, { ...settings, history, scheduler });
}

/** The code of captions while anybody listens to them: it is not loaded otherwise. */
function captionsWhile(
  isWanted$: Observable<boolean>,
  onError: (error: unknown) => void,
): Observable<Captions | undefined> {
  const code = new OnDemand('Pipeline', () => import('../conversation/captions.ts'));
  return isWanted$.pipe(
    switchMap((isWanted) => (isWanted ? code.load() : of(undefined))),
    map((loaded) => loaded?.captions),
    catchError((error: unknown) => {
      onError(error);
      return EMPTY;
    }),
  );
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

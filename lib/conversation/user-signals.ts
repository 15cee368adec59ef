import { catchError, concat, defer, EMPTY, map, of, type Observable, type SchedulerLike } from 'rxjs';
import type { MonoTypeOperatorFunction } from 'rxjs';
import { oncePerKind } from '../core/application-code.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import type {
  ConnectionEvent,
  DeviceEvent,
  ProviderRole,
  SpeechEvent,
  TranscriptionResult,
  VoiceActivity,
} from '../core/roles.ts';
import { FinishedUtterances } from '../operators/finished-utterances.ts';
import { filterMap } from '../stream/filter-map.ts';
import { select } from '../stream/select.ts';
import { hasWords } from '../text/words.ts';
import type { TranscriptStage } from './conversation-options.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { reportError, type EventBus } from './event-bus.ts';
import type { Input, SttPresence } from './fold/inputs.ts';
import { validator, type Validate } from './malformed.ts';
import type { Soundings } from './answer/sounding.ts';

/** Longest result that is used, in characters: nobody says more at once. */
const maxResultLength = 65_536;

/** The events of a microphone that can hear the user; after any other event it cannot. */
const hearing: ReadonlySet<DeviceEvent['type']> = new Set(['running', 'unmuted', 'found']);

/** What {@link userSignals} needs. */
export interface UserSignalsContext {
  readonly ports: Pick<
    ConversationPorts,
    'transcripts$' | 'speech$' | 'voice$' | 'connection$' | 'device$' | 'capturedAt'
  >;
  /** The stage that the user's words pass first. */
  readonly stage?: TranscriptStage | undefined;
  readonly bus: EventBus;
  readonly validate: Validate;
  readonly soundings: Soundings;
  readonly scheduler: SchedulerLike;
}

/** The user's signals. A stream that fails is reported as an error event, and the conversation continues. */
export function userSignals(context: UserSignalsContext): readonly Observable<Input>[] {
  const { voice$, connection$ = EMPTY, device$ = EMPTY } = context.ports;
  return [
    transcriptSignals(context),
    speechSignals(context),
    ...(voice$ ? [voiceSignals(voice$, context)] : []),
    sttSignals(connection$),
    device$.pipe(filterMap(hearingOf, () => undefined)),
  ];
}

/** Well-formed results, unless they are late, with the times of their words. */
function transcriptSignals(context: UserSignalsContext): Observable<Input> {
  const { ports, stage, bus, validate, soundings, scheduler } = context;
  const tellOnce = oncePerKind((message) =>
    reportError(bus, new VoiceError(message, { code: 'overflow', recoverable: true }), { role: 'stt' }),
  );
  const finished = new FinishedUtterances();
  const wordsOf = (result: TranscriptionResult): TranscriptionResult | undefined => {
    if (!validate.accepts('transcript', result)) return undefined;
    const told = withoutMarks(shortened(result, tellOnce));
    return finished.isLate(told) ? undefined : told;
  };
  const signalOf = (result: TranscriptionResult): Input => {
    // Words are placed on the audio's own clock: when a message arrives says little about when they were spoken.
    const words = result.metadata?.words ?? [];
    const startOfSpeechAt = timeOf(words.at(0)?.startMs, ports);
    const endOfSpeechAt = timeOf(words.at(-1)?.endMs, ports);
    const sounding = soundings.at(scheduler.now());
    return {
      type: 'transcript',
      result,
      ...(startOfSpeechAt === undefined ? {} : { startOfSpeechAt }),
      ...(endOfSpeechAt === undefined ? {} : { endOfSpeechAt }),
      ...(sounding ? { sounding } : {}),
    };
  };
  const fail = failed(context, 'stt');
  if (stage) return ports.transcripts$.pipe(filterMap(wordsOf, fail), passing(stage, bus, validate), map(signalOf));
  return ports.transcripts$.pipe(
    filterMap((result) => {
      const told = wordsOf(result);
      return told && signalOf(told);
    }, fail),
  );
}

/** The speech-to-text service's own starts and ends of speech. */
function speechSignals(context: UserSignalsContext): Observable<Input> {
  const { ports, validate, soundings, scheduler } = context;
  const signalOf = (event: SpeechEvent): Input | undefined => {
    if (!validate.accepts('speech', event)) return undefined;
    soundings.mark(scheduler.now());
    const since = timeOf(event.positionMs, ports);
    return { type: 'speech', event: event.type, isOfService: true, ...(since === undefined ? {} : { since }) };
  };
  return ports.speech$.pipe(filterMap(signalOf, failed(context, 'stt')));
}

/** A voice detector's starts and ends; once it fails or ends, the service's own count again. */
function voiceSignals(voice$: Observable<VoiceActivity>, context: UserSignalsContext): Observable<Input> {
  const { ports, soundings, scheduler } = context;
  const signalOf = ({ type, positionMs, isBrief = false }: VoiceActivity): Input | undefined => {
    soundings.mark(scheduler.now());
    if (type === 'confirmed') return undefined;
    const since = timeOf(positionMs, ports);
    const event = type === 'ended' ? type : 'started';
    return { type: 'speech', event, isBrief, ...(since === undefined ? {} : { since }) };
  };
  return concat(voice$.pipe(filterMap(signalOf, failed(context, 'input'))), of<Input>({ type: 'detector.lost' }));
}

const quietly = validator(() => undefined);

/** Where the service is. Whoever publishes these events reports their errors. */
function sttSignals(connection$: Observable<ConnectionEvent>): Observable<Input> {
  return connection$.pipe(
    filterMap(presenceOf),
    // Nobody waits for a service that reports nothing anymore.
    catchError(() => of<SttPresence['is']>('here')),
    select((is) => is),
    map((is): Input => ({ type: 'stt', is })),
  );
}

function presenceOf(event: ConnectionEvent): SttPresence['is'] | undefined {
  if (!quietly.accepts('connection', event) || event.type === 'fallback') return undefined;
  if (event.type === 'lost') return 'lost';
  return event.type === 'connecting' || event.type === 'reconnecting' ? 'away' : 'here';
}

/** Whether the microphone hears the user after an event; `undefined` if the event says nothing about that. */
function hearingOf(event: DeviceEvent): Input | undefined {
  if (!quietly.accepts('device', event) || event.type === 'changed') return undefined;
  return { type: 'input', hears: hearing.has(event.type) };
}

/** A stage of the application's; if it fails, everything is heard. */
function passing(
  stage: TranscriptStage,
  bus: EventBus,
  validate: Validate,
): MonoTypeOperatorFunction<TranscriptionResult> {
  return (transcripts$) =>
    defer(() => stage(transcripts$, bus.events$)).pipe(
      catchError((cause: unknown) => {
        const message = `the option hearing failed, and words pass as they are: ${messageOf(cause)}`;
        reportError(bus, new VoiceError(message, { code: 'internal', cause }));
        return transcripts$;
      }),
      validate('transcript'),
    );
}

function failed({ bus }: UserSignalsContext, role: ProviderRole): (error: unknown) => void {
  return (error) => reportError(bus, error, { role });
}

/** When a position of the captured audio was captured, on the scheduler's clock, if that is known. */
function timeOf(
  positionMs: number | undefined,
  { capturedAt }: Pick<ConversationPorts, 'capturedAt'>,
): number | undefined {
  return positionMs === undefined ? undefined : capturedAt?.(positionMs);
}

/** A result with no more text than anyone says. */
function shortened(result: TranscriptionResult, tell: (message: string) => void): TranscriptionResult {
  const { text } = result;
  if (text.length <= maxResultLength) return result;
  tell(`a result of more than ${maxResultLength} characters was cut off there: check what transcripts$ emits`);
  return { ...result, text: text.slice(0, maxResultLength) };
}

/** Some services send "…" to show that they are listening: an interim without words is dropped. */
function withoutMarks(result: TranscriptionResult): TranscriptionResult {
  const { text, isFinal, utteranceComplete } = result;
  return isFinal || utteranceComplete || !text || hasWords(text) ? result : { ...result, text: '' };
}

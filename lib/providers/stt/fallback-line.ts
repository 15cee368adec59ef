import { defer, filter, NEVER, Observable, type SchedulerLike } from 'rxjs';
import { describeFormat, describeFormats } from '../../audio/described.ts';
import { negotiateFormat, type Negotiation } from '../../audio/negotiate.ts';
import { createTranscoder } from '../../audio/transcoder.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import type { ConnectionEvent, SpeechEvent, STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { feed } from '../../stream/feed.ts';
import { Alarm } from '../../stream/patient-timer.ts';
import type { AudioBacklog, EncodedBacklog } from './audio-backlog.ts';

type Frames = readonly Uint8Array<ArrayBuffer>[];

/** What {@link lineTo} needs. */
export interface LineOptions {
  readonly stt: STTProvider;
  /** The format of the audio. */
  readonly format: AudioMetadata;
  /** The audio that no service has made final. */
  readonly backlog: () => AudioBacklog | EncodedBacklog | undefined;
  /** Longest time without a connection, in milliseconds. */
  readonly connectMs: number;
  readonly scheduler: SchedulerLike;
  readonly onResult: (result: TranscriptionResult) => void;
  readonly onSpeech: (event: SpeechEvent) => void;
  readonly onConnection: (event: ConnectionEvent) => void;
}

/** A connected service. */
export interface Line {
  readonly stt: STTProvider;
  send(frames: Frames): void;
  /** Lets the service finish; what it still says is heard. */
  leave(): Promise<void>;
}

const ignore = (): void => undefined;

/**
 * The format in which a service gets the audio.
 *
 * @throws VoiceError `unsupported_format` when it accepts none that the audio can be converted to.
 */
export function formatFor({ name, accepts }: STTProvider, format: AudioMetadata): Negotiation {
  const settled = negotiateFormat(format, accepts);
  if (settled) return settled;
  const message = `${name} does not support ${describeFormat(format)}, only ${describeFormats(accepts)}`;
  throw new VoiceError(message, { code: 'unsupported_format', provider: name });
}

/**
 * One service's session: connects, and emits the line as soon as it is open, with all that is not final already sent.
 * Fails when the service is without a connection for too long, or for good. Unsubscribing disconnects it; times count
 * from the start of all audio.
 */
export function lineTo(options: LineOptions): Observable<Line> {
  return new Observable((subscriber) => {
    const { stt, format, backlog, connectMs, scheduler, onResult, onSpeech, onConnection } = options;
    const { target, passthrough } = formatFor(stt, format);
    const transcoder = passthrough ? undefined : createTranscoder(format, target);
    const fail = (text: string): void => {
      const error = new VoiceError(`${stt.name}: ${text}`, {
        ...{ code: 'connection', recoverable: true, provider: stt.name },
      });
      subscriber.error(error);
    };
    const alarm = new Alarm(scheduler, () => fail(`no connection within ${connectMs} ms`));
    let startMs = 0;
    let isOpen = false;
    let isDown = true;
    let isLeft = false;

    const setDown = (down: boolean): void => {
      if (isDown !== down) alarm.set(down ? scheduler.now() + connectMs : Infinity);
      isDown = down;
    };
    // A provider of the application may be async.
    const sendTo = (chunk: AudioChunk): unknown => stt.sendAudio(chunk);
    const send = (data: Uint8Array<ArrayBuffer>): void => {
      const converted = transcoder ? transcoder.push(data) : data;
      if (converted.length === 0) return;
      const sent = sendTo({ data: converted, metadata: target });
      if (sent instanceof Promise) sent.catch((error: unknown) => subscriber.error(error));
    };
    const sendAll = (frames: Frames): void => {
      try {
        for (const frame of frames) send(frame);
      } catch (error) {
        subscriber.error(error);
      }
    };
    const leave = async (): Promise<void> => {
      if (isLeft) return;
      isLeft = true;
      await stt.disconnect();
    };
    const follow = (event: ConnectionEvent): void => {
      // What it replays is of an earlier session.
      if (!isListening) return;
      if (event.type === 'lost') subscriber.error(event.error);
      else if (event.type === 'closed' && isOpen && !isLeft) fail('the connection was closed');
      else if (event.type === 'reconnecting' && isOpen) {
        setDown(true);
        onConnection(event);
      } else if (event.type === 'connected' && isOpen) {
        setDown(false);
        onConnection(event);
      }
    };
    const open = (): void => {
      isOpen = true;
      setDown(false);
      startMs = backlog()?.startMs ?? 0;
      sendAll(backlog()?.from(startMs) ?? []);
      if (!subscriber.closed) subscriber.next({ stt, send: sendAll, leave });
    };

    stt.configureAudio(target);
    subscriber.add(alarm);
    subscriber.add(() => {
      leave().catch(ignore);
    });
    let isListening = false;
    // A service that gives up makes its words final; the next one hears all of that audio again.
    const heard$ = stt.transcripts$.pipe(filter(() => isOpen && !isDown));
    feed(heard$, subscriber, { next: (result) => onResult(shifted(result, startMs)), complete: ignore });
    feed(stt.speech$.pipe(filter(() => isOpen)), subscriber, { next: onSpeech, complete: ignore });
    feed(stt.connection$ ?? NEVER, subscriber, { next: follow, complete: ignore });
    // A service that doesn't report its connection at least reports its end.
    const fatal$ = stt.connection$ ? NEVER : (stt.errors$ ?? NEVER).pipe(filter(({ recoverable }) => !recoverable));
    feed(fatal$, subscriber, { next: (error) => subscriber.error(error), complete: ignore });
    isListening = true;
    alarm.set(scheduler.now() + connectMs);
    feed(
      defer(async () => stt.connect()),
      subscriber,
      { next: open, complete: ignore },
    );
  });
}

/** Shifts a result's times to count from the start of all audio. */
function shifted(result: TranscriptionResult, byMs: number): TranscriptionResult {
  const words = result.metadata?.words;
  if (byMs === 0 || !words) return result;
  const moved = words.map((word) => ({
    ...word,
    ...(word.startMs === undefined ? {} : { startMs: word.startMs + byMs }),
    ...(word.endMs === undefined ? {} : { endMs: word.endMs + byMs }),
  }));
  return { ...result, metadata: { ...result.metadata, words: moved } };
}

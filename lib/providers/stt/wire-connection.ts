import { tap, type SchedulerLike } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import type { VoiceError } from '../../core/errors.ts';
import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import { hexUuid } from '../../core/hex.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { ConnectionEvent, TranscribedWord } from '../../core/roles.ts';
import type { Writable } from '../../core/writable.ts';
import type {
  SocketClose,
  SocketCloseOptions,
  SocketData,
  SocketRequest,
  SocketRequestContext,
  ReconnectingSocketOptions,
} from '../../transport/reconnecting-socket.ts';
import type { AudioUplink } from './audio-uplink.ts';
import type { Hearing, HearingInput } from './hearing.ts';
import { Listening } from './listening.ts';
import type { StreamingSTTConfig } from './streaming-stt-config.ts';
import type { STTContext, STTFault, STTWire } from './stt-wire.ts';
import { isOpen } from './utterances.ts';

/** Sends at once. */
export type Say = (data: SocketData) => void;

/** Runs a wire: the fold, and the provider's part of its connections. */
export interface WireHost<C extends StreamingSTTConfig, S> {
  readonly wire: STTWire<C, S>;
  readonly uplink: AudioUplink;
  readonly context: STTContext<C>;
  readonly scheduler: SchedulerLike;
  /** The state of the fold. */
  readonly hearing: () => Hearing<S>;
  /** Folds an input. */
  readonly hear: (input: HearingInput<C>, say?: Say) => void;
  readonly request: (context: SocketRequestContext) => Promise<SocketRequest>;
  readonly failure: (fault: STTFault) => VoiceError;
  readonly onError: (error: VoiceError) => void;
  readonly onConnection: (event: ConnectionEvent) => void;
}

/** A session of a wire, across connections. */
export function listen<C extends StreamingSTTConfig, S>(
  host: WireHost<C, S>,
  common: Omit<ReconnectingSocketOptions, 'request'>,
  own: Partial<ReconnectingSocketOptions>,
): Listening {
  const { wire, uplink, context, scheduler, hearing, hear, onError, onConnection } = host;
  const read = (data: SocketData): WireObject | undefined => (wire.decode ? wire.decode(data) : parseJsonObject(data));
  const { intervalMs, whenQuiet = false } = wire.keepAlive?.(context.config) ?? {};
  const tick = (canPing: boolean): undefined => {
    if (!whenQuiet || uplink.wasQuiet()) hear({ type: 'tick', canPing });
  };
  const farewell = (): Pick<SocketCloseOptions, 'farewell' | 'until'> => {
    hear({ type: 'leave' });
    return {
      ...(wire.farewell && { farewell: () => wire.farewell?.(hearing().wire, context) ?? [] }),
      // The fold has seen the message before this check.
      ...(wire.isLast && { until: (data) => wire.isLast?.(read(data) ?? {}, hearing().wire, context) ?? false }),
    };
  };
  const listening = new Listening({
    socket: {
      ...common,
      ...(wire.opening && { opening: () => wire.opening?.(context) ?? [] }),
      ...(wire.isReady && { isReady: (data) => wire.isReady?.(read(data) ?? {}) ?? false }),
      ...(wire.keepAlive && { keepAlive: { ...(intervalMs !== undefined && { intervalMs }), message: tick } }),
      classifyClose: (close) => classify(host, close),
      errorOf: (refusal) => {
        const facts = wire.refusals?.(refusal);
        if (!wire.keepsAddress) return facts;
        // An expired session is no reason to stop: open another.
        hear({ type: 'forget' });
        return { recoverable: true, ...facts };
      },
      ...own,
      request: (asked) => addressOf(host, asked),
    },
    uplink,
    scheduler,
    endsAudio: wire.endsAudio ?? false,
    gaps$:
      wire.gapMs === undefined
        ? undefined
        : uplink.gaps$(wire.gapMs).pipe(tap((quietMs) => hear({ type: 'gap', quietMs }))),
    begin: () => beginning(host),
    farewell,
    onMessage(data) {
      const message = read(data);
      if (message && wire.each) {
        hear({ type: 'arrival', message });
        // Whoever was told of the voice may have ended the session.
        if (listening.isOver) return;
      }
      hear({ type: 'message', message });
    },
    onError,
    onConnection,
  });
  return listening;
}

/** What to send first to a service that starts to hear. */
export function beginning<C extends StreamingSTTConfig, S>(host: WireHost<C, S>): SocketData[] {
  const { wire, uplink, context, hearing, hear } = host;
  const resumeMs = wire.resumesAtMs?.(hearing().wire, context);
  const first: SocketData[] = [];
  // What the service heard without a word is not said again.
  if (resumeMs === undefined && !isOpen(hearing().utterances)) uplink.forgetQuiet();
  uplink.open(resumeMs === undefined);
  hear({ type: 'begin', id: hexUuid() }, (data) => void first.push(data));
  return [...first, ...uplink.first(resumeMs, context.isEnding)];
}

async function addressOf<C extends StreamingSTTConfig, S>(
  { wire, hearing, hear, request }: WireHost<C, S>,
  context: SocketRequestContext,
): Promise<SocketRequest> {
  hear({ type: 'connecting' });
  const kept = wire.keepsAddress ? hearing().address : undefined;
  const address = kept ?? (await request(context));
  // Another session may have begun meanwhile: this address is not its own.
  context.signal.throwIfAborted();
  if (wire.keepsAddress) hear({ type: 'granted', address });
  if (wire.idParameter !== undefined) {
    const requestId = new URL(address.url).searchParams.get(wire.idParameter) ?? undefined;
    hear({ type: 'addressed', requestId });
  }
  return address;
}

function classify<C extends StreamingSTTConfig, S>(
  { wire, context, hear, failure }: WireHost<C, S>,
  close: SocketClose,
): 'retry' | VoiceError {
  if (wire.forgets?.(close)) hear({ type: 'forget' });
  const known = ownEntry(wire.failures ?? {}, String(close.code)) && { kind: close.code };
  const fault = wire.closes?.(close, context) ?? known;
  // Nobody told the service to close: reconnect.
  return fault ? failure(fault) : 'retry';
}

/** A message's wire form. */
export function encoded(message: WireObject | string): string;
export function encoded(message: WireObject | SocketData): SocketData;
export function encoded(message: WireObject | SocketData): SocketData {
  return typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message);
}

/** Where a {@link LiveContext} reads what does not belong to the audio. */
interface LiveFacts<C> {
  readonly config: () => Readonly<C>;
  readonly format: () => AudioMetadata;
  readonly now: () => number;
  readonly isEnding: () => boolean;
  readonly hearing: () => Hearing<unknown>;
}

/** What a wire can read at this time. A class, as V8 keeps object literals with getters in slow dictionaries. */
export class LiveContext<C> implements STTContext<C> {
  readonly #uplink: AudioUplink;
  readonly #facts: LiveFacts<C>;

  constructor(uplink: AudioUplink, facts: LiveFacts<C>) {
    this.#uplink = uplink;
    this.#facts = facts;
  }

  get config(): Readonly<C> {
    return this.#facts.config();
  }

  get format(): AudioMetadata {
    return this.#facts.format();
  }

  get now(): number {
    return this.#facts.now();
  }

  get sentMs(): number {
    return this.#uplink.sentMs;
  }

  get sentFrames(): number {
    return this.#uplink.sentFrames;
  }

  get audioEndMs(): number | undefined {
    return this.#uplink.endMs;
  }

  get pendingMs(): number {
    return this.#uplink.pendingMs;
  }

  get isEnding(): boolean {
    return this.#facts.isEnding();
  }

  get isResumed(): boolean {
    return this.#facts.hearing().isResumed;
  }

  // Functions, since wires take them out of the context.
  readonly toAudioMs = (connectionMs: number): number => this.#uplink.audioMs(connectionMs);

  readonly isFinal = (connectionMs: number, channel?: number): boolean => this.#uplink.isFinal(connectionMs, channel);

  readonly words: STTContext<C>['words'] = (value, textOf, unitMs = 1_000) => {
    return transcribedWords(value, textOf, this.#uplink.moments(), unitMs);
  };
}

/**
 * Converts a wire's words, whose `confidence` and `speaker` fields have these names; skips those without text.
 *
 * @param momentOf - Converts a connection time in milliseconds.
 * @param unitMs - The unit of `start` and `end`, in milliseconds.
 */
function transcribedWords(
  value: unknown,
  textOf: (word: WireObject) => string | undefined,
  momentOf: (connectionMs: number) => number | undefined,
  unitMs: number,
): TranscribedWord[] {
  const words: TranscribedWord[] = [];
  for (const word of asObjects(value)) {
    const text = textOf(word)?.trim();
    if (!text) continue;
    const startMs = momentOf((asNumber(word['start']) ?? -1) * unitMs);
    const end = momentOf((asNumber(word['end']) ?? -1) * unitMs);
    // A word cannot end before it starts.
    const endMs = startMs !== undefined && end !== undefined && end < startMs ? undefined : end;
    const confidence = asNumber(word['confidence']);
    const speaker = asNumber(word['speaker'])?.toString() ?? asString(word['speaker']);
    const transcribed: Writable<TranscribedWord> = { text };
    if (startMs !== undefined) transcribed.startMs = startMs;
    if (endMs !== undefined) transcribed.endMs = endMs;
    if (confidence !== undefined) transcribed.confidence = confidence;
    if (speaker !== undefined) transcribed.speaker = speaker;
    words.push(transcribed);
  }
  return words;
}

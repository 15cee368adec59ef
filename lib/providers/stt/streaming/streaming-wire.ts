import { asyncScheduler, type SchedulerLike } from 'rxjs';
import type { AudioFormat } from '../../../audio/types.ts';
import { configProblem, type ConfigRules } from '../../../core/config-rule.ts';
import type { VoiceError } from '../../../core/errors.ts';
import { entry, oncePerKind, parseJsonObject, str, wireWord, type WireObject } from '../../../core/guard.ts';
import { RemoteProvider, type Query } from '../../../core/remote-provider.ts';
import type {
  SocketCloseOptions,
  SocketData,
  SocketRequest,
  SocketRequestContext,
  SocketSessionOptions,
} from '../../../transport/socket-session.ts';
import { unknownFailure, type Failures } from './service-failure.ts';
import { streamingRules, type StreamingSTTConfig } from './streaming-stt-config.ts';
import { Utterances } from './utterances.ts';

/** What a streaming service's wire is, with what most of them do: the part of `StreamingSTT` that providers write. */
export abstract class StreamingWire<C extends StreamingSTTConfig> extends RemoteProvider<C> {
  abstract readonly accepts: readonly AudioFormat[];
  readonly reportsSpeechEnd: boolean = false;

  /** Where the service listens, from the base address on. */
  protected readonly path: string = '';
  /** What the keys may hold. */
  protected readonly rules: ConfigRules = {};
  /** Keys that the service is not told: they change without another connection. */
  protected readonly ownKeys: readonly string[] = [];
  /** What the service's messages do, by their type. */
  protected abstract readonly handlers: Readonly<Record<string, (message: WireObject) => void>>;
  /** Milliseconds of speech without a word of the service after which the connection counts as dead. */
  protected readonly silenceTimeoutMs: number = 10_000;
  /** How often to look for missing audio, and how much silence then stands in for it, in milliseconds. */
  protected readonly gapMs: number | undefined = undefined;
  /** Shortest frame of audio that the service takes, in milliseconds. */
  protected readonly minFrameMs: number = 0;
  /** Whether an empty frame ends the audio, which the service answers; see `heardAll()`. Not with `minFrameMs`. */
  protected readonly endsAudio: boolean = false;
  /** How many times as fast as it sounds the service takes audio; `false` for as fast as it goes. */
  protected readonly catchUpSpeed: number | false = false;
  /** The results and speech events. */
  protected readonly utterances: Utterances = new Utterances(() => {
    const { language, interimResults = true } = this.config;
    return { name: this.name, language, interimResults };
  });

  /** Reports what ends nothing, such as a warning of the service's; each text once. */
  protected readonly reportOnce: (text: string) => void = oncePerKind((text) => {
    this.report(this.error(`${this.name}: ${text}`, { code: 'server', recoverable: true }));
  });

  /** Warns of what does not fit the wire; each kind once. */
  protected readonly warnOnce: (kind: string) => void = oncePerKind((kind) => {
    this.report(this.error(`${this.name} ${kind}`, { code: 'protocol', recoverable: true }));
  });

  /** Address and credential of one connection. Default: `path` and `query()`. */
  protected async request(_context: SocketRequestContext): Promise<SocketRequest> {
    return { url: this.resolveSocketUrl(this.path, this.query()), ...(await this.resolveSocketCredentials()) };
  }

  /** What the address says beside the path. */
  protected query(): Query {
    return {};
  }

  /** What is said at the end of a session, and the last message to wait for. */
  protected abstract farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'>;

  /** What this service's sockets need beside the defaults. */
  protected socketOptions(): Partial<SocketSessionOptions> {
    return {};
  }

  /** What is wrong with the configuration beside `rules`, as a sentence; `undefined` when all is well. */
  protected override configProblem(): string | undefined {
    return undefined;
  }

  /** A message as an object; `undefined` for what is none. Must not throw. Default: JSON. */
  protected readMessage(data: SocketData): WireObject | undefined {
    return parseJsonObject(data);
  }

  /** What a message is, for `handlers`. */
  protected typeOf(message: WireObject): string | undefined {
    return str(message['type']);
  }

  /** Looks at a message before its handler does. */
  protected onMessage(_message: WireObject): void {}

  /** A connection begins to hear audio: what belonged to the one before is over. */
  protected onConnection(): void {}

  /** What a connection is told before it hears audio; asked after {@link onConnection}. */
  protected preamble(): readonly SocketData[] {
    return [];
  }

  /** The session has ended: what there is of an utterance is all that will come. */
  protected onEnd(): void {
    this.utterances.finish();
  }

  /** Applies changed keys to the running session; false asks for a new connection. */
  protected applyLive(_changed: Partial<C>): boolean {
    return false;
  }

  /** Where the next connection of the same session goes on, in milliseconds of all audio; `undefined` for a new one. */
  protected resumeFromMs(): number | undefined {
    return undefined;
  }

  /** What the service knows of the session is worth nothing: the next connection begins another. */
  protected forget(): void {}

  /** Whether silence should stand in for audio that has not come for `quietMs` milliseconds; asked every {@link gapMs}. */
  protected wantsSilence(_quietMs: number): boolean {
    return false;
  }

  /** Audio as the service wants it. */
  protected encodeAudio(frame: Uint8Array<ArrayBuffer>): SocketData {
    return frame;
  }

  /** The clock. */
  protected get scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  /** Whether a message is of one of some types. */
  protected isOf(...types: readonly string[]): (data: SocketData) => boolean {
    return (data) => types.includes(this.typeOf(this.readMessage(data) ?? {}) ?? '');
  }

  /** What a failure that the service reports means, by the service's word or code for it. */
  protected failure(kind: string | number, failures: Failures, sentence?: string): VoiceError {
    const { hint, ...options } = entry(failures, String(kind)) ?? unknownFailure;
    return this.error(`${this.name}: the service reports ${wireWord(kind)}: ${hint}`, {
      ...options,
      ...(typeof kind === 'number' && { status: kind }),
      // The service's sentence could quote the user.
      ...(sentence !== undefined && { cause: new Error(this.redact(sentence)) }),
    });
  }

  /** Has a message do what it does; nothing in it can throw. */
  protected receive(data: SocketData): void {
    const message = this.readMessage(data);
    if (!message) {
      this.warnOnce('ignores a message that it cannot read');
      return;
    }
    const type = this.typeOf(message) ?? 'unknown';
    try {
      this.onMessage(message);
      const handle = entry(this.handlers, type);
      if (handle) handle(message);
      else this.logger.debug(`${this.name} ignores a message of type ${type}`);
    } catch {
      this.warnOnce(`ignores a malformed message of type ${type}`);
    }
  }

  /** @throws VoiceError `configuration` when a key holds what it may not. */
  protected override assertConfig(): void {
    const problem = configProblem(this.config, { ...streamingRules, ...this.rules }) ?? this.configProblem();
    if (problem) throw this.error(`${this.name}: ${problem}`, { code: 'configuration' });
  }
}

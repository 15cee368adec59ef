import type { Observable, ObservableInput, OperatorFunction } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import type { VoiceError } from './errors.ts';
import type { Logger } from './logger.ts';
import type { GenerateOptions, LLMEvent, Message, TokenUsage } from './messages.ts';

/** The five roles of a pipeline. */
export type ProviderRole = 'input' | 'stt' | 'llm' | 'tts' | 'output';

/** How a provider reaches its service. */
export type ProviderType = 'rest' | 'websocket';

/** A provider's lifecycle state. */
export type ProviderState = 'uninitialized' | 'initializing' | 'ready' | 'disposing';

/** Events of a provider's connection. */
export type ConnectionEvent =
  | { readonly type: 'connecting' }
  | { readonly type: 'connected' }
  /** A lost or refused connection will be retried after `delayMs`. */
  | { readonly type: 'reconnecting'; readonly attempt: number; readonly delayMs: number; readonly error?: VoiceError }
  /** Given up, or refused for good. */
  | { readonly type: 'lost'; readonly error: VoiceError }
  /** In a chain of providers: another one is in use from now on. Without an error: the first one works again. */
  | { readonly type: 'fallback'; readonly from: string; readonly to: string; readonly error?: VoiceError }
  | { readonly type: 'closed' };

/** Events of a microphone, a speaker or a media track. */
export type DeviceEvent =
  /** The browser blocks all audio until the user clicks, taps or presses a key on the page. */
  | { readonly type: 'suspended' }
  /** The system has interrupted the audio, for example for a phone call. */
  | { readonly type: 'interrupted' }
  /** Audio flows again. */
  | { readonly type: 'running' }
  /** The device or the system has muted the source, which now delivers silence. */
  | { readonly type: 'muted' }
  /** The source delivers sound again. */
  | { readonly type: 'unmuted' }
  /** The source delivered only digital zeros for `forMs` milliseconds. */
  | { readonly type: 'silent'; readonly forMs: number }
  /** The device was unplugged, or the source has ended. */
  | { readonly type: 'lost' }
  /** A device is delivering; `label` is the browser's name for it. */
  | { readonly type: 'found'; readonly label: string }
  /** Devices were plugged in or out. */
  | { readonly type: 'changed' };

/** What a pipeline passes to its providers. */
export interface InitializeOptions {
  /** The logger for a provider without its own. */
  readonly logger?: Logger | undefined;
}

/** Members of every provider. A plain object with these and those of its roles is a provider. */
export interface ProviderContract {
  /** The class's name, for events and errors. */
  readonly name: string;
  /** The roles that it fills. */
  readonly roles: readonly ProviderRole[];
  /** Makes it ready to use. A pipeline passes options; a provider may ignore them. */
  initialize(options?: InitializeOptions): Promise<void>;
  /** Releases everything; it can be initialized again. */
  dispose(): Promise<void>;
  /** Whether it can be used now. */
  isReady(): boolean;
  /** Its lifecycle state. Hot; replays the latest value. */
  readonly state$?: Observable<ProviderState>;
  /** Errors outside any call, such as a lost connection. Hot. */
  readonly errors$?: Observable<VoiceError>;
  /** State of the connection. Hot; replays the latest value. */
  readonly connection$?: Observable<ConnectionEvent>;
  /** Events of the device or track behind an input or output. Hot. */
  readonly device$?: Observable<DeviceEvent>;
  /**
   * Milliseconds of captured audio that the provider had to drop, as it drops them, because its queue was full. Hot.
   */
  readonly droppedMs$?: Observable<number>;
}

/** Audio capture. */
export interface InputProvider extends ProviderContract {
  /** Captured audio, from `start()` on. Hot. */
  readonly audio$: Observable<AudioChunk>;
  /** Starts capturing. */
  start(): Promise<void>;
  /** Stops capturing and releases the device. */
  stop(): Promise<void>;
  /** Stops capturing until `resume()`, but keeps the device. */
  pause(): void;
  /** Resumes capturing after `pause()`. */
  resume(): void;
  /** The format of `audio$`. */
  getMetadata(): AudioMetadata;
}

/** A word recognized by a speech-to-text service. */
export interface TranscribedWord {
  readonly text: string;
  /** Milliseconds from the start of the audio. */
  readonly startMs?: number;
  readonly endMs?: number;
  /** 0 to 1. */
  readonly confidence?: number;
  readonly speaker?: string;
}

/** What was said, in another language. */
export interface Translation {
  readonly text: string;
  /** BCP 47. */
  readonly language?: string;
}

/** A speech-to-text service's result for the audio so far. */
export interface TranscriptionResult {
  /** The text of the whole utterance so far, not just of the latest segment. */
  readonly text: string;
  /** The text of this segment will not change anymore. */
  readonly isFinal: boolean;
  /** The speaker has finished: the text is the whole utterance. */
  readonly utteranceComplete: boolean;
  /** The speaker has probably finished: prepare an answer, but do not give it yet. */
  readonly isPreflight: boolean;
  /** 0 to 1. */
  readonly confidence?: number;
  /** Identifies the utterance, if the service does: results with the same id belong to the same utterance. */
  readonly utteranceId?: string;
  readonly metadata?: {
    readonly words?: readonly TranscribedWord[];
    /** BCP 47. */
    readonly language?: string;
    readonly speaker?: string;
    /** The channel of the audio, from 0, where the service transcribes channels apart. */
    readonly channel?: number;
    /** The service's id of the session or the request: its support asks for it. */
    readonly requestId?: string;
    /** The text in other languages, if the service was asked for it; it may lag behind until the utterance is complete. */
    readonly translations?: readonly Translation[];
    /** Additional data, under the vendor's own names. */
    readonly [vendorField: string]: unknown;
  };
}

/** A speech-to-text service's voice activity. `resumed` retracts an announced end. */
export interface SpeechEvent {
  readonly type: 'started' | 'ended' | 'resumed';
  /** Where the voice started or ended, in milliseconds from the start of the audio, if the service reports it. */
  readonly positionMs?: number;
}

/** What a voice detector hears. */
export interface VoiceActivity {
  /** `confirmed`: the sound has lasted long enough to be a voice. */
  readonly type: 'started' | 'confirmed' | 'ended';
  /** The start of the first voiced frame, or with `ended` the end of the last one, in milliseconds of audio. */
  readonly positionMs: number;
  /** With `ended`: it ended before it was confirmed, so nobody spoke. Default: false. */
  readonly isBrief?: boolean;
}

/** Detects voices in captured audio, in chunks with metadata: a function from stream to stream. */
export type VoiceDetector = OperatorFunction<AudioChunk, VoiceActivity>;

/** Speech-to-text. */
export interface STTProvider extends ProviderContract {
  /** Results for live audio. Hot. */
  readonly transcripts$: Observable<TranscriptionResult>;
  /** The speaker's voice. Hot. */
  readonly speech$: Observable<SpeechEvent>;
  /** Formats that `sendAudio` accepts, best first. */
  readonly accepts: readonly AudioFormat[];
  /** Whether `speech$` reports the end of speech; without it, only words can confirm a barge-in. Default: false. */
  readonly reportsSpeechEnd?: boolean;
  /**
   * Silence after which it ends an utterance, in milliseconds; absent if it judges the end of a turn in other ways. After
   * less than 300, `endpointing.minMs` adds to it.
   */
  readonly pauseMs?: number | undefined;
  /** Sets the format that `sendAudio` will be given; call before `connect()`. */
  configureAudio(metadata: AudioMetadata): void;
  /** Opens a session. Audio sent earlier is kept until then. */
  connect(): Promise<void>;
  /** Finalizes what was sent, waits for the last results, then closes. */
  disconnect(): Promise<void>;
  /** Sends audio in the configured format, or keeps it until the session is open. */
  sendAudio(chunk: AudioChunk): void;
  /** Asks for the final result of the audio sent so far; the session stays open. Absent if not supported. */
  readonly finalize?: (() => void) | undefined;
  /** Transcribes one stream of audio: connects, sends, finalizes. Cold. */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult>;
}

/** Language model. */
export interface LLMProvider extends ProviderContract {
  /** The text of every generation. Hot. */
  readonly tokens$: Observable<string>;
  /** How long its first token may take, in milliseconds, if longer than usual: it may ask several models. */
  readonly patienceMs?: number;
  /** Opens the connection that the next `generate` needs, so that no handshake delays it. */
  warm?(): void | Promise<void>;
  /** Subscribing starts the request, unsubscribing aborts it. Cold. */
  generate(messages: readonly Message[], options?: GenerateOptions): Observable<LLMEvent>;
}

/** When a word of synthesized speech sounds. */
export interface SpokenWord {
  readonly text: string;
  /** Milliseconds from the start of the utterance's audio. */
  readonly startMs: number;
  readonly endMs: number;
  /** True when the service gives no timings and the library distributed the words over the audio. */
  readonly estimated?: boolean;
  /**
   * Set on the first word after the voice restarted, for example after a lost connection: how many characters of the
   * utterance's text precede it, not counting white space. Words may be repeated.
   */
  readonly resumesAt?: number;
  /** As in the utterance's {@link AudioChunk}s. */
  readonly utteranceId: string;
}

/** Text-to-speech. */
export interface TTSProvider extends ProviderContract {
  /** All synthesized audio. Hot. */
  readonly audio$: Observable<AudioChunk>;
  /** The format of each utterance, before its first audio. Hot. */
  readonly metadata$: Observable<AudioMetadata>;
  /** Word timings. Hot. */
  readonly words$?: Observable<SpokenWord>;
  /** The format that `speak` will produce, if known in advance. */
  getMetadata?(): AudioMetadata | undefined;
  /**
   * Tells which formats the output accepts, before `initialize()`: a voice that leaves its format open then asks its
   * service for one of them.
   */
  configureOutput?(accepts: readonly AudioFormat[]): void;
  /** Longest piece of `text$`, in characters. */
  readonly maxTextLength?: number | undefined;
  /**
   * Whether it reads numbers, dates, money and signs out itself: `true`, or the languages (BCP 47) in which it does.
   * `spokenForms()` leaves texts for it as they are. Default: false.
   */
  readonly normalizesText?: boolean | readonly string[] | undefined;
  /**
   * What it delivers if it does not speak: the text itself, to be read, or a recording of it. Then `text$` is the text
   * as written, piece by piece, and its characters are not billed. Default: speech.
   */
  readonly delivers?: 'text' | 'recording';
  /** Opens the connection that the next `speak` needs, so that no handshake delays it. */
  warm?(): void | Promise<void>;
  /**
   * Speaks one utterance. `text$` emits speakable pieces (clauses, sentences) in order; audio is emitted as soon as the
   * service delivers it, and completes after the last piece's audio. Every chunk has the utterance's id, the first one
   * its metadata. Unsubscribing cancels it at the service. Cold.
   */
  speak(text$: ObservableInput<string>): Observable<AudioChunk>;
}

/** Events of one `play()`. Positions are milliseconds of its audio that were heard. */
export type PlaybackEvent =
  | { readonly type: 'started'; readonly positionMs: number }
  | { readonly type: 'progress'; readonly positionMs: number }
  | { readonly type: 'paused'; readonly positionMs: number }
  | { readonly type: 'resumed'; readonly positionMs: number }
  | { readonly type: 'finished'; readonly positionMs: number };

/** Audio playback. */
export interface OutputProvider extends ProviderContract {
  /** The events of every `play()`. Hot. */
  readonly playback$: Observable<PlaybackEvent>;
  /** Formats that `play` accepts, best first. */
  readonly accepts: readonly AudioFormat[];
  /** Plays one stream at a time; completes when the last sample was heard. Unsubscribing silences it at once. Cold. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent>;
  /** Milliseconds of the current (or the last) `play()` heard so far. */
  readonly positionMs: number;
  /**
   * How long audio would still sound if it were silenced now, in milliseconds: audio that the device or the line
   * already has. Default: 0.
   */
  readonly tailMs?: number;
  /** Adds a chunk to the imperative playback queue. */
  enqueue(chunk: AudioChunk): void;
  /** Resolves when everything enqueued was heard (or stopped). */
  flush(): Promise<void>;
  /** Silences playback at once; drops what was not heard. */
  stop(): void;
  /** Silences playback at once; `resume()` continues at the very next sample. */
  pause(): void;
  /** Continues after `pause()`. */
  resume(): void;
  /** Volume as a factor, 0 to 1, for ducking. Outputs without volume control ignore it. */
  setVolume?(volume: number): void;
}

/** A function call by an agent's model. */
export interface AgentFunctionCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly argsText: string;
  /** False when the service runs the function itself. */
  readonly clientSide: boolean;
}

/** The end of an agent's function call. */
export type AgentFunctionEnd = {
  /** The call, as emitted on `functionCalls$`. */
  readonly call: AgentFunctionCall;
  /** From the call to its end, in milliseconds. */
  readonly durationMs: number;
} & (
  | {
      /** `error`: the function failed, timed out, or has no handler. */
      readonly type: 'result' | 'error';
      /** The result as sent to the model. */
      readonly content: string;
    }
  /** The service cancelled it, or its connection was lost. */
  | { readonly type: 'cancelled' }
);

/** Latencies of one agent turn, in milliseconds; absent if the service does not report them. */
export interface AgentLatency {
  readonly totalMs?: number;
  readonly ttsMs?: number;
  readonly llmMs?: number;
  readonly sttMs?: number;
}

/** Text of the conversation as an agent reports it. */
export interface AgentText {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** The part of an agent's reply that was heard before it was cut off. */
export interface AgentHeard {
  /** The reply's `utteranceId`. */
  readonly utteranceId: string;
  /** How much of its audio was heard, in milliseconds. */
  readonly playedMs: number;
  /** The text of that; empty if no word was heard whole. */
  readonly text: string;
}

/** Speech-to-text, language model and text-to-speech behind one connection. */
export interface AgentProvider extends ProviderContract {
  /** What the user says. Hot. */
  readonly transcripts$: Observable<TranscriptionResult>;
  /** When the user's voice starts and ends. Hot. */
  readonly speech$: Observable<SpeechEvent>;
  /** The agent's reply as text. */
  readonly tokens$: Observable<string>;
  /** What both sides say, in order. */
  readonly conversation$: Observable<AgentText>;
  /** The agent's reply as audio. */
  readonly audio$: Observable<AudioChunk>;
  /** The format of each reply, before its first audio. Hot. */
  readonly metadata$: Observable<AudioMetadata>;
  /** Emits when a reply's audio is complete. */
  readonly audioDone$: Observable<void>;
  /** Function calls by the agent's model. Hot. */
  readonly functionCalls$: Observable<AgentFunctionCall>;
  /** The end of each call, exactly once; absent if the agent does not report it. Hot. */
  readonly functionEnds$?: Observable<AgentFunctionEnd>;
  /** The latencies of each turn. Hot. */
  readonly latency$: Observable<AgentLatency>;
  /** The tokens of each of the model's answers, as billed; absent if the agent does not report them. Hot. */
  readonly usage$?: Observable<TokenUsage>;
  /** That what it was asked will have no reply, as the connection was lost; absent if the agent does not tell. Hot. */
  readonly unanswered$?: Observable<VoiceError>;
  /** Formats that `sendAudio` accepts, best first. */
  readonly accepts: readonly AudioFormat[];
  /** Sets the format that `sendAudio` will be given; call before `connect()`. */
  configureAudio(metadata: AudioMetadata): void;
  /** Opens a session. Audio sent earlier is kept until then. */
  connect(): Promise<void>;
  /** Ends the session. */
  disconnect(): Promise<void>;
  /** Sends audio in the configured format, or keeps it until the session is open. */
  sendAudio(chunk: AudioChunk): void;
  /** Sends a text to the agent as if the user had said it. */
  injectUserMessage(text: string): void;
  /** Makes the agent say a text. */
  injectAgentMessage(text: string): void;
  /** Tells the agent that a reply was cut off, and how much of it was heard: it remembers only that part. */
  cutOff?(heard: AgentHeard): void;
  /** Drops the reply that is being prepared or spoken. */
  interrupt?(): void;
  /** Push-to-talk: the user begins to speak. */
  startTurn?(): void;
  /** Push-to-talk: the user has spoken, and the agent replies. */
  endTurn?(): void;
  /** Push-to-talk: what the user said is forgotten. */
  cancelTurn?(): void;
}

import type { Observable, ObservableInput } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import type { VoiceError } from './errors.ts';
import type { Logger } from './logger.ts';
import type { GenerateOptions, LLMEvent, Message } from './messages.ts';

/** The five roles of a pipeline (SPEC.md, What the service does). */
export type ProviderRole = 'input' | 'stt' | 'llm' | 'tts' | 'output';

/** How a provider reaches its service. */
export type ProviderType = 'rest' | 'websocket';

/** Where a provider is in its life (SPEC.md, Provider lifecycle). */
export type ProviderState = 'uninitialized' | 'initializing' | 'ready' | 'disposing';

/** What becomes of a provider's connection. */
export type ConnectionEvent =
  | { readonly type: 'connecting' }
  | { readonly type: 'connected' }
  /** A lost or refused connection will be tried again after `delayMs`. */
  | { readonly type: 'reconnecting'; readonly attempt: number; readonly delayMs: number; readonly error?: VoiceError }
  /** Given up, or refused for good. */
  | { readonly type: 'lost'; readonly error: VoiceError }
  | { readonly type: 'closed' };

/** What becomes of a microphone, a speaker or a media track. */
export type DeviceEvent =
  /** The browser holds all audio back until the user clicks, taps or presses a key on the page. */
  | { readonly type: 'suspended' }
  /** The system has taken the audio away, such as for a telephone call. */
  | { readonly type: 'interrupted' }
  /** Audio flows again. */
  | { readonly type: 'running' }
  /** The device or the system has muted the source; it delivers silence. */
  | { readonly type: 'muted' }
  /** The source delivers sound again. */
  | { readonly type: 'unmuted' }
  /** Nothing but digital zeros came for `forMs` milliseconds. */
  | { readonly type: 'silent'; readonly forMs: number }
  /** The device was unplugged, or the source has ended. */
  | { readonly type: 'lost' }
  /** A device delivers; `label` is the browser's name for it. */
  | { readonly type: 'found'; readonly label: string }
  /** Devices were plugged in or out. */
  | { readonly type: 'changed' };

/** What a pipeline gives its providers. */
export interface InitializeOptions {
  /** Where a provider without a logger of its own writes. */
  readonly logger?: Logger | undefined;
}

/** What every provider has. A plain object with these members and those of its roles is a provider. */
export interface ProviderContract {
  /** The class's name, for events and errors. */
  readonly name: string;
  /** The roles that it covers. */
  readonly roles: readonly ProviderRole[];
  /** Makes it ready to use. A pipeline passes its options on; a provider is free to ignore them. */
  initialize(options?: InitializeOptions): Promise<void>;
  /** Releases everything; it can be initialized again. */
  dispose(): Promise<void>;
  /** Whether it can be used now. */
  isReady(): boolean;
  /** Where it is in its life. Hot; the latest value first. */
  readonly state$?: Observable<ProviderState>;
  /** Errors that no call could throw, such as a connection lost in the middle. Hot. */
  readonly errors$?: Observable<VoiceError>;
  /** Hot; the latest value first. */
  readonly connection$?: Observable<ConnectionEvent>;
  /** What becomes of the device or track behind an input or output. Hot. */
  readonly device$?: Observable<DeviceEvent>;
}

/** Audio capture. */
export interface InputProvider extends ProviderContract {
  /** Captured audio, from `start()` on. Hot. */
  readonly audio$: Observable<AudioChunk>;
  /** Starts to capture. */
  start(): Promise<void>;
  /** Ends the capture and releases the device. */
  stop(): Promise<void>;
  /** Captures nothing until `resume()`, but keeps the device. */
  pause(): void;
  /** Captures again after `pause()`. */
  resume(): void;
  /** The format of `audio$`. */
  getMetadata(): AudioMetadata;
}

/** A word as a speech-to-text service heard it. */
export interface TranscribedWord {
  readonly text: string;
  /** Milliseconds from the start of the audio. */
  readonly startMs?: number;
  readonly endMs?: number;
  /** 0 to 1. */
  readonly confidence?: number;
  readonly speaker?: string;
}

/** What a speech-to-text service made of the audio so far. */
export interface TranscriptionResult {
  /** The text of the whole utterance so far, not just of the newest segment. */
  readonly text: string;
  /** The text of this segment will not change any more. */
  readonly isFinal: boolean;
  /** The speaker has finished: the text is the whole utterance. */
  readonly utteranceComplete: boolean;
  /** The service thinks that the speaker may have finished: an answer may be prepared, not given. */
  readonly isPreflight: boolean;
  /** 0 to 1. */
  readonly confidence?: number;
  /** Identifies the utterance where the service does: two results with one id are of one utterance. */
  readonly utteranceId?: string;
  readonly metadata?: {
    readonly words?: readonly TranscribedWord[];
    /** BCP 47. */
    readonly language?: string;
    readonly speaker?: string;
    /** What the vendor says beyond that, under the vendor's own names. */
    readonly [vendorField: string]: unknown;
  };
}

/** What a speech-to-text service says of the speaker's voice. `resumed` takes an announced end back. */
export interface SpeechEvent {
  readonly type: 'started' | 'ended' | 'resumed';
}

/** Speech-to-text. */
export interface STTProvider extends ProviderContract {
  /** Hot. */
  readonly transcripts$: Observable<TranscriptionResult>;
  /** Hot. */
  readonly speech$: Observable<SpeechEvent>;
  /** Formats that `sendAudio` takes, best first. */
  readonly accepts: readonly AudioFormat[];
  /** Whether `speech$` tells when a voice falls silent; without it only words can confirm a barge-in. Default: false. */
  readonly reportsSpeechEnd?: boolean;
  /** Says what `sendAudio` will bring; before `connect()`. */
  configureAudio(metadata: AudioMetadata): void;
  /** Opens the service's session. Audio sent earlier is kept and sent then. */
  connect(): Promise<void>;
  /** Finalizes what was sent, waits for the last results, then closes. */
  disconnect(): Promise<void>;
  /** Sends audio in the configured format, or keeps it until the session is open. */
  sendAudio(chunk: AudioChunk): void;
  /** Asks for the final result of what was sent so far; the session stays open. */
  finalize?(): void;
  /** The results for one stream of audio: connects, sends, finalizes. Cold. */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult>;
}

/** Language model. */
export interface LLMProvider extends ProviderContract {
  /** The text of every generation. Hot. */
  readonly tokens$: Observable<string>;
  /** Opens what the next `generate` needs, if it is not open, so that no handshake delays it. */
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
  /** True when the service gives no timings and the library spread the words over the audio. */
  readonly estimated?: boolean;
  /** As in the utterance's {@link AudioChunk}s. */
  readonly utteranceId: string;
}

/** Text-to-speech. */
export interface TTSProvider extends ProviderContract {
  /** All synthesized audio. Hot. */
  readonly audio$: Observable<AudioChunk>;
  /** The format of each utterance, before its first audio. Hot. */
  readonly metadata$: Observable<AudioMetadata>;
  /** Hot. */
  readonly words$?: Observable<SpokenWord>;
  /** The format that `speak` will yield, where it is known beforehand. */
  getMetadata?(): AudioMetadata | undefined;
  /** Longest text that one piece of `text$` may have, in characters. */
  readonly maxTextLength?: number | undefined;
  /** Opens what the next `speak` needs, if it is not open, so that no handshake delays it. */
  warm?(): void | Promise<void>;
  /**
   * Speaks one utterance. `text$` brings speakable pieces (clauses, sentences) in order; audio comes as early as the
   * service gives it, and completes after the last piece's audio. Every chunk carries the utterance's id, the first
   * one its metadata. Unsubscribing cancels it at the service. Cold.
   */
  speak(text$: ObservableInput<string>): Observable<AudioChunk>;
}

/** What becomes of one `play()`. Positions are milliseconds of its audio that were heard. */
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
  /** Formats that `play` takes, best first. */
  readonly accepts: readonly AudioFormat[];
  /** Unsubscribing silences at once; completes when the last sample was heard. Cold; one at a time. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent>;
  /** Milliseconds of the current (else the last) `play()` that were heard, to this moment. */
  readonly positionMs: number;
  /** Adds a chunk to the imperative playback queue. */
  enqueue(chunk: AudioChunk): void;
  /** Resolves when everything enqueued was heard (or stopped). */
  flush(): Promise<void>;
  /** Silence, at once; drops what was not heard. */
  stop(): void;
  /** Silence, at once; `resume()` goes on at the very next sample. */
  pause(): void;
  /** Plays on after `pause()`. */
  resume(): void;
  /** Loudness as a factor, 0 to 1: for ducking. Outputs that cannot, ignore it. */
  setVolume?(volume: number): void;
}

/** A call that an agent's model wants made. */
export interface AgentFunctionCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly argsText: string;
  /** False when the service runs it itself. */
  readonly clientSide: boolean;
}

/** How a call that an agent's model wanted made has ended. */
export type AgentFunctionEnd = {
  /** The call, as `functionCalls$` told it. */
  readonly call: AgentFunctionCall;
  /** From the call to its end, in milliseconds. */
  readonly durationMs: number;
} & (
  | {
      /** `error`: the function failed, timed out, or nobody answers it. */
      readonly type: 'result' | 'error';
      /** What the model is told, as text. */
      readonly content: string;
    }
  /** The service took it back, or the connection that asked for it is gone. */
  | { readonly type: 'cancelled' }
);

/** Latencies of one turn of an agent, in milliseconds. Absent where the service does not give them. */
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

/** Speech-to-text, language model and text-to-speech behind one connection. */
export interface AgentProvider extends ProviderContract {
  /** What the user says. Hot. */
  readonly transcripts$: Observable<TranscriptionResult>;
  /** When the user's voice starts and ends. Hot. */
  readonly speech$: Observable<SpeechEvent>;
  /** What the agent says, as text. */
  readonly tokens$: Observable<string>;
  /** What both sides said, in order. */
  readonly conversation$: Observable<AgentText>;
  /** What the agent says, as audio. */
  readonly audio$: Observable<AudioChunk>;
  /** The format of each reply, before its first audio. Hot. */
  readonly metadata$: Observable<AudioMetadata>;
  /** The agent has sent the last audio of a reply. */
  readonly audioDone$: Observable<void>;
  /** Calls that the agent's model wants made. Hot. */
  readonly functionCalls$: Observable<AgentFunctionCall>;
  /** The end of each call, exactly once; absent where the agent does not tell. Hot. */
  readonly functionEnds$?: Observable<AgentFunctionEnd>;
  /** The latencies of each turn. Hot. */
  readonly latency$: Observable<AgentLatency>;
  /** Formats that `sendAudio` takes, best first. */
  readonly accepts: readonly AudioFormat[];
  /** Says what `sendAudio` will bring; before `connect()`. */
  configureAudio(metadata: AudioMetadata): void;
  /** Opens the session. Audio sent earlier is kept and sent then. */
  connect(): Promise<void>;
  /** Ends the session. */
  disconnect(): Promise<void>;
  /** Sends audio in the configured format, or keeps it until the session is open. */
  sendAudio(chunk: AudioChunk): void;
  /** Has the agent take a text as if the user had said it. */
  injectUserMessage(text: string): void;
  /** Has the agent say a text. */
  injectAgentMessage(text: string): void;
}

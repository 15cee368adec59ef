// What the author of a provider needs beside `rxvoice`: the base classes of the roles, the runners of their wires, and the
// tools that the library's own providers use.
export { decodeBase64, encodeBase64 } from './core/base64.ts';
export { configProblem, type ConfigRule, type ConfigRules, type RulesOf, type WireValue } from './core/config-rule.ts';
export { remoteRules } from './core/remote-rules.ts';
export { messageOf } from './core/errors.ts';
export { missingPackage } from './core/optional-peer.ts';
export { redact } from './core/redact.ts';
export { redactUrl } from './core/redact-url.ts';
export type { Query, SocketCredentials, TransportOptions } from './core/remote-provider.ts';
export type { RetiringModel } from './core/retirement.ts';
export { wireParameters } from './core/wire-parameters.ts';
export { asFatal, createBackoff, isRecoverable, type Backoff } from './stream/backoff.ts';
export { hasWords, joinWords } from './text/words.ts';
export type { AwsConfig } from './transport/aws-signer.ts';
export type { HttpErrorFacts, HttpErrorOf, HttpFailure } from './transport/http-error.ts';
export type { HttpHeaders } from './transport/http.ts';
export type { ServerSentEvent } from './transport/sse.ts';

export { Capture, type CaptureOptions } from './playback/capture.ts';
export { ContextOutput, type ContextOutputConfig } from './playback/context-output.ts';
export type { PlayoutSink } from './playback/paced-line.ts';
export { PacedOutput } from './playback/paced-output.ts';
export type { HeardPlayer } from './playback/paced-output.ts';
export { Playout, type PlayoutOptions } from './playback/playout.ts';
export { SpeakerMixer, type SpeakerMixerOptions } from './playback/speaker-mixer.ts';

export type {
  AgentCommand,
  AgentConfig,
  AgentContext,
  AgentEffect,
  AgentProblem,
  AgentQuiet,
  AgentReader,
  AgentStep,
  AgentWire,
} from './providers/agent/agent-wire.ts';
export type { FunctionOutcome } from './providers/agent/function-calls.ts';
export type { HeardPart } from './providers/agent/replies.ts';
export { StreamingAgent } from './providers/agent/streaming-agent.ts';
export { TrackInput, type TrackInputConfig } from './providers/input/track-input.ts';
export type { ChatAnswer } from './providers/llm/chat-answer.ts';
export { chatWire, type ChatConfig, type ChatForm, type ChatProfile } from './providers/llm/chat-completions.ts';
export { ChatLLM } from './providers/llm/chat-llm.ts';
export type { LLMConfig } from './providers/llm/llm-config.ts';
export { compatibleProfile } from './providers/llm/compatible-llm.ts';
export type { MessageAnswer } from './providers/llm/message-answer.ts';
export type {
  AnswerContext,
  LateModelWire,
  ModelContext,
  ModelDialect,
  ModelEffect,
  ModelHeaders,
  ModelRequest,
  ModelService,
  ModelStep,
  ModelWire,
} from './providers/llm/model-wire.ts';
export { CallProvider } from './providers/platform/call-provider.ts';
export { MeetingInput } from './providers/platform/meeting-input.ts';
export type { PhoneConfig } from './providers/platform/phone-provider.ts';
export { BatchSTT, type Transcription } from './providers/stt/batch-stt.ts';
export type { Recording, RecordingLimits } from './providers/stt/live-audio.ts';
export type { StreamingSTTConfig } from './providers/stt/streaming-stt-config.ts';
export { StreamingSTT } from './providers/stt/streaming-stt.ts';
export type { STTHost, STTService } from './providers/stt/stt-service.ts';
export {
  completed,
  endless,
  heard,
  isEndless,
  withFinished,
  silenceInGaps,
  unknownFailure,
  type Failure,
  type Failures,
  type LateSTTWire,
  type ResultDetails,
  type ResultKind,
  type STTCommand,
  type STTContext,
  type STTDialect,
  type STTEffect,
  type STTFault,
  type STTNote,
  type STTKeepAlive,
  type STTReader,
  type STTStep,
  type STTWire,
  type Said,
} from './providers/stt/stt-wire.ts';
export { RemoteTTS } from './providers/tts/remote-tts.ts';
export { byRequests, type RequestVoice } from './providers/tts/requests/by-requests.ts';
export type {
  AnswerReader,
  ExchangeContext,
  LateRequestWire,
  ObjectReading,
  OpenFormat,
  RequestContext,
  RequestDialect,
  RequestService,
  RequestTTSConfig,
  RequestWire,
  SpeechRequest,
} from './providers/tts/requests/request-wire.ts';
export { byId, type ContextConnection } from './providers/tts/sockets/by-id.ts';
export { byOrder, type FlushConnection } from './providers/tts/sockets/by-order.ts';
export { overSocket } from './providers/tts/sockets/over-socket.ts';
export type { DialectOf, LateSocketWire, SocketDialect, SocketWire } from './providers/tts/sockets/socket-wire.ts';
export type { Attribution } from './providers/tts/sockets/speech-step.ts';
export type {
  ContextMessages,
  ContextVoice,
  MessageReader,
  ReadEffect,
  Reading,
  SpeechWire,
  SpokenEvent,
} from './providers/tts/sockets/speech-wire.ts';
export type { SynthesisEvent, UtteranceEvent, UtteranceOptions } from './providers/tts/utterance.ts';
export type {
  RemoteVoice,
  Speaker,
  TTSCallOptions,
  TTSConfig,
  VoiceHost,
  VoiceRunner,
  VoiceService,
  VoiceTransport,
  WireErrors,
} from './providers/tts/voice-service.ts';
export type { WordTiming } from './providers/tts/words/spread-words.ts';

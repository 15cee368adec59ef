// What an application needs. Each name is written out, so that nothing gets public by accident; the tools of those who
// write a provider are in `provider.ts`.
export type { AudioChunk, AudioEncoding, AudioFormat, AudioMetadata } from './audio/types.ts';

export { ProviderInitializationError, VoiceError, type VoiceErrorCode, type VoiceErrorOptions } from './core/errors.ts';
export {
  createLogger,
  silentLogger,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  type LogSink,
} from './core/logger.ts';
export type {
  FinishReason,
  GenerateOptions,
  LLMEvent,
  Message,
  MessageImage,
  ResponseSchema,
  TokenUsage,
  ToolCall,
  ToolDefinition,
} from './core/messages.ts';
export { Provider } from './core/provider.ts';
export {
  RemoteProvider,
  type AuthType,
  type Credential,
  type RemoteConfig,
  type WebSocketClass,
  type WebSocketLike,
} from './core/remote-provider.ts';
export type {
  AgentFunctionCall,
  AgentFunctionEnd,
  AgentHeard,
  AgentLatency,
  AgentProvider,
  AgentText,
  ConnectionEvent,
  DeviceEvent,
  InitializeOptions,
  InputProvider,
  LLMProvider,
  OutputProvider,
  PlaybackEvent,
  ProviderContract,
  ProviderRole,
  ProviderState,
  ProviderType,
  SpeechEvent,
  SpokenWord,
  STTProvider,
  TranscribedWord,
  TranscriptionResult,
  Translation,
  TTSProvider,
  VoiceActivity,
  VoiceDetector,
} from './core/roles.ts';
export { defineTool, type JsonSchema, type Tool, type ToolContext } from './core/tools.ts';
export type { BackoffOptions } from './stream/backoff.ts';
export type { AwsCredentials } from './transport/aws-signature.ts';

export { guard, type GuardedSide, type GuardOptions, type ModerationRequest } from './text/guard.ts';
export { blocklist, pattern, personalData, type GuardRule, type PersonalData } from './text/guard-rules.ts';
export type { Markup } from './text/markup.ts';
export { markdown, type MarkdownOptions } from './text/markdown.ts';
export { loadPhrases, type Phrases } from './text/phrases.ts';
export { pronunciations } from './text/pronunciations.ts';
export { spokenForms, type SpokenForms, type SpokenFormsOptions } from './text/spoken-forms.ts';
export type { SpokenPiece, SpokenSpan } from './text/spoken-piece.ts';
export { ssml } from './text/ssml.ts';
export type {
  GuardAction,
  GuardContext,
  GuardedText,
  GuardReport,
  InputGuard,
  TextContext,
  TextStage,
  TextTransform,
} from './text/text-transform.ts';
export { countWords, foldText } from './text/words.ts';

export type { Agent, AgentPorts } from './conversation/agent/agent-answer.ts';
export { agentConversation, type AgentConversationOptions } from './conversation/agent-conversation.ts';
export {
  bargeIn,
  type BargeInRules,
  type BargeInSign,
  type BargeInStage,
  type BargeInThresholds,
} from './conversation/barge-in/barge-in.ts';
export type { Command, SayOptions, SendOptions, SpeechHandle, SpeechOutcome } from './conversation/commands.ts';
export type {
  AgentProfile,
  AnswerOptions,
  BargeInOptions,
  ConversationOptions,
  ConversationSettings,
  ConversationTimeouts,
  ListeningMoment,
  ListeningPolicy,
  PhraseList,
  PreflightOptions,
  PreflightRules,
  SettingsChange,
  TranscriptStage,
  UserTurn,
  UserTurnHook,
  UserTurnVerdict,
  Voices,
} from './conversation/conversation-options.ts';
export type { ConversationPorts } from './conversation/conversation-ports.ts';
export type {
  Endpointing,
  EndpointingBounds,
  EndOfTurn,
  HeardTurn,
  Scorer,
  TurnEndedBy,
  TurnScore,
} from './conversation/turn-taking/endpointing.ts';
export { eventStreams, type EventStream, type StreamEvent } from './conversation/event-streams.ts';
export type {
  AgentState,
  DiscardReason,
  IgnoreReason,
  SpeechSource,
  TurnEndReason,
  UserState,
  VoiceEvent,
  VoiceEventEnvelope,
  VoiceEventMap,
  VoiceEventType,
} from './conversation/events.ts';
export { handoff, type HandoffOptions } from './conversation/answer/handoff.ts';
export {
  History,
  type HistoryChange,
  type HistoryFacts,
  type HistoryItem,
  type HistoryOptions,
  type Spoken,
  type ToolOutcome,
} from './conversation/history.ts';
export { afterGreeting, unlessToolsRun } from './conversation/turn-taking/listening.ts';
export type { ServiceUsage, TurnMetrics } from './conversation/measurements.ts';
export { conversation } from './conversation/model-conversation.ts';
export type {
  ScoreSignal,
  SttFacts,
  TurnDecision,
  TurnRulesOptions,
  TurnTakingOptions,
  UserSignal,
} from './conversation/turn-taking/turn-rules.ts';
export { turnTaking } from './conversation/turn-taking/turn-taking.ts';

export type { PipelineControls } from './pipeline/pipeline-controls.ts';
export type { PipelineEvents } from './pipeline/pipeline-events.ts';
export type { PipelineOptions, PipelineUpdate } from './pipeline/pipeline-options.ts';
export { Pipeline, type PipelineState } from './pipeline/pipeline.ts';
export type { AnyProvider } from './pipeline/roles.ts';

export { audioLevels, type AudioLevel, type AudioLevelsOptions, type LevelSource } from './playback/audio-levels.ts';
export { microphonePermission, type MicrophonePermission } from './playback/microphone-permission.ts';
export { background, mixable, type BackgroundOptions } from './features/background.ts';
export type { BackgroundSound } from './features/background-loop.ts';
export type { CallStateChange, MeetingPerson, MeetingPresence } from './core/calls.ts';
export { cachedVoice, type CachedVoice } from './features/cached-voice.ts';
export { answeredBy, type Answered, type AnsweredByOptions } from './features/answering/answered-by.ts';
export { leaveMessage, type LeaveMessageOptions, type LeftMessage } from './features/answering/leave-message.ts';
export { pressKeys, pressKeysTool, type PressKeysToolOptions } from './features/answering/press-keys.ts';
export type {
  CallCommand,
  CallEvent,
  CallSide,
  CallSink,
  CommandedChanges,
  CommandReply,
  CommandRequest,
  EventsDropped,
  ListedCall,
  SealedEvent,
} from './features/call-sink.ts';
export { captions, type CaptionCue, type CaptionOptions } from './features/captions.ts';
export type { CueWord } from './features/cues.ts';
export { audioDevices, type AudioDevice, type AudioDevices, type AudioDevicesOptions } from './features/devices.ts';
export { hangUpTool, type HangUpOptions } from './features/hang-up-tool.ts';
export { MemoryHistory, type Eventually, type HistoryStore } from './features/history-store.ts';
export { IndexedDbHistory } from './features/indexed-db-history.ts';
export {
  collectDigits,
  keyBargeIn,
  type DigitOptions,
  type Digits,
  type KeyBargeInOptions,
  type KeyPad,
} from './features/keys.ts';
export { withLateResults, type LateResult, type LateResultOptions } from './features/late-results.ts';
export {
  mcpTools,
  type McpClient,
  type McpProgress,
  type McpTool,
  type McpSkippedTool,
  type McpToolHints,
  type McpToolsOptions,
} from './features/mcp-tools.ts';
export type { CachedVoiceOptions } from './features/phrase-cache.ts';
export {
  FilePhrases,
  IndexedDbPhrases,
  MemoryPhrases,
  type CachedPhrase,
  type PhraseFiles,
  type PhraseStore,
} from './features/phrase-store.ts';
export { record, type CallRecording, type RecordOptions } from './features/record.ts';
export type { SilencedSpan } from './features/recorder.ts';
export { publish, type Publication, type PublishedStream, type PublishOptions } from './features/publish.ts';
export { Recording } from './features/recording.ts';
export { remember, type Memory, type RememberOptions } from './features/remember.ts';
export {
  sessions,
  type DrainOptions,
  type Session,
  type SessionEnd,
  type SessionEvent,
  type SessionOutcome,
  type SessionRefusal,
  type Sessions,
  type SessionScope,
  type SessionsOptions,
} from './features/sessions.ts';
export {
  sharePipeline,
  type SharedCommand,
  type SharedPage,
  type SharedStream,
  type SharePipelineOptions,
} from './features/share-pipeline.ts';
export { SqliteHistory, type SqliteDatabase } from './features/sqlite-history.ts';
export { srt, webVtt, type SubtitleOptions } from './features/subtitles.ts';
export { summarize, type SummarizeOptions, type Summary } from './features/summarize.ts';
export { TextInput, TextOutput, TextVoice } from './features/text-only.ts';
export { transcript, type TranscriptLine } from './features/transcript.ts';
export { webmOpus, type WebmOpusOptions } from './features/webm-opus.ts';
export { withApproval, type Approval, type ApprovalOptions, type ApprovalRequest } from './features/with-approval.ts';

export type { FallbackOptions } from './providers/fallback-provider.ts';
export { fallback, type Backups } from './providers/fallback.ts';

export type { AlphaAgentConfig } from './providers/agent/alpha-agent-settings.ts';
export { AlphaAgent } from './providers/agent/alpha-agent.ts';
export type { AgentFunctionContext, AgentFunctionHandler, AgentTool } from './providers/agent/function-calls.ts';
export type { GammaAgentConfig } from './providers/agent/gamma-agent-session.ts';
export { GammaAgent } from './providers/agent/gamma-agent.ts';
export type { OmicronAgentConfig } from './providers/agent/omicron-agent-session.ts';
export { OmicronAgent } from './providers/agent/omicron-agent.ts';
export type { ThetaAgentConfig } from './providers/agent/theta-agent-session.ts';
export { ThetaAgent } from './providers/agent/theta-agent.ts';
export { BufferInput, type BufferInputConfig } from './providers/input/buffer-input.ts';
export { MicrophoneInput, type MicrophoneInputConfig } from './providers/input/microphone-input.ts';
export { WebRTCInput, type WebRTCInputConfig } from './providers/input/webrtc-input.ts';
export type {
  BrowserEngine,
  BrowserEngineRequest,
  LoadProgress,
  WebLLM,
  WebLLMEngineConfig,
} from './providers/llm/browser-engine.ts';
export { BrowserLLM, type BrowserLLMConfig } from './providers/llm/browser-llm.ts';
export { CompatibleLLM, type CompatibleLLMConfig } from './providers/llm/compatible-llm.ts';
export { fromLanguageModel, type LanguageModelConfig, type LanguageModelLike } from './providers/llm/language-model.ts';
export { MuLLM } from './providers/llm/mu-llm.ts';
export type { MuLLMConfig } from './providers/llm/mu-dialect.ts';
export { NuLLM, type NuLLMConfig } from './providers/llm/nu-llm.ts';
export { OmicronLLM, type OmicronLLMConfig } from './providers/llm/omicron-llm.ts';
export { textModel, type AnswerText, type TextModelConfig } from './providers/llm/text-model.ts';
export { ThetaLLM, type ThetaLLMConfig } from './providers/llm/theta-llm.ts';
export { XiLLM, type XiLLMConfig } from './providers/llm/xi-llm.ts';
export { BrowserAudioOutput, type BrowserAudioOutputConfig } from './providers/output/browser-audio-output.ts';
export { NullOutput, type NullOutputConfig } from './providers/output/null-output.ts';
export { WebRTCOutput, type WebRTCOutputConfig } from './providers/output/webrtc-output.ts';
export { ChatVoiceC, type ChatVoiceCConfig } from './providers/platform/chat-voice-c.ts';

export type { ListenableLike } from './providers/platform/listenable.ts';
export { MeetingCallF, type MeetingCallFConfig } from './providers/platform/meeting-call-f.ts';
export { readMeetingInputDWebhook, verifyMeetingInputDWebhook } from './providers/platform/meeting-input-d-webhook.ts';
export { MeetingInputD, type MeetingInputDConfig } from './providers/platform/meeting-input-d.ts';
export { MeetingInputE, type MeetingInputEConfig } from './providers/platform/meeting-input-e.ts';
export type { ActiveSpeaker, MeetingEnd, SpeakerAudio } from './providers/platform/meeting-input.ts';

export {
  callStates,
  warmTransfer,
  type CallControl,
  type CallEndReason,
  type CallState,
  type CallStatus,
  type CallStep,
  type CallWatchOptions,
  type PlacedCall,
  type WarmTransferOptions,
} from './providers/platform/call-control.ts';
export type { CallServiceConfig } from './providers/platform/call-service.ts';
export { PageSocket, type PagePresence, type PageSocketConfig } from './providers/platform/page-socket.ts';
export { PageSockets, type PageRequest, type PageSocketsOptions } from './providers/platform/page-sockets.ts';
export type { PageCommand, PageHello } from './transport/page-wire.ts';
export type { CallEnd, PhoneProvider } from './providers/platform/phone-provider.ts';
export {
  ncco,
  PhoneSocketBCalls,
  readPhoneSocketBStatus,
  type NccoAction,
  type PhoneSocketBCallsConfig,
  type PhoneSocketBStep,
} from './providers/platform/phone-socket-b-calls.ts';
export { verifyPhoneSocketBSignature } from './providers/platform/phone-socket-b-signature.ts';
export { PhoneSocketB, type PhoneSocketBConfig } from './providers/platform/phone-socket-b.ts';
export {
  PhoneStreamACalls,
  readPhoneStreamAStatus,
  twiml,
  type PauseBehavior,
  type PhoneStreamACallsConfig,
} from './providers/platform/phone-stream-a-calls.ts';
export { verifyPhoneStreamASignature } from './providers/platform/phone-stream-a-signature.ts';
export { PhoneStreamA, type PhoneStreamAConfig } from './providers/platform/phone-stream-a.ts';
export type {
  CorkableStream,
  DomSocketEvent,
  DomSocketLike,
  NodeSocketLike,
  PlatformSocket,
} from './providers/platform/platform-socket.ts';
export { socketHandlers, type HandledSocket, type SocketHandlers } from './providers/platform/socket-handlers.ts';
export { AlphaFlux, type AlphaFluxConfig } from './providers/stt/alpha-flux.ts';
export { AlphaSTT, type AlphaSTTConfig } from './providers/stt/alpha-stt.ts';
export { BetaSTT, type BetaSTTConfig } from './providers/stt/beta-stt.ts';
export { DeltaSTT, type DeltaSTTConfig } from './providers/stt/delta-stt.ts';
export { EpsilonSTT, type EpsilonSTTConfig } from './providers/stt/epsilon-stt.ts';
export { EtaSTT, type EtaSTTConfig } from './providers/stt/eta-stt.ts';
export { GammaSTT, type GammaSTTConfig } from './providers/stt/gamma-stt.ts';
export { IotaSTT, type IotaSTTConfig } from './providers/stt/iota-stt.ts';
export { KappaSTT, type KappaSTTConfig } from './providers/stt/kappa-stt.ts';
export { LambdaSTT, type LambdaSTTConfig } from './providers/stt/lambda-stt.ts';
export type { NativePhrase } from './providers/stt/native-recognition.ts';
export type { NativeSTTConfig } from './providers/stt/native-sessions.ts';
export { NativeSTT } from './providers/stt/native-stt.ts';
export { ThetaRealtimeSTT, type ThetaRealtimeSTTConfig } from './providers/stt/theta-realtime-stt.ts';
export type { SoundEvent, SpeechTranslation } from './providers/stt/stt-notes.ts';
export { ZetaSTT, type ZetaSTTConfig, type ZetaTranslation } from './providers/stt/zeta-stt.ts';
export { AlphaTTS, type AlphaTTSConfig } from './providers/tts/alpha-tts.ts';
export { ChiTTS, type ChiTTSConfig } from './providers/tts/chi-tts.ts';
export { GammaTTS, type GammaTTSConfig } from './providers/tts/gamma-tts.ts';
export { IotaTTS, type IotaTTSConfig } from './providers/tts/iota-tts.ts';
export { KappaTTS, type KappaTTSConfig } from './providers/tts/kappa-tts.ts';
export { NativeTTS } from './providers/tts/native-tts.ts';
export type { NativeTTSConfig } from './providers/tts/native-tts-config.ts';
export { OmegaTTS, type OmegaTTSConfig } from './providers/tts/omega-tts.ts';
export { PhiTTS, type PhiTTSConfig } from './providers/tts/phi-tts.ts';
export { PiTTS, type PiTTSConfig } from './providers/tts/pi-tts.ts';
export { PsiTTS, type PsiTTSConfig } from './providers/tts/psi-tts.ts';
export { RhoTTS, type RhoTTSConfig } from './providers/tts/rho-tts.ts';
export { SigmaTTS, type SigmaTTSConfig } from './providers/tts/sigma-tts.ts';
export { TauTTS, type TauTTSConfig } from './providers/tts/tau-tts.ts';
export { ThetaTTS, type ThetaTTSConfig } from './providers/tts/theta-tts.ts';
export type { TTSVoice } from './providers/tts/tts-voice.ts';
export { UpsilonTTS, type UpsilonTTSConfig } from './providers/tts/upsilon-tts.ts';

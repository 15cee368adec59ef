export type { AlphaFluxExtras } from './alpha-flux-settings.ts';
export * from './alpha-flux.ts';
export type { AlphaSTTExtras } from './alpha-stt-settings.ts';
export * from './alpha-stt.ts';
export * from './batch-stt.ts';
export type { Recording, RecordingLimits } from './recordings.ts';
export type { BetaSTTOptions } from './beta-stt-settings.ts';
export * from './beta-stt.ts';
export type { DeltaContext, DeltaSTTOptions } from './delta-stt-settings.ts';
export * from './delta-stt.ts';
export type { EpsilonEncoding, EpsilonSTTOptions, EpsilonVocabulary } from './epsilon-stt-settings.ts';
export * from './epsilon-stt.ts';
export * from './eta-stt.ts';
export type { EtaSTTOptions } from './eta-stt-settings.ts';
export type { GammaSTTOptions } from './gamma-stt-settings.ts';
export * from './gamma-stt.ts';
export * from './iota-stt.ts';
export * from './kappa-stt.ts';
export type { KappaSTTOptions } from './kappa-stt-settings.ts';
export * from './lambda-stt.ts';
export type { LambdaMediaEncoding, LambdaSTTOptions } from './lambda-stt-settings.ts';
export * from './native-stt.ts';
export type { NativePhrase } from './native-recognition.ts';
export * from './streaming-stt.ts';
export * from './streaming/streaming-wire.ts';
export type { ZetaSTTOptions, ZetaVocabulary } from './zeta-stt-settings.ts';
export * from './zeta-stt.ts';
export * from './theta-realtime-stt.ts';
export type {
  ThetaRealtimeSTTModel,
  ThetaRealtimeSTTOptions,
  ThetaTurnDetection,
} from './theta-realtime-stt-settings.ts';
export type { ResultDetails, ResultKind } from './streaming/utterances.ts';
export type { AwsCredentials } from '../../transport/aws-signature.ts';
export type { AwsConfig } from '../../transport/aws-signer.ts';

export * from './alpha-flux.ts';
export * from './alpha-stt.ts';
export * from './batch-stt.ts';
export type { Recording, RecordingLimits } from './recordings.ts';
export * from './beta-stt.ts';
export * from './delta-stt.ts';
export * from './epsilon-stt.ts';
export * from './eta-stt.ts';
export * from './gamma-stt.ts';
export * from './iota-stt.ts';
export * from './kappa-stt.ts';
export * from './lambda-stt.ts';
export type { LambdaMediaEncoding, LambdaSTTOptions } from './lambda-stt-settings.ts';
export * from './native-stt.ts';
export type { NativePhrase } from './native-recognition.ts';
export * from './streaming-stt.ts';
export * from './zeta-stt.ts';
export * from './theta-realtime-stt.ts';
export type {
  ThetaRealtimeSTTModel,
  ThetaRealtimeSTTOptions,
  ThetaTurnDetection,
} from './theta-realtime-stt-settings.ts';
export * from './stt-wire.ts';
export type { AwsCredentials } from '../../transport/aws-signature.ts';
export type { AwsConfig } from '../../transport/aws-signer.ts';

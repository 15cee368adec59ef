// Vonage's classes, under the library's names and under the vendor's: the very same.
export {
  ncco,
  PhoneSocketBCalls,
  PhoneSocketBCalls as VonageCalls,
  readPhoneSocketBStatus,
  readPhoneSocketBStatus as readVonageStatus,
  type NccoAction,
  type PhoneSocketBCallsConfig,
  type PhoneSocketBCallsConfig as VonageCallsConfig,
  type PhoneSocketBStep,
} from '../providers/platform/phone-socket-b-calls.ts';
export {
  verifyPhoneSocketBSignature,
  verifyPhoneSocketBSignature as verifyVonageSignature,
  type PhoneSocketBSignatureOptions,
} from '../providers/platform/phone-socket-b-signature.ts';
export {
  PhoneSocketB,
  PhoneSocketB as VonagePhone,
  type PhoneSocketBConfig,
  type PhoneSocketBConfig as VonagePhoneConfig,
} from '../providers/platform/phone-socket-b.ts';

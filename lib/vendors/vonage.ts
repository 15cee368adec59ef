// Vonage's classes, under the library's names and under the vendor's: the very same.
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

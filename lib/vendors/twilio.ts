// Twilio's classes, under the library's names and under the vendor's: the very same.
export {
  verifyPhoneStreamASignature,
  verifyPhoneStreamASignature as verifyTwilioSignature,
  type PhoneStreamASignatureOptions,
} from '../providers/platform/phone-stream-a-signature.ts';
export {
  PhoneStreamA,
  PhoneStreamA as TwilioPhone,
  type PhoneStreamAConfig,
  type PhoneStreamAConfig as TwilioPhoneConfig,
} from '../providers/platform/phone-stream-a.ts';

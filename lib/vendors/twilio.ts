// Twilio's classes, under the library's names and under the vendor's: the very same.
export {
  PhoneStreamACalls,
  PhoneStreamACalls as TwilioCalls,
  readPhoneStreamAStatus,
  readPhoneStreamAStatus as readTwilioStatus,
  twiml,
  type PauseBehavior,
  type PhoneStreamACallsConfig,
  type PhoneStreamACallsConfig as TwilioCallsConfig,
} from '../providers/platform/phone-stream-a-calls.ts';
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

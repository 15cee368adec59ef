/* eslint-disable @typescript-eslint/consistent-type-imports -- the declaration of a package cannot import a relative path */
// Optional peers that are not installed here: only what the providers use of them.

declare module '@discordjs/voice' {
  export const createAudioPlayer: import('./chat-voice-packages.ts').ChatVoicePackages['voice']['createAudioPlayer'];
  export const createAudioResource: import('./chat-voice-packages.ts').ChatVoicePackages['voice']['createAudioResource'];
}

declare module '@discordjs/opus' {
  const opus: import('./page-opus.ts').NativeOpusPackage;
  export default opus;
}

declare module 'prism-media' {
  const prism: { readonly opus: import('./chat-voice-packages.ts').ChatVoicePackages['opus'] };
  export default prism;
}

declare module '@azure/communication-calling' {
  type Calling = import('./meeting-call-packages.ts').MeetingCallPackages['calling'];
  export const CallClient: Calling['CallClient'];
  export const LocalAudioStream: Calling['LocalAudioStream'];
}

declare module '@azure/communication-common' {
  type Common = import('./meeting-call-packages.ts').MeetingCallPackages['common'];
  export const AzureCommunicationTokenCredential: Common['AzureCommunicationTokenCredential'];
}

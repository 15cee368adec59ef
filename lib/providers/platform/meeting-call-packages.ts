import type { ListenableLike } from './listenable.ts';

/** A `LocalAudioStream` of `@azure/communication-calling`: what the meeting hears. */
export interface LocalAudioStreamLike {
  /** `RawMedia` for a stream of ours, `Audio` for a microphone. */
  readonly mediaStreamType: string;
  setMediaStream(stream: MediaStream): Promise<void>;
}

/** A `Call`: the parts of it that are used. */
export interface MeetingCallLike extends ListenableLike {
  readonly state: string;
  readonly callEndReason?: { readonly code: number; readonly subCode?: number };
  readonly localAudioStreams: readonly { readonly mediaStreamType: string }[];
  /** Throws where the service has raw media switched off. */
  readonly remoteAudioStreams: readonly { getMediaStream(): Promise<MediaStream> }[];
  mute(): Promise<void>;
  hangUp(): Promise<void>;
}

/** A `CallAgent`. */
export interface CallAgentLike {
  join(locator: { readonly meetingLink: string }, options: object): MeetingCallLike;
  dispose(): Promise<void>;
}

/** The packages that MeetingCallF needs. */
export interface MeetingCallPackages {
  readonly calling: {
    readonly CallClient: new () => { createCallAgent(credential: never, options: object): Promise<CallAgentLike> };
    readonly LocalAudioStream: new (stream: MediaStream) => LocalAudioStreamLike;
  };
  readonly common: {
    readonly AzureCommunicationTokenCredential: new (token: never) => { dispose(): void };
  };
}

// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an optional package that is not installed is declared there
/// <reference path="./optional-packages.d.ts" />
import { missingPackage } from '../../core/optional-peer.ts';
import type { ListenableLike } from './listenable.ts';

/** A `LocalAudioStream` of `@azure/communication-calling`: what the meeting hears. */
export interface LocalAudioStreamLike extends ListenableLike {
  /** `RawMedia` for a stream of ours, `Audio` for a microphone. */
  readonly mediaStreamType: string;
  setMediaStream(stream: MediaStream): Promise<void>;
}

/** The parts of a `Call` that are used. */
export interface MeetingCallLike extends ListenableLike {
  readonly state: string;
  readonly callEndReason?: { readonly code: number; readonly subCode?: number } | undefined;
  /** What the meeting hears from us: the stream given to `join()`, or its replacement. */
  readonly localAudioStreams: readonly { readonly mediaStreamType: string }[];
  /** Throws where the service has raw media turned off. */
  readonly remoteAudioStreams: readonly {
    /** The stream's current media. */
    getMediaStream(): Promise<MediaStream>;
  }[];
  readonly isMuted: boolean;
  /** Mutes the microphone, or what stands in its place. */
  mute(): Promise<void>;
  /** Unmutes it; fails where the meeting does not allow that. */
  unmute(): Promise<void>;
  /** Leaves the call. */
  hangUp(): Promise<void>;
}

/** The package's names for a meeting. Ids of meetings, and their passcodes, need version 1.17.1 or later. */
export type MeetingLocatorLike =
  | { readonly meetingLink: string }
  | { readonly meetingId: string; readonly passcode?: string }
  | { readonly groupId: string }
  | { readonly roomId: string };

/** A `CallAgent`. */
export interface CallAgentLike {
  join(locator: MeetingLocatorLike, options?: JoinOptionsLike): MeetingCallLike;
  dispose(): Promise<void>;
}

/** Options for joining a call. */
export interface JoinOptionsLike {
  audioOptions?: { muted?: boolean; localAudioStreams?: LocalAudioStreamLike[] };
}

/** An `AzureCommunicationTokenCredential` of `@azure/communication-common`. */
export interface CallCredentialLike {
  dispose(): void;
}

/** The packages that MeetingCallF needs. */
export interface MeetingCallPackages {
  readonly calling: {
    readonly CallClient: new () => {
      createCallAgent(credential: CallCredentialLike, options: { displayName?: string }): Promise<CallAgentLike>;
    };
    readonly LocalAudioStream: new (stream: MediaStream) => LocalAudioStreamLike;
  };
  readonly common: {
    readonly AzureCommunicationTokenCredential: {
      new (token: string): CallCredentialLike;
      // eslint-disable-next-line @typescript-eslint/unified-signatures -- the package declares them separately, and its types are compared with these
      new (options: { tokenRefresher: () => Promise<string>; refreshProactively: boolean }): CallCredentialLike;
    };
  };
}

/** @throws VoiceError `missing_package` naming the package that is not installed. */
export async function loadMeetingCallPackages(provider: string): Promise<MeetingCallPackages> {
  return { calling: await loadCalling(provider), common: await loadCommon(provider) };
}

async function loadCalling(provider: string): Promise<MeetingCallPackages['calling']> {
  try {
    return await import('@azure/communication-calling');
  } catch (cause) {
    throw missingPackage(provider, '@azure/communication-calling', '>= 1.13.1', cause);
  }
}

async function loadCommon(provider: string): Promise<MeetingCallPackages['common']> {
  try {
    return await import('@azure/communication-common');
  } catch (cause) {
    throw missingPackage(provider, '@azure/communication-common', '>= 2.0.0', cause);
  }
}

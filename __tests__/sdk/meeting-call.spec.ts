import type {
  CallAgentLike,
  LocalAudioStreamLike,
  MeetingCallLike,
  MeetingCallPackages,
} from '../../lib/providers/platform/meeting-call-packages.ts';
import { callStates } from '../../lib/providers/platform/meeting-call-session.ts';
import type * as Calling from './node_modules/@azure/communication-calling/types/communication-calling.js';
import type * as Common from './node_modules/@azure/communication-common/dist/esm/index.js';

/**
 * The package's own types, which the compiler compares with those that MeetingCallF is written against: each of these
 * functions compiles only while the real object is one of ours, without a cast.
 */
export const accepted = {
  call: (call: Calling.Call): MeetingCallLike => call,
  agent: (agent: Calling.CallAgent): CallAgentLike => agent,
  stream: (stream: Calling.LocalAudioStream): LocalAudioStreamLike => stream,
  packages: (calling: typeof Calling, common: typeof Common): MeetingCallPackages => ({ calling, common }),
  /** The events that are listened to are events of the package's. */
  events: (call: Calling.Call, own: Calling.LocalAudioStream, listener: () => void): void => {
    call.on('stateChanged', listener);
    call.on('localAudioStreamsUpdated', listener);
    call.on('remoteAudioStreamsUpdated', listener);
    call.on('isMutedChanged', listener);
    own.on('audioSourceChanged', listener);
  },
};

/** Every state that the package knows: one that is missing here, or is none of them, does not compile. */
const native: Readonly<Record<Calling.CallState, true>> = {
  ...{ None: true, Connecting: true, Ringing: true, EarlyMedia: true, InLobby: true },
  ...{ Connected: true, LocalHold: true, RemoteHold: true },
  ...{ Disconnecting: true, Disconnected: true },
};

/** What tells our stream from a microphone. */
const raw: Calling.LocalAudioStream['mediaStreamType'] = 'RawMedia';

describe("MeetingCallF and the calling package's types", () => {
  it('has a state for each of the ten of the platform', () => {
    expect(Object.keys(callStates).sort()).toEqual(Object.keys(native).sort());
    expect(new Set(Object.values(callStates))).toEqual(new Set(['InLobby', 'Connected', 'Disconnected']));
    expect(raw).toBe('RawMedia');
  });
});

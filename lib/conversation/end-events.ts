import type { AudioChunk } from '../audio/types.ts';
import type { CallStateChange, MeetingPerson } from '../core/calls.ts';
import type { DeviceEvent } from '../core/roles.ts';
import type { AudioLevel } from '../playback/audio-levels.ts';
import type { MicrophonePermission } from '../playback/microphone-permission.ts';

/** Events of a conversation's ends: its audio, its devices, and the call that it is part of. */
export interface EndEventMap {
  /** The TTS has synthesized some audio. */
  'audio.chunk': { readonly chunk: AudioChunk };
  /** Some audio was captured; only with the option `inputEvents`. */
  'audio.input': { readonly chunk: AudioChunk };
  /** The caller pressed a key. */
  'dtmf.digit': {
    /** `0` to `9`, `*`, `#` or `A` to `D`. */
    readonly digit: string;
  };
  /** The state of the call has changed. */
  'call.state': CallStateChange;
  /** Another participant speaks, according to the meeting's platform. */
  'speaker.active': MeetingPerson;
  /** Somebody has joined the meeting, or was there already. */
  'meeting.joined': MeetingPerson;
  /** Somebody has left the meeting. */
  'meeting.left': MeetingPerson;
  /** The call has ended; the pipeline stops. */
  'call.ended': object;
  /** `mute()` or `unmute()` has changed what the service hears. */
  'input.muted': {
    /** Whether the service now receives silence. */
    readonly muted: boolean;
  };
  /** The user is no longer listened to, or is again, at the latest when the session ends; only with `listening`. */
  'input.listening': {
    /** Whether the service hears the user. */
    readonly listening: boolean;
  };
  /** The state of the microphone, or of the captured track, has changed. */
  'input.device': { readonly change: DeviceEvent };
  /** The user has allowed or denied the microphone, or has yet to be asked; only in browsers that say so. */
  'input.permission': { readonly permission: Exclude<MicrophonePermission, 'unknown'> };
  /**
   * How loud the captured audio is, muted or not, at most 20 times a second; only while somebody listens to this event
   * by name. Compressed audio has no levels.
   */
  'input.level': AudioLevel;
  /**
   * Captured audio was dropped: a queue was full while the service was away, or before the start. At most one event a
   * second, and one at the end of the session.
   */
  'input.overflow': {
    /** Milliseconds dropped since the last such event; an upper bound for compressed audio. */
    readonly lostMs: number;
  };
  /** The state of the speaker has changed. */
  'output.device': { readonly change: DeviceEvent };
  /**
   * How loud the agent is as it plays, at most 20 times a second; only while somebody listens to this event by name, and
   * only of outputs with an `audioNode`, such as `BrowserAudioOutput`.
   */
  'output.level': AudioLevel;
}

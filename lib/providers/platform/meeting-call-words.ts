import type { VoiceErrorCode } from '../../core/errors.ts';
import { asNumber } from '../../core/guard.ts';

/** State of a call, in SPEC.md's names. */
export type MeetingCallState = 'InLobby' | 'Connected' | 'Disconnected';

/** A state of a call, with the platform's own name for it. */
export interface MeetingCallStateChange {
  /** `InLobby` until admitted, then `Connected` (also while on hold), then `Disconnected`. */
  readonly state: MeetingCallState;
  /** The platform's own name: `None`, `Connecting`, `Ringing`, `InLobby`, `EarlyMedia`, `Connected`, `LocalHold`, … */
  readonly raw: string;
}

/** The platform's ten states. */
export const callStates: Readonly<Record<string, MeetingCallState>> = {
  ...{ None: 'InLobby', Connecting: 'InLobby', Ringing: 'InLobby', EarlyMedia: 'InLobby', InLobby: 'InLobby' },
  ...{ Connected: 'Connected', LocalHold: 'Connected', RemoteHold: 'Connected' },
  ...{ Disconnecting: 'Disconnected', Disconnected: 'Disconnected' },
};

/** Why a call ended, by the service's subcodes. */
const endings: Readonly<Record<number, string>> = {
  5829: 'the meeting is not open',
  5854: 'someone in the meeting turned it away from the lobby',
  5855: 'nobody let it in from the lobby',
};

/** What the service rejects before a call begins, by subcode. */
const refusals: Readonly<Record<number, string>> = {
  40210: 'the meetingLink is not valid',
  40228: 'this identity is already used by another call agent: dispose that one or use another identity',
  40234: 'the token could not be renewed',
  40235: 'the token has expired',
  44109: 'the token is empty',
  44113: 'the token lacks the scope voip',
};

/** Why a call ended; `undefined` for a normal end. */
export function endingOf({ code, subCode = 0 }: { code: number; subCode?: number }): string | undefined {
  return endings[subCode] ?? (code === 0 && subCode === 0 ? undefined : `code ${code}, subcode ${subCode}`);
}

/**
 * The package's error in our words, since its own may quote the token. `undefined` for an error that is not the
 * package's.
 */
export function refusalOf(cause: unknown): { why: string; code: VoiceErrorCode } | undefined {
  const subCode = asNumber(typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'subCode') : undefined);
  if (subCode === undefined) return undefined;
  const isCredential = (subCode >= 44_100 && subCode < 44_120) || subCode === 40_234 || subCode === 40_235;
  const unknown = isCredential ? 'the token was rejected' : 'the service rejected the call';
  return { why: `${refusals[subCode] ?? unknown} (${subCode})`, code: isCredential ? 'unauthorized' : 'configuration' };
}

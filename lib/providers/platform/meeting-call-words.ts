import type { VoiceErrorCode } from '../../core/errors.ts';
import { asNumber } from '../../core/guard.ts';

/** Where a call is: SPEC.md's names of the states. */
export type MeetingCallState = 'InLobby' | 'Connected' | 'Disconnected';

/** A state of a call, and the platform's own name of it. */
export interface MeetingCallStateChange {
  /** `InLobby` until it is let in, `Connected`, on hold too, then `Disconnected`. */
  readonly state: MeetingCallState;
  /** The platform's own: `None`, `Connecting`, `Ringing`, `InLobby`, `EarlyMedia`, `Connected`, `LocalHold`, … */
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
  5829: 'the meeting is not open now',
  5854: 'somebody has refused it in the lobby',
  5855: 'nobody has let it in',
};

/** What the service refuses before a call begins, by its subcodes. */
const refusals: Readonly<Record<number, string>> = {
  40210: 'the meetingLink is not valid',
  40228: 'this identity is in another call agent: dispose of that one, or take another identity',
  40234: 'the token could not be renewed',
  40235: 'the token has expired',
  44109: 'the token is empty',
  44113: 'the token lacks the scope voip',
};

/** Why a call has ended; `undefined` for the usual end. */
export function endingOf({ code, subCode = 0 }: { code: number; subCode?: number }): string | undefined {
  return endings[subCode] ?? (code === 0 && subCode === 0 ? undefined : `code ${code}, subcode ${subCode}`);
}

/**
 * What the package threw, without its own words: they may quote the token. `undefined` for what is none of its errors.
 */
export function refusalOf(cause: unknown): { why: string; code: VoiceErrorCode } | undefined {
  const subCode = asNumber(typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'subCode') : undefined);
  if (subCode === undefined) return undefined;
  const isCredential = (subCode >= 44_100 && subCode < 44_120) || subCode === 40_234 || subCode === 40_235;
  const unknown = isCredential ? 'the token is not accepted' : 'the service does not take the call';
  return { why: `${refusals[subCode] ?? unknown} (${subCode})`, code: isCredential ? 'unauthorized' : 'configuration' };
}

/** The state of a call, in words common to all platforms. */
export type CallStateChange =
  /** Not admitted yet, such as in a meeting's lobby. */
  | { readonly state: 'waiting' }
  | { readonly state: 'ringing' }
  | {
      readonly state: 'answered';
      /** Who answered, where the platform looks for that. */
      readonly by?: 'human' | 'machine';
    }
  /** Nobody hears the other for a while. */
  | { readonly state: 'held' }
  /** The caller is being connected to somebody else. */
  | { readonly state: 'transferring' }
  | {
      readonly state: 'ended';
      /** In the platform's words: `stopped` and `closed` on a phone, `ended`, `left` or `lost` in a meeting, `busy`, … */
      readonly reason: string;
    };

/** Somebody in a meeting. */
export interface MeetingPerson {
  /** The platform's id of the person. */
  readonly userId: string;
  /** The name, where the platform gives it. */
  readonly userName?: string;
}

/** Somebody has come or gone. */
export interface MeetingPresence extends MeetingPerson {
  readonly type: 'joined' | 'left';
}

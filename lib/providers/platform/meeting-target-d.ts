import type { ConfigRule } from '../../core/config-rule.ts';

/** Which stream to follow: what the platform's webhook says. */
export interface MeetingTarget {
  /** `meeting_uuid`, as it is. */
  readonly meetingUuid: string;
  /** `rtms_stream_id`. */
  readonly rtmsStreamId: string;
  /** `server_urls`; of several, separated by commas, the first is taken. */
  readonly serverUrl: string;
}

/** Who speaks now. */
export interface ActiveSpeaker {
  /** The platform's id of the speaker. */
  readonly userId: string;
  /** The speaker's name, where the platform tells it. */
  readonly userName?: string;
}

/** Hz, in the order of the platform's codes. */
export const meetingSampleRates: readonly number[] = [8000, 16000, 32000, 48000];

/** What the values may be. */
export const meetingInputDRules: Readonly<Record<string, ConfigRule>> = {
  clientId: { type: 'text', required: true },
  clientSecret: { type: 'text', required: true },
  dataOpt: { oneOf: ['mixed', 'per-participant'] },
  sampleRate: { oneOf: meetingSampleRates },
  sendRateMs: { oneOf: Array.from({ length: 50 }, (_, index) => (index + 1) * 20) },
  bufferData: { type: 'boolean' },
  fillGaps: { type: 'boolean' },
};

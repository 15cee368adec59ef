import type { BackoffOptions } from '../../core/backoff.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import type { RemoteConfig } from '../../core/remote-provider.ts';

/** Configuration of MeetingInputD. */
export interface MeetingInputDConfig extends Pick<RemoteConfig, 'allowInsecure' | 'connectTimeoutMs' | 'scheduler'> {
  /** The app's client id. */
  readonly clientId: string;
  /** The app's client secret, which signs the handshakes and never leaves the server. */
  readonly clientSecret: string;
  /** One stream of the whole meeting, or one of each participant, mixed here for `audio$`. Default: `mixed`. */
  readonly dataOpt?: 'mixed' | 'per-participant';
  /** 8000, 16000, 32000 or 48000 Hz. Default: 16000. */
  readonly sampleRate?: 8000 | 16000 | 32000 | 48000;
  /** Audio in one message: a multiple of 20, from 20 to 1000 ms. Default: 20. */
  readonly sendRateMs?: number;
  /** Whether what was said between the webhook and the connection, up to 60 s, comes in a burst first. Default: false. */
  readonly bufferData?: boolean;
  /** Fills gaps in the mixed audio (everybody is muted) with silence, up to 10 s each. Default: false. */
  readonly fillGaps?: boolean;
  /** How a lost connection is replaced; `false` for not at all. */
  readonly reconnect?: boolean | BackoffOptions;
}

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

import { createHmac } from 'node:crypto';
import { integer, oneOf, required, shape, string } from './validate.ts';
import type { Check } from './validate.ts';

/** What Zoom streams: each names itself differently, in its webhook and in the handshakes. */
export type MeetingProduct = 'meeting' | 'webinar' | 'session' | 'engagement';

/** Hz, in the order of the platform's codes. */
export const sampleRates: readonly number[] = [8000, 16000, 32000, 48000];

const text = required(string);
const isFlag: Check = (value, path) => (typeof value === 'boolean' ? undefined : `${path} must be true or false`);

const prefixes: Readonly<Record<MeetingProduct, string>> = {
  meeting: 'meeting.',
  webinar: 'webinar.',
  session: 'session.',
  engagement: 'contact_center.voice_',
};

/** The field that names the product's meeting. */
export const idFields: Readonly<Record<MeetingProduct, string>> = {
  meeting: 'meeting_uuid',
  webinar: 'meeting_uuid',
  session: 'session_id',
  engagement: 'engagement_id',
};

/** Fields that name the meeting in the handshakes: a session's id stands in both, an engagement has nothing else. */
const identities: Readonly<Record<MeetingProduct, Readonly<Record<string, Check & { readonly required?: true }>>>> = {
  meeting: { meeting_uuid: text },
  webinar: { meeting_uuid: text },
  session: { session_id: text, meeting_uuid: string },
  engagement: { engagement_id: text },
};

const shared = {
  msg_type: required(integer()),
  protocol_version: required(oneOf(1)),
  sequence: required(integer(0)),
  rtms_stream_id: text,
  signature: text,
};

const parameters = {
  audio: shape({
    content_type: required(oneOf(2)),
    sample_rate: required(oneOf(0, 1, 2, 3)),
    channel: required(oneOf(1)),
    codec: required(oneOf(1)),
    data_opt: required(oneOf(1, 2)),
    send_rate: required(oneOf(...Array.from({ length: 50 }, (_, index) => (index + 1) * 20))),
  }),
  transcript: shape({ content_type: required(oneOf(5)), src_language: integer(0, 36), enable_lid: isFlag }),
};

/** The number of each kind of media. */
const mediaTypes = { audio: 1, transcript: 8 } as const;

/** The first message on the signaling socket. */
export const signalingHandshake = (product: MeetingProduct): Check =>
  shape({ ...shared, ...identities[product], buffer_data: isFlag });

/** The first message on a socket for one kind of media. */
export const mediaHandshake = (product: MeetingProduct, kind: keyof typeof mediaTypes): Check =>
  shape({
    ...shared,
    ...identities[product],
    media_type: required(oneOf(mediaTypes[kind])),
    payload_encryption: isFlag,
    media_params: shape({ [kind]: parameters[kind] }),
  });

/** A webhook as the platform sends it: the body, and the headers that vouch for it. */
export interface MeetingWebhook {
  readonly body: string;
  readonly signature: string;
  readonly timestamp: string;
}

/** The webhook that tells of a stream. */
export function webhookOf(
  product: MeetingProduct,
  what: 'rtms_started' | 'rtms_stopped',
  payload: Readonly<Record<string, unknown>>,
  secretToken: string,
): MeetingWebhook {
  const sentAtMs = Date.now();
  const timestamp = String(Math.floor(sentAtMs / 1000));
  const body = JSON.stringify({ event: `${prefixes[product]}${what}`, event_ts: sentAtMs, payload });
  const signature = createHmac('sha256', secretToken).update(`v0:${timestamp}:${body}`).digest('hex');
  return { body, signature: `v0=${signature}`, timestamp };
}

import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { asNumber, asObject, asString } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import { decodeHex, encodeHex } from '../../core/hex.ts';
import { hmacSha256, verifyHmacSha256 } from './hmac.ts';
import type { MeetingTarget } from './meeting-input-d.ts';

/** A webhook request as received. */
export interface MeetingInputDWebhookRequest {
  /** The app's secret token, from its event subscriptions. */
  readonly secretToken: string;
  /** The header `x-zm-signature`. */
  readonly signature: string | undefined;
  /** The header `x-zm-request-timestamp`. */
  readonly timestamp: string | undefined;
  /** The raw body, not parsed and serialized again. */
  readonly body: string;
  /** Maximum age of a webhook, in milliseconds. Default: 300,000. */
  readonly maxAgeMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** A verified webhook. */
export type MeetingInputDWebhook =
  /** A stream is available: answer 200 at once, then pass `target` to `MeetingInputD.connect()`. */
  | { readonly type: 'started'; readonly target: MeetingTarget }
  /** A stream has ended. */
  | { readonly type: 'stopped'; readonly rtmsStreamId: string; readonly stopReason?: number }
  /** The platform checks that the address is yours: answer 200 with `response` as JSON. */
  | { readonly type: 'validation'; readonly response: { readonly plainToken: string; readonly encryptedToken: string } }
  /** Any other event. */
  | { readonly type: 'other'; readonly event: string };

/**
 * Whether a webhook comes from Zoom and is recent. Compares in constant time. Never throws.
 */
export async function verifyMeetingInputDWebhook(request: MeetingInputDWebhookRequest): Promise<boolean> {
  const { secretToken, signature, timestamp, body, maxAgeMs = 300_000, scheduler = asyncScheduler } = request;
  const given = signature?.startsWith('v0=') ? decodeHex(signature.slice(3)) : undefined;
  const stamp = /^\d{1,15}$/.test(timestamp ?? '') ? Number(timestamp) : NaN;
  // In seconds; some deployments send milliseconds.
  const sentAtMs = stamp > 1e11 ? stamp : stamp * 1000;
  const isGenuine =
    given !== undefined && (await verifyHmacSha256(secretToken, given, `v0:${timestamp ?? ''}:${body}`));
  return isGenuine && Math.abs(scheduler.now() - sentAtMs) <= maxAgeMs;
}

/**
 * Verifies a Zoom webhook and reads it, in any of the shapes Zoom uses.
 *
 * @returns `undefined` when it does not come from Zoom: answer 401.
 */
export async function readMeetingInputDWebhook(
  request: MeetingInputDWebhookRequest,
): Promise<MeetingInputDWebhook | undefined> {
  if (!(await verifyMeetingInputDWebhook(request))) return undefined;
  const message = parseJsonObject(request.body);
  const event = asString(message?.['event']) ?? '';
  const payload = asObject(message?.['payload']) ?? {};
  const plainToken = asString(payload['plainToken']);
  if (event === 'endpoint.url_validation' && plainToken !== undefined) {
    const encryptedToken = encodeHex(await hmacSha256(request.secretToken, plainToken));
    return { type: 'validation', response: { plainToken, encryptedToken } };
  }
  // Older versions have the fields flat, newer ones in `object`.
  const stream = asObject(payload['object']) ?? payload;
  // What Zoom calls a meeting's id differs by product.
  const sessionId = asString(stream['session_id']);
  const engagementId = asString(stream['engagement_id']);
  const meetingUuid = asString(stream['meeting_uuid']) ?? asString(stream['webinar_uuid']) ?? engagementId ?? sessionId;
  const rtmsStreamId = asString(stream['rtms_stream_id']);
  const serverUrl = asString(stream['server_urls']);
  if (/[._]rtms_started$/.test(event) && meetingUuid && rtmsStreamId && serverUrl) {
    const product = engagementId === meetingUuid ? { engagementId } : sessionId ? { sessionId } : {};
    return { type: 'started', target: { meetingUuid, rtmsStreamId, serverUrl, ...product } };
  }
  if (/[._]rtms_stopped$/.test(event) && rtmsStreamId) {
    const stopReason = asNumber(stream['stop_reason']);
    return { type: 'stopped', rtmsStreamId, ...(stopReason !== undefined && { stopReason }) };
  }
  return { type: 'other', event };
}

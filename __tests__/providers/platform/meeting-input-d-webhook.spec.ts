import { createHmac } from 'node:crypto';
import { VirtualTimeScheduler } from 'rxjs';
import {
  readMeetingInputDWebhook,
  verifyMeetingInputDWebhook,
} from '../../../lib/providers/platform/meeting-input-d-webhook.ts';

const secretToken = 'tokenC3';
const scheduler = new VirtualTimeScheduler();
scheduler.frame = 1_732_313_171_881;
const seconds = String(Math.floor(scheduler.frame / 1000));
const sign = (body: string, timestamp = seconds, secret = secretToken): string =>
  `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
const request = (body: string, timestamp = seconds) => ({
  ...{ secretToken, scheduler, body, timestamp, signature: sign(body, timestamp) },
});

const stream = {
  meeting_uuid: '4444AAAiAAAAAiAiAiiAii==',
  rtms_stream_id: '609340fb2a7946909659956c8aa9250c',
  server_urls: 'wss://rtms.example.com/signaling',
};
const target = {
  meetingUuid: stream.meeting_uuid,
  rtmsStreamId: stream.rtms_stream_id,
  serverUrl: stream.server_urls,
};
const webhook = (event: string, payload: unknown): string => JSON.stringify({ event, event_ts: 1, payload });
const started = webhook('meeting.rtms_started', { account_id: 'A1', ...stream });

describe('a webhook of the platform', () => {
  for (const [what, change, expected] of [
    ['as it came', {}, true],
    ['with its time in milliseconds', request(started, String(scheduler.frame)), true],
    ['of five minutes ago', request(started, String(Number(seconds) - 299)), true],
    ['of an hour ago: a replay', request(started, String(Number(seconds) - 3600)), false],
    ['of the future', request(started, String(Number(seconds) + 3600)), false],
    ['whose body was changed', { body: `${started} ` }, false],
    ['whose time was changed', { timestamp: String(Number(seconds) + 1) }, false],
    ['signed with another token', { signature: sign(started, seconds, 'another') }, false],
    ['without a signature', { signature: undefined }, false],
    ['without a time', { timestamp: undefined }, false],
    ['with a time that is none', request(started, 'now'), false],
    ['with a signature of another version', { signature: sign(started).replace('v0', 'v1') }, false],
    ['with half a signature', { signature: sign(started).slice(0, 20) }, false],
    ['with a signature that is no hexadecimal', { signature: 'v0=zz' }, false],
    ['with an empty token', { secretToken: '', signature: sign(started, seconds, '') }, false],
  ] as const) {
    it(`is ${expected ? 'genuine' : 'refused'}: ${what}`, async () => {
      const given = { ...request(started), ...change };
      expect(await verifyMeetingInputDWebhook(given)).toBe(expected);
      expect((await readMeetingInputDWebhook(given)) !== undefined).toBe(expected);
    });
  }

  for (const [what, body, expected] of [
    ['a start, flat', started, { type: 'started', target }],
    ['a start in an object', webhook('meeting.rtms_started', { object: stream }), { type: 'started', target }],
    ['a start of a webinar', webhook('webinar.rtms_started', stream), { type: 'started', target }],
    [
      'a start of a webinar with an id of its own',
      webhook('webinar.rtms_started', { ...stream, meeting_uuid: undefined, webinar_uuid: 'w/1==' }),
      { type: 'started', target: { ...target, meetingUuid: 'w/1==' } },
    ],
    [
      'a start of a session',
      webhook('session.rtms_started', { object: { ...stream, meeting_uuid: undefined, session_id: 's/1==' } }),
      { type: 'started', target: { ...target, meetingUuid: 's/1==', sessionId: 's/1==' } },
    ],
    [
      'a start of an engagement',
      webhook('contact_center.voice_rtms_started', { ...stream, meeting_uuid: undefined, engagement_id: 'e-1' }),
      { type: 'started', target: { ...target, meetingUuid: 'e-1', engagementId: 'e-1' } },
    ],
    [
      'a stop of an engagement',
      webhook('contact_center.voice_rtms_stopped', stream),
      { type: 'stopped', rtmsStreamId: stream.rtms_stream_id },
    ],
    [
      'a stop',
      webhook('meeting.rtms_stopped', { ...stream, stop_reason: 6 }),
      { type: 'stopped', rtmsStreamId: stream.rtms_stream_id, stopReason: 6 },
    ],
    [
      'a stop in an object, without a reason',
      webhook('meeting.rtms_stopped', { object: stream }),
      { type: 'stopped', rtmsStreamId: stream.rtms_stream_id },
    ],
    [
      'a question whose address this is',
      webhook('endpoint.url_validation', { plainToken: 'qgg8vlvZRS6UYooatFL8Aw' }),
      {
        type: 'validation',
        response: {
          plainToken: 'qgg8vlvZRS6UYooatFL8Aw',
          encryptedToken: '42ef9e4fb414bcd45407dfbf93e1615f41137b00984a9de1771af0b623f71684',
        },
      },
    ],
    ['another event', webhook('meeting.ended', {}), { type: 'other', event: 'meeting.ended' }],
    [
      'a start that lacks something',
      webhook('meeting.rtms_started', {}),
      { type: 'other', event: 'meeting.rtms_started' },
    ],
    [
      'a question without a token',
      webhook('endpoint.url_validation', {}),
      { type: 'other', event: 'endpoint.url_validation' },
    ],
    ['nonsense', 'x', { type: 'other', event: '' }],
  ] as const) {
    it(`is read: ${what}`, async () => {
      expect(await readMeetingInputDWebhook(request(body))).toEqual(expected);
    });
  }
});

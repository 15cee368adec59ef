// Zoom's classes, under the library's names and under the vendor's: the very same.
export {
  readMeetingInputDWebhook,
  readMeetingInputDWebhook as readZoomWebhook,
  verifyMeetingInputDWebhook,
  verifyMeetingInputDWebhook as verifyZoomWebhook,
  type MeetingInputDWebhook,
  type MeetingInputDWebhookRequest,
} from '../providers/platform/meeting-input-d-webhook.ts';
export {
  MeetingInputD,
  MeetingInputD as ZoomMeetingInput,
  type MeetingInputDConfig,
  type MeetingInputDConfig as ZoomMeetingInputConfig,
  type MeetingTarget,
  type MeetingTranscript,
} from '../providers/platform/meeting-input-d.ts';
export type { MeetingStreamState } from '../providers/platform/meeting-words-d.ts';

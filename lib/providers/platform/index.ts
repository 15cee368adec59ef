export * from './call-provider.ts';
export * from './chat-voice-c.ts';
export type { PacketStreamLike, PlayerSubscriptionLike, VoiceConnectionLike } from './chat-voice-packages.ts';
export type { ListenableLike } from './listenable.ts';
export {
  MeetingCallF,
  type MeetingCallFConfig,
  type MeetingCallState,
  type MeetingCallStateChange,
} from './meeting-call-f.ts';
export * from './meeting-input.ts';
export * from './meeting-input-d.ts';
export * from './meeting-input-d-webhook.ts';
export * from './meeting-input-e.ts';
export type { MeetingSessionStatus } from './meeting-people-e.ts';
export type { MeetingStreamState } from './meeting-stream-d.ts';
export * from './phone-provider.ts';
export * from './phone-socket-b.ts';
export * from './phone-socket-b-signature.ts';
export * from './phone-stream-a.ts';
export * from './phone-stream-a-signature.ts';
export type {
  CorkableStream,
  DomSocketEvent,
  DomSocketLike,
  NodeSocketLike,
  PlatformSocket,
} from './platform-socket.ts';

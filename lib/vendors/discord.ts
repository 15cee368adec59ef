// Discord's classes, under the library's names and under the vendor's: the very same.
export {
  ChatVoiceC,
  ChatVoiceC as DiscordVoice,
  type ChatVoiceCConfig,
  type ChatVoiceCConfig as DiscordVoiceConfig,
  type ChatVoiceEnd,
  type SpeakingMember,
} from '../providers/platform/chat-voice-c.ts';
export type {
  PacketStreamLike,
  PlayerSubscriptionLike,
  VoiceConnectionLike,
} from '../providers/platform/chat-voice-packages.ts';

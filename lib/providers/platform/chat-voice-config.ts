import type { SchedulerLike } from 'rxjs';
import type { ConfigRule } from '../../core/config-rule.ts';

/** Configuration of ChatVoiceC. The bot, its intents and the channel are the application's. */
export interface ChatVoiceCConfig {
  /** Whose voices are heard, by their ids; a function decides for each. Default: everybody's. */
  readonly listensTo?: readonly string[] | ((userId: string) => boolean);
  /** Silence after which a member's stream ends, until that one speaks again, in milliseconds. Default: 1000. */
  readonly silenceMs?: number;
  /** How much audio the player may hold that was not heard, 0 to 1000 ms. Default: 60. */
  readonly leadMs?: number;
  /** How long a connection may be disconnected before the call counts as over, in milliseconds. Default: 5000. */
  readonly reconnectMs?: number;
  /** Longest wait for a connection to be ready before an error says why it may not be, in milliseconds. Default: 20,000. */
  readonly connectTimeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** How a call ended: the connection was destroyed, stayed disconnected, or was given up by us. */
export interface ChatVoiceEnd {
  /** Which of them it was. */
  readonly reason: 'destroyed' | 'disconnected' | 'detached';
  /** The code with which the platform closed a connection that stayed disconnected: 4014 when the bot was removed. */
  readonly closeCode?: number;
}

/** Whether a member speaks. */
export interface SpeakingMember {
  /** The platform's id of the member. */
  readonly userId: string;
  /** False when the member has ceased to. */
  readonly isSpeaking: boolean;
}

/** What its values may be. */
export const chatVoiceRules: Readonly<Record<string, ConfigRule>> = {
  silenceMs: { min: 100, max: 60_000 },
  leadMs: { min: 0, max: 1000 },
  reconnectMs: { min: 0, max: 600_000 },
  connectTimeoutMs: { min: 1, max: 600_000 },
};

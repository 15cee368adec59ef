import type { Logger } from '../core/logger.ts';
import type { VoiceDetector } from '../core/roles.ts';
import type { ConversationOptions, SettingsChange } from '../conversation/conversation-options.ts';
import type { History, HistoryOptions } from '../conversation/history.ts';
import type { AnyProvider } from './roles.ts';

/** Options of a pipeline. */
export interface PipelineOptions extends Omit<ConversationOptions, 'history'> {
  /** Providers for the five roles; one may fill several. */
  readonly providers: readonly AnyProvider[];
  /** How much to remember, or a {@link History} to continue. */
  readonly history?: HistoryOptions | History;
  /**
   * Detects the user's voice in the captured audio, on its own clock, instead of the speech-to-text service's events:
   * `energyVad()` of `rxvoice/vad`, or your own. Needs an input that captures PCM. Default: none.
   */
  readonly vad?: VoiceDetector;
  /** Whether captured audio is also emitted as `audio.input` events. Default: false. */
  readonly inputEvents?: boolean;
  /**
   * Receives what callbacks threw and what did not stop cleanly; also used by providers without a logger of their own.
   * A provider keeps the first logger it is given. Default: none.
   */
  readonly logger?: Logger;
}

/** Options that `update()` can change. */
export interface PipelineUpdate extends SettingsChange {
  /** Said at the next start. */
  readonly greeting?: string | undefined;
}

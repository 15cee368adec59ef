import type { Observable } from 'rxjs';
import type { AudioChunk } from '../audio/types.ts';
import type {
  ConnectionEvent,
  DeviceEvent,
  LLMProvider,
  OutputProvider,
  SpeechEvent,
  TranscriptionResult,
  TTSProvider,
  VoiceActivity,
} from '../core/roles.ts';
import type { Phrases } from '../text/phrases.ts';
import type { captions } from './answer/captions.ts';
import type { Command } from './commands.ts';

/** @internal Publishes what is heard, word by word. */
export type Captions = typeof captions;

/** The streams and functions that make up a conversation. */
export interface ConversationPorts {
  readonly transcripts$: Observable<TranscriptionResult>;
  readonly speech$: Observable<SpeechEvent>;
  /** The connection to speech-to-text: the user's turn waits while it is down. Default: always connected. */
  readonly connection$?: Observable<ConnectionEvent> | undefined;
  /** The state of the microphone: while it is lost or muted, nobody is heard. Default: it always works. */
  readonly device$?: Observable<DeviceEvent>;
  readonly commands$: Observable<Command>;
  readonly llm: Pick<LLMProvider, 'name' | 'generate' | 'warm' | 'patienceMs'>;
  readonly tts: Pick<
    TTSProvider,
    'name' | 'speak' | 'words$' | 'maxTextLength' | 'normalizesText' | 'delivers' | 'warm'
  >;
  readonly output: Pick<OutputProvider, 'name' | 'play' | 'positionMs' | 'tailMs' | 'pause' | 'resume' | 'setVolume'>;
  /** Whether `speech$` reports the end of speech. Default: false. */
  readonly reportsSpeechEnd?: boolean;
  /**
   * The commands and backchannels of the users' language, from `loadPhrases()`. Default: English, until those of the
   * `locale` are loaded.
   */
  readonly phrases?: Phrases;
  /** A voice detector's events, which replace the starts and ends of `speech$`. Default: none. */
  readonly voice$?: Observable<VoiceActivity>;
  /** The name of the speech-to-text provider. */
  readonly sttName?: string;
  /** Silence after which it ends an utterance, in milliseconds. Default: it judges the end in other ways. */
  readonly sttPauseMs?: number | undefined;
  /** Asks the speech-to-text service to finalize. Default: it does not support that. */
  readonly finalize?: (() => void) | undefined;
  /** Sends the speech-to-text service the user's audio, or silence. */
  readonly listen?: (isOn: boolean) => void;
  /** Switches push-to-talk on or off: the microphone is open only while the application says so. */
  readonly pushToTalk?: (isOn: boolean) => void;
  /** When a position in the captured audio, in milliseconds, was captured, on the scheduler's clock. */
  readonly capturedAt?: (positionMs: number) => number | undefined;
  /** @internal The code of captions while somebody listens to them, `undefined` while nobody does. Default: never. */
  readonly captions$?: Observable<Captions | undefined>;
  /**
   * Converts between TTS and output, if their formats differ.
   *
   * @param sourceOf - The name of the voice that a chunk comes from.
   */
  transcode?(audio$: Observable<AudioChunk>, sourceOf: (chunk: AudioChunk) => string): Observable<AudioChunk>;
}

import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { thetaRealtimeSTT } from '../retiring.ts';
import type { ThetaTurnDetection } from '../theta-realtime.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

/** Configuration of {@link ThetaRealtimeSTT}. `language` is ISO 639-1, as a hint. */
export interface ThetaRealtimeSTTConfig extends StreamingSTTConfig, ThetaRealtimeSTTOptions {
  /**
   * `gpt-live-transcribe`, `gpt-transcribe`, `gpt-realtime-whisper`; others pass through. The default retires in February
   * 2027. Default: `gpt-4o-mini-transcribe`.
   */
  readonly model?: ThetaRealtimeSTTModel;
  /** What the conversation is about, and words to expect; not for `gpt-realtime-whisper`. */
  readonly prompt?: string;
  /** How the service detects the end of an utterance; `null` leaves it to {@link ThetaRealtimeSTT.finalize}. */
  readonly turnDetection?: ThetaTurnDetection | null;
  /** For a microphone close to the mouth, or across the room. Default: none. */
  readonly noiseReduction?: 'near_field' | 'far_field' | (string & {});
}

/** A model of {@link ThetaRealtimeSTT}; others are passed through. */
export type ThetaRealtimeSTTModel =
  | 'gpt-live-transcribe'
  | 'gpt-transcribe'
  | 'gpt-realtime-whisper'
  | 'gpt-4o-mini-transcribe'
  | 'gpt-4o-transcribe'
  | 'whisper-1'
  | (string & {});

/** Additional options of {@link ThetaRealtimeSTT}. */
export interface ThetaRealtimeSTTOptions {
  /** Additional fields of the wire's `session`, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Words to listen for; `gpt-transcribe` and `gpt-live-transcribe` only. */
  readonly keywords?: readonly string[];
  /** How long words may take, for better accuracy; `gpt-live-transcribe` and `gpt-realtime-whisper` only. Default: the service's. */
  readonly delay?: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | (string & {});
  /** Whether results have a confidence. Default: false. */
  readonly includeLogprobs?: boolean;
  /** The organization to bill. */
  readonly organizationId?: string;
  /** The project to bill. */
  readonly projectId?: string;
}

const defaultModel = 'gpt-4o-mini-transcribe';

/** Rules for the keys, and the service's names for those sent as they are. */
const rules: ConfigRules = {
  ...{ extraBody: {}, organizationId: {}, projectId: {} },
  model: { type: 'text', wire: 'model', default: defaultModel },
  language: { type: 'text' },
  prompt: { type: 'text', wire: 'prompt' },
  'turnDetection.type': { known: ['server_vad', 'semantic_vad'] },
  'turnDetection.threshold': { min: 0, max: 1 },
  'turnDetection.prefixPaddingMs': { min: 0, integer: true },
  'turnDetection.silenceDurationMs': { min: 0, integer: true },
  'turnDetection.eagerness': { known: ['low', 'medium', 'high', 'auto'] },
  noiseReduction: { known: ['near_field', 'far_field'] },
  keywords: { type: 'texts', wire: 'keywords' },
  delay: { known: ['minimal', 'low', 'medium', 'high', 'xhigh'], wire: 'delay' },
  includeLogprobs: { type: 'boolean' },
};

/** Whether a name is of these models: a snapshot's ends with a date, and a gateway's begins with a vendor. */
const isOf =
  (...models: readonly string[]) =>
  ({ model = defaultModel }: ThetaRealtimeSTTConfig): boolean => {
    const name = model.slice(model.lastIndexOf('/') + 1);
    return models.some((each) => name === each || name.startsWith(`${each}-`));
  };

const listing = ['gpt-transcribe', 'gpt-live-transcribe'] as const;
const live = ['gpt-live-transcribe', 'gpt-realtime-whisper'] as const;

/** What the dialect needs too. */
export interface ThetaRealtimeFacts {
  readonly rules: ConfigRules;
  /** Whether the model supports several languages, and words to listen for. */
  readonly lists: (config: ThetaRealtimeSTTConfig) => boolean;
  /** Whether the model transcribes while the user speaks, and leaves the ends of utterances to the client. */
  readonly isLive: (config: ThetaRealtimeSTTConfig) => boolean;
}

const facts: ThetaRealtimeFacts = { rules, lists: isOf(...listing), isLive: isOf(...live) };
const isPromptless = isOf('gpt-realtime-whisper', 'gpt-4o-transcribe-diarize');

/** What is known of OpenAI's transcription before anybody speaks to it. */
export const thetaRealtimeWire: LateSTTWire<ThetaRealtimeSTTConfig> = {
  name: 'ThetaRealtimeSTT',
  baseUrl: () => 'https://api.openai.com/v1',
  accepts: () => [
    { encoding: 'linear16', sampleRates: [24_000] },
    { encoding: 'mulaw', sampleRates: [8_000] },
    { encoding: 'alaw', sampleRates: [8_000] },
  ],
  rules,
  retiring: thetaRealtimeSTT,
  reportsSpeechEnd: true,
  authType: () => 'bearer',
  conflict: conflictOf,
  load: async ({ name }) => {
    const { thetaRealtimeDialect } = await new OnDemand(name, () => import('./theta-realtime-dialect.ts')).load();
    return thetaRealtimeDialect(facts);
  },
};

/**
 * OpenAI Realtime API, transcription sessions, at `wss://api.openai.com/v1/realtime?intent=transcription`: voice
 * activity, and the words of each utterance; no word times. See
 * https://platform.openai.com/docs/guides/realtime-transcription.
 */
export class ThetaRealtimeSTT extends StreamingSTT<ThetaRealtimeSTTConfig> {
  constructor(config: ThetaRealtimeSTTConfig, logger?: Logger) {
    super(thetaRealtimeWire, config, logger);
  }
}

/** A conflict between keys, as a sentence; `undefined` if there is none. */
function conflictOf(config: ThetaRealtimeSTTConfig): string | undefined {
  const { prompt, keywords, delay, language, model = defaultModel } = config;
  const conflicts: readonly (readonly [boolean, string])[] = [
    [prompt !== undefined && isPromptless(config), `${model} does not support prompt`],
    [keywords !== undefined && !facts.lists(config), `only ${listing.join(' and ')} take keywords, not ${model}`],
    [delay !== undefined && !facts.isLive(config), `only ${live.join(' and ')} support delay, not ${model}`],
    [language !== undefined && !/^[a-z]{2,3}\b/i.test(language), 'language must be a code such as en'],
  ];
  return conflicts.find(([applies]) => applies)?.[1];
}

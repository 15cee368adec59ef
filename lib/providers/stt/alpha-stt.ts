import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { Query } from '../../core/remote-provider.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

/** Additional options of {@link AlphaSTT}. */
export interface AlphaSTTExtras {
  /** Whether the service reports the start of speech before its words. Default: true. */
  readonly vadEvents?: boolean;
  /** Words to listen for, of 500 tokens at most. Nova-3 only. `updateConfig()` changes them without reconnecting. */
  readonly keyterms?: readonly string[];
  /**
   * Transcribes each channel of the audio apart; results name theirs in `metadata.channel`. The service bills each, and
   * takes up to 20. Default: false.
   */
  readonly multichannel?: boolean;
  /** Additional parameters, as in the service's docs. */
  readonly parameters?: Query;
}

/** Processing options; see the service's docs for details. */
export interface AlphaSTTOptions extends AlphaSTTExtras {
  /** Default: `nova-3`. Others: `nova-2`, `nova-3-medical` and more. */
  readonly model?: string;
  /** Formats numbers, dates and the like. Default: true. */
  readonly smartFormat?: boolean;
  /** Punctuation and capitals. Default: true. */
  readonly punctuation?: boolean;
  /** Default: false. */
  readonly profanityFilter?: boolean;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly diarize?: boolean;
  /** Silence that ends an utterance, in milliseconds; `false` for never. Default: 300. */
  readonly endpointing?: number | false;
  /** Milliseconds without a word that end an utterance when noise hides silence, 1,000 or more. Default: 1,000. */
  readonly utteranceEndMs?: number | false;
}

/** Configuration of {@link AlphaSTT}. `language` is BCP 47, or `multi`; default: `en-US`. */
export interface AlphaSTTConfig extends StreamingSTTConfig {
  /** Requested options. Default: the service's own. */
  readonly options?: AlphaSTTOptions;
}

const alphaRules: ConfigRules = {
  'options.model': { type: 'text', wire: 'model', default: 'nova-3' },
  language: { type: 'text', wire: 'language', default: 'en-US' },
  interimResults: { type: 'boolean', wire: 'interim_results', default: true },
  'options.punctuation': { type: 'boolean', wire: 'punctuate', default: true },
  'options.smartFormat': { type: 'boolean', wire: 'smart_format', default: true },
  'options.profanityFilter': { type: 'boolean', wire: 'profanity_filter' },
  'options.diarize': { type: 'boolean', wire: 'diarize_model', toWire: (isOn) => (isOn ? 'latest' : undefined) },
  'options.endpointing': { min: 0, integer: true, orFalse: true, wire: 'endpointing', default: 300 },
  'options.utteranceEndMs': { min: 1_000, integer: true, orFalse: true, wire: 'utterance_end_ms', default: 1_000 },
  'options.vadEvents': { type: 'boolean', wire: 'vad_events', default: true },
  'options.keyterms': { type: 'texts', wire: 'keyterm' },
  'options.multichannel': { type: 'boolean', wire: 'multichannel' },
  'options.parameters': {},
};

/** The service's encodings. */
const encodings = ['linear16', 'linear32', 'mulaw', 'alaw'] as const;

/** How many channels it takes apart; stereo is the usual. */
const channelCounts: readonly number[] = [2, 1, ...Array.from({ length: 18 }, (_, more) => 3 + more)];

/** What is known of Deepgram before anybody speaks to it. */
export const alphaWire: LateSTTWire<AlphaSTTConfig> = {
  name: 'AlphaSTT',
  baseUrl: () => 'https://api.deepgram.com',
  accepts: ({ options }) =>
    encodings.map((encoding) => ({ encoding, ...(options?.multichannel && { channels: channelCounts }) })),
  rules: alphaRules,
  pauseMs: ({ options: { endpointing = 300 } = {} }) => (endpointing === false ? undefined : endpointing),
  conflict({ options: { model = 'nova-3', keyterms } = {} }) {
    return keyterms && !model.startsWith('nova-3') ? `options.keyterms is for Nova-3, not ${model}` : undefined;
  },
  load: async ({ name }) => {
    const { alphaDialect } = await new OnDemand(name, () => import('./alpha-stt-dialect.ts')).load();
    return alphaDialect(alphaRules);
  },
};

/**
 * Deepgram live transcription, API V1 (Nova), at `wss://api.deepgram.com/v1/listen`: word times, confidence and voice
 * activity; no preflight. See https://developers.deepgram.com/docs/live-streaming-audio.
 */
export class AlphaSTT extends StreamingSTT<AlphaSTTConfig> {
  constructor(config: AlphaSTTConfig, logger?: Logger) {
    super(alphaWire, config, logger);
  }
}

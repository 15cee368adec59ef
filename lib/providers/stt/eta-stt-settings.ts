import type { ConfigRules } from '../../core/config-rule.ts';
import type { Query } from '../../core/remote-provider.ts';
import { primaryLanguage, snakeKeys } from '../../core/wire-names.ts';
import type { EtaSTTConfig } from './eta-stt.ts';
import type { NamedEncodings } from './streaming/named-encodings.ts';
import type { Failures } from './streaming-stt.ts';

/** Keys of {@link EtaSTTConfig} that go beyond the usual. */
export interface EtaSTTOptions {
  /** A vocabulary that was sent to the service before; English only. */
  readonly customVocabularyId?: string;
  /** Which generation of models hears. Default: the service's, by language. */
  readonly transcriber?: 'machine' | 'machine_v2';
  /** Whether words name their speaker; with `machine_v2` only. Default: false. */
  readonly enableSpeakerSwitch?: boolean;
  /** Whether finals come without punctuation, capitals and numbers; English and Spanish. Default: false. */
  readonly skipPostprocessing?: boolean;
  /** Whether interim results have times and confidence, which costs accuracy. Default: false. */
  readonly detailedPartials?: boolean;
  /** What counts more; English and Spanish with `machine_v2`. Default: the service's, `speed`. */
  readonly priority?: 'speed' | 'accuracy';
  /** A text of up to 512 characters that the service keeps with the job. */
  readonly metadata?: string;
  /** Seconds after which the service deletes the job, 0 to 2,592,000. */
  readonly deleteAfterSeconds?: number;
  /** How long the service may wait for a free worker, 60 to 600 seconds. Default: the service's, 60. */
  readonly maxConnectionWaitSeconds?: number;
  /** What the audio is, where it is not samples: `audio/x-flac` or `audio/x-wav`, with its parameters. */
  readonly contentType?: string;
}

const languages = ['en', 'fr', 'de', 'it', 'ja', 'ko', 'cmn', 'pt', 'es'];

/** The service's names of the encodings that it takes as samples. */
export const etaEncodings: NamedEncodings = { S16LE: 'linear16', F32LE: 'linear32' };

/** What the keys may hold. */
export const etaRules: ConfigRules = {
  sampleRate: { min: 8_000, max: 48_000, integer: true },
  filterProfanity: { type: 'boolean' },
  removeDisfluencies: { type: 'boolean' },
  maxSegmentDurationSeconds: { min: 5, max: 30, integer: true },
  customVocabularyId: { type: 'text' },
  transcriber: { oneOf: ['machine', 'machine_v2'] },
  enableSpeakerSwitch: { type: 'boolean' },
  skipPostprocessing: { type: 'boolean' },
  detailedPartials: { type: 'boolean' },
  priority: { oneOf: ['speed', 'accuracy'] },
  metadata: { maxLength: 512 },
  deleteAfterSeconds: { min: 0, max: 2_592_000, integer: true },
  maxConnectionWaitSeconds: { min: 60, max: 600, integer: true },
  contentType: { type: 'text' },
};

/** What the service's closes mean; there are no messages for it. */
export const etaFailures: Failures = {
  1007: { code: 'protocol', hint: 'it takes a message for invalid' },
  4001: { code: 'unauthorized', hint: 'it does not accept the access token' },
  4002: { code: 'configuration', hint: 'it refuses a setting' },
  4003: { code: 'quota', hint: 'the account has nothing left to spend' },
  4010: { code: 'overloaded', recoverable: true, hint: 'it is shutting down' },
  4013: { code: 'overloaded', recoverable: true, hint: 'it has no free worker' },
  4029: { code: 'rate_limited', recoverable: true, hint: 'too many streams at once' },
};

/** The service's name of the language: without a region. */
export function etaLanguage({ language = 'en' }: EtaSTTConfig): string {
  const primary = primaryLanguage(language);
  return primary === 'zh' ? 'cmn' : primary;
}

/** What does not go together, as a sentence for people. */
export function etaConflict(config: EtaSTTConfig): string | undefined {
  const language = etaLanguage(config);
  const { transcriber, contentType } = config;
  const english = (['filterProfanity', 'removeDisfluencies', 'customVocabularyId'] as const).find((key) => config[key]);
  const european = (['skipPostprocessing', 'priority'] as const).find((key) => config[key]);
  const conflicts: readonly (readonly [boolean, string])[] = [
    [!languages.includes(language), `language must be ${languages.join(', ')}, not ${language.slice(0, 20)}`],
    [english !== undefined && language !== 'en', `${english ?? ''} is for English only`],
    [european !== undefined && !['en', 'es'].includes(language), `${european ?? ''} is for English and Spanish only`],
    [config.priority !== undefined && transcriber !== 'machine_v2', "priority needs transcriber 'machine_v2'"],
    [
      config.enableSpeakerSwitch === true && transcriber !== 'machine_v2',
      "enableSpeakerSwitch needs transcriber 'machine_v2'",
    ],
    [
      contentType !== undefined && !/^audio\/x-(flac|wav)\b/.test(contentType),
      'contentType must be audio/x-flac or audio/x-wav',
    ],
  ];
  return conflicts.find(([applies]) => applies)?.[1];
}

/** The parameters of the address; what is off, and English, is left out. */
export function etaQuery(config: EtaSTTConfig): Query {
  const language = etaLanguage(config);
  const said = snakeKeys(config, [
    ...(['filterProfanity', 'removeDisfluencies', 'maxSegmentDurationSeconds', 'customVocabularyId'] as const),
    ...(['transcriber', 'enableSpeakerSwitch', 'skipPostprocessing', 'detailedPartials', 'priority'] as const),
    ...(['metadata', 'deleteAfterSeconds', 'maxConnectionWaitSeconds'] as const),
  ]);
  return {
    language: language === 'en' ? undefined : language,
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== false)),
  };
}

import { ownEntry } from '../../core/own-entry.ts';
import type { PhiFacts, PhiTTSConfig, PhiTTSFormat } from './phi-tts.ts';
import type { RequestDialect } from './requests/request-wire.ts';

/** The media type of each format. */
const mediaTypes: Readonly<Record<PhiTTSFormat, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg;codecs=opus',
  webm: 'audio/webm;codecs=opus',
  // Little-endian, despite RFC 2586.
  pcm: 'audio/L16',
  mulaw: 'audio/PCMU',
};

/** Languages by ISO 639-1 code: their three-letter codes, the service's own first. */
const languages: Readonly<Record<string, readonly string[]>> = {
  en: ['eng'],
  es: ['spa'],
  fr: ['fra', 'fre'],
  de: ['ger', 'deu'],
  pt: ['por'],
  ja: ['jpn'],
  ar: ['ara'],
  hi: ['hin'],
};

/** How Rime is spoken to. */
export const phiDialect = (facts: PhiFacts): RequestDialect<PhiTTSConfig> => ({
  request: (text, { config }) => {
    const { modelOf, isMistV2, rateOf, hasContainer, own } = facts;
    const { audioFormat, speaker, samplingRate, inlineSpeedAlpha, pauseBetweenBrackets } = config;
    return {
      path: '/v1/rime-tts',
      headers: { Accept: ownEntry(mediaTypes, audioFormat) ?? mediaTypes.mp3 },
      json: {
        text,
        speaker,
        modelId: modelOf(config),
        lang: languageOf(facts, config),
        // Raw samples do not include their rate, so it is always sent.
        samplingRate: samplingRate ?? (hasContainer(config) ? undefined : rateOf(config)),
        inlineSpeedAlpha,
        pauseBetweenBrackets,
        ...Object.fromEntries(own[isMistV2(config) ? 'mistv2' : 'others'].map((key) => [key, config[key]])),
      },
    };
  },
  // An unpaid account is rejected as if its key were wrong.
  errorOf: ({ text }) => (text.trim() === 'invalid subscription' ? { code: 'quota' } : undefined),
});

/** `mistv2` uses three-letter codes, `mistv3` two-letter ones, `coda` both. */
function languageOf({ isMistV2 }: PhiFacts, config: PhiTTSConfig): string | undefined {
  const { language = '' } = config;
  const entry = Object.entries(languages).find(([two, three]) => two === language || three.includes(language));
  return entry ? (isMistV2(config) ? entry[1][0] : entry[0]) : config.language;
}

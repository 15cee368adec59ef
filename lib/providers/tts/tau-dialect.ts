import { decodeBase64 } from '../../core/base64.ts';
import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { RequestDialect } from './requests/request-wire.ts';
import type { TauTTSConfig } from './tau-tts.ts';
import type { TTSVoice } from './tts-voice.ts';
import { endMarks, hearMarks, type SpeechMark } from './words/speech-marks.ts';
import type { WordTiming } from './words/spread-words.ts';

/** How LMNT is spoken with; `version` are the headers that name a version of its API. */
export const tauDialect = (version: Readonly<Record<string, string>>): RequestDialect<TauTTSConfig> =>
  ({
    credential: (key) => ({ 'X-API-Key': key }),
    // It is undocumented whether the service counts code points or UTF-16 units: the latter are never fewer.
    lengthOf: ({ length }) => length,
    request: (text, { config, parameters }) => ({
      path: config.wordTimings ? '/v1/ai/speech' : '/v1/ai/speech/bytes',
      headers: { ...version, Accept: config.wordTimings ? 'application/json' : 'application/octet-stream' },
      json: { text, ...parameters },
    }),
    read: (response, context) =>
      context.answers.object(response, ({ audio, timestamps }) => {
        const data = decodeBase64(asString(audio) ?? '');
        if (!data?.length) throw context.error('the answer has no audio', { code: 'protocol', recoverable: true });
        const words = wordsOf(asObjects(timestamps)).map((word) => ({ type: 'word', ...word }) as const);
        return [{ type: 'audio', data }, ...words];
      }),
  }) satisfies RequestDialect<TauTTSConfig>;

/** The voices of a catalog that are ready to use. */
export function tauVoices(catalog: unknown): readonly TTSVoice[] {
  return asObjects(catalog)
    .filter(({ state }) => state === undefined || state === 'ready')
    .flatMap(voiceOf);
}

/** The service times words, spaces and punctuation separately, in seconds. */
function wordsOf(timestamps: readonly WireObject[]): WordTiming[] {
  let at = 0;
  const marks = timestamps.flatMap(({ text, start, duration }): SpeechMark[] => {
    const [piece, seconds, length] = [asString(text) ?? ' ', asNumber(start), asNumber(duration)];
    const from = at;
    at += piece.length;
    if (!piece.trim() || seconds === undefined || length === undefined) return [];
    const startMs = Math.round(seconds * 1000);
    return [{ text: piece.trim(), startMs, endMs: Math.round((seconds + length) * 1000), start: from, end: at }];
  });
  const [open, ...words] = hearMarks(undefined, marks);
  const [, ...last] = endMarks(open);
  return [...words, ...last].filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = asString(voice['id']);
  if (id === undefined) return [];
  const optional = {
    gender: asString(voice['gender']),
    description: asString(voice['description']),
    previewUrl: asString(voice['preview_url']),
  };
  const told = Object.fromEntries(Object.entries(optional).filter(([, value]) => value));
  return [{ id, name: asString(voice['name']) ?? id, languages: [], ...told }];
}

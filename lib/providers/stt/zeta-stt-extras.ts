import { type WireObject, asNumber, asObject, asObjects, asString } from '../../core/guard.ts';
import type { Translation } from '../../core/roles.ts';
import type { SpeechTranslation } from './stt-notes.ts';
import type { STTContext, STTStep } from './stt-wire.ts';

/** The translations of an utterance. */
export interface Translated {
  readonly sentences: readonly SpeechTranslation[];
  /** End of the utterance before, in milliseconds of all audio: what ends by then was said in that one. */
  readonly sinceMs: number;
}

/** Before any speech. */
export const nothingTranslated: Translated = { sentences: [], sinceMs: 0 };

/** Most sentences of an utterance, of all languages. */
const maxSentences = 512;

/** Languages that are written without spaces. */
const unspaced = /^(cmn|ja|yue)/;

/** A message's sentences. */
export function translationsIn<C>(
  { language: name, results }: WireObject,
  { toAudioMs }: STTContext<C>,
  isFinal: boolean,
): SpeechTranslation[] {
  const language = asString(name);
  return asObjects(results).flatMap((result) => {
    const text = asString(result['content'])?.trim();
    if (!text) return [];
    const [start, end, speaker] = [result['start_time'], result['end_time'], result['speaker']];
    const [startMs, endMs] = [asNumber(start), asNumber(end)].map((seconds) =>
      seconds === undefined ? undefined : Math.round(toAudioMs(seconds * 1_000)),
    );
    return {
      text,
      isFinal,
      ...(language !== undefined && { language }),
      ...(startMs !== undefined && { startMs }),
      ...(endMs !== undefined && { endMs }),
      // UU is an unknown speaker.
      ...(typeof speaker === 'string' && speaker !== 'UU' && { speaker }),
    };
  });
}

/** Adds sentences of the utterance: they replace those of their language that might change. */
export function withSentences(
  translated: Translated,
  language: string | undefined,
  sentences: readonly SpeechTranslation[],
): Translated {
  const own = sentences.filter(({ endMs = Infinity }) => endMs > translated.sinceMs);
  // A translation of the utterance before leaves this one's as they are.
  if (own.length === 0 && sentences.length > 0) return translated;
  const kept = translated.sentences.filter((sentence) => sentence.isFinal || sentence.language !== language);
  if (own.length === 0 && kept.length === translated.sentences.length) return translated;
  return { ...translated, sentences: [...kept, ...own].slice(-maxSentences) };
}

/** The text in each language; `undefined` without any. */
export function textsIn({ sentences }: Translated): readonly Translation[] | undefined {
  const languages = [...new Set(sentences.map(({ language }) => language))];
  const texts = languages.map((language) => {
    const own = sentences.filter((sentence) => sentence.language === language).map(({ text }) => text);
    return { text: own.join(unspaced.test(language ?? '') ? '' : ' '), ...(language !== undefined && { language }) };
  });
  return texts.length > 0 ? texts : undefined;
}

/** After an utterance that ended at a position of the audio. */
export function ended(translated: Translated, audioMs: number): Translated {
  return { sentences: [], sinceMs: Math.max(translated.sinceMs, Math.ceil(audioMs)) };
}

/** On another connection, where the utterance is heard again. */
export function restarted(translated: Translated): Translated {
  return { ...translated, sentences: [] };
}

/** A sound that is not speech has started or ended. */
export function onSound<C, S>(state: S, { message, event }: WireObject, { toAudioMs }: STTContext<C>): STTStep<S> {
  const { type, start_time: start, end_time: end, confidence } = asObject(event) ?? {};
  const sound = asString(type);
  if (!sound) return [state];
  const isStart = message === 'AudioEventStarted';
  const seconds = asNumber(isStart ? start : end);
  const sure = isStart ? asNumber(confidence) : undefined;
  const told = {
    ...({ type: isStart ? 'started' : 'ended', sound } as const),
    ...(seconds !== undefined && { positionMs: Math.round(toAudioMs(seconds * 1_000)) }),
    ...(sure !== undefined && { confidence: sure }),
  };
  return [state, { type: 'note', note: { type: 'sound', event: told } }];
}

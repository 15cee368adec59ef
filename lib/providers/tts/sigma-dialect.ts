import { concatMap, EMPTY, of, switchMap, type Observable } from 'rxjs';
import { decodeBase64 } from '../../core/base64.ts';
import { asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/media-type.ts';
import type { RequestContext, RequestDialect, SpeechRequest } from './requests/request-wire.ts';
import type { SigmaFacts, SigmaTTSConfig } from './sigma-tts.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { SynthesisEvent } from './utterance.ts';
import { wordEvent } from './words/word-event.ts';

/** A response may name a file instead of including its audio. */
interface File {
  readonly type: 'file';
  readonly address: string;
}

/** How Murf is spoken with. */
export const sigmaDialect = (facts: SigmaFacts): RequestDialect<SigmaTTSConfig> =>
  ({
    credential: (key) => ({ 'api-key': key }),
    // It is undocumented whether the service counts code points or UTF-16 units: the latter are never fewer.
    lengthOf: ({ length }) => length,
    // Of accounts outside us-east.
    concurrency: 2,
    fileHosts: /^(.+\.)?murf\.ai$/,
    request: (text, context) => requestFor(text, context, facts),
    read: readAnswer,
    // The service answers 403 to a wrong key.
    errorOf: ({ status }) => (status === 403 ? { code: 'unauthorized' } : undefined),
  }) satisfies RequestDialect<SigmaTTSConfig>;

/** The voices of a catalog. */
export function sigmaVoices(catalog: unknown): readonly TTSVoice[] {
  return asObjects(catalog).flatMap(voiceOf);
}

function requestFor(
  text: string,
  { config, format: { container, sampleRate } }: RequestContext<SigmaTTSConfig>,
  { modelOf, isStreamed }: SigmaFacts,
): SpeechRequest {
  const { voiceId, format = 'mp3', style, rate, pitch, variation, locale, pronunciationDictionary } = config;
  const { audioDuration, wordDurationsAsOriginalText } = config;
  const whole = { modelVersion: modelOf(config), encodeAsBase64: true, audioDuration, wordDurationsAsOriginalText };
  return {
    path: isStreamed(config) ? '/v1/speech/stream' : '/v1/speech/generate',
    json: {
      text,
      voiceId,
      ...(isStreamed(config) ? { model: modelOf(config) } : whole),
      format: format.toUpperCase(),
      // Raw samples include neither rate nor channels.
      sampleRate: config.sampleRate ?? (container ? undefined : sampleRate),
      channelType: config.channelType ?? (container ? undefined : 'MONO'),
      style,
      rate,
      pitch,
      variation,
      locale,
      pronunciationDictionary,
    },
  };
}

function readAnswer(response: HttpResponse, context: RequestContext<SigmaTTSConfig>): Observable<SynthesisEvent> {
  return context.answers
    .object<SynthesisEvent | File>(response, (answer) => {
      const warning = asString(answer['warning']);
      if (warning) context.note(warning);
      const words = asObjects(answer['wordDurations']);
      return [
        audioIn(answer, context),
        ...words.flatMap(({ word, startMs, endMs }) => wordEvent(word, startMs, endMs)),
      ];
    })
    .pipe(concatMap((event) => (event.type === 'file' ? audioAt(event.address, context) : of(event))));
}

function audioIn(
  { encodedAudio, audioFile }: WireObject,
  { error }: RequestContext<SigmaTTSConfig>,
): SynthesisEvent | File {
  const encoded = asString(encodedAudio);
  const data = encoded ? decodeBase64(encoded) : undefined;
  if (data?.length) return { type: 'audio', data };
  const address = asString(audioFile) ?? '';
  if (!encoded && address) return { type: 'file', address };
  throw error('the answer has no audio', { code: 'protocol', recoverable: true });
}

function audioAt(address: string, context: RequestContext<SigmaTTSConfig>): Observable<SynthesisEvent> {
  return context
    .download(address)
    .pipe(switchMap((file) => (mediaType(file.headers) === 'application/json' ? EMPTY : context.answers.audio(file))));
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = asString(voice['voiceId']);
  if (id === undefined) return [];
  const locales = asObject(voice['supportedLocales']) ?? {};
  const styles = Object.values(locales).flatMap((locale) => asObject(locale)?.['availableStyles'] ?? []);
  const [gender, description] = [asString(voice['gender'])?.toLowerCase(), asString(voice['description'])];
  return [
    {
      id,
      name: asString(voice['displayName']) ?? id,
      languages: [...new Set([asString(voice['locale']) ?? [], Object.keys(locales)].flat())],
      styles: [...new Set(styles.flatMap((style) => asString(style) ?? []))],
      ...(gender && { gender }),
      ...(description && { description }),
    },
  ];
}

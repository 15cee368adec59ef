import type { Observable } from 'rxjs';
import { decodeBase64 } from '../../core/base64.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/media-type.ts';
import type { Encode, PsiTTSConfig, PsiTTSReference } from './psi-tts.ts';
import type { RequestContext, RequestDialect } from './requests/request-wire.ts';
import type { SynthesisEvent } from './utterance.ts';

type Word = Extract<SynthesisEvent, { type: 'word' }>;

/** How Fish Audio is spoken with. */
export const psiDialect = (encode: Encode): RequestDialect<PsiTTSConfig> =>
  ({
    // For an account that has spent less than 100 USD.
    concurrency: 5,
    request: async (text, { config, parameters: known }) => {
      const references = config.references && (await Promise.all(config.references.map(readReference)));
      const { speed, volume, normalize_loudness, ...parameters } = known;
      const prosody = { speed, volume, normalize_loudness };
      const isProsodic = Object.values(prosody).some((value) => value !== undefined);
      const own = { text, ...parameters, references, prosody: isProsodic ? prosody : undefined };
      const body = { ...own, ...config.extraBody };
      return {
        path: config.wordTimings ? '/v1/tts/stream/with-timestamp' : '/v1/tts',
        headers: { 'Content-Type': 'application/msgpack', model: config.model ?? 's2.1-pro' },
        // A view of the encoder's larger buffer.
        body: encode(body, { ignoreUndefined: true }),
      };
    },
    read: (response, context) =>
      mediaType(response.headers) === 'text/event-stream'
        ? readTimed(response, context)
        : context.answers.audio(response),
  }) satisfies RequestDialect<PsiTTSConfig>;

async function readReference({ audio, text }: PsiTTSReference): Promise<{ audio: Uint8Array; text: string }> {
  // A Buffer also becomes a plain Uint8Array: the encoder writes only those as binary.
  const bytes = audio instanceof Blob ? await audio.arrayBuffer() : audio;
  return { audio: bytes instanceof Uint8Array ? new Uint8Array(bytes) : new Uint8Array(bytes), text };
}

/** Times are in seconds, from the start of the part. */
function wordsOf(event: WireObject): readonly Word[] {
  const offset = asNumber(event['chunk_audio_offset_sec']) ?? 0;
  const ms = (seconds: number): number => Math.round((offset + seconds) * 1000);
  return asObjects(asObject(event['alignment'])?.['segments']).flatMap((segment): readonly Word[] => {
    const [start, end] = [asNumber(segment['start']), asNumber(segment['end'])];
    const text = asString(segment['text'])?.trim();
    if (!text || start === undefined || end === undefined) return [];
    return [{ type: 'word', text, startMs: ms(start), endMs: ms(end) }];
  });
}

/**
 * Audio with the service's word times. It resends all words of a part whenever it knows more: the last version counts,
 * and is emitted when the part ends.
 */
function readTimed(response: HttpResponse, context: RequestContext<PsiTTSConfig>): Observable<SynthesisEvent> {
  return context.answers.objects<{ readonly part: number; readonly words: readonly Word[] }>(response, {
    start: { part: -Infinity, words: [] },
    read: ({ part, words }, event) => {
      const data = decodeBase64(asString(event['audio_base64']) ?? '');
      if (!data) throw context.error('the audio is not base64', { code: 'protocol' });
      const audio = data.length > 0 ? [{ type: 'audio', data } as const] : [];
      const seq = asNumber(event['chunk_seq']) ?? 0;
      const known = wordsOf(event);
      if (seq > part) return [{ part: seq, words: known }, ...words, ...audio];
      // Updates for a finished part come too late.
      return [{ part, words: seq === part && known.length > 0 ? known : words }, ...audio];
    },
    end: ({ words }) => words,
  });
}

import { concat, concatMap, defer, from, of, type Observable } from 'rxjs';
import { decodeBase64 } from '../../core/base64.ts';
import { VoiceError } from '../../core/errors.ts';
import { num, obj, objs, str, type WireObject } from '../../core/guard.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { jsonObjects } from '../../transport/json-objects.ts';
import type { SynthesisEvent } from './utterance.ts';

type Word = Extract<SynthesisEvent, { type: 'word' }>;

/** Longest event, in characters: a whole recording in base64. */
const maxLength = 48 * 1024 * 1024;

/**
 * Audio and its words as the service tells them. Of each part of a text it says all words anew whenever it knows more: the
 * last ones count, and are told when the part is over.
 */
export function readPsiTimings(response: HttpResponse, provider: string): Observable<SynthesisEvent> {
  return defer(() => {
    let part = -Infinity;
    let words: readonly Word[] = [];
    const events$ = of(response).pipe(
      jsonObjects({ maxLength }),
      concatMap((event): readonly SynthesisEvent[] => {
        const data = decodeBase64(str(event['audio_base64']) ?? '');
        if (!data) throw new VoiceError(`${provider}: the audio is not base64`, { code: 'protocol', provider });
        const known = wordsOf(event);
        const seq = num(event['chunk_seq']) ?? 0;
        const told = seq > part ? words : [];
        // Of a part that is over, it is too late to know better.
        if (seq > part || (seq === part && known.length > 0)) words = known;
        part = Math.max(part, seq);
        return data.length > 0 ? [...told, { type: 'audio', data }] : told;
      }),
    );
    return concat(
      events$,
      defer(() => from(words)),
    );
  });
}

/** Times are in seconds, from the beginning of the part. */
function wordsOf(event: WireObject): readonly Word[] {
  const offset = num(event['chunk_audio_offset_sec']) ?? 0;
  return objs(obj(event['alignment'])?.['segments']).flatMap((segment): readonly Word[] => {
    const [text, start, end] = [str(segment['text'])?.trim(), num(segment['start']), num(segment['end'])];
    if (!text || start === undefined || end === undefined) return [];
    const ms = (seconds: number): number => Math.round((offset + seconds) * 1000);
    return [{ type: 'word', text, startMs: ms(start), endMs: ms(end) }];
  });
}

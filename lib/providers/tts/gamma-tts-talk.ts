import { durationMs, isPcmLike } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import { arr, num, obj, str, type WireObject } from '../../core/guard.ts';
import { CharacterWords, type CharacterTimes } from './words/character-words.ts';
import type { ContextEvent, ContextTalk } from './sockets/context-wire.ts';

/** The messages of one context. */
export function gammaTalk(id: string, opening: object, format: AudioMetadata): ContextTalk {
  const words = new CharacterWords();
  let bytes = 0;
  const message = (body: object): string => JSON.stringify({ ...body, context_id: id });
  return {
    opening: [message(opening)],
    say: (text) => message({ text }),
    ending: [message({ flush: true }), message({ close_context: true })],
    cancel: message({ close_context: true }),
    read: (answer) => {
      const data = decodeBase64(str(answer['audio']) ?? '');
      const times = timesOf(obj(answer['alignment']));
      const audioMs = isPcmLike(format.encoding) ? durationMs(bytes, format) : undefined;
      bytes += data?.length ?? 0;
      const told = [...(times ? words.push(times, audioMs) : []), ...(isFinal(answer) ? words.flush() : [])];
      const events = told.map((word): ContextEvent => ({ type: 'word', ...word }));
      return data ? [{ type: 'audio', data }, ...events] : events;
    },
  };
}

/** Whether nothing of its context follows a message. */
export function isFinal(message: WireObject): boolean {
  return message['isFinal'] === true || message['is_final'] === true;
}

/** A day, in milliseconds: no time is later. */
const latestMs = 86_400_000;

/** The vendor's documents and its clients do not agree on the names. */
function timesOf(alignment: WireObject | undefined): CharacterTimes | undefined {
  if (!alignment) return undefined;
  const numbers = (...keys: readonly string[]): number[] =>
    arr(keys.map((key) => alignment[key]).find(Array.isArray)).map((value) => Math.min(num(value) ?? 0, latestMs));
  return {
    characters: arr(alignment['chars']).map((character) => str(character) ?? ''),
    startMs: numbers('charStartTimesMs', 'charsStartTimesMs'),
    durationMs: numbers('charDurationsMs', 'charsDurationsMs'),
  };
}

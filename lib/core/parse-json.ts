import { asObject, type WireObject } from './guard.ts';
import { textOf } from './utf8.ts';

/**
 * Parses a message as a JSON object, from a text or binary frame. Never throws: anything else (garbage, a bare value,
 * an array, audio) is `undefined`. Drops `__proto__` keys everywhere.
 */
export function parseJsonObject(data: string | Uint8Array): WireObject | undefined {
  try {
    const text = typeof data === 'string' ? data : decodeObject(data);
    if (text === undefined) return undefined;
    return asObject(parseJson(text));
  } catch {
    return undefined;
  }
}

/** The value of a JSON text, without any key `__proto__`. Throws when it is not JSON. */
export function parseJson(text: string): unknown {
  // The reviver costs several times as much as the parse, so it only runs where the key may occur.
  const isSuspect = text.includes('__proto__') || text.includes('\\u00');
  return isSuspect ? JSON.parse(text, withoutProto) : JSON.parse(text);
}

/** Only binary data that starts like an object is worth decoding: most of it is audio. */
function decodeObject(data: Uint8Array): string | undefined {
  return data.find((byte) => byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) === 0x7b ? textOf(data) : undefined;
}

function withoutProto(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value;
}

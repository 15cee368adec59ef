/** An unvalidated JSON object. */
export type WireObject = Record<string, unknown>;

const decoder = new TextDecoder('utf-8', { fatal: true });

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
  return data.find((byte) => byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) === 0x7b ? decoder.decode(data) : undefined;
}

function withoutProto(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value;
}

/** The value if it is a non-array object. */
export function asObject(value: unknown): WireObject | undefined {
  return isObject(value) ? value : undefined;
}

function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an array, else an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The objects in an array; drops anything else. */
export function asObjects(value: unknown): readonly WireObject[] {
  return asArray(value).filter(isObject);
}

/** The value when it is a string. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value when it is a finite number. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The value when it is a boolean. */
export function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** A table's own entry: a key such as `constructor` from a wire finds nothing. */
export function ownEntry<T>(table: Readonly<Record<string, T>>, key: string | undefined): T | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A short identifier from a wire, such as an error code, safe to show: anything longer could quote someone. */
export function wireWord(value: unknown): string {
  return /^[\w.-]{1,64}$/.exec(typeof value === 'number' ? String(value) : (asString(value) ?? ''))?.[0] ?? 'an error';
}

const maxKinds = 64;

/** Passes only the first of each kind. Because kinds can come from a wire, at most 64 are tracked. */
export function oncePerKind(tell: (kind: string) => void): (kind: string) => void {
  let seen: Set<string> | undefined;
  return (kind) => {
    seen ??= new Set();
    if (seen.has(kind) || seen.size >= maxKinds) return;
    seen.add(kind);
    tell(kind);
  };
}

/** A JSON object of which nothing is known yet. */
export type WireObject = Record<string, unknown>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The JSON object in a message, whatever frame it came in. Never throws: what is not an object (garbage, a bare value,
 * an array, audio) is `undefined`, and a key `__proto__` is left out wherever it stands.
 */
export function parseJsonObject(data: string | Uint8Array): WireObject | undefined {
  try {
    const text = typeof data === 'string' ? data : decodeObject(data);
    if (text === undefined) return undefined;
    // The reviver costs several times the parse, so it only runs where the key may be.
    const isSuspect = text.includes('__proto__') || text.includes('\\u00');
    return asObject(isSuspect ? JSON.parse(text, withoutProto) : JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Binary data is worth decoding only when it starts like an object: most of it is audio. */
function decodeObject(data: Uint8Array): string | undefined {
  return data.find((byte) => byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) === 0x7b ? decoder.decode(data) : undefined;
}

function withoutProto(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value;
}

/** The value when it is an object that is no array. */
export function asObject(value: unknown): WireObject | undefined {
  return isObject(value) ? value : undefined;
}

function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value when it is an array, else an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The objects of an array; anything else in it is left out. */
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

/** A table's own entry: a key from a wire such as `constructor` finds nothing. */
export function ownEntry<T>(table: Readonly<Record<string, T>>, key: string | undefined): T | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A word of a wire's, such as an error's code, as it may be shown: anything longer could quote somebody. */
export function wireWord(value: unknown): string {
  return /^[\w.-]{1,64}$/.exec(typeof value === 'number' ? String(value) : (asString(value) ?? ''))?.[0] ?? 'an error';
}

const maxKinds = 64;

/** Lets the first of each kind pass. Kinds can come from a wire, so no more than 64 of them are told apart. */
export function oncePerKind(tell: (kind: string) => void): (kind: string) => void {
  const seen = new Set<string>();
  return (kind) => {
    if (seen.has(kind) || seen.size >= maxKinds) return;
    seen.add(kind);
    tell(kind);
  };
}

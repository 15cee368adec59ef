/** An unvalidated JSON object. */
export type WireObject = Record<string, unknown>;

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

/** A short identifier from a wire, such as an error code, safe to show: anything longer could quote someone. */
export function wireWord(value: unknown): string {
  return /^[\w.-]{1,64}$/.exec(typeof value === 'number' ? String(value) : (asString(value) ?? ''))?.[0] ?? 'an error';
}

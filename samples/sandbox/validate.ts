/** One rule for a value: what is wrong with it, or `undefined`. */
export type Check = (value: unknown, path: string) => string | undefined;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of an object, where it is one. */
export function member(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** A member that is a string; empty when it is not. */
export function textMember(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === 'string' ? found : '';
}

const expected = (path: string, what: string): string => `${path} must be ${what}`;

export const string: Check = (value, path) => (typeof value === 'string' ? undefined : expected(path, 'a string'));
export const filled: Check = (value, path) =>
  typeof value === 'string' && value ? undefined : expected(path, 'a non-empty string');
export const boolean: Check = (value, path) => (typeof value === 'boolean' ? undefined : expected(path, 'a boolean'));
export const anything: Check = () => undefined;
export const object: Check = (value, path) => (isObject(value) ? undefined : expected(path, 'an object'));
export const nothing: Check = (value, path) => (value === null ? undefined : expected(path, 'null'));

export function number(min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): Check {
  return (value, path) =>
    typeof value === 'number' && value >= min && value <= max
      ? undefined
      : expected(path, `a number from ${min} to ${max}`);
}

export function integer(min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): Check {
  return (value, path) =>
    Number.isInteger(value) ? number(min, max)(value, path) : expected(path, `an integer from ${min} to ${max}`);
}

export function oneOf(...values: readonly (string | number | boolean)[]): Check {
  return (value, path) =>
    values.some((each) => each === value)
      ? undefined
      : expected(path, `one of the following values: ${values.join(', ')}`);
}

export function anyOf(...checks: readonly Check[]): Check {
  return (value, path) => {
    const wrong = checks.map((check) => check(value, path));
    return wrong.includes(undefined) ? undefined : wrong.join(' or ');
  };
}

export function arrayOf(check: Check, min = 0, max = Number.POSITIVE_INFINITY): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return expected(path, 'an array');
    if (value.length < min || value.length > max) return expected(path, `an array of ${min} to ${max} elements`);
    return first(value.map((each: unknown, index) => check(each, `${path}[${index}]`)));
  };
}

/** A member that must be there. All others may be left out, but not be null or of another kind. */
export function required(check: Check): Check & { readonly required: true } {
  return Object.assign((value: unknown, path: string) => check(value, path), { required: true as const });
}

/** An object with these members and no others. */
export function shape(members: Readonly<Record<string, Check & { readonly required?: true }>>): Check {
  return (value, path) => {
    if (!isObject(value)) return expected(path, 'an object');
    const inside = (name: string): string => (path ? `${path}.${name}` : name);
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(members, name));
    if (unknown !== undefined) return `${inside(unknown)} is not a known field`;
    return first(
      Object.entries(members).map(([name, check]) => {
        if (Object.hasOwn(value, name)) return check(value[name], inside(name));
        return check.required ? `${inside(name)} is required` : undefined;
      }),
    );
  };
}

function first(complaints: readonly (string | undefined)[]): string | undefined {
  return complaints.find((complaint) => complaint !== undefined);
}

/** A rule for the text of a query parameter. */
export type QueryCheck = (value: string) => boolean;

export const query = {
  any: (): boolean => true,
  filled: (value: string): boolean => value !== '',
  boolean: (value: string): boolean => value === 'true' || value === 'false',
  integer:
    (min: number, max: number = Number.MAX_SAFE_INTEGER): QueryCheck =>
    (value) =>
      /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max,
  number:
    (min: number, max: number): QueryCheck =>
    (value) =>
      /^\d*\.?\d+$/.test(value) && Number(value) >= min && Number(value) <= max,
  oneOf:
    (...values: readonly string[]): QueryCheck =>
    (value) =>
      values.includes(value),
} as const;

/** What is wrong with a query: unknown names, bad values, names given twice that may not repeat. */
export function checkQuery(
  given: URLSearchParams,
  known: Readonly<Record<string, QueryCheck>>,
  repeatable: readonly string[] = [],
): string | undefined {
  for (const [name, value] of given) {
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!check) return `unknown parameter ${name}`;
    if (!check(value)) return `${name} cannot be "${value}"`;
    if (!repeatable.includes(name) && given.getAll(name).length > 1) return `${name} is given more than once`;
  }
  return undefined;
}

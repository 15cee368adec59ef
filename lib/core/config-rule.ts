/** What a configuration key may hold. A key that is absent passes unless it is `required`. */
export interface ConfigRule {
  readonly required?: boolean;
  readonly oneOf?: readonly (string | number)[];
  /** Smallest and largest number. */
  readonly min?: number;
  readonly max?: number;
  /** Most characters of a text. */
  readonly maxLength?: number;
}

/**
 * The first thing in a configuration that breaks a rule, as a sentence for people; `undefined` when all is well.
 *
 * @param rules - By key; `options.speed` is the key `speed` in the object `options`.
 */
export function configProblem(config: object, rules: Readonly<Record<string, ConfigRule>>): string | undefined {
  for (const [key, rule] of Object.entries(rules)) {
    const value = key.split('.').reduce<unknown>(member, config);
    const wanted = value === undefined || value === '' ? missing(rule) : broken(value, rule);
    if (wanted) return `${key} ${wanted}`;
  }
  return undefined;
}

const member = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

const missing = ({ required }: ConfigRule): string | undefined => (required ? 'is missing' : undefined);

function broken(value: unknown, { oneOf, min, max, maxLength }: ConfigRule): string | undefined {
  const not = `not ${JSON.stringify(value)}`.slice(0, 44);
  if (oneOf && !oneOf.some((each) => each === value))
    return `must be ${oneOf.join(', ').replace(/, ([^,]*)$/, ' or $1')}, ${not}`;
  const isNumeric = min !== undefined || max !== undefined;
  if (isNumeric && !(typeof value === 'number' && value >= (min ?? -Infinity) && value <= (max ?? Infinity))) {
    return `must be a number from ${min ?? '-∞'} to ${max ?? '∞'}, ${not}`;
  }
  if (maxLength !== undefined && (typeof value !== 'string' || value.length > maxLength)) {
    return `must be a text of at most ${maxLength} characters`;
  }
  return undefined;
}

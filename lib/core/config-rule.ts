/** What a configuration key may hold. A key that is absent passes unless it is `required`. */
export interface ConfigRule {
  readonly required?: boolean;
  /** `texts` is an array of texts that are not empty. */
  readonly type?: 'boolean' | 'text' | 'texts';
  readonly oneOf?: readonly (string | number)[];
  /** Smallest and largest number. */
  readonly min?: number;
  readonly max?: number;
  /** Whole numbers only. */
  readonly integer?: boolean;
  /** Whether `false` switches it off. */
  readonly orFalse?: boolean;
  /** Most characters of a text, or entries of an array. */
  readonly maxLength?: number;
}

/** Rules by key; `options.speed` is the key `speed` in the object `options`. */
export type ConfigRules = Readonly<Record<string, ConfigRule>>;

const types: Readonly<Record<NonNullable<ConfigRule['type']>, readonly [string, (value: unknown) => boolean]>> = {
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  text: ['a text', isText],
  texts: ['an array of texts', (value) => Array.isArray(value) && value.every(isText)],
};

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

/** The first thing in a configuration that breaks a rule, as a sentence for people; `undefined` when all is well. */
export function configProblem(config: object, rules: ConfigRules): string | undefined {
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

function broken(value: unknown, rule: ConfigRule): string | undefined {
  const { type, oneOf, min, max, integer = false, orFalse = false, maxLength } = rule;
  if (orFalse && value === false) return undefined;
  const not = `not ${JSON.stringify(value)}`.slice(0, 44);
  if (type && !types[type][1](value)) return `must be ${types[type][0]}, ${not}`;
  if (oneOf && !oneOf.some((each) => each === value))
    return `must be ${oneOf.join(', ').replace(/, ([^,]*)$/, ' or $1')}, ${not}`;
  const isNumeric = min !== undefined || max !== undefined;
  const inRange = typeof value === 'number' && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  if (isNumeric && !(inRange && (!integer || Number.isInteger(value)))) {
    const range = `from ${min ?? '-∞'} to ${max ?? '∞'}${orFalse ? ', or false' : ''}`;
    return `must be a ${integer ? 'whole ' : ''}number ${range}, ${not}`;
  }
  if (maxLength === undefined) return undefined;
  if (Array.isArray(value) && value.length > maxLength) return `must have at most ${maxLength} entries`;
  if (type !== 'texts' && (typeof value !== 'string' || value.length > maxLength)) {
    return `must be a text of at most ${maxLength} characters`;
  }
  return undefined;
}

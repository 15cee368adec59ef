/**
 * Some keys of a configuration by the names that a service has for them: `maxDelayMs` is `max_delay_ms`. Keys without a
 * value are left out.
 */
export function snakeKeys<C extends object, K extends keyof C & string>(
  config: C,
  keys: readonly K[],
): Record<string, Exclude<C[K], undefined>> {
  const named: Record<string, Exclude<C[K], undefined>> = {};
  for (const key of keys) {
    const value = config[key];
    if (value !== undefined) named[snakeCase(key)] = value as Exclude<C[K], undefined>;
  }
  return named;
}

/** `maxDelayMs` as `max_delay_ms`. */
export function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** The language of a BCP 47 tag, without its region: `en-US` is `en`. */
export function primaryLanguage(tag: string): string {
  return tag.split('-', 1)[0]?.toLowerCase() ?? tag;
}

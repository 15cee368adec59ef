/** Converts `maxDelayMs` to `max_delay_ms`. */
export function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** The language of a BCP 47 tag, without its region: `en-US` is `en`. */
export function primaryLanguage(tag: string): string {
  return tag.split('-', 1)[0]?.toLowerCase() ?? tag;
}

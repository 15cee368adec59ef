import { ownEntry } from './guard.ts';

/** Converts `maxDelayMs` to `max_delay_ms`. */
export function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** The language of a BCP 47 tag, without its region: `en-US` is `en`. */
export function primaryLanguage(tag: string): string {
  return tag.split('-', 1)[0]?.toLowerCase() ?? tag;
}

/**
 * What to say of a model that its service has retired; `undefined` for any other.
 *
 * @param successors - The successor of each retired model.
 */
export function retirementOf(
  model: string | undefined,
  successors: Readonly<Record<string, string>>,
): string | undefined {
  const successor = ownEntry(successors, model);
  return successor && `the service has retired ${model}; use ${successor} instead`;
}

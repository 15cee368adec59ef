/** A mistake on the command line: its message is all that is shown. */
export class UsageError extends Error {}

/** An option that is a number. */
export function numberOption(name: string, text: string, max: number = Number.MAX_SAFE_INTEGER): number {
  const value = text.trim() === '' ? NaN : Number(text);
  if (value >= 0 && value <= max) return value;
  throw new UsageError(`--${name} takes a number from 0${max < 1e6 ? ` to ${max}` : ''}, not "${text}"`);
}

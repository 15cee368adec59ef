import { unknownKey } from './config-rule.ts';
import { VoiceError } from './errors.ts';

/**
 * Refuses options that do not exist: each would silently leave a default in force.
 *
 * @param of - What the options are given to, for the error.
 * @throws VoiceError `configuration` when there is one.
 */
export function assertKnownKeys<T extends object>(of: string, given: T, keys: Readonly<Record<keyof T, true>>): void {
  const problem = unknownKey(given, Object.keys(keys));
  if (problem !== undefined) throw new VoiceError(`${of}: ${problem}`, { code: 'configuration' });
}

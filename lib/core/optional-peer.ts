import { VoiceError } from './errors.ts';

/**
 * The error for an optional package that is not installed, with the command that installs it. The import stands inside
 * `try` and names its package: so every bundler sees that the package may be missing, and builds without it.
 *
 * @example
 * ```ts
 * import { missingPackage } from 'rxvoice/provider';
 *
 * export async function loadDecoder(): Promise<typeof import('opus-decoder')> {
 *   try {
 *     return await import('opus-decoder');
 *   } catch (cause) {
 *     throw missingPackage('MyTTS', 'opus-decoder', '>= 0.7.0', cause);
 *   }
 * }
 * ```
 */
export function missingPackage(provider: string, packageName: string, range: string, cause: unknown): VoiceError {
  const message = `${provider} needs the optional package ${packageName} (${range}): npm install ${packageName}`;
  return new VoiceError(message, { code: 'missing_package', provider, cause });
}

import { VoiceError } from './errors.ts';

/**
 * Loads a package that only some users need. `load` must contain the `import()` itself, so that bundlers see it, with
 * {@link rethrow}, without which esbuild fails for users who lack the package: `() =>
 * import('some-package').catch(rethrow)`.
 *
 * @throws VoiceError `missing_package`, with the install command, when the package is not installed.
 */
export async function loadOptionalPeer<T>(
  provider: string,
  packageName: string,
  range: string,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new VoiceError(
      `${provider} needs the optional package ${packageName} (${range}): npm install ${packageName}`,
      { code: 'missing_package', provider, cause },
    );
  }
}

/** Rethrows: a `.catch()` tells bundlers that a package may be missing. */
export function rethrow(cause: unknown): never {
  throw cause;
}

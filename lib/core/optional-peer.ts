import { VoiceError } from './errors.ts';

/**
 * Loads a package that only some users need. `load` is the `import()` itself, so that bundlers see it, with
 * {@link rethrow}, without which esbuild refuses to bundle for users who don't have the package:
 * `() => import('some-package').catch(rethrow)`.
 *
 * @throws VoiceError `missing_package`, with the install command, when the package is not there.
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

/** Throws what it is given: the `.catch()` by which bundlers know that a package may be absent. */
export function rethrow(cause: unknown): never {
  throw cause;
}

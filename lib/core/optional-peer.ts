import { VoiceError } from './errors.ts';

/**
 * Loads a package that only some users need. `load` is the `import()` itself, so that bundlers see it.
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

import { VoiceError } from '../../core/errors.ts';

/** A callback of the application, and who hears what it throws: that is its fault, and not the utterance's end. */
export interface CallBackOptions {
  readonly provider: string;
  /** The method that set it. */
  readonly name: string;
  readonly report: (error: VoiceError) => void;
}

/** Calls a callback, if there is one. */
export function callBack<T>(
  callback: ((value: T) => void) | undefined,
  value: T,
  { provider, name, report }: CallBackOptions,
): void {
  try {
    callback?.(value);
  } catch (cause) {
    report(new VoiceError(`${provider}: the ${name} callback threw`, { code: 'internal', cause, provider }));
  }
}

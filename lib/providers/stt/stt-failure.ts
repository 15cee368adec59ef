import type { VoiceErrorOptions } from '../../core/errors.ts';
import { wireWord } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { unknownFailure, type Failures, type STTFault } from './stt-wire.ts';

/** A fault as text, and its kind of error. */
export type Explained = { readonly text: string } & Omit<VoiceErrorOptions, 'provider'>;

/** Explains a fault. */
export function explained(
  fault: STTFault,
  failures: Failures = {},
  redact: (sentence: string) => string = (sentence) => sentence,
): Explained {
  if ('message' in fault) {
    const { message: text, ...options } = fault;
    return { text, ...options };
  }
  const { kind, sentence } = fault;
  const { hint, ...options } = ownEntry(failures, String(kind)) ?? unknownFailure;
  return {
    text: `the service reports ${wireWord(kind)}: ${hint}`,
    ...options,
    ...(typeof kind === 'number' && { status: kind }),
    // The service's message could quote the user.
    ...(sentence !== undefined && { cause: new Error(redact(sentence)) }),
  };
}

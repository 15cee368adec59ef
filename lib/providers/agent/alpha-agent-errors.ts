import type { VoiceErrorOptions } from '../../core/errors.ts';
import { entry, str } from '../../core/guard.ts';

/** What the service's errors mean, and whether another session may do better. */
const errors: Readonly<Record<string, readonly [VoiceErrorOptions['code'], boolean]>> = {
  INVALID_SETTINGS: ['configuration', false],
  INVALID_AGENT_ID: ['configuration', false],
  AGENT_ID_NOT_SUPPORTED: ['configuration', false],
  USER_AUDIO_FORMAT: ['unsupported_format', false],
  UNPARSABLE_CLIENT_MESSAGE: ['protocol', false],
  NON_SETTINGS_MESSAGE_BEFORE_SETTINGS: ['protocol', false],
  SETTINGS_ALREADY_APPLIED: ['protocol', false],
  NON_EXISTENT_FUNCTION_CALLED: ['protocol', false],
  CLIENT_MESSAGE_TIMEOUT: ['timeout', true],
  ASR_DRIVER_TIMEOUT: ['timeout', true],
  SERVER_GOING_AWAY: ['overloaded', true],
};

/** The model or voice behind the service has failed. */
const exhausted: ReadonlySet<string> = new Set(['FAILED_TO_THINK', 'FAILED_TO_SPEAK']);

/** Whether a code says that the model or the voice behind the service has failed: worth one more session, not two. */
export function isExhausted(code: string): boolean {
  return exhausted.has(code);
}

/** What an error of the service means; one that is not known is the service's own, and may pass. */
export function meaningOf(code: string): Pick<VoiceErrorOptions, 'code' | 'recoverable'> {
  const [meaning, recoverable] = entry(errors, code) ?? ['server', true];
  return { code: meaning, recoverable };
}

/** What the service says, for a message. */
export function explained(what: string, detail: unknown): string {
  const text = str(detail)?.slice(0, 300);
  return text ? `AlphaAgent: ${what}: ${text}` : `AlphaAgent: ${what}`;
}

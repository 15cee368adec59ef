import { docs } from './docs.ts';
import type { VoiceErrorCode } from './errors.ts';
import { retirementOf, type RetiringModel } from './retirement.ts';

/** What an application should know of a provider although nothing has failed. */
export interface RemoteWarning {
  readonly message: string;
  /** The code of the error that it is. Default: it is only logged. */
  readonly code?: VoiceErrorCode;
}

/** Prefixes of keys that never expire: OpenAI's and Anthropic's, Groq's, ElevenLabs' and Cartesia's, Google's. */
const longLived = /^(sk-|sk_|gsk_|AIza)/;

/** The warning that a page exposes its credential to its visitors (docs/faults.md, F49). */
export function exposureOf(credential: string): RemoteWarning {
  const isLongLived = longLived.test(credential);
  const what = isLongLived ? 'a long-lived key' : 'its key';
  return {
    message: `this page exposes ${what} to everyone who opens it: set proxyUrl, or an apiKey factory that fetches short-lived tokens (${docs('authentication')})`,
    ...(isLongLived && { code: 'configuration' }),
  };
}

/** The warning that a service retires a model; `undefined` if it does not. */
export function retiringOf(
  model: string | undefined,
  retiring: readonly RetiringModel[] = [],
): RemoteWarning | undefined {
  const message = retirementOf(model, retiring);
  return message === undefined ? undefined : { message, code: 'retiring' };
}

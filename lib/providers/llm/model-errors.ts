import { ownEntry } from '../../core/own-entry.ts';
import type { HttpErrorFacts, HttpErrorOf } from '../../transport/http-error.ts';

type Facts = Readonly<Record<string, HttpErrorFacts>>;

/** Error words more specific than their status. Sources: the error pages of OpenAI, Anthropic, Groq and Google AI. */
const words: Facts = {
  insufficient_quota: { code: 'quota', recoverable: false },
  billing_not_active: { code: 'quota', recoverable: false },
  billing_hard_limit_reached: { code: 'quota', recoverable: false },
  enforced_spend_limit_reached: { code: 'quota', recoverable: false },
  contract_spend_limit_reached: { code: 'quota', recoverable: false },
  API_KEY_INVALID: { code: 'unauthorized', recoverable: false },
  model_decommissioned: { code: 'not_found', recoverable: false },
  // The model wrote a malformed call; a retry may not.
  tool_use_failed: { code: 'server', recoverable: true },
  function_call_filter: { code: 'server', recoverable: true },
};

/** Additional words for errors in mid-stream, which have no status. */
const inStream: Facts = {
  invalid_request_error: { code: 'configuration', recoverable: false },
  context_length_exceeded: { code: 'configuration', recoverable: false },
  authentication_error: { code: 'unauthorized', recoverable: false },
  invalid_api_key: { code: 'unauthorized', recoverable: false },
  permission_error: { code: 'forbidden', recoverable: false },
  billing_error: { code: 'quota', recoverable: false },
  not_found_error: { code: 'not_found', recoverable: false },
  model_not_found: { code: 'not_found', recoverable: false },
  rate_limit_error: { code: 'rate_limited', recoverable: true },
  rate_limit_exceeded: { code: 'rate_limited', recoverable: true },
  overloaded_error: { code: 'overloaded', recoverable: true },
  server_is_overloaded: { code: 'overloaded', recoverable: true },
  timeout_error: { code: 'timeout', recoverable: true },
};

/** Interprets an error response of a language model service. */
export const modelErrorOf: HttpErrorOf = ({ status, reason }) =>
  ownEntry(words, reason) ?? (status === undefined ? ownEntry(inStream, reason) : undefined);

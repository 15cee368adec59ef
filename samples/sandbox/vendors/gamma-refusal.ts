import { Refusal } from '../vendor.ts';

const details: Readonly<Record<number, readonly [status: string, message: string]>> = {
  400: ['invalid_parameters', 'The request is not valid.'],
  401: ['invalid_api_key', 'Invalid API key'],
  403: ['forbidden', 'You do not have access to this resource.'],
  404: ['not_found', 'Not Found'],
  429: ['too_many_concurrent_requests', 'Too many concurrent requests.'],
};

/** A refusal in the vendor's words. */
export function gammaRefusal(status: number, why: string): Refusal {
  const [word, message] = details[status] ?? ['internal_server_error', 'Internal server error.'];
  return new Refusal(status, { detail: { status: word, message } }, why);
}

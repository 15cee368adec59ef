import { Refusal } from '../vendor.ts';

const codes: Readonly<Record<number, readonly [code: string, message: string]>> = {
  400: ['Bad Request', 'Bad Request.'],
  401: ['INVALID_AUTH', 'Invalid credentials.'],
  402: ['ASR_PAYMENT_REQUIRED', 'Project does not have enough credits for an ASR request.'],
  403: ['INSUFFICIENT_PERMISSIONS', 'Project does not have access to the requested model.'],
  429: ['TOO_MANY_REQUESTS', 'Too many requests. Please try again later.'],
};

/** A refused upgrade: the same text in the body and in `dg-error`. */
export function alphaRefusal(
  status: number,
  code: string | undefined,
  message: string | undefined,
  why: string,
): Refusal {
  const [usualCode, usualMessage] = codes[status] ?? ['INTERNAL_SERVER_ERROR', 'Internal server error.'];
  const text = message ?? usualMessage;
  const request = crypto.randomUUID();
  const body = { err_code: code ?? usualCode, err_msg: text, request_id: request };
  return new Refusal(status, body, why, { 'dg-error': text, 'dg-request-id': request });
}

export const invalidQuery = (why: string): Refusal => alphaRefusal(400, 'INVALID_QUERY_PARAMETER', why, why);
export const noSuchModel = (why: string): Refusal =>
  alphaRefusal(400, 'Bad Request', 'Bad Request: No such model/language/tier combination found.', why);

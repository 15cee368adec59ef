import { Refusal } from '../vendor.ts';

const statuses: Readonly<Record<number, readonly [status: string, message: string]>> = {
  400: ['INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  401: ['UNAUTHENTICATED', 'Request is missing required authentication credential.'],
  403: ['PERMISSION_DENIED', 'The caller does not have permission'],
  404: ['NOT_FOUND', 'Requested entity was not found.'],
  413: ['INVALID_ARGUMENT', 'Request payload size exceeds the limit: 10485760 bytes.'],
  429: ['RESOURCE_EXHAUSTED', 'Quota exceeded'],
  503: ['UNAVAILABLE', 'The service is currently unavailable.'],
  504: ['DEADLINE_EXCEEDED', 'Deadline exceeded'],
};

/** A refusal in the words of all Google services. */
export function refuse(status: number, why: string, message?: string, details?: readonly unknown[]): Refusal {
  const [name, usual] = statuses[status] ?? ['INTERNAL', 'Internal error encountered.'];
  const error = { code: status, message: message ?? usual, status: name, ...(details ? { details } : {}) };
  return new Refusal(status, { error }, why);
}

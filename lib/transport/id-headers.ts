/** What services call the id of a request in their headers, the most used first. */
export const idHeaders: readonly string[] = [
  'x-request-id',
  'request-id',
  'x-amzn-requestid',
  'dg-request-id',
  'mistral-correlation-id',
  'apim-request-id',
  'x-requestid',
  'x-goog-request-id',
  'x-generation-id',
  'trace-id',
];

import { refusalType, writeRefusal, type ToldRefusal } from '../transport/refusal-question.ts';
import type { Asked } from './asked.ts';
import { safeHeaders } from './refusal.ts';

/** Whether a page asks how a socket at this address would be refused. */
export function asksWhy({ method, headers }: Asked): boolean {
  return method === 'GET' && headers.get('accept') === refusalType;
}

/** The answer: the refusal, or that there is none. */
export function tellWhy(refusal: ToldRefusal | undefined, cors: Readonly<Record<string, string>>): Response {
  const isForPage = 'access-control-allow-origin' in cors;
  return new Response(writeRefusal(refusal), {
    headers: {
      ...safeHeaders,
      ...cors,
      // The page sends its cookies along, as with a socket.
      ...(isForPage && { 'access-control-allow-credentials': 'true' }),
      'content-type': refusalType,
    },
  });
}

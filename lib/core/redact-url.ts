import { redact } from './redact.ts';

/** A URL for a log or an error: without credentials, query and fragment. */
export function redactUrl(url: string | URL): string {
  try {
    const { protocol, host, pathname } = typeof url === 'string' ? new URL(url) : url;
    return `${protocol}//${host}${pathname}`;
  } catch {
    return redact(String(url).split(/[?#]/, 1)[0] ?? '');
  }
}

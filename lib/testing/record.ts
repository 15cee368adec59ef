import { map, type OperatorFunction } from 'rxjs';
import { decodeBase64, encodeBase64 } from '../core/base64.ts';
import { VoiceError } from '../core/errors.ts';
import type { VoiceEvent } from '../conversation/events.ts';

/**
 * Writes a session's events as NDJSON: one event per line, including its line break. Audio is base64; the causes of
 * errors are omitted, since they may contain a request with its credential.
 *
 * ```text
 * events  --a--b----c--|
 *         recordSession()
 * lines   --a--b----c--|
 * ```
 *
 * @example
 * ```ts
 * import { createWriteStream } from 'node:fs';
 * import type { Pipeline } from 'rxvoice';
 * import { recordSession } from 'rxvoice/testing';
 *
 * declare const pipeline: Pipeline;
 * const file = createWriteStream('session.ndjson');
 * pipeline.events$.pipe(recordSession()).subscribe((line) => file.write(line));
 * ```
 */
export function recordSession(): OperatorFunction<VoiceEvent, string> {
  return map((event) => `${JSON.stringify(event, writable)}\n`);
}

function writable(key: string, value: unknown): unknown {
  if (key === 'cause') return undefined;
  if (value instanceof Uint8Array) return { base64: encodeBase64(value) };
  return value instanceof Error ? VoiceError.from(value).toJSON() : value;
}

/**
 * Reads the output of {@link recordSession}.
 *
 * @throws SyntaxError for a line that is not JSON.
 */
export function readSession(ndjson: string): VoiceEvent[] {
  const lines = ndjson.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line, readable) as VoiceEvent);
}

function readable(_key: string, value: unknown): unknown {
  const base64: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'base64') : undefined;
  return typeof base64 === 'string' ? decodeBase64(base64) : value;
}

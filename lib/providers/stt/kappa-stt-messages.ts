import { bytesPerSample, frameBytes, type PcmFormat } from '../../audio/formats.ts';
import type { WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import { hexUuid } from '../../core/hex.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { utf8Of } from '../../core/utf8.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';

const crlf = '\r\n';

/** A message from the service. */
export interface UspMessage {
  /** Its type, in lower case. */
  readonly path: string;
  /** Its turn, in upper case; empty if none is given. */
  readonly requestId: string;
  readonly body: WireObject;
}

/** Headers of every client message. */
export interface UspHeaders {
  readonly path: string;
  readonly requestId: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly contentType?: string;
}

/** An id for a connection or a turn: a UUID without dashes, as every message requires. */
export function uspId(): string {
  return hexUuid().toUpperCase();
}

/** A message with a JSON body. */
export function uspText(headers: Omit<UspHeaders, 'contentType'>, body: WireObject): string {
  return `${linesOf({ ...headers, contentType: 'application/json' })}${crlf}${JSON.stringify(body)}`;
}

/** A message with audio: the length of its headers, the headers without a final empty line, and the bytes. */
export function uspAudio(headers: UspHeaders, audio: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const lines = utf8Of(linesOf(headers));
  const message = new Uint8Array(2 + lines.length + audio.length);
  message.set([lines.length >> 8, lines.length & 0xff]);
  message.set(lines, 2);
  message.set(audio, 2 + lines.length);
  return message;
}

/** Parses a message from the service; `undefined` if malformed. Never throws. */
export function readUsp(data: SocketData): UspMessage | undefined {
  if (typeof data !== 'string') return undefined;
  const end = data.indexOf(crlf + crlf);
  const lines = (end < 0 ? data : data.slice(0, end)).split(crlf);
  const headers = Object.fromEntries(
    lines.flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const] : [];
    }),
  );
  const path = ownEntry(headers, 'path');
  if (path === undefined) return undefined;
  const body = end < 0 ? undefined : parseJsonObject(data.slice(end + 2 * crlf.length));
  const requestId = (ownEntry(headers, 'x-requestid') ?? '').toUpperCase();
  return { path: path.toLowerCase(), requestId, body: body ?? {} };
}

/** Format tags of a RIFF header (Microsoft's mmreg.h). */
const tags: Readonly<Record<string, number>> = { linear16: 1, alaw: 6, mulaw: 7 };

/** The 44 bytes that start a turn's audio; both lengths are 0, being unknown. */
export function riffHeader(format: PcmFormat): Uint8Array<ArrayBuffer> {
  const { encoding, sampleRate, channels } = format;
  const view = new DataView(new ArrayBuffer(44));
  const words = { 0: 'RIFF', 8: 'WAVE', 12: 'fmt ', 36: 'data' };
  for (const [at, word] of Object.entries(words)) new Uint8Array(view.buffer).set(utf8Of(word), Number(at));
  view.setUint32(16, 16, true);
  view.setUint16(20, tags[encoding] ?? 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * frameBytes(format), true);
  view.setUint16(32, frameBytes(format), true);
  view.setUint16(34, bytesPerSample(encoding) * 8, true);
  return new Uint8Array(view.buffer);
}

function linesOf({ path, requestId, now, contentType }: UspHeaders): string {
  return [
    ...[`Path: ${path}`, `X-RequestId: ${requestId}`, `X-Timestamp: ${new Date(now).toISOString()}`],
    ...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
    '',
  ].join(crlf);
}

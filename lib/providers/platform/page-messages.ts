import { asNumber, asString, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import {
  asCount,
  asToken,
  headerOf,
  maxSendLength,
  pageRates,
  pageWireVersion,
  type MicAudio,
  type Numbered,
  type PageCommand,
  type PageMessage,
} from '../../transport/page-wire.ts';

type Reader = (message: WireObject) => PageMessage | undefined;

const numbered = (seq: unknown): Numbered => {
  const number = asCount(seq);
  return number === undefined ? {} : { seq: number };
};

const command =
  (type: Exclude<PageCommand['type'], 'send'>): Reader =>
  ({ seq }) => ({ type, ...numbered(seq) });

const readers: Readonly<Record<string, Reader>> = {
  hello: ({ version, rate, audio, session, token, play, received, heard, seen }) => {
    if (version !== pageWireVersion || typeof rate !== 'number' || !pageRates.includes(rate)) return undefined;
    const [id, secret, at] = [asToken(session), asToken(token), asCount(play)];
    return {
      ...{ type: 'hello', rate },
      ...(audio === 'opus' && { audio }),
      ...(id !== undefined && { session: id }),
      ...(secret !== undefined && { token: secret }),
      ...(at !== undefined && { play: at }),
      ...{ received: asCount(received) ?? 0, heard: asCount(heard) ?? 0, seen: asCount(seen) ?? 0 },
    };
  },
  heard: ({ play, at, tailMs }) => {
    const [id, frames] = [asCount(play), asCount(at)];
    if (id === undefined || frames === undefined) return undefined;
    return { type: 'heard', play: id, at: frames, tailMs: Math.min(2000, Math.max(0, asNumber(tailMs) ?? 0)) };
  },
  ping: ({ seen }) => ({ type: 'ping', seen: asCount(seen) ?? 0 }),
  send: ({ text, seq }) => {
    const words = asString(text);
    if (words === undefined || words.length > maxSendLength) return undefined;
    return { type: 'send', text: words, ...numbered(seq) };
  },
  interrupt: command('interrupt'),
  beginTurn: command('beginTurn'),
  commitTurn: command('commitTurn'),
  cancelTurn: command('cancelTurn'),
  bye: () => ({ type: 'bye' }),
};

/** Parses a page's text message; `undefined` if invalid. Never throws. */
export function parsePageMessage(text: string): PageMessage | undefined {
  const message = parseJsonObject(text);
  return message && ownEntry(readers, asString(message['type']))?.(message);
}

/** Parses a page's binary message: audio of its microphone; `undefined` unless it holds whole samples, or a packet. */
export function parseMicAudio(bytes: Uint8Array, isOpus = false): MicAudio | undefined {
  const [at] = headerOf(bytes, 1, isOpus) ?? [];
  return at === undefined ? undefined : { at, data: new Uint8Array(bytes.subarray(4)) };
}

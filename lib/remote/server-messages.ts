import { asBoolean, asNumber, asObject, asString, type WireObject } from '../core/guard.ts';
import { ownEntry } from '../core/own-entry.ts';
import { parseJsonObject } from '../core/parse-json.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import {
  asCount,
  asToken,
  asVolume,
  headerOf,
  pageRates,
  pageWireVersion,
  type PlayAudio,
  type ServerMessage,
} from '../transport/page-wire.ts';
import { readEvent } from './event-shapes.ts';

type Reader = (message: WireObject) => ServerMessage<VoiceEvent> | undefined;

const ofPlay =
  (type: 'pause' | 'resume' | 'cut'): Reader =>
  ({ id }) => {
    const play = asCount(id);
    return play === undefined ? undefined : { type, id: play };
  };

/** What has arrived at the server, of which an older one does not count the commands. */
function arrived(mic: unknown, commands: unknown): { readonly mic: number; readonly commands?: number } {
  const number = asCount(commands);
  return { mic: asCount(mic) ?? 0, ...(number !== undefined && { commands: number }) };
}

const readers: Readonly<Record<string, Reader>> = {
  welcome: ({ version, session, token, resumed, rate, audio, mic, commands, resumeMs, missed }) => {
    const [id, secret, waitMs] = [asToken(session), asToken(token), asNumber(resumeMs)];
    if (version !== pageWireVersion || id === undefined || secret === undefined || waitMs === undefined)
      return undefined;
    if (typeof rate !== 'number' || !pageRates.includes(rate)) return undefined;
    const counts = { ...arrived(mic, commands), missed: asCount(missed) ?? 0 };
    return {
      type: 'welcome',
      session: id,
      token: secret,
      resumed: resumed === true,
      rate,
      resumeMs: waitMs,
      ...(audio === 'opus' && { audio }),
      ...counts,
    };
  },
  play: ({ id, from, paused, volume }) => {
    const [play, at] = [asCount(id), asCount(from)];
    if (play === undefined || at === undefined) return undefined;
    return { type: 'play', id: play, from: at, paused: asBoolean(paused) ?? false, volume: asVolume(volume) };
  },
  end: ({ id, at }) => {
    const [play, frames] = [asCount(id), asCount(at)];
    return play === undefined || frames === undefined ? undefined : { type: 'end', id: play, at: frames };
  },
  pause: ofPlay('pause'),
  resume: ofPlay('resume'),
  cut: ofPlay('cut'),
  volume: ({ value }) => ({ type: 'volume', value: asVolume(value) }),
  pong: ({ mic, commands }) => ({ type: 'pong', ...arrived(mic, commands) }),
  event: ({ seq, event }) => {
    const [number, payload] = [asCount(seq), readEvent(asObject(event))];
    return number === undefined || !payload ? undefined : { type: 'event', seq: number, event: payload };
  },
};

/** Parses a server's text message; `undefined` if invalid. Never throws. */
export function parseServerMessage(text: string): ServerMessage<VoiceEvent> | undefined {
  const message = parseJsonObject(text);
  return message && ownEntry(readers, asString(message['type']))?.(message);
}

/** Parses a server's binary message: audio of a play; `undefined` unless it holds whole samples, or a packet. */
export function parsePlayAudio(bytes: Uint8Array, isOpus = false): PlayAudio | undefined {
  const [play, at] = headerOf(bytes, 2, isOpus) ?? [];
  if (play === undefined || at === undefined) return undefined;
  return { play, at, data: new Uint8Array(bytes.subarray(8)) };
}

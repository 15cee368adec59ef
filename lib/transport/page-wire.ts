import { asNumber, asString, type WireObject } from '../core/guard.ts';

/** Version of the wire between `rxvoice/remote` and `PageSocket` (docs/remote.md). */
export const pageWireVersion = 1;

/** Sample rates of either direction, in Hz. */
export const pageRates: readonly number[] = [8000, 16_000, 24_000, 48_000];

/** Sample rate of what a page plays with Opus, whose decoders deliver no other, in Hz. */
export const opusRate = 48_000;

/** Bits per second of speech, either way; less in pauses. The tones of a telephone's keys survive it. */
export const opusBitrate = 48_000;

/** Frames of a packet: 20 ms. */
export function opusPacketFrames(rate: number): number {
  return rate / 50;
}

/** How much later, in frames, a sample leaves the decoder than it entered the encoder: 6.5 ms with libopus. */
export function opusDelayFrames(rate: number): number {
  return (rate * 6.5) / 1000;
}

/** The codes with which the server closes a page's socket: the first three are final. */
export const pageCloses = {
  /** The conversation has ended. */
  over: 4000,
  /** Another socket of the same page has replaced it. */
  replaced: 4001,
  /** No such session, or the wrong token. */
  unknown: 4002,
  /** Not a page's message, or not an allowed page. */
  refused: 1008,
  /** The application could not open the conversation. */
  failed: 1011,
  /** No room for another conversation. */
  full: 1013,
} as const;

/** Longest text of a `send`, in UTF-16 code units. */
export const maxSendLength = 10_000;

/** The first message of each of a page's sockets. Positions and lengths are frames: samples of one channel. */
export interface PageHello {
  readonly type: 'hello';
  /** Sample rate of the page's audio, in Hz. */
  readonly rate: number;
  /** Asks for Opus in both directions. */
  readonly audio?: 'opus';
  /** To resume a session. */
  readonly session?: string;
  readonly token?: string;
  /** The play that the page is playing, how much of it was received, and how much was heard. */
  readonly play?: number;
  readonly received: number;
  readonly heard: number;
  /** The number of the last event that it has received. */
  readonly seen: number;
}

/** A command of the page's user. */
export type PageCommand =
  | { readonly type: 'send'; readonly text: string }
  | { readonly type: 'interrupt' | 'beginTurn' | 'commitTurn' | 'cancelTurn' };

/**
 * Numbers a page's commands, from 1 in each session: the server carries out each once, however often it is sent. Older
 * pages do not number them.
 */
export interface Numbered {
  readonly seq?: number;
}

/** A text message of a page. */
export type PageMessage =
  | PageHello
  | (PageCommand & Numbered)
  /** How much of a play was heard; `tailMs`: how long the device would continue if it were silenced now. */
  | { readonly type: 'heard'; readonly play: number; readonly at: number; readonly tailMs: number }
  | { readonly type: 'ping'; readonly seen: number }
  | { readonly type: 'bye' };

/** A text message of the server. `E`: the type of a validated event. */
export type ServerMessage<E = WireObject> =
  | {
      readonly type: 'welcome';
      readonly session: string;
      readonly token: string;
      readonly resumed: boolean;
      /** Sample rate of the server's audio, in Hz. */
      readonly rate: number;
      /** The audio of both directions. Default: linear16. */
      readonly audio?: 'opus' | undefined;
      /** How much of the microphone's audio has arrived. */
      readonly mic: number;
      /** The number of the last command that has arrived. Older servers do not tell. */
      readonly commands?: number;
      /** How long the session waits for a lost page, in milliseconds. */
      readonly resumeMs: number;
      /** How many events were dropped meanwhile. */
      readonly missed: number;
    }
  /** Audio of this play follows, from a position on; a page that is already playing it continues. */
  | {
      readonly type: 'play';
      readonly id: number;
      readonly from: number;
      readonly paused: boolean;
      readonly volume: number;
    }
  /** The play ends at this position. */
  | { readonly type: 'end'; readonly id: number; readonly at: number }
  | { readonly type: 'pause' | 'resume' | 'cut'; readonly id: number }
  | { readonly type: 'volume'; readonly value: number }
  | { readonly type: 'pong'; readonly mic: number; readonly commands?: number }
  | { readonly type: 'event'; readonly seq: number; readonly event: E };

/** Audio of the microphone, from a position on. */
export interface MicAudio {
  readonly at: number;
  /** linear16, or a packet of Opus. */
  readonly data: Uint8Array<ArrayBuffer>;
}

/** Audio of a play, from a position on. */
export interface PlayAudio extends MicAudio {
  readonly play: number;
}

/** A message as text; those that begin a session carry the version. */
export function encodePageWire(message: PageMessage | ServerMessage<object>): string {
  const isFirst = message.type === 'hello' || message.type === 'welcome';
  return JSON.stringify(isFirst ? { ...message, version: pageWireVersion } : message);
}

/** A binary message: numbers of 32 bits, little-endian, then the samples or the packet. */
export function encodeAudioMessage(header: readonly number[], data: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(header.length * 4 + data.length);
  const view = new DataView(bytes.buffer);
  header.forEach((value, index) => view.setUint32(index * 4, value, true));
  bytes.set(data, header.length * 4);
  return bytes;
}

/** The numbers before a binary message's audio; `undefined` if that is neither whole samples nor a packet of Opus. */
export function headerOf(bytes: Uint8Array, length: number, isOpus: boolean): number[] | undefined {
  if (bytes.length < length * 4 || (!isOpus && bytes.length % 2 !== 0)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length }, (_, index) => view.getUint32(index * 4, true));
}

/** A whole number that fits a header. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 32 ? value : undefined;
}

/** A volume, 0 to 1. Default: 1. */
export function asVolume(value: unknown): number {
  return Math.min(1, Math.max(0, asNumber(value) ?? 1));
}

/** A session's id, or its token. */
export function asToken(value: unknown): string | undefined {
  const text = asString(value);
  return text !== undefined && /^[\da-f]{32,64}$/.test(text) ? text : undefined;
}

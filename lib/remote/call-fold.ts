import { joinBytes } from '../audio/concat.ts';
import { VoiceError } from '../core/errors.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import type { Step } from '../stream/fold.ts';
import {
  encodeAudioMessage,
  encodePageWire,
  opusDelayFrames,
  opusPacketFrames,
  opusRate,
  type PageCommand,
  type PageMessage,
  type PlayAudio,
  type ServerMessage,
} from '../transport/page-wire.ts';
import { due, encodedAt, encodedOnly, queued, unacknowledged, unsent, type Queue } from './outgoing.ts';
import type { RemoteLink } from './remote-link.ts';
import { parsePlayAudio, parseServerMessage } from './server-messages.ts';

type Bytes = Uint8Array<ArrayBuffer>;
type Samples = Int16Array<ArrayBuffer>;
type Message = ServerMessage<VoiceEvent>;

/** The server's first message on each socket. */
export type Welcome = Extract<Message, { type: 'welcome' }>;

/** What the page plays. Positions are in frames. */
interface Play {
  readonly id: number;
  /** Up to here it was received, and reported to the server as heard. */
  readonly received: number;
  readonly told: number;
  readonly endsAt?: number | undefined;
  /** The position of the next packet of Opus, and of the next sample that its decoder delivers. */
  readonly next: number;
  readonly decoded: number;
}

/** The state of a call, over successive sockets. */
export interface Call {
  readonly welcome: Welcome | undefined;
  /** Whether the current socket was welcomed. */
  readonly isLinked: boolean;
  readonly play: Play | undefined;
  /** The number of the last event. */
  readonly seen: number;
  /** How much the microphone delivered, in frames. */
  readonly micAt: number;
  /** What it delivered that is no full packet yet. */
  readonly held: Bytes;
  /** Positions of the packets that the encoder has, first in, first out. */
  readonly encoding: readonly number[];
  readonly outgoing: Queue;
  /** The number of the last command. */
  readonly commands: number;
  /** When the server was last told what was heard, and last pinged, in the scheduler's milliseconds. */
  readonly toldAt: number;
  readonly pingedAt: number;
}

/** Inputs of a call. */
export type CallInput =
  /** A socket is open. */
  | { readonly type: 'open' }
  | { readonly type: 'lost'; readonly attempt: number; readonly delayMs: number; readonly error: VoiceError }
  /** Anything that came from the server. */
  | { readonly type: 'received'; readonly data: unknown }
  | { readonly type: 'decoded'; readonly samples: Samples }
  | { readonly type: 'captured'; readonly audio: Bytes }
  | { readonly type: 'encoded'; readonly packet: Bytes }
  /** The browser has closed a codec. */
  | { readonly type: 'codec.failed'; readonly cause: unknown }
  /** The speaker's position may have moved. */
  | { readonly type: 'moved' }
  | { readonly type: 'ping' }
  | { readonly type: 'command'; readonly command: PageCommand };

/** What the runner carries out. */
export type CallEffect =
  /** Lost if the socket is closed. */
  | { readonly type: 'send'; readonly data: string | Bytes }
  /** Closes the socket, so that another is opened. */
  | { readonly type: 'reconnect' }
  | { readonly type: 'link'; readonly link: RemoteLink }
  | { readonly type: 'welcome'; readonly welcome: Welcome; readonly isFirst: boolean }
  | { readonly type: 'event'; readonly event: VoiceEvent }
  | { readonly type: 'error'; readonly error: VoiceError }
  /** The speaker's commands. */
  | { readonly type: 'begin'; readonly from: number; readonly paused: boolean }
  | { readonly type: 'push'; readonly samples: Samples }
  | { readonly type: 'volume'; readonly value: number }
  | { readonly type: 'end' | 'pause' | 'resume' | 'stop' }
  /** Replaces the decoder: nothing more is heard of what is in the previous one. */
  | { readonly type: 'decoder.open' | 'decoder.close' }
  | { readonly type: 'decode'; readonly packet: Bytes }
  /** Opens the encoder if there is none. */
  | { readonly type: 'encode'; readonly frame: Bytes }
  | { readonly type: 'encoder.close' };

/** The world outside, at the moment of an input. */
export interface CallContext {
  /** In the scheduler's milliseconds. */
  readonly now: number;
  /** `full`: it buffers more than a working connection would. */
  readonly socket: 'open' | 'full' | 'closed';
  /** Whether the page has Opus; used if the server has it too. */
  readonly hasOpus: boolean;
  /** The microphone's sample rate, in Hz. */
  readonly rate: number;
  /** The speaker's position in the play, in frames, and how long it would still sound if silenced now. */
  readonly heard: number;
  readonly tailMs: number;
}

type CallStep = Step<Call, CallEffect>;

/** How often positions are reported and the server is pinged, in milliseconds. */
export const reportMs = 100;
export const pingMs = 4000;

/** How far ahead a server may send, in seconds. */
const maxAheadSeconds = 60;

/** The state before the first socket. */
export const newCall: Call = {
  welcome: undefined,
  isLinked: false,
  play: undefined,
  seen: 0,
  micAt: 0,
  held: new Uint8Array(0),
  encoding: [],
  outgoing: [],
  commands: 0,
  toldAt: -Infinity,
  pingedAt: -Infinity,
};

/** Folds an input into a call: its next state and effects. Pure. @throws VoiceError `overflow` when too much comes. */
export function followCall(call: Call, input: CallInput, context: CallContext): CallStep {
  switch (input.type) {
    case 'open':
      return hello(call, context);
    case 'lost': {
      const { attempt, delayMs, error } = input;
      return [
        { ...call, isLinked: false },
        { type: 'link', link: { type: 'reconnecting', attempt, delayMs, error } },
      ];
    }
    case 'received':
      return typeof input.data === 'string' ? onText(call, input.data, context) : onBinary(call, input.data, context);
    case 'decoded':
      return onDecoded(call, input.samples, context);
    case 'captured':
      return onCaptured(call, input.audio, context);
    case 'encoded':
      return onEncoded(call, input.packet, context);
    case 'codec.failed':
      return onCodecFailed(call, input.cause);
    case 'moved':
      return tell(call, context);
    case 'ping':
      return ping(call, context);
    case 'command': {
      const seq = call.commands + 1;
      const data = encodePageWire({ ...input.command, seq });
      return put({ ...call, commands: seq }, [{ end: call.micAt, isAudio: false, seq, data }], context);
    }
  }
}

const sent = (message: PageMessage): CallEffect => ({ type: 'send', data: encodePageWire(message) });

const usesOpus = ({ welcome }: Call, { hasOpus }: CallContext): boolean => hasOpus && welcome?.audio === 'opus';

/** What was heard can't be more than what was received: a play that has just begun may stand before the speaker's. */
const heardOf = ({ received }: Pick<Play, 'received'>, { heard }: CallContext): number =>
  Math.min(received, Math.floor(heard));

function hello(call: Call, context: CallContext): CallStep {
  const { session, token } = call.welcome ?? {};
  const { id, received = 0 } = call.play ?? {};
  const message: PageMessage = {
    ...{ type: 'hello', rate: context.rate },
    ...(context.hasOpus && { audio: 'opus' }),
    ...(session !== undefined && token !== undefined && { session, token }),
    ...(id !== undefined && { play: id }),
    ...{ received, heard: heardOf({ received }, context), seen: call.seen },
  };
  return [{ ...call, isLinked: false }, sent(message)];
}

function onBinary(call: Call, data: unknown, context: CallContext): CallStep {
  const isOpus = usesOpus(call, context);
  const audio = data instanceof ArrayBuffer ? parsePlayAudio(new Uint8Array(data), isOpus) : undefined;
  const { play } = call;
  if (!call.isLinked || !play || audio?.play !== play.id) return [call];
  return isOpus
    ? decode(call, play, audio, context)
    : hold(call, play, audio.at, new Int16Array(audio.data.buffer), context);
}

function onText(call: Call, text: string, context: CallContext): CallStep {
  const message = parseServerMessage(text);
  // A newer server may send messages that this page doesn't know.
  if (!message || !(call.isLinked || message.type === 'welcome')) return [call];
  switch (message.type) {
    case 'welcome':
      return resume(call, message, context);
    case 'event':
      return message.seq <= call.seen
        ? [call]
        : [
            { ...call, seen: message.seq },
            { type: 'event', event: message.event },
          ];
    case 'volume':
      return [call, { type: 'volume', value: message.value }];
    case 'pong':
      return [arrived(call, message)];
    case 'play':
      return begin(call, message, context);
    default:
      return call.play?.id === message.id ? order(call, call.play, message) : [call];
  }
}

function resume(call: Call, welcome: Welcome, context: CallContext): CallStep {
  if (call.isLinked) return [call];
  const { resumed, missed } = welcome;
  const linked = arrived({ ...call, welcome, isLinked: true }, welcome);
  const [next, ...effects] = flush({ ...linked, outgoing: unsent(linked.outgoing) }, context);
  const audio = usesOpus(next, context) ? 'opus' : 'linear16';
  return [
    next,
    { type: 'link', link: { type: 'connected', resumed, missed, audio } },
    { type: 'welcome', welcome, isFirst: call.welcome === undefined },
    ...effects,
  ];
}

function begin(call: Call, message: Extract<Message, { type: 'play' }>, context: CallContext): CallStep {
  const { id, from, paused, volume } = message;
  const isOpus = usesOpus(call, context);
  const known = call.play?.id === id ? call.play : undefined;
  const play: Play = known ? { ...known, endsAt: undefined } : started(id, from);
  const turn: CallEffect = known ? { type: paused ? 'pause' : 'resume' } : { type: 'begin', from, paused };
  // The decoder's first samples are those of its delay.
  const opened = isOpus ? { ...play, next: from, decoded: from - opusDelayFrames(opusRate) } : play;
  return [
    { ...call, play: opened },
    { type: 'volume', value: volume },
    turn,
    ...(isOpus ? [{ type: 'decoder.open' } as const] : []),
  ];
}

const started = (id: number, from: number): Play => ({ id, received: from, told: from, next: from, decoded: from });

function order(call: Call, play: Play, message: Exclude<Extract<Message, { id: number }>, { type: 'play' }>): CallStep {
  switch (message.type) {
    case 'end': {
      const next = { ...call, play: { ...play, endsAt: message.at } };
      return message.at === play.received ? [next, { type: 'end' }] : [next];
    }
    case 'pause':
    case 'resume':
      return [call, { type: message.type }];
    case 'cut':
      return [{ ...call, play: undefined }, { type: 'stop' }, { type: 'decoder.close' }];
  }
}

/** Decodes the packet that is expected next. */
function decode(call: Call, play: Play, { at, data }: PlayAudio, context: CallContext): CallStep {
  if (at !== play.next) return [call];
  const next = play.next + opusPacketFrames(opusRate);
  checkAhead(call, next, context);
  return [
    { ...call, play: { ...play, next } },
    { type: 'decode', packet: data },
  ];
}

function onDecoded(call: Call, samples: Samples, context: CallContext): CallStep {
  const { play } = call;
  if (!play) return [call];
  return hold(call, { ...play, decoded: play.decoded + samples.length }, play.decoded, samples, context);
}

/** Plays the samples that are new, up to the end. */
function hold(call: Call, play: Play, at: number, samples: Samples, context: CallContext): CallStep {
  const news =
    at > play.received ? samples.subarray(0, 0) : samples.subarray(play.received - at, (play.endsAt ?? Infinity) - at);
  if (news.length === 0) return [{ ...call, play }];
  const received = play.received + news.length;
  checkAhead(call, received, context);
  const next = { ...call, play: { ...play, received } };
  const pushed: CallEffect = { type: 'push', samples: news };
  return received === play.endsAt ? [next, pushed, { type: 'end' }] : [next, pushed];
}

function checkAhead({ welcome }: Call, at: number, { heard }: CallContext): void {
  if (at - heard > maxAheadSeconds * (welcome?.rate ?? 0)) {
    throw new VoiceError('RemotePipeline: the server sends too much', { code: 'overflow' });
  }
}

/** Reports what was heard. */
function tell(call: Call, context: CallContext): CallStep {
  const { play, isLinked, toldAt } = call;
  if (!play || !isLinked) return [call];
  const at = heardOf(play, context);
  const isOver = at === play.endsAt;
  if (at === play.told || (!isOver && context.now - toldAt < reportMs)) return [call];
  return [
    { ...call, toldAt: context.now, play: { ...play, told: at } },
    sent({ type: 'heard', play: play.id, at, tailMs: Math.round(context.tailMs) }),
  ];
}

function onCaptured(call: Call, audio: Bytes, context: CallContext): CallStep {
  if (!call.welcome) return [call];
  const end = call.micAt + audio.length / 2;
  const [next, ...effects] = usesOpus(call, context)
    ? encode(call, audio, context)
    : put({ ...call, micAt: end }, [{ end, isAudio: true, data: encodeAudioMessage([call.micAt], audio) }], context);
  const [pinged, ...pings] = ping(next, context);
  return [pinged, ...effects, ...pings];
}

/** Packets take their place in the queue before they are encoded: what is put later is sent later. */
function encode(call: Call, audio: Bytes, context: CallContext): CallStep {
  const all = joinBytes([call.held, audio]);
  const length = opusPacketFrames(context.rate);
  const starts = Array.from({ length: Math.floor(all.length / (length * 2)) }, (_, index) => index * length);
  const micAt = call.micAt + starts.length * length;
  const [next, ...effects] = put(
    {
      ...call,
      micAt,
      held: all.slice(starts.length * length * 2),
      encoding: [...call.encoding, ...starts.map((start) => call.micAt + start)],
    },
    starts.map((start) => ({ end: call.micAt + start + length, isAudio: true })),
    context,
  );
  const frames = starts.map((start) => all.slice(start * 2, (start + length) * 2));
  return [next, ...effects, ...frames.map((frame) => ({ type: 'encode', frame }) as const)];
}

function onEncoded(call: Call, packet: Bytes, context: CallContext): CallStep {
  const [at, ...encoding] = call.encoding;
  if (at === undefined) return [call];
  const end = at + opusPacketFrames(context.rate);
  const outgoing = encodedAt(call.outgoing, end, encodeAudioMessage([at], packet));
  return flush({ ...call, encoding, outgoing }, context);
}

/** The next connection begins with other codecs. */
function onCodecFailed(call: Call, cause: unknown): CallStep {
  const outgoing = encodedOnly(call.outgoing);
  const error = new VoiceError('RemotePipeline: the Opus codec failed', { code: 'internal', cause });
  return [
    { ...call, encoding: [], outgoing },
    { type: 'encoder.close' },
    { type: 'error', error },
    { type: 'reconnect' },
  ];
}

/** What the server has received: the microphone's audio up to a position, and commands up to a number. */
function arrived(call: Call, { mic, commands }: Pick<Welcome, 'mic' | 'commands'>): Call {
  return { ...call, outgoing: unacknowledged(call.outgoing, mic, commands) };
}

function put(call: Call, messages: Queue, context: CallContext): CallStep {
  return flush({ ...call, outgoing: queued(call.outgoing, messages) }, context);
}

function flush(call: Call, { socket }: CallContext): CallStep {
  if (!call.isLinked || socket === 'closed') return [call];
  // A connection that accepts no data is as good as lost.
  if (socket === 'full') return [call, { type: 'reconnect' }];
  const { queue, data } = due(call.outgoing);
  return [{ ...call, outgoing: queue }, ...data.map((each) => ({ type: 'send', data: each }) as const)];
}

function ping(call: Call, { now }: CallContext): CallStep {
  if (!call.isLinked || now - call.pingedAt < pingMs) return [call];
  return [{ ...call, pingedAt: now }, sent({ type: 'ping', seen: call.seen })];
}

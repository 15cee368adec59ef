import { bytesPerSample } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import type { VoiceErrorOptions } from '../../core/errors.ts';
import { asString, wireWord, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { Step } from '../../stream/fold.ts';
import { overSocket } from './sockets/over-socket.ts';
import type { SocketWire } from './sockets/socket-wire.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byOrder } from './sockets/by-order.ts';
import type { ReadEffect } from './sockets/speech-wire.ts';
import type { TTSConfig } from './voice-service.ts';

/** A voice of {@link AlphaTTS}: `aura-2-{voice}-{language}`, or an older `aura-{voice}-en`; others pass through. */
export type AlphaTTSVoice =
  | 'aura-2-thalia-en'
  | 'aura-2-andromeda-en'
  | 'aura-2-helena-en'
  | 'aura-2-apollo-en'
  | 'aura-2-arcas-en'
  | 'aura-2-aries-en'
  | 'aura-asteria-en'
  | (string & {});

/** A format of {@link AlphaTTS}: raw samples, mono. */
export type AlphaTTSFormat = 'linear16' | 'mulaw' | 'alaw';

/** Configuration of {@link AlphaTTS}. Voice and format are fixed for a connection: a change opens a new one. */
export interface AlphaTTSConfig extends TTSConfig {
  /** Additional fields of each `Speak` message, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Default: `aura-2-thalia-en`. */
  readonly voice?: AlphaTTSVoice;
  /** Default: `linear16`. */
  readonly outputFormat?: AlphaTTSFormat;
  /** In Hz. linear16: 8000, 16000, 24000 (default), 32000 or 48000; mulaw and alaw: 8000 (default) or 16000. */
  readonly sampleRate?: number;
  /** Requested options. Default: the service's own. */
  readonly options?: {
    /** The voice, where `voice` is absent. */
    readonly model?: AlphaTTSVoice;
    /** 0.7 to 1.5; Aura-2 in English and Spanish only. Default: the service's, 1. */
    readonly speed?: number;
    /** Keeps the text out of the service's model improvement program. Default: the service's, false. */
    readonly mipOptOut?: boolean;
  };
  /** The service's limits per minute, if it has granted more than it documents; text beyond them waits. */
  readonly limits?: {
    /** Default: 2400. */
    readonly charactersPerMinute?: number;
    /** Default: 20. */
    readonly flushesPerMinute?: number;
  };
}

const sampleRates: Readonly<Record<AlphaTTSFormat, readonly number[]>> = {
  linear16: [24000, 8000, 16000, 32000, 48000],
  mulaw: [8000, 16000],
  alaw: [8000, 16000],
};

/** Payloads in the reason of a close that reconnecting would not fix. */
const closes: readonly { readonly payload: RegExp; readonly why: string; readonly options: VoiceErrorOptions }[] = [
  {
    payload: /DATA-0001/i,
    why: 'more than 2,400 characters in a minute',
    options: { code: 'rate_limited', recoverable: true, retryAfterMs: 60_000 },
  },
  { payload: /DATA-0000|MESSAGE-0000/i, why: 'a message it does not know', options: { code: 'protocol' } },
  { payload: /BIG-000/i, why: 'a message that is too long', options: { code: 'configuration' } },
];

function formatOf({ outputFormat: encoding = 'linear16', sampleRate }: AlphaTTSConfig): AudioMetadata {
  const [usual = 8000] = ownEntry(sampleRates, encoding) ?? [];
  return { encoding, sampleRate: sampleRate ?? usual, channels: 1, bitDepth: bytesPerSample(encoding) * 8 };
}

const text = (message: WireObject, key: string): string => asString(message[key]) ?? '';

function warn(state: undefined, message: WireObject): Step<undefined, ReadEffect> {
  // The service says `warn_code` and `warn_msg`; the specification has the other names.
  const code = wireWord(message['warn_code'] ?? message['code']);
  // Its own words may quote the text.
  const told = asString(message['warn_msg'] ?? message['description'])?.slice(0, 300) ?? 'nothing';
  return [
    state,
    { type: 'warning', text: `the service warns: ${code}` },
    { type: 'note', text: `was told: ${told}` },
    // It stands in place of that flush's answer.
    ...(code === 'EXCESSIVE_FLUSH' ? [{ type: 'unflushed' } as const] : []),
  ];
}

const wire: SocketWire<AlphaTTSConfig, undefined> = {
  name: 'AlphaTTS',
  baseUrl: 'https://api.deepgram.com',
  rules: ({ outputFormat = 'linear16' }) => ({
    ...{ voice: {}, extraBody: {} },
    outputFormat: { oneOf: Object.keys(sampleRates) },
    sampleRate: { oneOf: ownEntry(sampleRates, outputFormat) ?? [] },
    'options.model': { type: 'text' },
    'options.speed': { min: 0.7, max: 1.5 },
    'options.mipOptOut': { type: 'boolean' },
    'limits.charactersPerMinute': { min: 2_000 },
    'limits.flushesPerMinute': { min: 20 },
  }),
  format: formatOf,
  maxTextLength: () => 2000,
  address: (config) => {
    const { voice, options: { model = 'aura-2-thalia-en', speed, mipOptOut } = {} } = config;
    const { encoding, sampleRate } = formatOf(config);
    const query = { model: voice ?? model, encoding, sample_rate: sampleRate, speed, mip_opt_out: mipOptOut };
    return { path: '/v1/speak', query };
  },
  attribution: ({ limits: { charactersPerMinute = 2400, flushesPerMinute = 20 } = {} }) =>
    byOrder({ flush: '{"type":"Flush"}', flushReserve: 8, charactersPerMinute, flushesPerMinute }),
  voice:
    ({ extraBody }) =>
    () => ({
      say: (text) => JSON.stringify({ type: 'Speak', text, ...extraBody }),
      cancel: '{"type":"Clear"}',
    }),
  farewell: ['{"type":"Close"}'],
  start: undefined,
  typeOf: ({ type }) => asString(type),
  requestIdOf: ({ type, request_id: id }) => (type === 'Metadata' ? asString(id) : undefined),
  read: {
    binary: (state, _message, { data }) => (typeof data === 'string' ? [state] : [state, { type: 'audio', data }]),
    Flushed: (state) => [state, { type: 'end' }],
    Cleared: (state) => [state, { type: 'cleared' }],
    Metadata: (state, message) => [state, { type: 'note', text: `request ${text(message, 'request_id')}` }],
    Warning: warn,
    Error: warn,
  },
  // An unknown voice is rejected like a malformed query.
  errorOf: ({ message }) => (/No such model/i.test(message) ? { code: 'not_found' } : undefined),
  closeError: ({ code, reason }, { error }) => {
    const known = closes.find(({ payload }) => payload.test(reason));
    const [payload] = known?.payload.exec(reason) ?? [];
    const text = `the service closed the connection: ${known?.why ?? ''} (${code} ${payload?.toUpperCase() ?? ''})`;
    return known && error(text, { ...known.options, status: code });
  },
};

/**
 * Deepgram Aura text-to-speech, API V1 (`/v1/speak`), `https://api.deepgram.com`,
 * https://developers.deepgram.com/docs/tts-websocket
 *
 * One connection stays open between utterances; simultaneous utterances get one each. The service gives no word
 * timings: `words$` are estimates per sentence. It accepts 2,400 characters and 20 flushes per minute; text beyond that
 * waits.
 */
export class AlphaTTS extends RemoteTTS<AlphaTTSConfig> {
  constructor(config: AlphaTTSConfig, logger?: Logger) {
    super(overSocket(wire), config, logger);
  }
}

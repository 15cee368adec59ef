import { filter, type MonoTypeOperatorFunction } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { asArray, asNumber, asObject, asString, type WireObject } from '../core/guard.ts';
import { oncePerKind } from '../core/application-code.ts';
import { ownEntry } from '../core/own-entry.ts';
import type { ProviderRole } from '../core/roles.ts';

/** The kinds of values that providers emit, and the application: both can emit anything. */
type Kind =
  'transcript' | 'speech' | 'model' | 'said' | 'audio' | 'word' | 'captured' | 'playback' | 'device' | 'connection';

type Check = (value: WireObject) => boolean;

/**
 * Drops malformed values. The first of each kind is reported.
 *
 * ```text
 * source  --a--null--b--5--|
 *         validate('word')
 * result  --a--------b-----|
 * ```
 */
export interface Validate {
  <T>(kind: Kind): MonoTypeOperatorFunction<T>;
  /** The same for one value: whether it is well-formed. */
  readonly accepts: (kind: Kind, value: unknown) => boolean;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => asNumber(value) !== undefined;
const always = (): boolean => true;

/** An event of a known `type`, whose other fields pass the check for it. */
const typed =
  (checks: Readonly<Record<string, Check>>): Check =>
  (event) =>
    ownEntry(checks, asString(event['type']))?.(event) ?? false;

/** Bytes of any realm: test environments have a Uint8Array of their own. Other views count samples, not bytes. */
const isBytes = (data: unknown): boolean => ArrayBuffer.isView(data) && Reflect.get(data, 'BYTES_PER_ELEMENT') === 1;

const isChunk: Check = ({ data, metadata, utteranceId }) =>
  isBytes(data) && isFormat(metadata) && (utteranceId === undefined || isText(utteranceId));

function isFormat(value: unknown): boolean {
  if (value === undefined) return true;
  const { encoding, sampleRate, channels } = asObject(value) ?? {};
  return isText(encoding) && isCount(sampleRate) && isCount(channels);
}

const isCount = (value: unknown): boolean => (asNumber(value) ?? 0) > 0;

const mayBePlaced: Check = ({ positionMs }) => positionMs === undefined || isNumber(positionMs);

const isPosition: Check = ({ positionMs }) => isNumber(positionMs);

/** For each kind: the role that emits it, its contract in words, and a check of the fields that are used. */
const kinds: Readonly<Record<Kind, readonly [role: ProviderRole | undefined, rule: string, isOne: Check]>> = {
  transcript: [
    'stt',
    'transcripts$ must emit TranscriptionResults',
    ({ text, metadata }) => {
      const words = asObject(metadata)?.['words'];
      return isText(text) && (words === undefined || (Array.isArray(words) && asArray(words).every(asObject)));
    },
  ],
  speech: [
    'stt',
    'speech$ must emit SpeechEvents',
    typed({ started: mayBePlaced, ended: mayBePlaced, resumed: mayBePlaced }),
  ],
  model: [
    'llm',
    "generate() must emit LLMEvents: { type: 'token', text }, { type: 'tool-call', id, name, args, argsText }, " +
      "{ type: 'done', finishReason }",
    typed({
      token: ({ text }) => isText(text),
      'tool-call': ({ id, name, argsText }) => [id, name, argsText].every(isText),
      done: ({ finishReason, usage }) => isText(finishReason) && (usage === undefined || asObject(usage) !== undefined),
    }),
  ],
  said: [undefined, 'say() must be given texts', ({ text }) => isText(text)],
  audio: ['tts', 'audio must come as AudioChunks, with a Uint8Array as data', isChunk],
  word: [
    'tts',
    'words$ must emit SpokenWords',
    ({ text, startMs, endMs }) => isText(text) && isNumber(startMs) && isNumber(endMs),
  ],
  captured: ['input', 'audio$ must emit AudioChunks, with a Uint8Array as data', isChunk],
  playback: [
    'output',
    'play() must emit PlaybackEvents',
    typed({ started: isPosition, progress: isPosition, paused: isPosition, resumed: isPosition, finished: isPosition }),
  ],
  device: [undefined, 'device$ must emit DeviceEvents', ({ type }) => isText(type)],
  connection: [
    undefined,
    'connection$ must emit ConnectionEvents',
    typed({
      connecting: always,
      connected: always,
      closed: always,
      reconnecting: ({ attempt, delayMs }) => isNumber(attempt) && isNumber(delayMs),
      lost: ({ error }) => isText(asObject(error)?.['message']),
      fallback: ({ from, to }) => isText(from) && isText(to),
    }),
  ],
};

/** @param tell - Called once for each kind, with the role that emitted the malformed value, if known. */
export function validator(tell: (error: VoiceError, role: ProviderRole | undefined) => void): Validate {
  const tellOnce = oncePerKind((kind) => {
    const [role, rule] = kinds[kind as Kind];
    tell(new VoiceError(`ignored a malformed value: ${rule}`, { code: 'protocol', recoverable: true }), role);
  });
  const accepts = (kind: Kind, value: unknown): boolean => {
    const [, , isOne] = kinds[kind];
    const object = asObject(value);
    if (object && isOne(object)) return true;
    tellOnce(kind);
    return false;
  };
  return Object.assign(<T>(kind: Kind) => filter<T>((value) => accepts(kind, value)), { accepts });
}

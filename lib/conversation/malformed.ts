import { filter, type MonoTypeOperatorFunction } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { asArray, asNumber, asObject, asString, oncePerKind, ownEntry, type WireObject } from '../core/guard.ts';
import type { ProviderRole } from '../core/roles.ts';
import type { Emit } from './event-bus.ts';
import { reportError } from './enact.ts';

/** What a conversation reads of its providers, which may be the application's own. */
type Kind = 'transcript' | 'speech' | 'model' | 'audio' | 'word';

/**
 * Drops what is none of a kind. The first of each kind in a conversation is told.
 *
 * ```text
 * source  --a--null--b--5--|
 *         sieve('word')
 * result  --a--------b-----|
 * ```
 */
export type Sieve = <T>(kind: Kind) => MonoTypeOperatorFunction<T>;

/** Where each kind comes from, and what a conversation relies on. */
const kinds: Readonly<Record<Kind, readonly [ProviderRole, source: string, isOne: (value: WireObject) => boolean]>> = {
  transcript: [
    'stt',
    'transcripts$ must emit a TranscriptionResult',
    ({ text, metadata }) => {
      const words = asObject(metadata)?.['words'];
      return isText(text) && (words === undefined || (Array.isArray(words) && asArray(words).every(asObject)));
    },
  ],
  speech: [
    'stt',
    'speech$ must emit a SpeechEvent',
    ({ type }) => /^(started|ended|resumed)$/.test(asString(type) ?? ''),
  ],
  model: [
    'llm',
    'generate() must emit an LLMEvent',
    (event) => ownEntry(isEvent, asString(event['type']))?.(event) ?? false,
  ],
  audio: [
    'tts',
    'audio must come as AudioChunks',
    ({ data, metadata, utteranceId }) =>
      data instanceof Uint8Array && isFormat(metadata) && (utteranceId === undefined || isText(utteranceId)),
  ],
  word: [
    'tts',
    'words$ must emit a SpokenWord',
    ({ text, startMs, endMs }) => isText(text) && asNumber(startMs) !== undefined && asNumber(endMs) !== undefined,
  ],
};

const isEvent: Readonly<Record<string, (event: WireObject) => boolean>> = {
  token: ({ text }) => isText(text),
  'tool-call': ({ id, name, argsText }) => [id, name, argsText].every(isText),
  done: ({ finishReason, usage }) => isText(finishReason) && (usage === undefined || asObject(usage) !== undefined),
};

/** A conversation's sieve. */
export function sieveOf(emit: Emit): Sieve {
  const tell = oncePerKind((kind) => {
    const [role, rule] = kinds[kind as Kind];
    reportError({ emit }, new VoiceError(`ignored what is none: ${rule}`, { code: 'protocol', recoverable: true }), {
      role,
    });
  });
  return (kind) =>
    filter((value) => {
      const object = asObject(value);
      const isOne = object !== undefined && kinds[kind][2](object);
      if (!isOne) tell(kind);
      return isOne;
    });
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isFormat(value: unknown): boolean {
  const { encoding, sampleRate, channels } = asObject(value) ?? {};
  const isCounted = [sampleRate, channels].every((count) => (asNumber(count) ?? 0) > 0);
  return value === undefined || (isText(encoding) && isCounted);
}

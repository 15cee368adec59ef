import { sendsHeaders } from '#websocket';
import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { Translation } from '../../core/roles.ts';
import type { DeltaSTTConfig } from './delta-stt.ts';
import { hasText, languageOf, textOf, wordsOf, type Token } from './delta-stt-tokens.ts';
import { completed, endless, heard, isEndless } from './stt-wire.ts';
import type { Failures, Said, STTContext, STTDialect, STTEffect, STTStep } from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** What the service's error codes mean. */
const failures: Failures = {
  400: { code: 'configuration', hint: 'it rejected a setting, or the audio' },
  401: { code: 'unauthorized', hint: 'check the credential, which belongs to one region' },
  402: { code: 'quota', hint: 'the account or the project has no budget left' },
  408: { code: 'timeout', recoverable: true, hint: 'audio arrived too late or too slowly' },
  429: { code: 'rate_limited', recoverable: true, hint: 'too many requests' },
  500: { code: 'server', recoverable: true, hint: 'reconnecting' },
  // Sent when the service moves its streams.
  503: { code: 'overloaded', recoverable: true, retryAfterMs: 0, hint: 'it asked to reconnect' },
};

const keepAliveMs = 5_000;

/** A valid subprotocol in browsers (RFC 6455, section 4.1): no colon, which temporary keys contain. */
const protocolName = /^[\w!#$%&'*+.^`|~-]+$/;

/** The utterance so far. */
interface DeltaUtterance {
  /** Final tokens. */
  readonly finals: readonly Token[];
  /** The tokens after them, which may change. */
  readonly newest: readonly Token[];
  /** The final tokens of its translation. */
  readonly translated: readonly Token[];
  /** Those after them, which may change. */
  readonly newlyTranslated: readonly Token[];
  /** How many of `finals` the next connection need not hear again: whole words. */
  readonly settled: number;
  /** Whether the words before were heard by an earlier connection. */
  readonly joins: boolean;
}

type Context = STTContext<DeltaSTTConfig>;
type Step = STTStep<DeltaUtterance>;

/** Audio before a word that may belong to it, in milliseconds. */
const leadMs = 100;

/** Most tokens of an utterance. */
const maxTokens = 2_048;

/** Mark the end of an utterance: after silence, and in answer to `finalize`. */
const markers: ReadonlySet<string> = new Set(['<end>', '<fin>']);

/** An utterance before its first token. */
const nothing: DeltaUtterance = {
  ...{ finals: [], newest: [], translated: [], newlyTranslated: [] },
  ...{ settled: 0, joins: false },
};

/** How Soniox is spoken to. */
export const deltaDialect: STTDialect<DeltaSTTConfig, DeltaUtterance> = {
  path: '/transcribe-websocket',
  catchUpSpeed: 1.25,
  endingMs: ({ maxEndpointDelayMs = 2_000 }) => maxEndpointDelayMs,
  failures,
  // Only its errors have one.
  requestIdOf: ({ request_id: id }) => id,
  start: () => nothing,
  // It reports its progress, whether or not there are words.
  promisesMessages: () => true,
  read: {
    tokens: onTokens,
    error: (state, { error_code: code, error_message: sentence }) => [
      state,
      { type: 'failure', kind: asNumber(code) ?? 500, sentence: asString(sentence) },
    ],
  },
  commands: { finalize: (state) => [state, { type: 'send-after-audio', message: { type: 'finalize' } }] },

  credentials: (key, { WebSocket: own }) => ({
    headers: { Authorization: `Bearer ${key}` },
    ...(protocolName.test(key)
      ? { protocols: ['soniox-api-key', key] }
      : // The header is enough: the first message need not say it.
        sendsHeaders && !own && { protocols: [] }),
  }),
  // Messages have no type field.
  typeOf: ({ error_code: code }) => (code === undefined ? 'tokens' : 'error'),
  begin: (state) => [again(state)],
  // The service ends a stream that receives nothing for 20 s.
  keepAlive: () => ({ intervalMs: keepAliveMs, whenQuiet: true }),
  tick: (state) => [state, { type: 'send', message: { type: 'keepalive' } }],
  farewell: () => [''],
  isLast: ({ finished }) => finished === true,
  end: (state) => complete(withNewest(state)),
};

function translates({ translation, parameters, extraBody }: DeltaSTTConfig): boolean {
  return (translation ?? (extraBody ?? parameters)?.['translation']) !== undefined;
}

/** Prepares for the next connection: it hears the last final word again, which may still grow. */
function again({ finals, settled }: DeltaUtterance): DeltaUtterance {
  const kept = finals.slice(0, settled).map((token) => ({ ...token, startMs: undefined, endMs: undefined }));
  return { ...nothing, finals: kept, settled, joins: kept.length > 0 };
}

/** Reads the tokens of a message; a marker among them ends the utterance. */
function onTokens(before: DeltaUtterance, message: WireObject, context: Context): Step {
  const tokens = asObjects(message['tokens'])
    .filter(({ text }) => asString(text))
    .map((each, at) => tokenOf(each, before.joins && at === 0, context));
  const guesses = tokens.filter(({ isFinal }) => !isFinal);
  const [state, ...told] = tokens.filter(({ isFinal }) => isFinal).reduce<Step>(withFinal, [before]);
  const [newest, newlyTranslated] = [guesses.filter(isSpoken), guesses.filter((token) => !isSpoken(token))];
  const next = { ...state, newest, newlyTranslated };
  const isTooLong = isEndless(next.finals, maxTokens);
  const isOver = message['finished'] === true || isTooLong;
  const hasChanged = tokens.length > 0 || before.newest.length > 0 || before.newlyTranslated.length > 0;
  const [last, ...more]: Step = isOver ? complete(next) : [next, ...(hasChanged ? interim(next) : [])];
  const [settled, ...final] = settle(last, message, context);
  return [settled, ...told, ...more, ...final, ...(isTooLong ? [endless] : [])];
}

const isSpoken = ({ isTranslation }: Token): boolean => !isTranslation;

function withFinal([state, ...told]: Step, token: Token): Step {
  const [next, ...more] = added(state, token);
  return [{ ...next, joins: false }, ...told, ...more];
}

function added(state: DeltaUtterance, token: Token): Step {
  if (markers.has(token.text)) return complete(state, token.text === '<fin>');
  if (!token.isTranslation) return [{ ...state, finals: [...state.finals, token] }];
  // One that comes after its utterance is complete is not the next one's.
  const hasBegun = state.finals.length > 0 || state.newest.length > 0;
  return hasBegun ? [{ ...state, translated: [...state.translated, token] }] : [state];
}

/** @param joins - Whether an earlier connection heard the word before. */
function tokenOf(token: WireObject, joins: boolean, context: Context): Token & { readonly isFinal: boolean } {
  const { start_ms: start, end_ms: end } = token;
  const text = asString(token['text']) ?? '';
  const [word] = context.words([{ ...token, start, end }], () => text, 1);
  const isFinal = token['is_final'] === true;
  const isApart = /^\s/.test(text) || (isFinal && markers.has(text));
  return {
    text: joins && !isApart ? ` ${text}` : text,
    word,
    isFinal,
    isTranslation: token['translation_status'] === 'translation',
    language: asString(token['language']),
    startMs: asNumber(start),
    endMs: asNumber(end),
  };
}

/** Marks audio as final, up to the last word that may still grow. */
function settle(state: DeltaUtterance, message: WireObject, context: Context): Step {
  const { finals, newest } = state;
  if (finals.length === 0) {
    const ms = asNumber(message['final_audio_proc_ms']) ?? 0;
    return newest.length === 0 ? [state, { type: 'finalized', ms }] : [state];
  }
  // Heard again from its beginning, it is translated whole.
  if (translates(context.config)) return [state];
  const last = finals.findLastIndex(({ text, startMs }) => /^\s/.test(text) && startMs !== undefined);
  const { startMs } = finals[last] ?? {};
  if (startMs === undefined) return [state];
  const { endMs = 0 } = finals[last - 1] ?? {};
  // Including the pause before it, since a word starts before it is first detected.
  const ms = startMs - Math.max(0, Math.min(leadMs, startMs - endMs));
  return context.isFinal(ms)
    ? [state]
    : [
        { ...state, settled: last },
        { type: 'finalized', ms },
      ];
}

function interim(state: DeltaUtterance): readonly STTEffect[] {
  const whole = withNewest(state);
  return hasText(whole.finals) ? heard(saidIn(whole)) : [];
}

/** As if what may still change were final. */
function withNewest(state: DeltaUtterance): DeltaUtterance {
  const { finals, newest, translated, newlyTranslated } = state;
  return { ...state, finals: [...finals, ...newest], translated: [...translated, ...newlyTranslated] };
}

/** Completes the utterance with its final tokens. */
function complete(state: DeltaUtterance, evenEmpty: boolean = false): Step {
  return [nothing, ...(hasText(state.finals) || evenEmpty ? completed(saidIn(state)) : [])];
}

function saidIn({ finals, translated }: DeltaUtterance): Said {
  return {
    text: textOf(finals),
    words: wordsOf(finals),
    confidence: meanConfidence(finals.flatMap(({ word }) => word ?? [])),
    language: languageOf(finals),
    translations: hasText(translated) ? [translationIn(translated)] : undefined,
  };
}

function translationIn(tokens: readonly Token[]): Translation {
  const language = languageOf(tokens);
  return { text: textOf(tokens), ...(language !== undefined && { language }) };
}

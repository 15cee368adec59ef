import type { Writable } from '../../core/writable.ts';
import type { SpeechEvent, TranscribedWord, TranscriptionResult } from '../../core/roles.ts';
import type { STTEffect } from './stt-wire.ts';

/** A result of the wire. */
type Result = Omit<Extract<STTEffect, { type: 'result' }>, 'type'>;

/** What is being said, on one channel or on several at once. */
export interface Utterances {
  /** Utterances so far. */
  readonly count: number;
  /** Counts requests for the final result. */
  readonly asks: number;
  /** Whether the answer to the newest is pending. */
  readonly isAsked: boolean;
  /** The current one of each channel, by its number. Audio that is transcribed as one is channel 0. */
  readonly current: readonly (Utterance | undefined)[];
  /** How many of these have a voice. */
  readonly voices: number;
}

interface Utterance {
  readonly id: string | undefined;
  /** Its latest words, while it is not complete. */
  readonly newest: Result | undefined;
  readonly hasVoice: boolean;
}

/** What the application hears of them. */
export type UtteranceEffect =
  | { readonly type: 'speech'; readonly event: SpeechEvent }
  | { readonly type: 'transcript'; readonly result: TranscriptionResult };

export type UtterancesStep = readonly [Utterances, ...UtteranceEffect[]];

/** What results say besides the wire's words. */
export interface Telling {
  /** The provider's name, for ids. */
  readonly name: string;
  readonly language: string | undefined;
  readonly interimResults: boolean;
  /** The service's id of the session. */
  readonly requestId: string | undefined;
}

const none: Utterance = { id: undefined, newest: undefined, hasVoice: false };

/** Before any audio. */
export const noUtterances: Utterances = { count: 0, asks: 0, isAsked: false, current: [], voices: 0 };

/** The result of an utterance without words. */
export const silent = { type: 'result', kind: 'complete', text: '' } as const;

/** Whether an utterance is open: words or a voice, on any channel but one. */
export function isOpen({ current }: Utterances, except?: number): boolean {
  return current.some((utterance, channel) => {
    const { newest, hasVoice } = utterance ?? none;
    return channel !== except && (newest !== undefined || hasVoice);
  });
}

/** The latest words of each utterance that is not complete. */
export function newestWords({ current }: Utterances): readonly Result[] {
  return current.flatMap((utterance) => utterance?.newest ?? []);
}

/** A voice starts with the first channel that has one, and ends with the last. */
export function speaks(
  utterances: Utterances,
  type: SpeechEvent['type'],
  channel: number = 0,
  positionMs?: number,
): UtterancesStep {
  const { id, newest, hasVoice } = utterances.current[channel] ?? none;
  const isOn = type !== 'ended';
  if (isOn === hasVoice) return [utterances];
  const next = changed(utterances, channel, { id, newest, hasVoice: isOn });
  if (utterances.voices > 0 === next.voices > 0) return [next];
  return [next, { type: 'speech', event: positionMs === undefined ? { type } : { type, positionMs } }];
}

/** A result of the wire; without a `channel`, it is of audio that is transcribed as one. */
export function says(
  utterances: Utterances,
  said: Result,
  { name, language: configured, interimResults, requestId }: Telling,
): UtterancesStep {
  const { kind, text, confidence, words, language = configured, speaker: named, translations, fields, channel } = said;
  const at = channel ?? 0;
  const utterance = utterances.current[at] ?? none;
  const isComplete = kind === 'complete';
  const newest = isComplete ? undefined : said;
  // Nobody knows of an utterance whose words were never emitted.
  if (kind === 'interim' && !interimResults) return [changed(utterances, at, { ...utterance, newest })];
  const count = utterance.id === undefined ? utterances.count + 1 : utterances.count;
  const utteranceId = utterance.id ?? `${name}-${count}`;
  const id = isComplete ? undefined : utteranceId;
  const after = changed(utterances, at, { id, newest, hasVoice: utterance.hasVoice });
  const isAsked = utterances.isAsked && !(isComplete && !isOpen(after, at));
  // One answer is enough, of channels that have nothing to say.
  if (
    channel !== undefined &&
    isComplete &&
    text === '' &&
    utterance.id === undefined &&
    isAsked === utterances.isAsked
  )
    return [after];
  const speaker = soleSpeaker(words ?? []) ?? named;
  // Every word comes by here: assigning costs less than spreading.
  const metadata: Writable<NonNullable<TranscriptionResult['metadata']>> = { ...fields };
  if (words) metadata.words = words;
  if (language !== undefined) metadata.language = language;
  if (speaker !== undefined) metadata.speaker = speaker;
  if (channel !== undefined) metadata.channel = channel;
  if (translations) metadata.translations = translations;
  if (requestId !== undefined) metadata.requestId = requestId;
  const result: Writable<TranscriptionResult> = {
    text,
    isFinal: kind === 'segment' || isComplete,
    utteranceComplete: isComplete,
    isPreflight: kind === 'preflight',
    utteranceId,
    metadata,
  };
  if (confidence !== undefined) result.confidence = confidence;
  return [
    { count, asks: after.asks, isAsked, current: after.current, voices: after.voices },
    { type: 'transcript', result },
  ];
}

/** The speaker of all the words; `undefined` when there are several, or none is known. */
function soleSpeaker(words: readonly TranscribedWord[]): string | undefined {
  const sole = words[0]?.speaker;
  return sole !== undefined && words.every(({ speaker }) => speaker === sole) ? sole : undefined;
}

/** The latest words are final, of a channel or of all. */
export function finishes(utterances: Utterances, channel: number | undefined, telling: Telling): UtterancesStep {
  return onChannels(utterances, channel, (before, at) => {
    const [quiet, ...told] = speaks(before, 'ended', at);
    const newest = quiet.current[at]?.newest;
    if (!newest) return [quiet, ...told];
    const [next, ...more] = says(quiet, { ...newest, kind: 'complete' }, telling);
    return [next, ...told, ...more];
  });
}

/** What follows belongs to other utterances, on a channel or on all. */
export function resets(utterances: Utterances, channel: number | undefined, telling: Telling): UtterancesStep {
  const [over, ...told] = onChannels(utterances, channel, (before, at) => {
    const [quiet, ...ended] = speaks(before, 'ended', at);
    return [changed(quiet, at, none), ...ended];
  });
  if (!over.isAsked || isOpen(over)) return [over, ...told];
  const [answered, ...more] = says(over, silent, telling);
  return [answered, ...told, ...more];
}

function onChannels(
  utterances: Utterances,
  channel: number | undefined,
  step: (before: Utterances, at: number) => UtterancesStep,
): UtterancesStep {
  const channels = channel === undefined ? Object.keys(utterances.current).map(Number) : [channel];
  return channels.reduce<UtterancesStep>(
    ([before, ...told], at) => {
      const [after, ...more] = step(before, at);
      return [after, ...told, ...more];
    },
    [utterances],
  );
}

function changed(utterances: Utterances, channel: number, after: Utterance): Utterances {
  const before = utterances.current[channel] ?? none;
  const isSame = after.id === before.id && after.newest === before.newest && after.hasVoice === before.hasVoice;
  if (isSame) return utterances;
  const { count, asks, isAsked } = utterances;
  const current = channel === 0 && utterances.current.length < 2 ? [after] : utterances.current.slice();
  current[channel] = after;
  const voices = utterances.voices + Number(after.hasVoice) - Number(before.hasVoice);
  return { count, asks, isAsked, current, voices };
}

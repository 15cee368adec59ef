import type { SpeechEvent, TranscriptionResult } from '../../core/roles.ts';
import {
  strategyOf,
  type EndOfTurn,
  type Endpointing,
  type EndpointingBounds,
  type TurnEndedBy,
} from './endpointing.ts';
import { isPushToTalk } from './is-push-to-talk.ts';

/** The signals of a user. */
export type UserSignal =
  | {
      readonly type: 'transcript';
      readonly result: TranscriptionResult;
      /** When the last word ended, on the scheduler's clock, if known. */
      readonly endOfSpeechAt?: number;
    }
  | {
      readonly type: 'speech';
      readonly event: SpeechEvent['type'];
      /** When the first, or the last, voiced frame was captured, on the scheduler's clock, if known. */
      readonly since?: number;
      /** Whether it was too short to be a voice: then nobody spoke. */
      readonly isBrief?: boolean;
    }
  /** Push-to-talk: the application opens, closes or drops the user's turn. */
  | { readonly type: 'begin' | 'commit' | 'cancel' };

/** A strategy's scorer has judged a text. */
export interface ScoreSignal {
  readonly type: 'score';
  readonly text: string;
  readonly value: number;
}

/** Decisions about the turn. */
export type TurnDecision =
  /** The user is speaking; the text so far. */
  | { readonly type: 'words'; readonly text: string; readonly result: TranscriptionResult }
  /** The user may have finished: prepare an answer. */
  | { readonly type: 'speculate'; readonly text: string; readonly result: TranscriptionResult }
  /** The user continues: discard what was prepared. */
  | { readonly type: 'retract'; readonly reason: 'resumed' | 'changed' }
  /** Asks the speech-to-text service to finalize. */
  | { readonly type: 'finalize' }
  /** Asks the strategy's scorer. */
  | { readonly type: 'score'; readonly text: string }
  /** The strategy threw this error, and is not used again. */
  | { readonly type: 'broken'; readonly error: unknown }
  /** The user has finished. */
  | {
      readonly type: 'commit';
      readonly text: string;
      readonly endedBy: TurnEndedBy;
      readonly result?: TranscriptionResult;
      /** When the user stopped speaking, on the scheduler's clock, if known. */
      readonly endOfSpeechAt?: number;
      /** When speech-to-text marked the last word as final, on the scheduler's clock, if it did. */
      readonly finalAt?: number;
    }
  /** Speech without a (final) text. */
  | { readonly type: 'timeout'; readonly text: string }
  | { readonly type: 'cancel' };

/** Options of turn-taking. */
export interface TurnTakingOptions {
  /**
   * Who ends a turn: the speech-to-text service's own endpointing (`stt`, the default), or the application (`manual`).
   * The option `endpointing` takes other strategies.
   */
  readonly strategy?: 'stt' | 'manual';
  /**
   * Longest wait for text after speech starts, and for a final after the last signal, in milliseconds. Default: 5,000.
   */
  readonly sttTimeoutMs?: number;
}

/** Everything that decides when a turn ends. */
export interface TurnRules {
  readonly endOfTurn: EndOfTurn;
  readonly bounds: EndpointingBounds;
  readonly isManual: boolean;
  readonly sttTimeoutMs: number;
  /** The service's lag until it has been measured. */
  readonly sttLagMs: number;
  /** Whether the service supports finalize(). */
  readonly canFinalize: boolean;
  /** Whether the end of each voice is reported. */
  readonly voiceEnds: boolean;
  /** Whether a voice detector reports the voice. */
  readonly detectsVoice: boolean;
  /** Whether a voice lasts until its end is reported, even if an utterance is complete. */
  readonly trustsVoice: boolean;
  /** Age, in milliseconds, at which an unchanged interim that ends like a sentence counts as a preflight. */
  readonly stableInterimMs: number;
  /** Whether a text is only a backchannel. */
  readonly isBackchannel: (text: string) => boolean;
}

/**
 * Longest voice without words that a detector can report, in milliseconds: without an end by then, its input has
 * stopped.
 */
const longestVoiceMs = 30_000;

/** How long a voice is believed in without further signs, in milliseconds: nobody will report its end later. */
export function voiceLastsMs({ detectsVoice, sttTimeoutMs }: Pick<TurnRules, 'detectsVoice' | 'sttTimeoutMs'>): number {
  return detectsVoice ? longestVoiceMs : sttTimeoutMs;
}

/** What is known of the speech-to-text service and of voice detection. */
export interface SttFacts {
  /** The name of its provider. */
  readonly stt: string;
  /** Silence after which it ends an utterance, in milliseconds; Infinity if it judges the end in other ways. */
  readonly pauseMs: number;
  /** Whether it supports finalize(). */
  readonly canFinalize: boolean;
  /** Whether it reports the end of each voice. */
  readonly reportsSpeechEnd: boolean;
  /** Whether a voice detector reports the voice instead. */
  readonly detectsVoice: boolean;
}

/** A service about which nothing is known. */
export const unknownStt: SttFacts = {
  ...{ stt: '', pauseMs: Infinity, canFinalize: true },
  ...{ reportsSpeechEnd: false, detectsVoice: false },
};

/** Options of `turnTaking()`. By default nothing is known of the service. */
export interface TurnRulesOptions extends TurnTakingOptions, Partial<SttFacts> {
  /** The strategy that ends the turn, or bounds for the default one. Default: no bounds. */
  readonly endpointing?: Endpointing | undefined;
  /**
   * Age, in milliseconds, at which an unchanged interim that ends like a sentence counts as a preflight. Default: never.
   */
  readonly stableInterimMs?: number | undefined;
}

/** The rules of turn-taking, with every default. */
export function turnRules(options: TurnRulesOptions = {}): TurnRules {
  const { sttTimeoutMs = 5_000, endpointing, stableInterimMs = Infinity } = options;
  const { stt, pauseMs, canFinalize, reportsSpeechEnd, detectsVoice } = { ...unknownStt, ...options };
  const [endOfTurn, { minMs = pauseMs < 300 ? 300 : 0, ...bounds }] = strategyOf(endpointing);
  return {
    endOfTurn,
    bounds: { minMs, ...bounds },
    isManual: isPushToTalk({ turnTaking: options, endpointing }),
    sttTimeoutMs,
    sttLagMs: endOfTurn.lagOf?.(stt) ?? 1_000,
    canFinalize,
    detectsVoice,
    voiceEnds: detectsVoice || reportsSpeechEnd,
    // A service that ends utterances after a pause may also force an end in mid-speech.
    trustsVoice: detectsVoice || (reportsSpeechEnd && pauseMs < Infinity),
    stableInterimMs,
    isBackchannel: () => false,
  };
}

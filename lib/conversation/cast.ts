import type { LLMProvider, TTSProvider } from '../core/roles.ts';
import type { Tool } from '../core/tools.ts';
import type { SpeechTextOptions } from '../text/speech-text.ts';
import type { AnswerOptions, ConversationTimeouts } from './conversation-options.ts';
import type { ConversationState } from './state.ts';

/** The model and the voice of a pipeline. */
export interface Performers {
  readonly llm: Pick<LLMProvider, 'name' | 'generate' | 'warm' | 'patienceMs'>;
  readonly tts: Pick<TTSProvider, 'name' | 'speak' | 'words$' | 'maxTextLength' | 'warm'>;
}

/** Who answers, and with what. */
export interface Cast extends Performers {
  readonly systemPrompt: string | undefined;
  readonly tools: readonly Tool[];
  /** How answers are given. */
  readonly answer: AnswerOptions;
  /** BCP 47, for splitting text into sentences. */
  readonly locale: string | undefined;
  /** How written text is converted to speech. */
  readonly speechText: SpeechTextOptions | undefined;
  readonly timeouts: Required<Omit<ConversationTimeouts, 'idleMs' | 'hookMs'>>;
  /** Whether the first clause is synthesized before the answer is certain. */
  readonly speakAhead: boolean;
}

/** Who answers now. Each request to the model, and each text for the voice, is made with the cast of its moment. */
export function castOf({ settings, rules }: ConversationState, performers: Performers): Cast {
  const { systemPrompt, tools = [], answer = {}, speechText, timeouts = {} } = settings;
  const { llmFirstTokenMs = Math.max(10_000, performers.llm.patienceMs ?? 0), llmStallMs = 30_000 } = timeouts;
  const { ttsFirstAudioMs = 11_000, playoutMs = 3_000 } = timeouts;
  return {
    ...performers,
    systemPrompt,
    tools,
    answer,
    locale: rules.locale,
    speechText,
    timeouts: { llmFirstTokenMs, llmStallMs, ttsFirstAudioMs, playoutMs },
    speakAhead: rules.preflight.speak,
  };
}

/** The cast of an answer that is given in another way. */
export function withAnswer(cast: Cast, answer: AnswerOptions | undefined): Cast {
  return answer ? { ...cast, answer: { ...cast.answer, ...answer } } : cast;
}

import type { LLMProvider, TTSProvider } from '../../core/roles.ts';
import type { Tool } from '../../core/tools.ts';
import { markdown } from '../../text/markdown.ts';
import type { TextTransform } from '../../text/text-transform.ts';
import type { AgentProfile, AnswerOptions, ConversationTimeouts, Voices } from '../conversation-options.ts';
import type { ConversationState } from '../fold/state.ts';

/** The model and the voice of a pipeline. */
export interface ModelAndVoice {
  readonly llm: Pick<LLMProvider, 'name' | 'generate' | 'warm' | 'patienceMs'>;
  readonly tts: Pick<
    TTSProvider,
    'name' | 'speak' | 'words$' | 'maxTextLength' | 'normalizesText' | 'delivers' | 'warm'
  >;
}

/** What an answer is made with. */
export interface ActiveAgent extends ModelAndVoice {
  readonly systemPrompt: string | undefined;
  readonly tools: readonly Tool[];
  /** How answers are given. */
  readonly answer: AnswerOptions;
  /** BCP 47, for splitting text into sentences. */
  readonly locale: string | undefined;
  /** Announces a text that consists only of code. */
  readonly codeNotice: string | undefined;
  /** Transforms of the text on its way to the voice. */
  readonly text: readonly TextTransform[];
  readonly timeouts: Required<Omit<ConversationTimeouts, 'idleMs' | 'awayMs' | 'hookMs'>>;
  /** Whether the first clause is synthesized before the answer is certain. */
  readonly speakAhead: boolean;
}

/** Everything that answers can be made with. */
export interface AnswerSources extends ModelAndVoice {
  readonly agents: Readonly<Record<string, AgentProfile>>;
  readonly voices: Voices;
}

const usualText: readonly TextTransform[] = [markdown()];

/** What answers are made with at this moment. Looked up for each request to the model and each text for the voice. */
export function activeAgent(state: ConversationState, sources: AnswerSources): ActiveAgent {
  const { settings, rules } = state;
  const own = agentOf(state, sources);
  const { llm = sources.llm, tts = sources.tts, voices } = own;
  const { text = usualText, timeouts = {} } = settings;
  const { llmFirstTokenMs = Math.max(10_000, llm.patienceMs ?? 0), llmStallMs = 30_000 } = timeouts;
  const { ttsFirstAudioMs = 11_000, ttsOverrunMs = 60_000, playoutMs = 3_000 } = timeouts;
  return {
    llm,
    tts: voiceFor(state.language, both(sources.voices, voices)) ?? tts,
    systemPrompt: own.systemPrompt ?? settings.systemPrompt,
    tools: own.tools ?? settings.tools ?? [],
    answer: both(settings.answer ?? {}, own.answer),
    locale: rules.locale,
    codeNotice: rules.phrases.codeNotice,
    text,
    timeouts: { llmFirstTokenMs, llmStallMs, ttsFirstAudioMs, ttsOverrunMs, playoutMs },
    speakAhead: rules.preflight.speak,
  };
}

/** All options; those of the second take precedence. */
function both<T extends object>(first: T, second: T | undefined): T {
  return second ? { ...first, ...second } : first;
}

/** The settings of the agent that answers, where they differ from the pipeline's. */
function agentOf({ settings }: ConversationState, { agents }: AnswerSources): AgentProfile {
  const [first = ''] = Object.keys(agents);
  return agents[settings.agent ?? first] ?? {};
}

/** The voice for the user's language: for its region if there is one, else for the language. */
function voiceFor(language: string | undefined, voices: Voices): TTSProvider | undefined {
  return language === undefined ? undefined : (voices[language] ?? voices[language.split('-')[0] ?? '']);
}

/** The agent with an answer's own options. */
export function withAnswer(agent: ActiveAgent, answer: AnswerOptions | undefined): ActiveAgent {
  const asked = both(agent.answer, answer);
  return { ...agent, tts: asked.tts ?? agent.tts, answer: asked };
}

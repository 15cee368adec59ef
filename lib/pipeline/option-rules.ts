import { configProblem, type ConfigRule, type ConfigRules } from '../core/config-rule.ts';
import { VoiceError } from '../core/errors.ts';
import { asObject } from '../core/guard.ts';
import type { SendOptions } from '../conversation/commands.ts';
import type { PipelineOptions, PipelineUpdate } from './pipeline-options.ts';

/** Options that `update()` can change, and that an agent's own configuration sets. */
const changeable: Readonly<Record<keyof PipelineUpdate, true>> = {
  systemPrompt: true,
  greeting: true,
  tools: true,
  turnTaking: true,
  bargeIn: true,
  preflight: true,
  onUserTurn: true,
  answer: true,
  timeouts: true,
  speechText: true,
  locale: true,
};

const duration: ConfigRule = { min: 0, max: Infinity };

/** The thresholds of a barge-in, wherever they stand. */
const thresholds = (group: string): ConfigRules => ({
  [`${group}.pauseAfterMs`]: duration,
  [`${group}.minWords`]: { min: 1, max: Infinity },
  [`${group}.minFinalWords`]: { min: 1, max: Infinity },
  [`${group}.resumeAfterMs`]: duration,
  [`${group}.maxPauseMs`]: duration,
  [`${group}.voiceTimeoutMs`]: duration,
});

const answerRules: ConfigRules = {
  'answer.maxTokens': { min: 1, max: Infinity, integer: true },
  'answer.temperature': duration,
  'answer.interruptible': { type: 'boolean' },
};

const rules: ConfigRules = {
  ...answerRules,
  'turnTaking.sttTimeoutMs': duration,
  ...thresholds('bargeIn'),
  ...thresholds('bargeIn.thinking'),
  ...thresholds('bargeIn.speaking'),
  ...thresholds('bargeIn.greeting'),
  'bargeIn.duckDb': duration,
  'bargeIn.whileUninterruptible': { oneOf: ['discard', 'queue'] },
  'bargeIn.echoGuard': { type: 'boolean' },
  'preflight.enabled': { type: 'boolean' },
  'preflight.speak': { type: 'boolean' },
  'preflight.maxStarts': duration,
  'preflight.maxSpeechMs': duration,
  'timeouts.hookMs': duration,
  'timeouts.llmFirstTokenMs': duration,
  'timeouts.llmStallMs': duration,
  'timeouts.ttsFirstAudioMs': duration,
  'timeouts.playoutMs': duration,
  'timeouts.idleMs': duration,
};

const isText = (value: unknown): boolean => typeof value === 'string';
const isGroup = (value: unknown): boolean => asObject(value) !== undefined;
const isTool = (value: unknown): boolean => {
  const { name, execute } = asObject(value) ?? {};
  return isText(name) && name !== '' && typeof execute === 'function';
};

/** For each option: what it must be, and whether it is. */
const kinds: Readonly<Partial<Record<keyof PipelineUpdate, readonly [string, (value: unknown) => boolean]>>> = {
  systemPrompt: ['a text', isText],
  greeting: ['a text', isText],
  tools: ['an array of tools, each with a name and execute()', (value) => Array.isArray(value) && value.every(isTool)],
  turnTaking: ['an object', isGroup],
  bargeIn: [
    "true, false, 'immediate' or an object",
    (value) => typeof value === 'boolean' || value === 'immediate' || isGroup(value),
  ],
  preflight: ['true, false or an object', (value) => typeof value === 'boolean' || isGroup(value)],
  onUserTurn: ['a function', (value) => typeof value === 'function'],
  answer: ['an object', isGroup],
  timeouts: ['an object', isGroup],
  speechText: ['an object', isGroup],
  locale: ['a BCP 47 language such as en-US', isLocale],
};

/** @throws VoiceError `configuration` when an option cannot work, or belongs to the agent. */
export function assertOptions(options: PipelineOptions, agent: string | undefined): void {
  const set = (Object.keys(changeable) as (keyof PipelineUpdate)[]).filter((key) => options[key] !== undefined);
  if (agent !== undefined && set.length > 0) {
    const message = `${agent} handles ${set.join(', ')} itself: set this in its own configuration`;
    throw new VoiceError(message, { code: 'configuration', provider: agent });
  }
  for (const key of set) {
    const [what, fits] = kinds[key] ?? [];
    if (fits && !fits(options[key])) throw refused(`${key} must be ${what}`);
  }
  const problem = configProblem(options, rules) ?? phrases(options) ?? twins(options);
  if (problem !== undefined) throw refused(problem);
}

/** @throws VoiceError `configuration` when `update()` cannot change an option. */
export function assertChangeable(changes: PipelineUpdate): void {
  const fixed = Object.keys(changes).filter((key) => !(key in changeable));
  if (fixed.length === 0) return;
  const known = Object.keys(changeable).join(', ');
  throw refused(`update() cannot change ${fixed.join(', ')}, only ${known}: create another pipeline for the rest`);
}

/** @throws VoiceError `configuration` when an answer cannot be given like that. */
export function assertAnswer(options: SendOptions): void {
  const problem = configProblem(options, answerRules);
  if (problem !== undefined) throw refused(problem);
}

function phrases({ bargeIn }: PipelineOptions): string | undefined {
  const lists = typeof bargeIn === 'object' ? { commands: bargeIn.commands, backchannels: bargeIn.backchannels } : {};
  const isOne = (list: unknown): boolean =>
    list === undefined || typeof list === 'function' || (Array.isArray(list) && list.every(isText));
  const wrong = Object.entries(lists).find(([, list]) => !isOne(list));
  return wrong && `bargeIn.${wrong[0]} must be an array of texts, or a function that changes one`;
}

/** The model calls tools by their names. */
function twins({ tools = [] }: PipelineOptions): string | undefined {
  const names = tools.map(({ name }) => name);
  const twin = names.find((name, index) => names.indexOf(name) < index);
  return twin === undefined ? undefined : `tools has two of the name ${twin}`;
}

function isLocale(value: unknown): boolean {
  try {
    return isText(value) && Intl.getCanonicalLocales(value as string).length === 1;
  } catch {
    return false;
  }
}

function refused(problem: string): VoiceError {
  return new VoiceError(`Pipeline: ${problem}`, { code: 'configuration' });
}

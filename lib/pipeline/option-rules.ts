import { isObservable } from 'rxjs';
import { configProblem, unknownKey, type ConfigRule, type ConfigRules } from '../core/config-rule.ts';
import { docs } from '../core/docs.ts';
import { messageOf } from '../core/errors.ts';
import { asObject } from '../core/guard.ts';
import { misspeltKey } from '../core/misspelt-key.ts';
import { ownEntry } from '../core/own-entry.ts';
import type { ProviderRole } from '../core/roles.ts';
import { parametersOf } from '../core/standard-schema.ts';
import { misspeltToolKey, type Tool } from '../core/tools.ts';
import type { SayOptions, SendOptions } from '../conversation/commands.ts';
import type { AgentProfile, AnswerOptions, Voices } from '../conversation/conversation-options.ts';
import type { HistoryOptions } from '../conversation/history.ts';
import { changeable, refused, type PipelineOptions } from './pipeline-options.ts';
import type { AnyProvider } from './roles.ts';

const duration: ConfigRule = { min: 0, max: Infinity };
const count: ConfigRule = { min: 0, max: Infinity };

/** The thresholds of a barge-in, in any group. */
const thresholds = (group: string): ConfigRules => ({
  [`${group}.pauseAfterMs`]: duration,
  [`${group}.minWords`]: { min: 1, max: Infinity },
  [`${group}.minFinalWords`]: { min: 1, max: Infinity },
  [`${group}.resumeAfterMs`]: duration,
  [`${group}.maxPauseMs`]: duration,
  [`${group}.voiceTimeoutMs`]: duration,
});

const answerRules: Readonly<Record<`answer.${keyof AnswerOptions}`, ConfigRule>> = {
  'answer.maxTokens': { min: 1, max: Infinity, integer: true },
  'answer.temperature': duration,
  'answer.seed': { max: Infinity, integer: true },
  'answer.stopSequences': {},
  'answer.responseFormat': {},
  'answer.serviceTier': { type: 'text' },
  'answer.cacheKey': { type: 'text' },
  'answer.parallelToolCalls': { type: 'boolean' },
  'answer.extraBody': {},
  'answer.toolChoice': {},
  'answer.maxToolRounds': { min: 0, max: Infinity },
  'answer.maxToolCalls': { min: 0, max: Infinity },
  'answer.interruptible': { type: 'boolean' },
  'answer.tts': {},
};

const speechRules: Readonly<Record<keyof SayOptions, ConfigRule>> = {
  interruptible: { type: 'boolean' },
  store: { type: 'boolean' },
  priority: { oneOf: ['normal', 'high'] },
  tts: {},
};

const answerKeys = Object.keys(answerRules).map((key) => key.replace('answer.', ''));

const historyRules: Readonly<Record<`history.${keyof HistoryOptions}`, ConfigRule>> = {
  'history.maxTurns': count,
  'history.maxTokens': count,
  'history.countTokens': {},
};

const boundRules: ConfigRules = {
  'endpointing.minMs': duration,
  'endpointing.maxMs': duration,
  'endpointing.maxTurnMs': duration,
  'endpointing.dynamic': { type: 'boolean' },
};

const rules: ConfigRules = {
  ...answerRules,
  ...boundRules,
  ...historyRules,
  'turnTaking.strategy': { oneOf: ['stt', 'manual'] },
  'turnTaking.sttTimeoutMs': duration,
  ...thresholds('bargeIn'),
  ...thresholds('bargeIn.thinking'),
  ...thresholds('bargeIn.speaking'),
  ...thresholds('bargeIn.greeting'),
  'bargeIn.duckDb': duration,
  'bargeIn.whileUninterruptible': { oneOf: ['discard', 'queue'] },
  'bargeIn.echoGuard': { type: 'boolean' },
  'bargeIn.commands': {},
  'bargeIn.backchannels': {},
  'preflight.enabled': { type: 'boolean' },
  'preflight.speak': { type: 'boolean' },
  'preflight.maxStarts': duration,
  'preflight.maxSpeechMs': duration,
  followLanguage: { type: 'boolean' },
  'timeouts.hookMs': duration,
  'preflight.stableInterimMs': duration,
  'timeouts.llmFirstTokenMs': duration,
  'timeouts.llmStallMs': duration,
  'timeouts.ttsFirstAudioMs': duration,
  'timeouts.ttsOverrunMs': duration,
  'timeouts.playoutMs': duration,
  'timeouts.idleMs': duration,
  'timeouts.awayMs': duration,
};

/** The names of all options. */
const optionKeys: Readonly<Record<keyof PipelineOptions, true>> = {
  ...changeable,
  ...{ providers: true, history: true, hearing: true, agents: true, voices: true, vad: true },
  ...{ inputEvents: true, logger: true, scheduler: true },
};

const agentKeys: Readonly<Record<keyof AgentProfile, true>> = {
  ...{ systemPrompt: true, tools: true, llm: true, tts: true, voices: true, answer: true },
};
const sendKeys: Readonly<Record<keyof SendOptions, true>> = { interrupt: true, images: true, answer: true };

const isText = (value: unknown): boolean => typeof value === 'string';
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isFunction = (value: unknown): boolean => typeof value === 'function';
const isGroup = (value: unknown): boolean => asObject(value) !== undefined;
const isTransform = (value: unknown): boolean => {
  const { start, answer, input } = asObject(value) ?? {};
  return [start, answer, asObject(input)?.['judge']].some((each) => typeof each === 'function');
};
const isTool = (value: unknown): boolean => {
  const { name, execute } = asObject(value) ?? {};
  return isText(name) && name !== '' && typeof execute === 'function';
};

/** For each option: its requirement in words, and a check of it. */
const kinds: Readonly<Partial<Record<keyof PipelineOptions, readonly [string, (value: unknown) => boolean]>>> = {
  systemPrompt: ['a text', isText],
  greeting: ['a text', isText],
  tools: ['an array of tools, each with a name and execute()', (value) => Array.isArray(value) && value.every(isTool)],
  turnTaking: ["an object: write { strategy: 'manual' }", isGroup],
  endpointing: ['a strategy such as silence(), or an object', (value) => isFunction(value) || isGroup(value)],
  onUnclear: ['a function', isFunction],
  bargeIn: [
    "true, false, 'immediate' or an object",
    (value) => isBoolean(value) || value === 'immediate' || isGroup(value),
  ],
  preflight: ['true, false or an object', (value) => isBoolean(value) || isGroup(value)],
  listening: ['a function, or an array of them', (value) => [value].flat().every(isFunction)],
  onUserTurn: ['a function', isFunction],
  answer: ['an object', isGroup],
  timeouts: ['an object', isGroup],
  text: ['an array of transforms such as markdown()', (value) => Array.isArray(value) && value.every(isTransform)],
  locale: ['a BCP 47 language such as en-US', isLocale],
  agent: ['a text', isText],
  history: ['a History, or options of one', isGroup],
  hearing: ['a function', isFunction],
  vad: ['a voice detector such as energyVad()', isFunction],
  inputEvents: ['true or false', isBoolean],
  logger: ['a Logger: write createLogger(console)', (value) => isFunction(asObject(value)?.['scope'])],
  scheduler: [
    'a SchedulerLike of RxJS',
    (value) => ['now', 'schedule'].every((method) => isFunction(asObject(value)?.[method])),
  ],
};

/**
 * Loaded with the conversation, so that an application does not wait for rules of options that it does not set.
 *
 * @param created - The options at the pipeline's construction, which `update()` has changed since. Default: those given.
 * @throws VoiceError `configuration` when an option cannot work.
 */
export function assertOptions(options: PipelineOptions, created: PipelineOptions = options): void {
  const lacking = options.providers.map(providerProblem).find((problem) => problem !== undefined);
  if (lacking !== undefined) throw refused(lacking);
  const keys = Object.keys(optionKeys);
  const unknown = misspeltKey(options, keys) ?? unknownKey(options, keys);
  if (unknown !== undefined) throw refused(unknown);
  for (const [key, [what, fits]] of Object.entries(kinds)) {
    const value: unknown = options[key as keyof typeof kinds];
    if (value !== undefined && !fits(value)) throw refused(`${key} must be ${what}`);
  }
  // A History of the application's has options of its own.
  const isHistory = 'changes$' in (asObject(options.history) ?? {});
  const problem =
    configProblem(isHistory ? { ...options, history: undefined } : options, rules) ??
    strategyProblem(options) ??
    answerProblem(options) ??
    phrasesProblem(options) ??
    toolsProblem(options) ??
    agentsAndVoicesProblem(options, created);
  if (problem !== undefined) throw refused(problem);
}

/** @throws VoiceError `configuration` when an answer cannot be given like that. */
export function assertAnswer(options: SendOptions): void {
  const problem =
    unknownKey(options, Object.keys(sendKeys)) ??
    configProblem(options, { interrupt: { type: 'boolean' }, ...answerRules }) ??
    answerProblem(options) ??
    imagesProblem(options);
  if (problem !== undefined) throw refused(problem);
}

/** @throws VoiceError `configuration` when `say()` has no such option, or one that cannot work. */
export function assertSaying(options: SayOptions): void {
  const problem = unknownKey(options, Object.keys(speechRules)) ?? configProblem(options, speechRules);
  if (problem !== undefined) throw refused(problem);
}

/** What a strategy carries as bounds: rules of groups see objects alone. */
function strategyProblem({ endpointing }: PipelineOptions): string | undefined {
  const { minMs, maxMs, maxTurnMs, dynamic } = endpointing ?? {};
  return configProblem({ endpointing: { minMs, maxMs, maxTurnMs, dynamic } }, boundRules);
}

/** What an answer's rules cannot say. */
function answerProblem({ answer }: { readonly answer?: AnswerOptions | undefined }): string | undefined {
  const { toolChoice = 'auto', stopSequences = [], responseFormat = 'json' } = answer ?? {};
  const isOne = ['auto', 'required', 'none'].includes(toolChoice as string) || isText(asObject(toolChoice)?.['name']);
  if (!isOne) return 'answer.toolChoice must be auto, required, none or { name }';
  if (!Array.isArray(stopSequences) || !stopSequences.every(isText))
    return 'answer.stopSequences must be an array of texts';
  const isFormat = responseFormat === 'json' || isGroup(responseFormat) || isFunction(responseFormat);
  return isFormat ? undefined : "answer.responseFormat must be 'json', a JSON Schema or a schema of a library";
}

function imagesProblem({ images = [] }: SendOptions): string | undefined {
  const isImage = (image: unknown): boolean => {
    const { url, data, mediaType } = asObject(image) ?? {};
    return isText(url) || (data instanceof Uint8Array && isText(mediaType));
  };
  if (Array.isArray(images) && images.every(isImage)) return undefined;
  return 'images must be a list of images, each { url } or { data, mediaType }';
}

/** What hears the user: a speech-to-text service, or an agent. */
const listener = ['transcripts$', 'speech$', 'accepts', 'configureAudio', 'connect', 'disconnect', 'sendAudio'];

/** The members of each role's contract that a conversation uses, and of every provider's. */
const contracts: Readonly<Record<ProviderRole | 'agent' | 'provider', readonly string[]>> = {
  provider: ['initialize', 'dispose'],
  input: ['audio$', 'start', 'stop', 'getMetadata'],
  stt: listener,
  llm: ['generate'],
  tts: ['speak'],
  agent: listener,
  output: ['accepts', 'play', 'stop', 'pause', 'resume'],
};

/** What a provider lacks: without this, a conversation would break at some later moment, far from the cause. */
function providerProblem(provider: AnyProvider, index: number): string | undefined {
  const { name, roles } = provider;
  if (!isText(name)) return `providers[${index}] must have a name`;
  const strange = roles.find((role) => ownEntry(contracts, role) === undefined);
  if (strange !== undefined) return `${name} has the role ${strange}: there are only input, stt, llm, tts and output`;
  const isAgent = (['stt', 'llm', 'tts'] as const).every((role) => roles.includes(role));
  const filled = isAgent
    ? (['agent', ...roles.filter((role) => role === 'input' || role === 'output')] as const)
    : roles;
  const member = ['provider' as const, ...filled]
    .flatMap((role) => contracts[role])
    .find((key) => !hasMember(provider, key));
  if (member === undefined) return undefined;
  const what = member.endsWith('$') ? 'an Observable' : member === 'accepts' ? 'an array of AudioFormats' : 'a method';
  return `${name} needs ${member}, ${what}, to be a provider of ${filled.join(' and ')}: see ${docs('custom-providers')}`;
}

function hasMember(provider: AnyProvider, key: string): boolean {
  const value: unknown = Reflect.get(provider, key);
  if (key.endsWith('$')) return isObservable(value);
  if (key !== 'accepts') return typeof value === 'function';
  const isList = (list: unknown): boolean => list === undefined || Array.isArray(list);
  return (
    Array.isArray(value) &&
    value
      .map(asObject)
      .every((row) => row && isText(row['encoding']) && isList(row['sampleRates']) && isList(row['channels']))
  );
}

function phrasesProblem({ bargeIn }: PipelineOptions): string | undefined {
  const lists = typeof bargeIn === 'object' ? { commands: bargeIn.commands, backchannels: bargeIn.backchannels } : {};
  const isOne = (list: unknown): boolean =>
    list === undefined || typeof list === 'function' || (Array.isArray(list) && list.every(isText));
  const wrong = Object.entries(lists).find(([, list]) => !isOne(list));
  return wrong && `bargeIn.${wrong[0]} must be an array of texts, or a function that changes one`;
}

/** The model calls tools by name, with the arguments it was told about. */
function toolsProblem({ tools = [] }: Pick<PipelineOptions, 'tools'>): string | undefined {
  const names = tools.map(({ name }) => name);
  const twin = names.find((name, index) => names.indexOf(name) < index);
  if (twin !== undefined) return `tools has two tools named ${twin}`;
  const strange = names.find((name) => !/^[\w-]{1,64}$/.test(name));
  if (strange !== undefined) return `models refuse the tool name "${strange}": use 1 to 64 of a-z A-Z 0-9 _ -`;
  return misspeltToolKey(tools) ?? tools.map(parametersProblem).find((problem) => problem !== undefined);
}

/** Why a model cannot be told about a tool's arguments: it would assume there are none. */
function parametersProblem(tool: Tool): string | undefined {
  const { parameters = {} } = tool;
  // What z.toJSONSchema() makes is both.
  const isJsonSchema = '$schema' in parameters || 'properties' in parameters;
  if ('~standard' in parameters && !isJsonSchema) {
    return `the tool ${tool.name} has a Standard Schema as its parameters, which are JSON Schema: name that key schema`;
  }
  const write = "write what the model may pass as parameters: { type: 'object', properties: { … } }";
  try {
    const { type } = parametersOf(tool) ?? {};
    if (type === undefined || type === 'object') return undefined;
    return `the tool ${tool.name} takes ${JSON.stringify(type)}, but models pass an object; ${write}`;
  } catch (cause) {
    return `the tool ${tool.name} has no parameters, and ${messageOf(cause)}; ${write}`;
  }
}

function agentsAndVoicesProblem(
  { agents, agent, voices, followLanguage }: PipelineOptions,
  created: PipelineOptions,
): string | undefined {
  if (agents !== undefined && (!isGroup(agents) || Object.keys(agents).length === 0)) {
    return 'agents must be an object of at least one agent, by name';
  }
  for (const [name, profile] of Object.entries(agents ?? {})) {
    const { answer, ...rest } = asObject(profile) ?? {};
    const stray =
      unknownKey(rest, Object.keys(agentKeys), `agents.${name}.`) ??
      unknownKey(asObject(answer) ?? {}, answerKeys, `agents.${name}.answer.`);
    if (stray !== undefined) return stray;
    const problem = isGroup(profile) ? agentProblem(profile) : 'must be an object';
    if (problem !== undefined) return `agents.${name} ${problem}`;
  }
  const names = Object.keys(agents ?? {});
  if (agent !== undefined && !names.includes(agent)) {
    return `agent must be the name of one of agents (${names.join(', ') || 'there are none'}), not "${agent}"`;
  }
  const tables = [voices, ...Object.values(agents ?? {}).map((each) => each.voices)].filter(
    (each) => each !== undefined,
  );
  // `update()` may stop following.
  if (tables.length > 0 && !followLanguage && !created.followLanguage) return 'voices need followLanguage: true';
  return tables.map(voicesProblem).find((problem) => problem !== undefined);
}

function agentProblem({ systemPrompt, tools, answer, llm, tts }: AgentProfile): string | undefined {
  if (systemPrompt !== undefined && !isText(systemPrompt)) return 'has a systemPrompt that is not a string';
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(isTool)))
    return 'has tools without name or execute()';
  const isRole = (provider: unknown, method: string): boolean =>
    provider === undefined || typeof asObject(provider)?.[method] === 'function';
  if (!isRole(llm, 'generate')) return 'has an llm that is not a language model';
  if (!isRole(tts, 'speak')) return 'has a tts that is not a voice';
  return toolsProblem({ tools: tools ?? [] }) ?? configProblem({ answer }, answerRules) ?? answerProblem({ answer });
}

function voicesProblem(voices: Voices): string | undefined {
  if (!isGroup(voices)) return 'voices must be an object of voices, by language';
  for (const [language, tts] of Object.entries(voices)) {
    if (!isLocale(language)) return `voices has "${language}", which is not a BCP 47 language`;
    if (typeof asObject(tts)?.['speak'] !== 'function') return `voices.${language} must be a text-to-speech provider`;
  }
  return undefined;
}

function isLocale(value: unknown): boolean {
  try {
    return isText(value) && Intl.getCanonicalLocales(value as string).length === 1;
  } catch {
    return false;
  }
}

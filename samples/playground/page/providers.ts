import * as rxvoice from 'rxvoice';
import type { AnyProvider, ProviderRole } from 'rxvoice';

/** A setting of a provider, as a field of the form. */
export interface Field {
  /** The configuration key; a dot leads into an object. */
  readonly key: string;
  readonly label: string;
  readonly kind: 'number' | 'text' | 'list' | 'check' | 'select';
  /** What stands there at first; absent: the provider's own default. */
  readonly value?: string | number | boolean;
  readonly options?: readonly (string | number)[];
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  /** Without it the provider cannot be had. */
  readonly required?: boolean;
}

/** A provider that the page offers. */
export interface ProviderRow {
  /** The class, as `rxvoice` exports it. */
  readonly name: string;
  readonly roles: readonly ProviderRole[];
  /** What it is, for people: its vendor first. */
  readonly about: string;
  /** The vendor's mount in the sandbox and the proxy; absent for what needs no service. */
  readonly vendor?: string;
  /** The sandbox's name for the service, for hazards. */
  readonly service?: string;
  /** The path of its sockets below the mount, for hazards. */
  readonly sockets?: string;
  /** Configuration that the page needs as it is. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  readonly fields?: readonly Field[];
  /** It does not say when a turn is over: the user does, by a button. */
  readonly isPushToTalk?: boolean;
}

const number = (key: string, label: string, range: Partial<Field> = {}): Field => ({
  ...{ key, label, kind: 'number' },
  ...range,
});
const text = (key: string, label: string, rest: Partial<Field> = {}): Field => ({ key, label, kind: 'text', ...rest });
const list = (key: string, label: string): Field => ({ key, label, kind: 'list' });
const check = (key: string, label: string, value: boolean): Field => ({ key, label, kind: 'check', value });
const select = (
  key: string,
  label: string,
  options: readonly (string | number)[],
  rest: Partial<Field> = {},
): Field => ({
  ...{ key, label, kind: 'select', options },
  ...rest,
});

const language = text('language', 'Language');
const temperature = number('temperature', 'Temperature', { min: 0, max: 2, step: 0.1 });
const maxTokens = number('maxTokens', 'Longest answer, tokens', { min: 1, step: 1 });
const voiceId = (value: string): Field => text('voiceId', 'Voice', { required: true, value });

const ears: readonly ProviderRow[] = [
  {
    ...{ name: 'AlphaFlux', roles: ['stt'], about: 'Deepgram Flux' },
    ...{ vendor: 'alpha', service: 'alpha-flux', sockets: '/v2/listen' },
    fields: [
      number('options.eagerEotThreshold', 'Early end of turn', { min: 0.3, max: 0.9, step: 0.05, value: 0.4 }),
      number('options.eotThreshold', 'End of turn', { min: 0.5, max: 1, step: 0.05, value: 0.7 }),
      list('options.keyterms', 'Words to listen for'),
    ],
  },
  {
    ...{ name: 'AlphaSTT', roles: ['stt'], about: 'Deepgram Nova' },
    ...{ vendor: 'alpha', service: 'alpha-stt', sockets: '/v1/listen' },
    fields: [
      select('options.model', 'Model', ['nova-3', 'nova-2', 'nova-3-medical']),
      language,
      number('options.endpointing', 'Silence that ends speech, ms', { min: 10, max: 5000, step: 10, value: 300 }),
      check('options.smartFormat', 'Smart format', true),
    ],
  },
  {
    ...{ name: 'BetaSTT', roles: ['stt'], about: 'AssemblyAI streaming' },
    ...{ vendor: 'beta', service: 'beta-stt' },
    fields: [list('wordBoost', 'Words to listen for')],
  },
  {
    ...{ name: 'GammaSTT', roles: ['stt'], about: 'ElevenLabs Scribe' },
    ...{ vendor: 'gamma', service: 'gamma-stt' },
    fields: [language, check('includeTimestamps', 'Word times', false)],
  },
  {
    ...{ name: 'DeltaSTT', roles: ['stt'], about: 'Soniox' },
    ...{ vendor: 'delta', service: 'delta-stt' },
    fields: [list('languageHints', 'Languages'), check('enableSpeakerDiarization', 'Tell speakers apart', false)],
  },
  {
    ...{ name: 'EpsilonSTT', roles: ['stt'], about: 'Gladia live' },
    ...{ vendor: 'epsilon', service: 'epsilon-stt' },
    fields: [
      list('languages', 'Languages'),
      number('endpointing', 'Silence that ends speech, s', { min: 0.01, max: 10, step: 0.05 }),
      check('codeSwitching', 'Languages change in mid-sentence', false),
    ],
  },
  {
    ...{ name: 'ZetaSTT', roles: ['stt'], about: 'Speechmatics real time' },
    ...{ vendor: 'zeta', service: 'zeta-stt' },
    fields: [
      language,
      number('endOfUtteranceSilenceTrigger', 'Silence that ends speech, s', { min: 0, max: 2, step: 0.05 }),
    ],
  },
  {
    ...{ name: 'EtaSTT', roles: ['stt'], about: 'Rev AI streaming' },
    ...{ vendor: 'eta', service: 'eta-stt' },
    fields: [select('language', 'Language', ['en', 'fr', 'de', 'it', 'ja', 'ko', 'cmn', 'pt', 'es'])],
  },
  {
    ...{ name: 'ThetaRealtimeSTT', roles: ['stt'], about: 'OpenAI Realtime' },
    ...{ vendor: 'theta', service: 'theta-realtime-stt' },
    fields: [select('model', 'Model', ['gpt-live-transcribe', 'gpt-transcribe', 'gpt-realtime-whisper']), language],
  },
  {
    ...{ name: 'IotaSTT', roles: ['stt'], about: 'Google Cloud', isPushToTalk: true },
    ...{ vendor: 'iota', service: 'iota-stt' },
    fields: [language, select('model', 'Model', ['latest_short', 'latest_long', 'telephony'])],
  },
  {
    ...{ name: 'KappaSTT', roles: ['stt'], about: 'Azure AI Speech' },
    ...{ vendor: 'kappa', service: 'kappa-stt' },
    fields: [language, select('recognitionMode', 'Mode', ['conversation', 'interactive', 'dictation'])],
  },
  {
    ...{ name: 'LambdaSTT', roles: ['stt'], about: 'Amazon Transcribe' },
    ...{ vendor: 'lambda', service: 'lambda-stt' },
    fields: [text('languageCode', 'Language', { value: 'en-US', required: true })],
  },
  {
    ...{ name: 'NativeSTT', roles: ['input', 'stt'], about: 'The browser’s ears' },
    fixed: { continuous: true, interimResults: true },
    fields: [language],
  },
];

const minds: readonly ProviderRow[] = [
  {
    ...{ name: 'NuLLM', roles: ['llm'], about: 'Groq' },
    ...{ vendor: 'nu', service: 'nu-llm' },
    fields: [text('model', 'Model', { value: 'openai/gpt-oss-20b' }), temperature, maxTokens],
  },
  {
    ...{ name: 'MuLLM', roles: ['llm'], about: 'Anthropic' },
    ...{ vendor: 'mu', service: 'mu-llm' },
    fields: [text('model', 'Model'), { ...maxTokens, value: 1024 }],
  },
  {
    ...{ name: 'ThetaLLM', roles: ['llm'], about: 'OpenAI' },
    ...{ vendor: 'theta', service: 'theta-llm' },
    fields: [text('model', 'Model', { value: 'gpt-5.4-mini', required: true }), maxTokens],
  },
  {
    ...{ name: 'XiLLM', roles: ['llm'], about: 'Mistral' },
    ...{ vendor: 'xi', service: 'xi-llm' },
    fields: [text('model', 'Model'), temperature, maxTokens],
  },
  {
    ...{ name: 'OmicronLLM', roles: ['llm'], about: 'Google Gemini' },
    ...{ vendor: 'omicron', service: 'omicron-llm' },
    fields: [text('model', 'Model'), temperature, maxTokens],
  },
  {
    ...{ name: 'CompatibleLLM', roles: ['llm'], about: 'Chat completions' },
    ...{ vendor: 'compatible', service: 'compatible-llm' },
    fields: [text('model', 'Model', { value: 'local', required: true }), temperature, maxTokens],
  },
  {
    ...{ name: 'BrowserLLM', roles: ['llm'], about: 'WebLLM, on your GPU' },
    fields: [text('model', 'Model', { value: 'Llama-3.2-1B-Instruct-q4f32_1-MLC', required: true })],
  },
];

const voices: readonly ProviderRow[] = [
  {
    ...{ name: 'AlphaTTS', roles: ['tts'], about: 'Deepgram Aura' },
    ...{ vendor: 'alpha', service: 'alpha-tts', sockets: '/v1/speak' },
    fields: [
      select(
        'voice',
        'Voice',
        ['thalia', 'andromeda', 'helena', 'apollo', 'arcas', 'aries'].map((name) => `aura-2-${name}-en`),
      ),
    ],
  },
  {
    ...{ name: 'GammaTTS', roles: ['tts'], about: 'ElevenLabs' },
    ...{ vendor: 'gamma', service: 'gamma-tts' },
    fields: [
      voiceId('21m00Tcm4TlvDq8ikWAM'),
      number('stability', 'Stability', { min: 0, max: 1, step: 0.05 }),
      number('similarityBoost', 'Similarity', { min: 0, max: 1, step: 0.05 }),
    ],
  },
  {
    ...{ name: 'PiTTS', roles: ['tts'], about: 'Cartesia Sonic' },
    ...{ vendor: 'pi', service: 'pi-tts' },
    fields: [
      voiceId('a0e99841-438c-4a64-b679-ae501e7d6091'),
      language,
      select('speed', 'Speed', ['slow', 'normal', 'fast']),
    ],
  },
  {
    ...{ name: 'ThetaTTS', roles: ['tts'], about: 'OpenAI speech' },
    ...{ vendor: 'theta', service: 'theta-tts', fixed: { responseFormat: 'wav' } },
    fields: [
      select('voice', 'Voice', ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']),
      number('speed', 'Speed', { min: 0.25, max: 4, step: 0.05 }),
    ],
  },
  {
    ...{ name: 'RhoTTS', roles: ['tts'], about: 'Speechify' },
    ...{ vendor: 'rho', service: 'rho-tts', fixed: { audioFormat: 'wav' } },
    fields: [voiceId('geffen_32')],
  },
  {
    ...{ name: 'SigmaTTS', roles: ['tts'], about: 'Murf' },
    ...{ vendor: 'sigma', service: 'sigma-tts', fixed: { format: 'wav' } },
    fields: [
      voiceId('en-US-natalie'),
      number('rate', 'Rate', { min: -50, max: 50, step: 1 }),
      number('pitch', 'Pitch', { min: -50, max: 50, step: 1 }),
    ],
  },
  {
    ...{ name: 'TauTTS', roles: ['tts'], about: 'LMNT' },
    ...{ vendor: 'tau', service: 'tau-tts', fixed: { format: 'wav' } },
    fields: [text('voice', 'Voice', { required: true, value: 'lily' })],
  },
  {
    ...{ name: 'UpsilonTTS', roles: ['tts'], about: 'Smallest AI Lightning' },
    ...{ vendor: 'upsilon', service: 'upsilon-tts', fixed: { outputFormat: 'pcm' } },
    fields: [voiceId('magnus'), number('speed', 'Speed', { min: 0.5, max: 2, step: 0.05 })],
  },
  {
    ...{ name: 'PhiTTS', roles: ['tts'], about: 'Rime' },
    ...{ vendor: 'phi', service: 'phi-tts', fixed: { audioFormat: 'pcm' } },
    fields: [text('speaker', 'Speaker', { required: true, value: 'cove' })],
  },
  {
    ...{ name: 'ChiTTS', roles: ['tts'], about: 'MiniMax' },
    ...{ vendor: 'chi', service: 'chi-tts', fixed: { audioFormat: 'pcm' } },
    fields: [voiceId('English_expressive_narrator'), number('speed', 'Speed', { min: 0.5, max: 2, step: 0.05 })],
  },
  {
    ...{ name: 'PsiTTS', roles: ['tts'], about: 'Fish Audio' },
    ...{ vendor: 'psi', service: 'psi-tts', fixed: { format: 'pcm' } },
    fields: [text('referenceId', 'Voice'), select('latency', 'Latency', ['normal', 'balanced'])],
  },
  {
    ...{ name: 'IotaTTS', roles: ['tts'], about: 'Google Cloud' },
    ...{ vendor: 'iota', service: 'iota-tts', fixed: { audioEncoding: 'LINEAR16' } },
    fields: [
      text('languageCode', 'Language', { required: true, value: 'en-US' }),
      number('speakingRate', 'Rate', { min: 0.25, max: 4, step: 0.05 }),
    ],
  },
  {
    ...{ name: 'KappaTTS', roles: ['tts'], about: 'Azure AI Speech' },
    ...{ vendor: 'kappa', service: 'kappa-tts', fixed: { outputFormat: 'raw-24khz-16bit-mono-pcm' } },
    fields: [text('voiceName', 'Voice', { required: true, value: 'en-US-JennyNeural' })],
  },
  {
    ...{ name: 'OmegaTTS', roles: ['tts'], about: 'Amazon Polly' },
    ...{ vendor: 'omega', service: 'omega-tts', fixed: { outputFormat: 'pcm' } },
    fields: [
      text('voiceId', 'Voice', { required: true, value: 'Joanna' }),
      select('engine', 'Engine', ['neural', 'generative']),
    ],
  },
  {
    ...{ name: 'NativeTTS', roles: ['tts', 'output'], about: 'The browser’s voices' },
    fields: [
      text('voiceName', 'Voice'),
      text('voiceLang', 'Language'),
      number('rate', 'Rate', { min: 0.1, max: 10, step: 0.1 }),
      number('pitch', 'Pitch, semitones', { min: -20, max: 20, step: 1 }),
    ],
  },
];

const devices: readonly ProviderRow[] = [
  { name: 'BufferInput', roles: ['input'], about: 'A caller, in tones' },
  {
    ...{ name: 'MicrophoneInput', roles: ['input'], about: 'Your microphone' },
    fields: [
      check('echoCancellation', 'Cancel echo', true),
      check('noiseSuppression', 'Suppress noise', true),
      check('autoGainControl', 'Even out loudness', true),
    ],
  },
  { name: 'BrowserAudioOutput', roles: ['output'], about: 'Your speaker' },
  { name: 'NullOutput', roles: ['output'], about: 'Silence, in real time' },
];

const agents: readonly ProviderRow[] = [
  {
    ...{ name: 'AlphaAgent', roles: ['stt', 'llm', 'tts'], about: 'Deepgram Agent' },
    ...{ vendor: 'alpha', service: 'alpha-agent', sockets: '/v1/agent/converse' },
    fields: [
      text('think.provider.model', 'Model', { value: 'gpt-5.4-mini' }),
      select('think.provider.type', 'Model’s vendor', ['open-chat', 'dedicated-chat', 'search-vendor'], {
        value: 'open-chat',
      }),
    ],
  },
  {
    ...{ name: 'ThetaAgent', roles: ['stt', 'llm', 'tts'], about: 'OpenAI Realtime' },
    ...{ vendor: 'theta', service: 'theta-agent', sockets: '/realtime' },
    fields: [text('model', 'Model', { value: 'gpt-realtime-2.1' }), text('voice', 'Voice', { value: 'marin' })],
  },
  {
    ...{ name: 'GammaAgent', roles: ['stt', 'llm', 'tts'], about: 'ElevenLabs' },
    ...{ vendor: 'gamma', service: 'gamma-agent', sockets: '/v1/convai/conversation' },
    fields: [text('agentId', 'Agent', { required: true, value: 'agent_sandbox' }), text('voiceId', 'Voice')],
  },
  {
    ...{ name: 'OmicronAgent', roles: ['stt', 'llm', 'tts'], about: 'Gemini Live' },
    ...{ vendor: 'omicronAgent', service: 'omicron-agent', sockets: '/ws' },
    fields: [text('model', 'Model', { value: 'gemini-3.8-live' }), text('voice', 'Voice', { value: 'Kore' })],
  },
];

/** Everything that a page can use; which of it the library has, and there is a service for, shows at run time. */
export const providerRows: readonly ProviderRow[] = [...devices, ...ears, ...minds, ...voices, ...agents];

type ProviderClass = new (config: object) => AnyProvider;

/** The class of a row; `undefined` where the library has none of that name. */
export function classOf({ name }: Pick<ProviderRow, 'name'>): ProviderClass | undefined {
  const found: unknown = Reflect.get(rxvoice, name);
  return typeof found === 'function' ? (found as ProviderClass) : undefined;
}

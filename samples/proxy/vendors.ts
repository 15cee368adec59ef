/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How a vendor wants its credential; `key` is the environment variable that holds it. */
export type Injection =
  | { readonly as: 'header'; readonly name: string; readonly scheme?: string; readonly key: string }
  | { readonly as: 'query'; readonly name: string; readonly key: string }
  /** AWS Signature, Version 4, of this service: in the headers of a request, in the query of a socket. */
  | { readonly as: 'signature'; readonly service: string };

/** Scheme, host and fixed path prefix; some follow from the environment. */
export type Base = string | ((environment: Environment) => string);

/** What may be asked of a vendor. */
export interface ProxiedRoute {
  readonly method: 'GET' | 'POST' | 'WS';
  /** Below the base; `{name}` stands for any text without a slash. */
  readonly path: string;
  /** Where this path is not below the vendor's base. */
  readonly base?: Base;
}

/** A vendor as the proxy knows it. */
export interface ProxiedVendor {
  /** The classes that it serves. */
  readonly providers: readonly string[];
  readonly base: Base;
  readonly credential: Injection;
  /** Environment variables without which the vendor is not mounted, in place of the credential's own. */
  readonly needs?: readonly string[];
  /** Request headers of the client that are passed on, beside `accept` and `content-type`. */
  readonly headers?: readonly string[];
  /** Request headers that the vendor wants and a page cannot set. */
  readonly adds?: Readonly<Record<string, string>>;
  readonly routes: readonly ProxiedRoute[];
}

const bearer = (key: string): Injection => ({ as: 'header', name: 'authorization', scheme: 'Bearer', key });
const header = (name: string, key: string): Injection => ({ as: 'header', name, key });
const aws = (service: string): Injection => ({ as: 'signature', service });

type Where = Pick<ProxiedRoute, 'base'>;
const get = (path: string, where: Where = {}): ProxiedRoute => ({ method: 'GET', path, ...where });
const post = (path: string, where: Where = {}): ProxiedRoute => ({ method: 'POST', path, ...where });
const socket = (path: string, where: Where = {}): ProxiedRoute => ({ method: 'WS', path, ...where });

/** A region is a part of a host's name: nothing else may get there. */
function region(environment: Environment, name: string): string {
  const value = environment[name] ?? '';
  if (/^[a-z\d-]+$/.test(value)) return value;
  throw new Error(`${name} must be a region, such as westeurope or us-east-1`);
}

function azure(service: string): Base {
  return (environment) => {
    const name = region(environment, 'AZURE_SPEECH_REGION');
    const suffix = name.startsWith('china') ? 'azure.cn' : name.startsWith('usgov') ? 'azure.us' : 'microsoft.com';
    return `https://${name}.${service}.speech.${suffix}`;
  };
}

function amazon(service: string, port: string = ''): Base {
  return (environment) => {
    const name = region(environment, 'AWS_REGION');
    return `https://${service}.${name}.amazonaws.com${name.startsWith('cn-') ? '.cn' : ''}${port}`;
  };
}

const speakGoogle: Where = { base: 'https://texttospeech.googleapis.com' };
const chat = post('/chat/completions');

/**
 * Every vendor that a provider of rxvoice reaches over the network, by the name of its mount: what a provider takes as
 * `proxyUrl`. What is not listed is refused.
 */
export const vendors = {
  alpha: {
    providers: ['AlphaSTT', 'AlphaFlux', 'AlphaTTS', 'AlphaAgent'],
    base: 'https://api.deepgram.com',
    credential: { as: 'header', name: 'authorization', scheme: 'Token', key: 'DEEPGRAM_API_KEY' },
    routes: [
      ...['/v1/listen', '/v2/listen', '/v1/speak'].map((path) => socket(path)),
      socket('/v1/agent/converse', { base: 'https://agent.deepgram.com' }),
    ],
  },
  beta: {
    providers: ['BetaSTT'],
    base: 'https://streaming.assemblyai.com',
    credential: header('authorization', 'ASSEMBLYAI_API_KEY'),
    routes: [socket('/v3/ws')],
  },
  gamma: {
    providers: ['GammaSTT', 'GammaTTS'],
    base: 'https://api.elevenlabs.io',
    credential: header('xi-api-key', 'ELEVENLABS_API_KEY'),
    routes: [socket('/v1/speech-to-text/realtime'), socket('/v1/text-to-speech/{voice}/multi-stream-input')],
  },
  delta: {
    providers: ['DeltaSTT'],
    base: 'https://stt-rt.soniox.com',
    credential: bearer('SONIOX_API_KEY'),
    routes: [socket('/transcribe-websocket')],
  },
  epsilon: {
    providers: ['EpsilonSTT'],
    base: 'https://api.gladia.io',
    credential: header('x-gladia-key', 'GLADIA_API_KEY'),
    // The socket's address carries a session of its own: the provider goes there directly.
    routes: [post('/v2/live')],
  },
  zeta: {
    providers: ['ZetaSTT'],
    base: 'https://eu.rt.speechmatics.com',
    credential: bearer('SPEECHMATICS_API_KEY'),
    routes: [socket('/v2')],
  },
  eta: {
    providers: ['EtaSTT'],
    base: 'https://api.rev.ai',
    credential: { as: 'query', name: 'access_token', key: 'REVAI_ACCESS_TOKEN' },
    routes: [socket('/speechtotext/v1/stream')],
  },
  theta: {
    providers: ['ThetaRealtimeSTT', 'ThetaLLM', 'ThetaTTS'],
    base: 'https://api.openai.com/v1',
    credential: bearer('OPENAI_API_KEY'),
    headers: ['openai-organization', 'openai-project'],
    routes: [socket('/realtime'), chat, post('/audio/speech')],
  },
  iota: {
    providers: ['IotaSTT', 'IotaTTS'],
    base: 'https://speech.googleapis.com',
    credential: header('x-goog-api-key', 'GOOGLE_API_KEY'),
    routes: [post('/v1/speech:recognize'), post('/v1/text:synthesize', speakGoogle), get('/v1/voices', speakGoogle)],
  },
  kappa: {
    providers: ['KappaSTT', 'KappaTTS'],
    base: azure('stt'),
    credential: header('ocp-apim-subscription-key', 'AZURE_SPEECH_KEY'),
    needs: ['AZURE_SPEECH_KEY', 'AZURE_SPEECH_REGION'],
    headers: ['x-microsoft-outputformat'],
    adds: { 'user-agent': 'rxvoice' },
    routes: [
      socket('/speech/recognition/{mode}/cognitiveservices/v1'),
      post('/cognitiveservices/v1', { base: azure('tts') }),
      get('/cognitiveservices/voices/list', { base: azure('tts') }),
    ],
  },
  lambda: {
    providers: ['LambdaSTT'],
    base: amazon('transcribestreaming', ':8443'),
    credential: aws('transcribe'),
    routes: [socket('/stream-transcription-websocket')],
  },
  mu: {
    providers: ['MuLLM'],
    base: 'https://api.anthropic.com',
    credential: header('x-api-key', 'ANTHROPIC_API_KEY'),
    headers: ['anthropic-version', 'anthropic-beta'],
    routes: [post('/v1/messages')],
  },
  nu: {
    providers: ['NuLLM'],
    base: 'https://api.groq.com/openai/v1',
    credential: bearer('GROQ_API_KEY'),
    routes: [chat],
  },
  xi: {
    providers: ['XiLLM'],
    base: 'https://api.mistral.ai/v1',
    credential: bearer('MISTRAL_API_KEY'),
    routes: [chat],
  },
  omicron: {
    providers: ['OmicronLLM'],
    base: 'https://generativelanguage.googleapis.com/v1beta/openai',
    credential: bearer('GEMINI_API_KEY'),
    routes: [chat],
  },
  compatible: {
    providers: ['CompatibleLLM'],
    base: ({ COMPATIBLE_BASE_URL = '' }) => COMPATIBLE_BASE_URL,
    credential: bearer('COMPATIBLE_API_KEY'),
    // Servers of one's own often take no key.
    needs: ['COMPATIBLE_BASE_URL'],
    routes: [chat],
  },
  pi: {
    providers: ['PiTTS'],
    base: 'https://api.cartesia.ai',
    credential: header('x-api-key', 'CARTESIA_API_KEY'),
    routes: [socket('/tts/websocket')],
  },
  rho: {
    providers: ['RhoTTS'],
    base: 'https://api.speechify.ai',
    credential: bearer('SPEECHIFY_API_KEY'),
    headers: ['speechify-version'],
    routes: [
      ...['/v1/audio/speech', '/v1/audio/stream', '/v1/audio/stream/with-timestamps'].map((path) => post(path)),
      get('/v1/voices'),
    ],
  },
  sigma: {
    providers: ['SigmaTTS'],
    base: 'https://api.murf.ai',
    credential: header('api-key', 'MURF_API_KEY'),
    routes: [
      post('/v1/speech/generate'),
      post('/v1/speech/stream', { base: 'https://global.api.murf.ai' }),
      get('/v1/speech/voices'),
    ],
  },
  tau: {
    providers: ['TauTTS'],
    base: 'https://api.lmnt.com',
    credential: header('x-api-key', 'LMNT_API_KEY'),
    headers: ['lmnt-version'],
    routes: [post('/v1/ai/speech/bytes'), post('/v1/ai/speech'), get('/v1/ai/voice/list')],
  },
  upsilon: {
    providers: ['UpsilonTTS'],
    base: 'https://api.smallest.ai/waves',
    credential: bearer('SMALLEST_API_KEY'),
    routes: [post('/v1/tts')],
  },
  phi: {
    providers: ['PhiTTS'],
    base: 'https://users.rime.ai',
    credential: bearer('RIME_API_KEY'),
    routes: [post('/v1/rime-tts')],
  },
  chi: {
    providers: ['ChiTTS'],
    base: 'https://api.minimax.io',
    credential: bearer('MINIMAX_API_KEY'),
    routes: [post('/v1/t2a_v2')],
  },
  psi: {
    providers: ['PsiTTS'],
    base: 'https://api.fish.audio',
    credential: bearer('FISH_API_KEY'),
    headers: ['model'],
    routes: [post('/v1/tts')],
  },
  omega: {
    providers: ['OmegaTTS'],
    base: amazon('polly'),
    credential: aws('polly'),
    routes: [post('/v1/speech')],
  },
  meet: {
    providers: ['MeetingInputE'],
    base: 'https://meet.googleapis.com',
    credential: bearer('GOOGLE_MEET_ACCESS_TOKEN'),
    // The media go directly.
    routes: [post('/v2beta/spaces/{space}:connectActiveConference')],
  },
} as const satisfies Readonly<Record<string, ProxiedVendor>>;

/** The mounts of {@link vendors}. */
export type VendorName = keyof typeof vendors;

/** The environment variables without which a vendor is not mounted. */
export function needsOf({ needs, credential }: ProxiedVendor): readonly string[] {
  if (needs) return needs;
  if (credential.as === 'signature') return ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'];
  return [credential.key];
}

/** What must never be shown of the credential. */
export function secretsOf({ credential }: ProxiedVendor, environment: Environment): readonly string[] {
  const names = credential.as === 'signature' ? ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] : [credential.key];
  return names.map((name) => environment[name] ?? '').filter((value) => value !== '');
}

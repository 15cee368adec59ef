import type { ProxyBase, ProxyCredential, ProxyEnvironment, ProxyRoute, ProxyTarget } from './proxy-target.ts';

const bearer = (key: string): ProxyCredential => ({ as: 'header', name: 'authorization', scheme: 'Bearer', key });
const header = (name: string, key: string): ProxyCredential => ({ as: 'header', name, key });
const aws = (service: string): ProxyCredential => ({ as: 'signature', service });

type Where = Pick<ProxyRoute, 'base' | 'bypasses'>;
type Route<M> = Where & { readonly method: M; readonly path: string };
const get = (path: string, where: Where = {}): Route<'GET'> => ({ method: 'GET', path, ...where });
const post = (path: string, where: Where = {}): Route<'POST'> => ({ method: 'POST', path, ...where });
const socket = (path: string, where: Where = {}): Route<'WS'> => ({ method: 'WS', path, ...where });

/** A region is a part of a host's name: nothing else may get there. */
function region(environment: ProxyEnvironment, name: string): string {
  const value = environment[name] ?? '';
  if (/^[a-z\d-]+$/.test(value)) return value;
  throw new Error(`${name} must be a region, such as westeurope or us-east-1`);
}

function azureSpeech(service: string): ProxyBase {
  return (environment) => {
    const name = region(environment, 'AZURE_SPEECH_REGION');
    const suffix = name.startsWith('china') ? 'azure.cn' : name.startsWith('usgov') ? 'azure.us' : 'microsoft.com';
    return `https://${name}.${service}.speech.${suffix}`;
  };
}

function amazon(service: string, port: string = ''): ProxyBase {
  return (environment) => {
    const name = region(environment, 'AWS_REGION');
    return `https://${service}.${name}.amazonaws.com${name.startsWith('cn-') ? '.cn' : ''}${port}`;
  };
}

const speakGoogle: Where = { base: 'https://texttospeech.googleapis.com' };
const chat = post('/chat/completions');

/** Deepgram: speech-to-text, Flux, text-to-speech and the voice agent. */
export const deepgram: ProxyTarget = {
  providers: ['AlphaSTT', 'AlphaFlux', 'AlphaTTS', 'AlphaAgent'],
  base: 'https://api.deepgram.com',
  credential: { as: 'header', name: 'authorization', scheme: 'Token', key: 'DEEPGRAM_API_KEY' },
  routes: [
    ...['/v1/listen', '/v2/listen', '/v1/speak'].map((path) => socket(path)),
    socket('/v1/agent/converse', { base: 'https://agent.deepgram.com' }),
  ],
  tokens: {
    token: { ...post('/v1/auth/grant'), body: { ttl_seconds: 30 }, answer: 'access_token', expiresInSeconds: 30 },
  },
};

/** AssemblyAI: streaming speech-to-text. */
export const assemblyai: ProxyTarget = {
  providers: ['BetaSTT'],
  base: 'https://streaming.assemblyai.com',
  credential: header('authorization', 'ASSEMBLYAI_API_KEY'),
  routes: [socket('/v3/ws')],
  tokens: {
    token: { ...get('/v3/token?expires_in_seconds=60'), answer: 'token', expiresInSeconds: 60 },
  },
};

/** ElevenLabs: realtime speech-to-text, text-to-speech and agents. */
export const elevenlabs: ProxyTarget = {
  providers: ['GammaSTT', 'GammaTTS', 'GammaAgent'],
  base: 'https://api.elevenlabs.io',
  credential: header('xi-api-key', 'ELEVENLABS_API_KEY'),
  routes: [
    '/v1/speech-to-text/realtime',
    '/v1/text-to-speech/{voice}/multi-stream-input',
    '/v1/text-to-dialogue/multi-stream-input',
    '/v1/convai/conversation',
  ].map((path) => socket(path)),
  tokens: {
    ...Object.fromEntries(
      ['realtime_scribe', 'tts_websocket'].map((type) => [
        `token/${type}`,
        { ...post(`/v1/single-use-token/${type}`), answer: 'token', expiresInSeconds: 900 },
      ]),
    ),
    'token/agent': {
      ...get('/v1/convai/conversation/get-signed-url'),
      ...{ query: { agent_id: 'ELEVENLABS_AGENT_ID' }, answer: 'signed_url', expiresInSeconds: 900 },
    },
  },
};

/** Soniox: real-time speech-to-text. */
export const soniox: ProxyTarget = {
  providers: ['DeltaSTT'],
  base: 'https://stt-rt.soniox.com',
  credential: bearer('SONIOX_API_KEY'),
  routes: [socket('/transcribe-websocket')],
  tokens: {
    token: {
      ...post('/v1/auth/temporary-api-key', { base: 'https://api.soniox.com' }),
      body: { usage_type: 'transcribe_websocket', expires_in_seconds: 60 },
      ...{ answer: 'api_key', expiresInSeconds: 60 },
    },
  },
};

/** Gladia: opens a session of live speech-to-text; its audio goes to Gladia directly. */
export const gladia: ProxyTarget = {
  providers: ['EpsilonSTT'],
  base: 'https://api.gladia.io',
  credential: header('x-gladia-key', 'GLADIA_API_KEY'),
  // The socket's address carries a session of its own: the provider goes there directly.
  routes: [post('/v2/live')],
};

/** Speechmatics: real-time speech-to-text, in Europe. */
export const speechmatics: ProxyTarget = {
  providers: ['ZetaSTT'],
  base: 'https://eu.rt.speechmatics.com',
  credential: bearer('SPEECHMATICS_API_KEY'),
  routes: [socket('/v2')],
  tokens: {
    token: {
      ...post('/v1/api_keys?type=rt', { base: 'https://mp.speechmatics.com' }),
      ...{ body: { ttl: 60 }, answer: 'key_value', expiresInSeconds: 60 },
    },
  },
};

/** Rev AI: streaming speech-to-text. */
export const revai: ProxyTarget = {
  providers: ['EtaSTT'],
  base: 'https://api.rev.ai',
  credential: { as: 'query', name: 'access_token', key: 'REVAI_ACCESS_TOKEN' },
  routes: [socket('/speechtotext/v1/stream')],
};

/** OpenAI: realtime transcription, chat and text-to-speech. */
export const openai: ProxyTarget = {
  providers: ['ThetaRealtimeSTT', 'ThetaLLM', 'ThetaTTS', 'ThetaAgent'],
  base: 'https://api.openai.com/v1',
  credential: bearer('OPENAI_API_KEY'),
  headers: ['openai-organization', 'openai-project'],
  routes: [
    socket('/realtime'),
    post('/realtime/calls', { bypasses: true }),
    chat,
    post('/responses'),
    post('/audio/speech'),
  ],
  tokens: {
    'token/agent': {
      ...post('/realtime/client_secrets'),
      body: {
        expires_after: { anchor: 'created_at', seconds: 60 },
        session: { type: 'realtime', model: 'gpt-realtime-2.1' },
      },
      ...{ answer: 'value', expiresInSeconds: 60 },
    },
    token: {
      ...post('/realtime/client_secrets'),
      body: {
        expires_after: { anchor: 'created_at', seconds: 60 },
        session: {
          type: 'transcription',
          audio: { input: { transcription: { model: 'gpt-4o-mini-transcribe' } } },
        },
      },
      ...{ answer: 'value', expiresInSeconds: 60 },
    },
  },
};

/** Google Cloud: speech-to-text and text-to-speech. */
export const google: ProxyTarget = {
  providers: ['IotaSTT', 'IotaTTS'],
  base: 'https://speech.googleapis.com',
  credential: header('x-goog-api-key', 'GOOGLE_API_KEY'),
  routes: [post('/v1/speech:recognize'), post('/v1/text:synthesize', speakGoogle), get('/v1/voices', speakGoogle)],
};

/** Azure: speech-to-text and text-to-speech of a region. */
export const azure: ProxyTarget = {
  providers: ['KappaSTT', 'KappaTTS'],
  base: azureSpeech('stt'),
  credential: header('ocp-apim-subscription-key', 'AZURE_SPEECH_KEY'),
  needs: ['AZURE_SPEECH_KEY', 'AZURE_SPEECH_REGION'],
  headers: ['x-microsoft-outputformat'],
  adds: { 'user-agent': 'rxvoice' },
  routes: [
    socket('/speech/recognition/{mode}/cognitiveservices/v1'),
    post('/cognitiveservices/v1', { base: azureSpeech('tts') }),
    get('/cognitiveservices/voices/list', { base: azureSpeech('tts') }),
  ],
  tokens: {
    token: {
      ...post('/sts/v1.0/issueToken', {
        base: (environment) => `https://${region(environment, 'AZURE_SPEECH_REGION')}.api.cognitive.microsoft.com`,
      }),
      expiresInSeconds: 600,
    },
  },
};

/** Amazon Transcribe: streaming speech-to-text of a region. */
export const amazonTranscribe: ProxyTarget = {
  providers: ['LambdaSTT'],
  base: amazon('transcribestreaming', ':8443'),
  credential: aws('transcribe'),
  routes: [socket('/stream-transcription-websocket')],
};

/** Anthropic: messages. */
export const anthropic: ProxyTarget = {
  providers: ['MuLLM'],
  base: 'https://api.anthropic.com',
  credential: header('x-api-key', 'ANTHROPIC_API_KEY'),
  headers: ['anthropic-version', 'anthropic-beta'],
  routes: [post('/v1/messages')],
};

/** Groq: chat. */
export const groq: ProxyTarget = {
  providers: ['NuLLM'],
  base: 'https://api.groq.com/openai/v1',
  credential: bearer('GROQ_API_KEY'),
  routes: [chat],
};

/** Mistral: chat. */
export const mistral: ProxyTarget = {
  providers: ['XiLLM'],
  base: 'https://api.mistral.ai/v1',
  credential: bearer('MISTRAL_API_KEY'),
  routes: [chat],
};

/** Gemini: chat. */
export const gemini: ProxyTarget = {
  providers: ['OmicronLLM'],
  base: 'https://generativelanguage.googleapis.com/v1beta/openai',
  credential: bearer('GEMINI_API_KEY'),
  routes: [chat],
};

/** Gemini Live: speech to speech. */
export const geminiLive: ProxyTarget = {
  providers: ['OmicronAgent'],
  base: 'https://generativelanguage.googleapis.com',
  credential: header('x-goog-api-key', 'GEMINI_API_KEY'),
  routes: [socket('/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent')],
  tokens: {
    token: { ...post('/v1alpha/auth_tokens'), body: {}, answer: 'name', expiresInSeconds: 60 },
  },
};

/** A server of your own that speaks the chat completions of OpenAI. */
export const compatible: ProxyTarget = {
  providers: ['CompatibleLLM'],
  base: ({ COMPATIBLE_BASE_URL = '' }) => COMPATIBLE_BASE_URL,
  credential: bearer('COMPATIBLE_API_KEY'),
  // Servers of one's own often take no key.
  needs: ['COMPATIBLE_BASE_URL'],
  routes: [chat],
};

/** Cartesia: text-to-speech. */
export const cartesia: ProxyTarget = {
  providers: ['PiTTS'],
  base: 'https://api.cartesia.ai',
  credential: header('x-api-key', 'CARTESIA_API_KEY'),
  routes: [socket('/tts/websocket')],
  tokens: {
    token: {
      ...post('/access-token'),
      credential: bearer('CARTESIA_API_KEY'),
      headers: { 'cartesia-version': '2026-03-01' },
      ...{ body: { grants: { tts: true }, expires_in: 60 }, answer: 'token', expiresInSeconds: 60 },
    },
  },
};

/** Speechify: text-to-speech. */
export const speechify: ProxyTarget = {
  providers: ['RhoTTS'],
  base: 'https://api.speechify.ai',
  credential: bearer('SPEECHIFY_API_KEY'),
  headers: ['speechify-version'],
  routes: [
    ...['/v1/audio/speech', '/v1/audio/stream', '/v1/audio/stream/with-timestamps'].map((path) => post(path)),
    get('/v1/voices'),
  ],
};

/** Murf: text-to-speech. */
export const murf: ProxyTarget = {
  providers: ['SigmaTTS'],
  base: 'https://api.murf.ai',
  credential: header('api-key', 'MURF_API_KEY'),
  routes: [
    post('/v1/speech/generate'),
    post('/v1/speech/stream', { base: 'https://global.api.murf.ai' }),
    get('/v1/speech/voices'),
  ],
};

/** LMNT: text-to-speech. */
export const lmnt: ProxyTarget = {
  providers: ['TauTTS'],
  base: 'https://api.lmnt.com',
  credential: header('x-api-key', 'LMNT_API_KEY'),
  headers: ['lmnt-version'],
  routes: [post('/v1/ai/speech/bytes'), post('/v1/ai/speech'), get('/v1/ai/voice/list')],
};

/** Smallest: text-to-speech. */
export const smallest: ProxyTarget = {
  providers: ['UpsilonTTS'],
  base: 'https://api.smallest.ai/waves',
  credential: bearer('SMALLEST_API_KEY'),
  routes: [post('/v1/tts')],
};

/** Rime: text-to-speech. */
export const rime: ProxyTarget = {
  providers: ['PhiTTS'],
  base: 'https://users.rime.ai',
  credential: bearer('RIME_API_KEY'),
  routes: [post('/v1/rime-tts')],
};

/** MiniMax: text-to-speech. */
export const minimax: ProxyTarget = {
  providers: ['ChiTTS'],
  base: 'https://api.minimax.io',
  credential: bearer('MINIMAX_API_KEY'),
  routes: [post('/v1/t2a_v2')],
};

/** Fish Audio: text-to-speech. */
export const fish: ProxyTarget = {
  providers: ['PsiTTS'],
  base: 'https://api.fish.audio',
  credential: bearer('FISH_API_KEY'),
  headers: ['model'],
  routes: [post('/v1/tts')],
};

/** Amazon Polly: text-to-speech of a region. */
export const amazonPolly: ProxyTarget = {
  providers: ['OmegaTTS'],
  base: amazon('polly'),
  credential: aws('polly'),
  routes: [post('/v1/speech')],
};

/** Google Meet: joins a conference; its media go to Google directly. */
export const googleMeet: ProxyTarget = {
  providers: ['MeetingInputE'],
  base: 'https://meet.googleapis.com',
  credential: bearer('GOOGLE_MEET_ACCESS_TOKEN'),
  // The media go directly.
  routes: [post('/v2beta/spaces/{space}:connectActiveConference')],
};

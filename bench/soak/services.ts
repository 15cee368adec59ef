// Every service that a call can do its work with, through a proxy: then no provider needs a credential of its own form.
import {
  AlphaFlux,
  AlphaSTT,
  AlphaTTS,
  BetaSTT,
  ChiTTS,
  CompatibleLLM,
  DeltaSTT,
  EpsilonSTT,
  EtaSTT,
  GammaSTT,
  GammaTTS,
  IotaTTS,
  KappaSTT,
  KappaTTS,
  LambdaSTT,
  MuLLM,
  NuLLM,
  OmegaTTS,
  OmicronLLM,
  PhiTTS,
  PiTTS,
  PsiTTS,
  RhoTTS,
  SigmaTTS,
  TauTTS,
  ThetaLLM,
  ThetaRealtimeSTT,
  ThetaTTS,
  UpsilonTTS,
  XiLLM,
  ZetaSTT,
  type AnyProvider,
} from 'rxvoice';
import type { ServiceName, VendorName } from '../../samples/sandbox/index.ts';

/** A provider, and the service of the sandbox behind it. */
export interface Service {
  readonly vendor: VendorName;
  /** All that it asks; faults befall each. */
  readonly services: readonly ServiceName[];
  readonly create: (at: { readonly proxyUrl: string }) => AnyProvider;
}

const service = (vendor: VendorName, name: ServiceName, create: Service['create']): Service => ({
  ...{ vendor, services: [name], create },
});

// The sandbox's callers speak faster than people: a minute of theirs is more than a vendor's limit allows.
const limits = { charactersPerMinute: 1e6, flushesPerMinute: 1e6 };

/** Those that hear live: IotaSTT takes recordings. */
export const ears: Readonly<Record<string, Service>> = {
  AlphaFlux: service('alpha', 'alpha-flux', (at) => new AlphaFlux(at)),
  AlphaSTT: service('alpha', 'alpha-stt', (at) => new AlphaSTT(at)),
  BetaSTT: service('beta', 'beta-stt', (at) => new BetaSTT(at)),
  DeltaSTT: service('delta', 'delta-stt', (at) => new DeltaSTT(at)),
  EpsilonSTT: {
    ...{ vendor: 'epsilon', services: ['epsilon-init', 'epsilon-stt'] },
    create: (at) => new EpsilonSTT(at),
  },
  // By itself it waits a minute for a free place: nobody who calls does.
  EtaSTT: service('eta', 'eta-stt', (at) => new EtaSTT({ connectTimeoutMs: 10_000, ...at })),
  GammaSTT: service('gamma', 'gamma-stt', (at) => new GammaSTT(at)),
  KappaSTT: service('kappa', 'kappa-stt', (at) => new KappaSTT({ language: 'en-US', ...at })),
  LambdaSTT: service('lambda', 'lambda-stt', (at) => new LambdaSTT({ languageCode: 'en-US', ...at })),
  ThetaRealtimeSTT: service('theta', 'theta-realtime-stt', (at) => new ThetaRealtimeSTT(at)),
  ZetaSTT: service('zeta', 'zeta-stt', (at) => new ZetaSTT(at)),
};

export const minds: Readonly<Record<string, Service>> = {
  CompatibleLLM: service('compatible', 'compatible-llm', (at) => new CompatibleLLM({ model: 'local', ...at })),
  MuLLM: service('mu', 'mu-llm', (at) => new MuLLM(at)),
  NuLLM: service('nu', 'nu-llm', (at) => new NuLLM({ model: 'openai/gpt-oss-20b', ...at })),
  OmicronLLM: service('omicron', 'omicron-llm', (at) => new OmicronLLM({ model: 'gemini-2.5-flash', ...at })),
  ThetaLLM: service('theta', 'theta-llm', (at) => new ThetaLLM({ model: 'gpt-4.1-mini', ...at })),
  XiLLM: service('xi', 'xi-llm', (at) => new XiLLM({ model: 'mistral-small-latest', ...at })),
};

export const voices: Readonly<Record<string, Service>> = {
  AlphaTTS: service('alpha', 'alpha-tts', (at) => new AlphaTTS({ limits, ...at })),
  ChiTTS: service(
    'chi',
    'chi-tts',
    (at) => new ChiTTS({ voiceId: 'English_expressive_narrator', audioFormat: 'pcm', ...at }),
  ),
  GammaTTS: service(
    'gamma',
    'gamma-tts',
    (at) => new GammaTTS({ voiceId: '21m00Tcm4TlvDq8ikWAM', outputFormat: 'pcm_24000', ...at }),
  ),
  IotaTTS: service(
    'iota',
    'iota-tts',
    (at) => new IotaTTS({ languageCode: 'en-US', audioEncoding: 'LINEAR16', ...at }),
  ),
  KappaTTS: service(
    'kappa',
    'kappa-tts',
    (at) => new KappaTTS({ voiceName: 'en-US-JennyNeural', outputFormat: 'raw-24khz-16bit-mono-pcm', ...at }),
  ),
  OmegaTTS: service('omega', 'omega-tts', (at) => new OmegaTTS({ voiceId: 'Joanna', outputFormat: 'pcm', ...at })),
  PhiTTS: service('phi', 'phi-tts', (at) => new PhiTTS({ speaker: 'astra', audioFormat: 'pcm', ...at })),
  PiTTS: service('pi', 'pi-tts', (at) => new PiTTS({ voiceId: 'a0e99841-438c-4a64-b679-ae501e7d6091', ...at })),
  PsiTTS: service('psi', 'psi-tts', (at) => new PsiTTS({ format: 'pcm', sampleRate: 24_000, ...at })),
  RhoTTS: service('rho', 'rho-tts', (at) => new RhoTTS({ voiceId: 'geffen_32', audioFormat: 'pcm', ...at })),
  SigmaTTS: service('sigma', 'sigma-tts', (at) => new SigmaTTS({ voiceId: 'en-US-natalie', format: 'pcm', ...at })),
  TauTTS: service('tau', 'tau-tts', (at) => new TauTTS({ voice: 'leah', format: 'pcm_s16le', ...at })),
  ThetaTTS: service('theta', 'theta-tts', (at) => new ThetaTTS({ responseFormat: 'pcm', ...at })),
  UpsilonTTS: service(
    'upsilon',
    'upsilon-tts',
    (at) => new UpsilonTTS({ voiceId: 'magnus', sampleRate: 24_000, outputFormat: 'pcm', ...at }),
  ),
};

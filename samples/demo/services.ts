import { AlphaFlux, AlphaTTS, NuLLM } from 'rxvoice';
import type { AlphaFluxOptions } from 'rxvoice/deepgram';
import { startSandbox } from '../sandbox/index.ts';

/** Where the demo's providers find their services: the sandbox on this machine, or the real ones. */
export interface Services {
  readonly real: boolean;
  hear(options: AlphaFluxOptions): AlphaFlux;
  think(): NuLLM;
  speak(config: { readonly voice?: string; readonly sampleRate?: number }): AlphaTTS;
  close(): Promise<void>;
}

/** What to set to run the demo on the real services. */
export const environment: Readonly<Record<'alpha' | 'nu' | 'model', string>> = {
  alpha: 'DEEPGRAM_API_KEY',
  nu: 'GROQ_API_KEY',
  model: 'GROQ_MODEL',
};

/** The real services when the environment holds both keys, else the sandbox. */
export async function openServices(env: NodeJS.ProcessEnv): Promise<Services> {
  const alphaKey = env[environment.alpha];
  const nuKey = env[environment.nu];
  if (!alphaKey || !nuKey) return sandboxServices();
  return {
    real: true,
    hear: (options) => new AlphaFlux({ apiKey: alphaKey, options }),
    think: () => new NuLLM({ apiKey: nuKey, model: env[environment.model] ?? 'openai/gpt-oss-20b' }),
    speak: (config) => new AlphaTTS({ apiKey: alphaKey, ...config }),
    close: () => Promise.resolve(),
  };
}

async function sandboxServices(): Promise<Services> {
  const sandbox = await startSandbox();
  const alpha = { apiKey: 'sandbox-key', endpoint: sandbox.endpoints.alpha };
  const nu = { apiKey: 'sandbox-key', endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' };
  return {
    real: false,
    hear: (options) => new AlphaFlux({ ...alpha, options }),
    think: () => new NuLLM(nu),
    speak: (config) => new AlphaTTS({ ...alpha, ...config }),
    close: () => sandbox.close(),
  };
}

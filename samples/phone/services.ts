import { AlphaFlux, AlphaTTS, NuLLM, type AlphaTTSConfig } from 'rxvoice';
import { startSandbox } from '../sandbox/index.ts';

/** Where calls find their services: the sandbox on this machine, or the real ones. */
export interface Services {
  readonly real: boolean;
  hear(): AlphaFlux;
  think(): NuLLM;
  speak(config: AlphaTTSConfig): AlphaTTS;
  close(): Promise<void>;
}

/** Addresses of a sandbox that runs already, in another process. */
export interface SandboxAddresses {
  readonly alpha: string;
  readonly nu: string;
}

const model = 'openai/gpt-oss-20b';

/** The real services when the environment holds both keys, else a sandbox. */
export async function openServices(env: NodeJS.ProcessEnv, sandbox?: SandboxAddresses): Promise<Services> {
  const { DEEPGRAM_API_KEY: alphaKey, GROQ_API_KEY: nuKey, GROQ_MODEL: nuModel = model } = env;
  const options = { eotThreshold: 0.7, eagerEotThreshold: 0.5 };
  if (alphaKey && nuKey) {
    return {
      real: true,
      hear: () => new AlphaFlux({ apiKey: alphaKey, options }),
      think: () => new NuLLM({ apiKey: nuKey, model: nuModel }),
      speak: (config) => new AlphaTTS({ apiKey: alphaKey, ...config }),
      close: () => Promise.resolve(),
    };
  }
  const started = sandbox ? undefined : await startSandbox({ keepRecords: 0 });
  const { alpha, nu } = sandbox ?? started?.endpoints ?? { alpha: '', nu: '' };
  const key = { apiKey: 'sandbox-key' };
  return {
    real: false,
    hear: () => new AlphaFlux({ ...key, endpoint: alpha, options }),
    think: () => new NuLLM({ ...key, endpoint: nu, model }),
    speak: (config) => new AlphaTTS({ ...key, endpoint: alpha, ...config }),
    close: () => started?.close() ?? Promise.resolve(),
  };
}

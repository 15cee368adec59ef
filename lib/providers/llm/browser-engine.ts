import { VoiceError, messageOf, type VoiceErrorCode } from '../../core/errors.ts';
import { ownEntry } from '../../core/guard.ts';

/** What loads a model and answers with it: WebLLM's `MLCEngine`, or something that acts like it. */
export interface BrowserEngine {
  /** Loads a model. */
  reload(modelId: string, chatOpts?: Readonly<Record<string, unknown>>): Promise<void>;
  /** WebLLM's OpenAI-like interface. */
  readonly chat: {
    readonly completions: {
      /** Begins an answer; chunks come as they are read. */
      create(request: BrowserEngineRequest): Promise<AsyncIterable<unknown>>;
    };
  };
  /** Ends the answer that is being read. */
  interruptGenerate(): void;
  /** Frees the GPU's memory. */
  unload(): Promise<void>;
}

/** A request for one answer, in the form of OpenAI's chat completions. */
export type BrowserEngineRequest = { readonly stream: true } & Readonly<Record<string, unknown>>;

/** How far the model is loaded, as WebLLM reports it: first fetched, then loaded, then compiled, each from 0 to 1. */
export interface LoadProgress {
  /** 0 to 1, of this phase. */
  readonly progress: number;
  /** Seconds since this phase has begun. */
  readonly timeElapsed: number;
  /** What is being done, for people. */
  readonly text: string;
}

/** WebLLM's module, as far as it is used. */
export interface WebLLM {
  /** The engine in the page. */
  readonly MLCEngine: new (config: WebLLMEngineConfig) => BrowserEngine;
  /** The engine in a worker of the application's. */
  readonly WebWorkerMLCEngine: new (worker: Worker, config: WebLLMEngineConfig) => BrowserEngine;
}

/** What an engine is made with. */
export interface WebLLMEngineConfig {
  /** Gets how far the model is loaded. */
  readonly initProgressCallback: (progress: LoadProgress) => void;
  /** Models and cache, as WebLLM's `AppConfig`. */
  readonly appConfig?: Readonly<Record<string, unknown>>;
}

/** A chunk without its text: with tools, that is the calls themselves, which come complete at its end. */
export function withoutText(chunk: unknown): unknown {
  const { choices, ...rest } = chunk as { readonly choices?: readonly { readonly delta?: object }[] };
  return { ...rest, choices: choices?.map((choice) => ({ ...choice, delta: { ...choice.delta, content: '' } })) };
}

interface Failure {
  readonly code: VoiceErrorCode;
  readonly recoverable?: boolean;
  readonly remedy: string;
}
const noGpu: Failure = { code: 'device', remedy: 'this machine has no GPU that the browser can use' };
const weakGpu: Failure = { code: 'device', remedy: 'the GPU lacks what this model needs: take its q4f32 twin' };
const notLoaded: Failure = {
  code: 'not_ready',
  recoverable: true,
  remedy: 'the model is not loaded: initialize again',
};

/** What the engine's errors mean, by their names (WebLLM, src/error.ts). */
const failures: Readonly<Record<string, Failure>> = {
  WebGPUNotAvailableError: noGpu,
  WebGPUNotFoundError: noGpu,
  ShaderF16SupportError: weakGpu,
  FeatureSupportError: weakGpu,
  ModelNotFoundError: { code: 'not_found', remedy: 'WebLLM has no model of this name: see its prebuiltAppConfig' },
  MissingModelWasmError: { code: 'configuration', remedy: "the model's record has no model_lib" },
  DeviceLostError: {
    ...{ code: 'device', recoverable: true },
    remedy: 'the GPU was lost, mostly for want of memory: take a smaller model or context',
  },
  IntegrityError: { code: 'connection', recoverable: true, remedy: 'what was downloaded is damaged: clear the cache' },
  QuotaExceededError: { code: 'quota', remedy: 'the browser has no room for the model: free some storage' },
  ContextWindowSizeExceededError: { code: 'overflow', remedy: 'the conversation is too long for the model' },
  UnsupportedModelIdError: { code: 'configuration', remedy: 'this model cannot call tools: take a Hermes model' },
  ModelNotLoadedError: notLoaded,
  WorkerEngineModelNotLoadedError: notLoaded,
  EngineNotLoadedError: notLoaded,
  TypeError: { code: 'connection', recoverable: true, remedy: 'the model could not be fetched: is the page offline?' },
  NetworkError: {
    code: 'connection',
    recoverable: true,
    remedy: 'the model could not be fetched: is the page offline?',
  },
};

/** The error that a value thrown by an engine is. A worker throws texts that begin with the error's name. */
export function engineError(provider: string, cause: unknown): VoiceError {
  if (VoiceError.is(cause)) return cause;
  const name = cause instanceof Error ? cause.name : (/^\w+(?=:)/.exec(messageOf(cause))?.[0] ?? '');
  const failure = ownEntry(failures, name) ?? ownEntry(failures, cause instanceof Error ? cause.constructor.name : '');
  const { code = 'internal', recoverable = false, remedy = messageOf(cause) } = failure ?? {};
  return new VoiceError(`${provider}: ${remedy}`, { code, recoverable, provider, cause });
}

/** The browser's access to a GPU (W3C WebGPU), as far as it is looked at. */
interface Gpu {
  requestAdapter(): Promise<{ readonly features: ReadonlySet<string> } | null>;
}

/** Why this machine cannot run a model, and what to do about it; `undefined` when it can. */
export async function gpuProblem(model: string): Promise<string | undefined> {
  const gpu = 'navigator' in globalThis ? (navigator as { readonly gpu?: Gpu }).gpu : undefined;
  if (!gpu) {
    const isInsecure = 'isSecureContext' in globalThis && !globalThis.isSecureContext;
    const remedy = isInsecure ? 'a page on https or localhost' : 'a browser with WebGPU: Chrome or Edge 113, Safari 26';
    return `it needs ${remedy}, or another model such as CompatibleLLM`;
  }
  const adapter = await gpu.requestAdapter();
  if (!adapter) return 'the browser finds no GPU that it may use: update its driver, or take another model';
  if (!/q\df16/.test(model) || adapter.features.has('shader-f16')) return undefined;
  const twin = model.replace(/(q\d)f16/, '$1f32');
  return `this GPU cannot compute with 16 bits, which ${model} needs: take ${twin}`;
}

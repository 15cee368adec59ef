import { VoiceError, messageOf, type VoiceErrorCode } from '../../core/errors.ts';
import { ownEntry } from '../../core/own-entry.ts';

/** Loads a model and generates answers: WebLLM's `MLCEngine`, or anything with its interface. */
export interface BrowserEngine {
  /** Loads a model. */
  reload(modelId: string, chatOpts?: Readonly<Record<string, unknown>>): Promise<void>;
  /** WebLLM's OpenAI-like interface. */
  readonly chat: {
    readonly completions: {
      /** Starts an answer; chunks are generated as they are read. */
      create(request: BrowserEngineRequest): Promise<AsyncIterable<unknown>>;
    };
  };
  /** Stops the answer being generated. */
  interruptGenerate(): void;
  /** Frees the GPU's memory. */
  unload(): Promise<void>;
}

/** A request for one answer, in the form of OpenAI's chat completions. */
export type BrowserEngineRequest = { readonly stream: true } & Readonly<Record<string, unknown>>;

/** Loading progress, as WebLLM reports it: fetching, then loading, then compiling, each from 0 to 1. */
export interface LoadProgress {
  /** 0 to 1, of this phase. */
  readonly progress: number;
  /** Seconds since this phase began. */
  readonly timeElapsed: number;
  /** The current step, for display. */
  readonly text: string;
}

/** The parts of WebLLM's module that are used. */
export interface WebLLM {
  /** The engine in the page. */
  readonly MLCEngine: new (config: WebLLMEngineConfig) => BrowserEngine;
  /** The engine in the application's worker. */
  readonly WebWorkerMLCEngine: new (worker: Worker, config: WebLLMEngineConfig) => BrowserEngine;
}

/** Options for creating an engine. */
export interface WebLLMEngineConfig {
  /** Called with the loading progress. */
  readonly initProgressCallback: (progress: LoadProgress) => void;
  /** Models and cache, as WebLLM's `AppConfig`. */
  readonly appConfig?: Readonly<Record<string, unknown>>;
}

/** A chunk without its text: with tools, the text is the calls themselves, which arrive complete at the end. */
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
const weakGpu: Failure = { code: 'device', remedy: 'the GPU lacks what this model needs: use its q4f32 variant' };
const lostGpu: Failure = {
  code: 'device',
  recoverable: true,
  remedy: 'the GPU was lost, probably out of memory: use a smaller model or context',
};
const notLoaded: Failure = {
  code: 'not_ready',
  recoverable: true,
  remedy: 'the model is not loaded: call initialize() again',
};

/** What the engine's errors mean, by name (WebLLM, src/error.ts). */
const failures: Readonly<Record<string, Failure>> = {
  WebGPUNotAvailableError: noGpu,
  WebGPUNotFoundError: noGpu,
  ShaderF16SupportError: weakGpu,
  FeatureSupportError: weakGpu,
  ModelNotFoundError: { code: 'not_found', remedy: 'WebLLM has no model of this name: see its prebuiltAppConfig' },
  MissingModelError: { code: 'configuration', remedy: "the model's record has no model_lib" },
  DeviceLostError: lostGpu,
  // What a browser answers when a result is read from a lost GPU; an aborted load throws nothing.
  AbortError: lostGpu,
  IntegrityError: { code: 'connection', recoverable: true, remedy: 'the download is corrupt: clear the cache' },
  QuotaExceededError: { code: 'quota', remedy: 'the browser has no room for the model: free some storage' },
  ContextWindowSizeExceededError: { code: 'overflow', remedy: 'the conversation is too long for the model' },
  UnsupportedModelIdError: { code: 'configuration', remedy: 'this model cannot call tools: use a Hermes model' },
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

/** The error for a value thrown by the engine. A worker throws strings that start with the error's name. */
export function engineError(provider: string, cause: unknown): VoiceError {
  if (VoiceError.is(cause)) return cause;
  const text = messageOf(cause);
  // Not by instanceof: a worker or frame has an Error of its own.
  const named = Object(cause) as { readonly name?: unknown };
  const name = typeof named.name === 'string' ? named.name : (/^\w+(?=:)/.exec(text)?.[0] ?? '');
  const failure =
    ownEntry(failures, name) ??
    ownEntry(failures, cause instanceof Error ? cause.constructor.name : '') ??
    // A lost GPU takes the model away from an answer in progress.
    (text.endsWith('has already been disposed') ? lostGpu : undefined);
  const { code = 'internal', recoverable = false, remedy = text } = failure ?? {};
  return new VoiceError(`${provider}: ${remedy}`, { code, recoverable, provider, cause });
}

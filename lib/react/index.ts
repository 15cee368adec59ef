import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { BehaviorSubject, NEVER, type Observable } from 'rxjs';
import { messageOf, VoiceError } from '../core/errors.ts';
import type { AgentState } from '../conversation/events.ts';
import { audioDevices, type AudioDevices } from '../features/devices.ts';
import { type AudioLevel, audioLevels, type AudioLevelsOptions, type LevelSource } from '../playback/audio-levels.ts';
import { microphonePermission, type MicrophonePermission } from '../playback/microphone-permission.ts';
import { transcript, type TranscriptLine } from '../features/transcript.ts';
import type { PipelineOptions } from '../pipeline/pipeline-options.ts';
import { Pipeline } from '../pipeline/pipeline.ts';

/** State of a {@link usePipeline} conversation. */
export type SessionState = 'idle' | 'starting' | 'running' | 'stopping';

/** The state of a {@link usePipeline}; a new object on every change. */
export interface PipelineStatus {
  /** State of the conversation. */
  readonly state: SessionState;
  /** What the agent is doing; `idle` outside a conversation. */
  readonly agentState: AgentState;
  /** Why the last `start()` failed; `undefined` once it is called again. */
  readonly error: VoiceError | undefined;
}

/** What {@link usePipeline} returns. */
export interface PipelineHook extends PipelineStatus {
  /** The pipeline: its streams, for {@link useObservable}, and its operations. */
  readonly pipeline: Pipeline;
  /** Begins the conversation. Never rejects: a failure becomes `error`. The same function at every render. */
  readonly start: (options?: Parameters<Pipeline['start']>[0]) => Promise<void>;
  /** Ends it, or a start in progress. Never rejects. The same function at every render. */
  readonly stop: (options?: Parameters<Pipeline['stop']>[0]) => Promise<void>;
}

/**
 * The latest value of a stream, `initial` until there is one. Subscribed to while the component is mounted. If the
 * stream fails, the component throws its error, for the error boundary above; if it completes, the last value stays.
 *
 * @param stream$ - The same Observable at every render: a pipeline's or a provider's as it is, or one from `useMemo`. A
 * different one starts over.
 * @param initial - The value before the first one, and on a server. Default: `undefined`.
 *
 * @example
 * ```ts
 * import { map } from 'rxjs';
 * import { useMemo } from 'react';
 * import type { Pipeline } from 'rxvoice';
 * import { useObservable } from 'rxvoice/react';
 *
 * export function useCaption(pipeline: Pipeline): string {
 *   const text$ = useMemo(() => pipeline.transcripts$.pipe(map((event) => ('text' in event ? event.text : ''))), [pipeline]);
 *   return useObservable(text$, '');
 * }
 * ```
 */
export function useObservable<T, I = undefined>(stream$: Observable<T>, initial?: I): T | I {
  const latest = useMemo(() => new Latest<T, I>(stream$, initial as I), [stream$]);
  return useSyncExternalStore(latest.subscribe, latest.read, () => initial as I);
}

/**
 * A pipeline that lives as long as its component: created with the first render, disposed after the last. Nothing
 * happens before `start()`. StrictMode, which undoes and repeats effects, does not disturb it.
 *
 * @param options - A function that creates the options, providers included; called once (twice by StrictMode, which
 * drops the second result). Later ones have no effect: change the component's `key` for another pipeline. An object
 * works too, if created outside the component.
 *
 * @example
 * ```ts
 * import { createElement, type ReactElement } from 'react';
 * import { AlphaFlux, AlphaTTS, BrowserAudioOutput, MicrophoneInput, NuLLM } from 'rxvoice';
 * import { usePipeline } from 'rxvoice/react';
 *
 * export function Talk(): ReactElement {
 *   const { state, error, start, stop } = usePipeline(() => ({
 *     providers: [
 *       new MicrophoneInput(),
 *       new AlphaFlux({ proxyUrl: '/voice/deepgram' }),
 *       new NuLLM({ proxyUrl: '/voice/groq', model: 'openai/gpt-oss-20b' }),
 *       new AlphaTTS({ proxyUrl: '/voice/deepgram' }),
 *       new BrowserAudioOutput(),
 *     ],
 *   }));
 *   if (error) return createElement('p', { role: 'alert' }, error.message);
 *   return createElement('button', { onClick: () => state === 'idle' ? start() : stop() }, state);
 * }
 * ```
 */
export function usePipeline(options: PipelineOptions | (() => PipelineOptions)): PipelineHook {
  const [session, setSession] = useState(() => new Session(options));
  useEffect(() => {
    if (!session.disposed) return session.hold();
    // Hidden for a while, then shown again: the effects return, the pipeline does not.
    setSession(new Session(options, session.disposed));
    return undefined;
  }, [session]);
  const status = useObservable(session.status$, session.status);
  return { ...status, pipeline: session.pipeline, start: session.start, stop: session.stop };
}

/**
 * What was said, line by line: the history, then what is being said, word by word. See `transcript()`.
 *
 * @param pipeline - The pipeline of {@link usePipeline}.
 */
export function useTranscript(
  pipeline: Pick<Pipeline, 'events$' | 'captions$' | 'history'>,
): readonly TranscriptLine[] {
  const lines$ = useMemo(() => transcript(pipeline), [pipeline]);
  return useObservable(lines$, noLines);
}

/**
 * The level of a microphone, or of what the page plays, 20 times a second by default; zero without a source. See
 * `audioLevels()`.
 *
 * @param source - A `MicrophoneInput` or a `BrowserAudioOutput`, the same at every render: keep it in `useState`.
 */
export function useAudioLevel(
  source: LevelSource | undefined,
  { intervalMs = 50 }: Pick<AudioLevelsOptions, 'intervalMs'> = {},
): AudioLevel {
  const levels$ = useMemo(() => (source ? audioLevels(source, { intervalMs }) : NEVER), [source, intervalMs]);
  return useObservable(levels$, noSound);
}

/** What {@link useDevices} returns. */
export interface DevicesHook extends AudioDevices {
  /** Whether the page may use the microphone; devices have names once it is `granted`. */
  readonly permission: MicrophonePermission;
}

/**
 * The browser's microphones and speakers, and whether the page may use the microphone; kept current while mounted. Does
 * not ask the user. See `audioDevices()`.
 *
 * @param pipeline - The pipeline whose microphone reveals the names, in browsers that show them only while one is open.
 */
export function useDevices(pipeline?: Pick<Pipeline, 'input$'>): DevicesHook {
  const input$ = pipeline?.input$;
  const devices$ = useMemo(() => audioDevices(input$ ? { refresh$: input$ } : {}), [input$]);
  const permission$ = useMemo(() => microphonePermission(), []);
  const devices = useObservable(devices$, noDevices);
  const permission = useObservable(permission$, 'unknown');
  return useMemo(() => ({ ...devices, permission }), [devices, permission]);
}

const noLines: readonly TranscriptLine[] = [];
const noSound: AudioLevel = { rms: 0, peak: 0 };
const noDevices: AudioDevices = { microphones: [], speakers: [] };

/** A stream in the form React reads. */
class Latest<T, I> {
  readonly #stream$: Observable<T>;
  #value: T | I;
  #failure: { readonly error: unknown } | undefined;

  constructor(stream$: Observable<T>, initial: I) {
    this.#stream$ = stream$;
    this.#value = initial;
  }

  readonly subscribe = (changed: () => void): (() => void) => {
    const subscription = this.#stream$.subscribe({
      next: (value) => {
        this.#value = value;
        changed();
      },
      error: (error: unknown) => {
        this.#failure = { error };
        changed();
      },
    });
    return () => subscription.unsubscribe();
  };

  readonly read = (): T | I => {
    if (this.#failure) throw this.#failure.error;
    return this.#value;
  };
}

/** A pipeline, and its reported state. */
class Session {
  readonly pipeline: Pipeline;
  readonly #status$ = new BehaviorSubject<PipelineStatus>({ state: 'idle', agentState: 'idle', error: undefined });
  readonly status$: Observable<PipelineStatus> = this.#status$.asObservable();
  readonly #options: PipelineOptions;
  /** An earlier pipeline with the same providers, which must release them first. */
  readonly #before: Promise<void> | undefined;
  #disposed: Promise<void> | undefined;
  #held = false;
  /** Counts starts and stops: only the latest may report its outcome. */
  #order = 0;
  #settled = true;

  constructor(options: PipelineOptions | (() => PipelineOptions), before?: Promise<void>) {
    this.#options = typeof options === 'function' ? options() : options;
    this.#before = before;
    this.pipeline = new Pipeline(this.#options);
    this.pipeline.on('agent.state', ({ state }) => this.#report({ agentState: state }));
    this.pipeline.on('session.ready', () => this.#onSession());
    this.pipeline.on('session.closed', () => this.#onSession());
  }

  get status(): PipelineStatus {
    return this.#status$.value;
  }

  /** Resolves when it is disposed; `undefined` until then. */
  get disposed(): Promise<void> | undefined {
    return this.#disposed;
  }

  readonly start = (options?: Parameters<Pipeline['start']>[0]): Promise<void> =>
    this.#run('starting', async (isWanted) => {
      if (this.#before) await this.#before;
      if (isWanted()) await this.pipeline.start(options);
    });

  readonly stop = (options?: Parameters<Pipeline['stop']>[0]): Promise<void> =>
    this.#run('stopping', () => this.pipeline.stop(options));

  /** Keeps it alive until the returned function is called. */
  hold(): () => void {
    this.#held = true;
    return () => {
      this.#held = false;
      // StrictMode holds it again at once.
      queueMicrotask(() => {
        if (!this.#held) this.#disposed ??= this.#dispose();
      });
    };
  }

  async #run(state: SessionState, work: (isWanted: () => boolean) => Promise<void>): Promise<void> {
    const order = ++this.#order;
    const isWanted = (): boolean => order === this.#order;
    this.#settled = false;
    this.#report({ state, ...(state === 'starting' && { error: undefined }) });
    let error: VoiceError | undefined;
    try {
      await work(isWanted);
    } catch (cause) {
      error = VoiceError.from(cause);
    }
    if (!isWanted()) return;
    this.#settled = true;
    this.#onSession();
    // Whoever stops it or unmounts knows why it did not start.
    if (error && error.code !== 'aborted' && !this.#disposed) this.#report({ error });
  }

  #onSession(): void {
    const isRunning = this.pipeline.state === 'running';
    if (!isRunning) this.#report({ agentState: 'idle' });
    if (this.#settled) this.#report({ state: isRunning ? 'running' : 'idle' });
  }

  #report(change: Partial<PipelineStatus>): void {
    const { status } = this;
    const next = { ...status, ...change };
    const keys = ['state', 'agentState', 'error'] as const;
    if (keys.some((key) => next[key] !== status[key])) this.#status$.next(next);
  }

  async #dispose(): Promise<void> {
    try {
      await this.pipeline.dispose();
    } catch (cause) {
      this.#options.logger?.warn(`the pipeline was not disposed cleanly: ${messageOf(cause)}`);
    }
  }
}

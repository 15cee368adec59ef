import { Subject, Subscription, timer, type Observable } from 'rxjs';
import {
  afterGreeting,
  BufferInput,
  Pipeline,
  unlessToolsRun,
  VoiceError,
  type ListeningPolicy,
  type OutputProvider,
  type VoiceEvent,
} from 'rxvoice';
import { rmsLevel } from 'rxvoice/audio';
import { energyVad } from 'rxvoice/vad';
import { withAnswers } from './answers.ts';
import { Caller, callerFormat } from './caller.ts';
import { castOf, isAgent, type Choice, type Listening, type Setup } from './setup.ts';
import { tools } from './tools.ts';

/** What the page shows of a model that is loading. */
export interface Progress {
  readonly fraction: number;
  readonly text: string;
}

/** When the user is listened to. */
const policies: Readonly<Record<Listening, readonly ListeningPolicy[]>> = {
  always: [],
  'after-greeting': [afterGreeting],
  'unless-tools-run': [unlessToolsRun],
};

/** How long the caller keeps the button after the last word, in milliseconds. */
const releaseMs = 200;

/** One conversation of the page: a pipeline, and what belongs to it. */
export class Session {
  readonly pipeline: Pipeline;
  /** The sandbox's person; `undefined` where the user speaks. */
  readonly caller: Caller | undefined;
  /** Who plays: by role, for hazards and titles. */
  readonly choices: readonly Choice[];
  /** Whether the user says when a turn begins and ends. */
  readonly isPushToTalk: boolean;
  readonly #output: OutputProvider | undefined;
  readonly #progress$ = new Subject<Progress>();
  readonly #work = new Subscription();
  #meter: AnalyserNode | undefined;
  readonly #samples = new Float32Array(1024);

  /** @throws VoiceError when a role is missing or a setting is refused. */
  constructor(setup: Setup, all: readonly Choice[]) {
    const cast = castOf(setup, all, ({ name }, config) => {
      if (name === 'BufferInput') return callerFormat;
      if (name === 'BrowserLLM') return { onLoadProgress: (progress: unknown) => this.#onProgress(progress) };
      if (['ThetaAgent', 'GammaAgent', 'OmicronAgent'].includes(name)) {
        return { instructions: setup.systemPrompt, ...(setup.greeting && { greeting: setup.greeting }) };
      }
      if (name !== 'AlphaAgent') return {};
      const think = { ...(config['think'] as object | undefined), prompt: setup.systemPrompt };
      return { think, ...(setup.greeting && { greeting: setup.greeting }) };
    });
    this.choices = cast.map(({ choice }) => choice);
    const providers = cast.map(({ provider }) => provider);
    const input = providers.find((provider) => provider instanceof BufferInput);
    this.caller = input && new Caller(input);
    this.#output = providers.find((provider): provider is OutputProvider => provider.roles.includes('output'));
    this.isPushToTalk = this.choices.some(({ row }) => row.isPushToTalk);
    const hasAgent = this.choices.some(({ row }) => isAgent(row));
    const isScripted = this.choices.some(({ place, row }) => place === 'sandbox' && row.roles.includes('llm'));
    this.pipeline = new Pipeline({
      ...{ providers, inputEvents: true },
      ...(this.isPushToTalk && { turnTaking: { strategy: 'manual' } }),
      // An agent has its own words, and its own tools.
      ...(!hasAgent && {
        tools,
        systemPrompt: isScripted ? withAnswers(setup.systemPrompt) : setup.systemPrompt,
        // The sandbox's services hear words only: a cough is for others to hear.
        ...(this.caller && { vad: energyVad() }),
        listening: policies[setup.listening ?? 'always'],
        ...(setup.greeting && { greeting: setup.greeting }),
      }),
    });
  }

  get events$(): Observable<VoiceEvent> {
    return this.pipeline.events$;
  }

  /** A model that is loading. Hot. */
  get progress$(): Observable<Progress> {
    return this.#progress$.asObservable();
  }

  /** Milliseconds of the current speech that were heard. */
  get playedMs(): number {
    return this.#output?.positionMs ?? 0;
  }

  /** How loud it sounds now, 0 to 1; `undefined` where that cannot be known. */
  get outputLevel(): number | undefined {
    if (!this.#meter) return undefined;
    this.#meter.getFloatTimeDomainData(this.#samples);
    return rmsLevel(this.#samples);
  }

  /** @throws VoiceError with what to do. */
  async start(): Promise<void> {
    try {
      await this.pipeline.start();
    } catch (cause) {
      await this.close();
      throw VoiceError.from(cause);
    }
    this.#meterOutput();
    this.caller?.connect();
  }

  /** The caller says a text. */
  say(text: string): void {
    if (this.isPushToTalk) this.pipeline.beginTurn();
    const untilMs = this.caller?.say(text) ?? 0;
    if (this.isPushToTalk) this.#work.add(timer(untilMs + releaseMs).subscribe(() => this.pipeline.commitTurn()));
  }

  /** Has something happen in it; its end ends that, and to unsubscribe does. */
  perform(act$: Observable<unknown>): Subscription {
    const act = act$.subscribe();
    this.#work.add(act);
    return act;
  }

  async close(): Promise<void> {
    this.caller?.hangUp();
    this.#work.unsubscribe();
    await this.pipeline.dispose();
    this.#progress$.complete();
  }

  #meterOutput(): void {
    const node: unknown = this.#output && Reflect.get(this.#output, 'audioNode');
    if (typeof AudioNode === 'undefined' || !(node instanceof AudioNode)) return;
    const meter = new AnalyserNode(node.context, { fftSize: 2048 });
    node.connect(meter);
    this.#meter = meter;
    this.#work.add(() => {
      meter.disconnect();
      this.#meter = undefined;
    });
  }

  #onProgress(report: unknown): void {
    const { progress = 0, text = '' } = report as { progress?: number; text?: string };
    this.#progress$.next({ fraction: progress, text });
  }
}

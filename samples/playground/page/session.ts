import {
  concatMap,
  defer,
  EMPTY,
  filter,
  map,
  Subject,
  Subscription,
  take,
  timer,
  toArray,
  type Observable,
} from 'rxjs';
import { BufferInput, Pipeline, record, VoiceError, webmOpus } from 'rxvoice';
import type { InputProvider, OutputProvider, VoiceEvent } from 'rxvoice';
import { rmsLevel } from 'rxvoice/audio';
import { RemotePipeline } from 'rxvoice/remote';
import { briefOf, isPushToTalk, optionsOf } from './brief.ts';
import { Caller, callerFormat } from './caller.ts';
import { castOf, choicesIn, servicesOf, talkPath, type Choice, type Setup } from './setup.ts';

/** What the page shows of a model that is loading. */
export interface Progress {
  readonly fraction: number;
  readonly text: string;
}

/** How long the caller keeps the button after the last word, in milliseconds. */
const releaseMs = 200;

/** One conversation of the page: a pipeline, and what belongs to it. */
export class Session {
  readonly pipeline: Pipeline | RemotePipeline;
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
    const isRemote = setup.runs === 'server';
    this.choices = choicesIn(setup, all);
    if (isRemote) refuseLocal(choicesIn(servicesOf(setup), all));
    const { input: ear } = setup.roles;
    const none = { input: ear, stt: '', llm: '', tts: '', output: '' };
    const cast = castOf(isRemote ? { ...setup, roles: none } : setup, all, (row, config) => {
      if (row.name === 'BufferInput') return callerFormat;
      if (row.name === 'BrowserLLM') return { onLoadProgress: (progress: unknown) => this.#onProgress(progress) };
      return briefOf(setup, row, config);
    });
    const providers = cast.map(({ provider }) => provider);
    const input = providers.find((provider) => provider instanceof BufferInput);
    this.caller = input && new Caller(input);
    this.#output = providers.find((provider): provider is OutputProvider => provider.roles.includes('output'));
    this.isPushToTalk = isPushToTalk(this.choices);
    if (isRemote) {
      const microphone = providers.find((provider): provider is InputProvider => provider.roles.includes('input'));
      this.pipeline = new RemotePipeline({
        url: `${talkPath}?${new URLSearchParams({ setup: JSON.stringify(setup) }).toString()}`,
        ...(microphone && { microphone }),
        audio: 'opus',
      });
    } else {
      const options = optionsOf(setup, this.choices, this.caller !== undefined);
      this.pipeline = new Pipeline({ ...{ providers, inputEvents: true }, ...options });
    }
    // `events$` alone doesn't ask for the words as they sound, and the share of the audio that was played knows too
    // little: of a long answer, only the next sentences are synthesized.
    this.#work.add(this.pipeline.captions$.subscribe());
  }

  get events$(): Observable<VoiceEvent> {
    return this.pipeline.events$;
  }

  /** A model that is loading. Hot. */
  get progress$(): Observable<Progress> {
    return this.#progress$.asObservable();
  }

  /** The end of the conversation, whoever ends it, with what went wrong. */
  get ended$(): Observable<VoiceError | undefined> {
    const { pipeline } = this;
    const end$ =
      pipeline instanceof Pipeline
        ? pipeline.events$.pipe(
            filter(({ type }) => type === 'session.closed'),
            map(() => undefined),
          )
        : pipeline.link$.pipe(
            filter((link) => link.type === 'closed'),
            map(({ error }) => error),
          );
    return end$.pipe(take(1));
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

  /** What was said and heard while it was allowed, as a file, once the conversation is over. Subscribe before `start()`. */
  recorded(consent$: Observable<boolean>): Observable<Blob> {
    return defer(() =>
      this.pipeline instanceof Pipeline ? record(this.pipeline, { consent: consent$ }).wav$ : EMPTY,
    ).pipe(
      // The sandbox speaks in fast pairs of tones, which need more than speech.
      webmOpus({ bitrate: 160_000 }),
      toArray(),
      concatMap((pieces) => (pieces.length > 0 ? [new Blob(pieces, { type: 'audio/webm' })] : EMPTY)),
    );
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

  /** The caller is gone, as at the end of a phone call. */
  async hangUp(): Promise<void> {
    this.caller?.hangUp();
    await this.pipeline.stop();
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

/** @throws VoiceError `configuration` for what a server does not have: the browser's own. */
function refuseLocal(choices: readonly Choice[]): void {
  const [local] = choices.filter(({ place }) => place === 'local');
  if (!local) return;
  const message = `${local.row.name} is in this browser: on the server, choose services of the sandbox or with your key`;
  throw new VoiceError(message, { code: 'configuration' });
}

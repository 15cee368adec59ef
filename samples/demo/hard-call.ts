import { filter, firstValueFrom, Subscription, throwError, timeout, timer } from 'rxjs';
import {
  AlphaFlux,
  AlphaTTS,
  BufferInput,
  fallback,
  NullOutput,
  NuLLM,
  Pipeline,
  ThetaLLM,
  type AudioChunk,
  type Tool,
  type VoiceEvent,
  type VoiceEventType,
} from 'rxvoice';
import { int16View } from 'rxvoice/audio';
import { energyVad } from 'rxvoice/vad';
import { startSandbox, type Sandbox } from '../sandbox/index.ts';
import { decodeSamples } from '../sandbox/modem.ts';
import { Caller, writeCallerFile } from './caller.ts';
import type { CallRecord } from './call.ts';

/** What the model answers, besides what the sandbox's always does: the first rule that fits. */
const rules = [
  { when: '\\bnot\\b', say: 'Nothing is booked.' },
  { when: '^book the flight', say: 'The flight is booked.' },
  { when: 'table', say: 'One is free at nine. Shall I book it?' },
  { when: '^yes', say: 'The table is yours.' },
  { when: 'harbour', say: 'The harbour has seven lamps and two old piers. Ships come in at night.' },
];

/** How long the tool takes, unless it is called off. */
const toolMs = 20_000;
/** Longest wait for something that has to happen. */
const patienceMs = 40_000;

/** A call on which everything happens that makes conversations hard, and what is needed to make it happen. */
export class HardCall {
  readonly events: VoiceEvent[] = [];
  readonly heard: AudioChunk[] = [];
  readonly sandbox: Sandbox;
  readonly pipeline: Pipeline;
  readonly caller: Caller;
  /** How many runs of the tool were called off. */
  readonly calledOff: () => number;
  readonly #startedAt: number;
  readonly #listening = new Subscription();

  private constructor(
    sandbox: Sandbox,
    pipeline: Pipeline,
    caller: Caller,
    output: NullOutput,
    calledOff: () => number,
  ) {
    this.sandbox = sandbox;
    this.pipeline = pipeline;
    this.caller = caller;
    this.calledOff = calledOff;
    this.#startedAt = Date.now();
    this.#listening.add(pipeline.events$.subscribe((event) => this.events.push(event)));
    this.#listening.add(output.heard$.subscribe((chunk) => this.heard.push(chunk)));
  }

  /** Sets everything up: the caller has not said anything yet. */
  static async open(callerFile: string, lines: readonly string[]): Promise<HardCall> {
    const sandbox = await startSandbox();
    const alpha = { apiKey: 'sandbox-key', endpoint: sandbox.endpoints.alpha };
    const nu = { apiKey: 'sandbox-key', endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' };
    const theta = { apiKey: 'sandbox-key', endpoint: sandbox.endpoints.theta, model: 'gpt-5.4-mini' };
    const voice = new AlphaTTS({ ...alpha, voice: 'aura-2-apollo-en', sampleRate: 16_000 });
    await voice.initialize();
    await writeCallerFile(callerFile, lines, voice);
    await voice.dispose();

    const input = new BufferInput({ sampleRate: 16_000 });
    const output = new NullOutput();
    let calledOff = 0;
    const weather: Tool = {
      name: 'get_weather',
      description: 'The weather.',
      execute: (_, { signal }) =>
        new Promise((resolve) => {
          const wait = setTimeout(() => {
            resolve('sunny');
          }, toolMs);
          signal.addEventListener('abort', () => {
            calledOff++;
            clearTimeout(wait);
            resolve('called off');
          });
        }),
    };
    const pipeline = new Pipeline({
      providers: [
        input,
        new AlphaFlux({ ...alpha, options: { eotThreshold: 0.8, eagerEotThreshold: 0.4 } }),
        fallback(new NuLLM(nu), new ThetaLLM(theta)),
        new AlphaTTS({ ...alpha, sampleRate: 24_000 }),
        output,
      ],
      systemPrompt: `You are a concise voice assistant.\nsandbox: ${JSON.stringify({ rules })}`,
      tools: [weather],
      vad: energyVad(),
    });
    const caller = await Caller.fromFile(callerFile, input);
    return new HardCall(sandbox, pipeline, caller, output, () => calledOff);
  }

  /** Picks up the receiver. */
  async begin(): Promise<void> {
    await this.pipeline.start();
    this.caller.connect();
  }

  /** The next event of a type, after those that have come. */
  next<T extends VoiceEventType>(type: T, is: (event: VoiceEvent<T>) => boolean = () => true): Promise<VoiceEvent<T>> {
    const next$ = this.pipeline.events$.pipe(
      filter((event) => event.type === type && is(event as VoiceEvent<T>)),
      timeout({
        first: patienceMs,
        with: () => throwError(() => new Error(`${patienceMs / 1000} s passed without ${type}`)),
      }),
    );
    return firstValueFrom(next$) as Promise<VoiceEvent<T>>;
  }

  /** Lets the call go on for so many milliseconds. */
  async wait(ms: number): Promise<void> {
    await firstValueFrom(timer(ms));
  }

  /** The events of one type, from a moment on. */
  since<T extends VoiceEventType>(at: number, type: T): VoiceEvent<T>[] {
    const wanted = this.events.filter((event) => event.at >= at && event.type === type);
    return wanted as VoiceEvent<T>[];
  }

  /** The text in the samples that were heard from a moment on: to the last whole character. */
  readBack(since: number): string {
    const chunks = this.heard.filter(({ timestamp = 0 }) => timestamp >= since);
    const samples = chunks.flatMap(({ data }) => Array.from(int16View(data)));
    return decodeSamples(Int16Array.from(samples), chunks[0]?.metadata?.sampleRate ?? 24_000).text.trim();
  }

  /** The call so far, for the recording and the diagram. */
  get record(): CallRecord {
    return {
      events: this.events,
      history: this.pipeline.history.messages(),
      heard: this.heard,
      sent: this.caller.sent,
      startedAt: this.#startedAt,
      endedAt: Date.now(),
    };
  }

  async close(): Promise<void> {
    this.caller.hangUp();
    await this.pipeline.dispose();
    this.#listening.unsubscribe();
    await this.sandbox.close();
  }
}

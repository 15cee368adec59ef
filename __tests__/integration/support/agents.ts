import { firstValueFrom } from 'rxjs';
import { VoiceError } from 'rxvoice';
import type { AlphaAgent, AudioChunk, ConnectionEvent } from 'rxvoice';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../../samples/sandbox/modem.ts';
import { readSamples, writeSamples } from '../../../samples/sandbox/pcm.ts';

export const key = 'sandbox-key';
export const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** A text as an agent's ears take it, with a second of silence that ends the turn, in frames of 20 ms. */
function spoken(text: string, sampleRate: number, encoding: 'linear16' | 'mulaw' = 'linear16'): AudioChunk[] {
  const tones = encodeText(text, sampleRate);
  const samples = new Int16Array(tones.length + sampleRate);
  samples.set(tones);
  const size = sampleRate / 50;
  const metadata = { encoding, sampleRate, channels: 1 } as const;
  return Array.from({ length: Math.floor(samples.length / size) }, (_, frame) => ({
    data: writeSamples(samples.slice(frame * size, (frame + 1) * size), encoding),
    metadata,
  }));
}

/** What these specs use of every agent. */
type Agent = Pick<
  AlphaAgent,
  | 'initialize'
  | 'dispose'
  | 'sendAudio'
  | 'errors$'
  | 'connection$'
  | 'audio$'
  | 'transcripts$'
  | 'conversation$'
  | 'audioDone$'
>;

type Kind = Parameters<Sandbox['records']>[0];

/** An agent in use, and what came from it. */
interface Ready<A> {
  readonly agent: A;
  readonly errors: VoiceError[];
  readonly audio: AudioChunk[];
  /** `user: hello`, `assistant: Hello!` */
  readonly said: string[];
  /** Whether final words or audio came, and again. */
  readonly order: ('words' | 'audio')[];
  /** Types of its connection's events. */
  readonly types: () => string[];
  /** The words in its audio. */
  readonly hear: () => string;
  /** Resolves when the audio of a reply is complete. */
  readonly replied: () => Promise<void>;
  readonly tell: (text: string, encoding?: 'linear16' | 'mulaw') => void;
}

/**
 * Agents over a sandbox of their own, for the specs of one `describe`. What the service refuses fails a spec, unless that
 * is what it awaits.
 *
 * @param kind - The agent's name in the sandbox's records.
 * @param sampleRate - At which linear16 is spoken to it, in Hz.
 */
export class AgentRig<A extends Agent, C extends object> {
  readonly #kind: Kind;
  readonly #make: (sandbox: Sandbox, config: Partial<C>) => A;
  readonly #sampleRate: number;
  readonly #agents: A[] = [];
  #sandbox: Sandbox | undefined;
  #awaitsRefusal = false;

  constructor(kind: Kind, make: (sandbox: Sandbox, config: Partial<C>) => A, sampleRate: number = 16_000) {
    [this.#kind, this.#make, this.#sampleRate] = [kind, make, sampleRate];
    beforeAll(async () => {
      this.#sandbox = await startSandbox();
    });
    afterEach(async () => {
      await Promise.all(this.#agents.splice(0).map((agent) => agent.dispose()));
      const [refusals, awaitsRefusal] = [this.refusals(), this.#awaitsRefusal];
      this.#awaitsRefusal = false;
      this.sandbox.clearFaults();
      this.sandbox.clearRecords();
      if (!awaitsRefusal) expect(refusals).toEqual([]);
    });
    afterAll(() => this.#sandbox?.close());
  }

  get sandbox(): Sandbox {
    if (!this.#sandbox) throw new Error('the sandbox has not started');
    return this.#sandbox;
  }

  /** What the service has refused in this spec. */
  refusals(): string[] {
    return this.sandbox.records(this.#kind).flatMap(({ refusal = [] }) => refusal);
  }

  /** The error of what the service refuses. */
  async failure(promise: Promise<unknown>): Promise<VoiceError> {
    this.#awaitsRefusal = true;
    try {
      await promise;
    } catch (error) {
      if (VoiceError.is(error)) return error;
    }
    throw new Error('it did not fail as it should');
  }

  /** Disposes an agent after the spec. */
  own(agent: A): A {
    this.#agents.push(agent);
    return agent;
  }

  async ready(config: Partial<C> = {}): Promise<Ready<A>> {
    const agent = this.own(this.#make(this.sandbox, config));
    const errors: VoiceError[] = [];
    const events: ConnectionEvent[] = [];
    const audio: AudioChunk[] = [];
    const said: string[] = [];
    const order: ('words' | 'audio')[] = [];
    agent.errors$.subscribe((error) => errors.push(error));
    agent.connection$.subscribe((event) => events.push(event));
    agent.audio$.subscribe((chunk) => {
      if (order.at(-1) !== 'audio') order.push('audio');
      audio.push(chunk);
    });
    agent.transcripts$.subscribe(({ isFinal }) => {
      if (isFinal) order.push('words');
    });
    agent.conversation$.subscribe(({ role, text }) => said.push(`${role}: ${text}`));
    await agent.initialize();
    return {
      ...{ agent, errors, audio, said, order },
      types: () => events.map(({ type }) => type),
      hear: () => {
        const { encoding = 'linear16', sampleRate = 0 } = audio[0]?.metadata ?? {};
        const bytes = Uint8Array.from(audio.flatMap(({ data }) => [...data]));
        return decodeSamples(readSamples(bytes, encoding as 'linear16'), sampleRate).text.trim();
      },
      replied: () => firstValueFrom(agent.audioDone$),
      tell: (text, encoding = 'linear16') => {
        const rate = encoding === 'mulaw' ? 8_000 : this.#sampleRate;
        for (const chunk of spoken(text, rate, encoding)) agent.sendAudio(chunk);
      },
    };
  }
}

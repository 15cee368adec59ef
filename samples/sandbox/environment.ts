import type { AnswerCall } from './call-line.ts';
import type { Timers } from './timers.ts';

/** What all services of one sandbox share. */
export interface Environment {
  readonly timers: Timers;
  /** Accepted keys and tokens. */
  readonly credentials: Credentials;
  /** How fast synthesized audio comes, as a multiple of real time; 0 is as fast as it goes. */
  readonly realtimeFactor: number;
  /** Milliseconds between two tokens of a model. */
  readonly tokenDelayMs: number;
  readonly limits: Limits;
  /** Answers calls by WebRTC; without one they are refused. */
  readonly answerCall?: AnswerCall | undefined;
  /** The sandbox's own base address, such as `http://127.0.0.1:8787`. */
  baseUrl(): string;
}

/** Limits of the vendors that a fast test would meet sooner than a real conversation. */
export interface Limits {
  /** AlphaTTS: characters in 60 s. Vendor: 2400. */
  readonly alphaTtsCharactersPerMinute: number;
  /** AlphaTTS: flushes in 60 s. Vendor: 20. */
  readonly alphaTtsFlushesPerMinute: number;
  /** AlphaTTS: milliseconds without a message before the service closes; the vendor gives no number. Default: 60,000. */
  readonly alphaTtsIdleMs: number;
  /** AlphaTTS: how long a connection may last, in milliseconds. Vendor: 3,600,000. */
  readonly alphaTtsSessionMs: number;
  /** AlphaSTT, AlphaAgent: milliseconds without a message before the service closes. Vendor: 10,000. */
  readonly alphaIdleMs: number;
  /** AlphaFlux: the same. Vendor: 60,000. */
  readonly alphaFluxIdleMs: number;
  /** BetaSTT: how far audio may be ahead of the clock, in milliseconds; the vendor gives no number. Default: any. */
  readonly betaAheadMs: number;
  /** GammaSTT: milliseconds without a message before the service closes; seen in the field. Default: 11,000. */
  readonly gammaSttIdleMs: number;
  /** GammaSTT: commits that it takes where it ends utterances by itself; the vendor does not say. Default: any. */
  readonly gammaSttVadCommits: number;
  /** GammaAgent: milliseconds between two pings, each of which wants an answer; the vendor gives no number. Default: 2,000. */
  readonly gammaAgentPingMs: number;
  /** DeltaSTT: milliseconds without a message before the service ends the stream. Vendor: 20,000. */
  readonly deltaIdleMs: number;
  /** EpsilonSTT: milliseconds without a message before the socket closes; seen in the field. Default: 30,000. */
  readonly epsilonIdleMs: number;
  /** EtaSTT: milliseconds without audio before the service closes; the vendor gives no number. Default: 30,000. */
  readonly etaIdleMs: number;
  /** KappaSTT: milliseconds without audio before the service closes. Vendor: 180,000. */
  readonly kappaIdleMs: number;
  /** KappaSTT: transcriptions at once. Vendor: 1 in the free tier, 100 in paid ones. */
  readonly kappaSttConcurrency: number;
  /** LambdaSTT: milliseconds without audio before the service gives up. Vendor: 15,000. */
  readonly lambdaIdleMs: number;
  /** OmicronAgent: how long a connection lasts, in milliseconds. Vendor: about 600,000. */
  readonly omicronAgentSessionMs: number;
  /** UpsilonTTS: requests at once. Vendor: 1. */
  readonly upsilonConcurrency: number;
  /** PiTTS: contexts at once. Vendor: 2 in the smallest plan. */
  readonly piConcurrency: number;
  /** RhoTTS: requests at once. Vendor: 1 in the free plan. */
  readonly rhoConcurrency: number;
  /** SigmaTTS: requests at once. Vendor: 2 outside us-east. */
  readonly sigmaConcurrency: number;
  /** PsiTTS: requests at once. Vendor: 5. */
  readonly psiConcurrency: number;
}

/** The keys that the services accept. */
export class Credentials {
  readonly #keys: ReadonlySet<string>;
  readonly #tokens = new Map<string, number>();

  constructor(keys: readonly string[]) {
    this.#keys = new Set(keys);
  }

  isKey(value: string | undefined): boolean {
    return value !== undefined && this.#keys.has(value);
  }

  /** Whether a test holds for any of the keys: for credentials that are never sent. */
  some(test: (key: string) => boolean): boolean {
    return [...this.#keys].some(test);
  }

  /** A short-lived token, as a vendor's grant request gives it. */
  grant(seconds: number): string {
    const token = `sandbox-jwt-${crypto.randomUUID()}`;
    this.#tokens.set(token, performance.now() + seconds * 1000);
    return token;
  }

  /** Whether a token is good, which is then used up. */
  take(value: string): boolean {
    return this.isToken(value) && this.#tokens.delete(value);
  }

  isToken(value: string | undefined): boolean {
    return value !== undefined && (this.#tokens.get(value) ?? 0) > performance.now();
  }
}

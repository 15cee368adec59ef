import type { AnswerCall } from './call-line.ts';
import { Credentials } from './environment.ts';
import type { Limits } from './environment.ts';
import type { Fault, ServiceName } from './faults.ts';
import type { ServiceRecord } from './records.ts';
import { startServer } from './server.ts';
import type { Vendor } from './vendor.ts';
import { alpha } from './vendors/alpha.ts';
import { beta } from './vendors/beta.ts';
import { chi } from './vendors/chi.ts';
import { compatible } from './vendors/compatible.ts';
import { delta } from './vendors/delta.ts';
import { epsilon } from './vendors/epsilon.ts';
import { eta } from './vendors/eta.ts';
import { gamma } from './vendors/gamma.ts';
import { iota } from './vendors/iota.ts';
import { kappa } from './vendors/kappa.ts';
import { lambda } from './vendors/lambda.ts';
import { mu } from './vendors/mu.ts';
import { nu } from './vendors/nu.ts';
import { omicronAgent } from './vendors/omicron-agent.ts';
import { omicron } from './vendors/omicron.ts';
import { omega } from './vendors/omega.ts';
import { phi } from './vendors/phi.ts';
import { pi } from './vendors/pi.ts';
import { psi } from './vendors/psi.ts';
import { rho } from './vendors/rho.ts';
import { sigma } from './vendors/sigma.ts';
import { tau } from './vendors/tau.ts';
import { theta } from './vendors/theta.ts';
import { upsilon } from './vendors/upsilon.ts';
import { xi } from './vendors/xi.ts';
import { zeta } from './vendors/zeta.ts';

export type { Fault, FaultKind, ServiceName } from './faults.ts';
export { serviceNames } from './faults.ts';
export { bodyJson, sentAudio, sentJson } from './records.ts';
export type { RecordedMessage, ServiceRecord } from './records.ts';
export type { AnswerCall, CallEvents, CallLine } from './call-line.ts';
export type { Limits } from './environment.ts';

const vendors: readonly Vendor[] = [
  alpha,
  beta,
  chi,
  compatible,
  delta,
  epsilon,
  eta,
  gamma,
  iota,
  kappa,
  lambda,
  mu,
  nu,
  omicron,
  omicronAgent,
  omega,
  phi,
  pi,
  psi,
  rho,
  sigma,
  tau,
  theta,
  upsilon,
  xi,
  zeta,
];

/** Where the services are, below the sandbox's address: what a provider takes as `endpoint`. */
const mounts = {
  alpha: '/alpha',
  beta: '/beta',
  chi: '/chi',
  compatible: '/compatible/v1',
  delta: '/delta',
  epsilon: '/epsilon',
  eta: '/eta',
  gamma: '/gamma',
  iota: '/iota',
  kappa: '/kappa',
  lambda: '/lambda',
  mu: '/mu',
  nu: '/nu/openai/v1',
  omicron: '/omicron/v1beta/openai',
  omicronAgent: '/omicron',
  xi: '/xi/v1',
  omega: '/omega',
  phi: '/phi',
  pi: '/pi',
  psi: '/psi',
  rho: '/rho',
  sigma: '/sigma',
  tau: '/tau',
  theta: '/theta/v1',
  upsilon: '/upsilon/waves',
  zeta: '/zeta',
} as const;

export type VendorName = keyof typeof mounts;

/** Settings of a sandbox. */
export interface SandboxOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
  /** Credentials that the services accept. Default: `sandbox-key`. */
  readonly keys?: readonly string[];
  /** How fast synthesized audio comes, as a multiple of real time. Default: 0, as fast as it goes. */
  readonly realtimeFactor?: number;
  /** Milliseconds between two tokens of a language model. Default: 0. */
  readonly tokenDelayMs?: number;
  /** Limits of the vendors that a test wants changed. Default: the vendors'. */
  readonly limits?: Partial<Limits>;
  /** How many records are kept; the oldest go first. With 0, messages are not kept either. Default: 1000. */
  readonly keepRecords?: number;
  /** Takes calls by WebRTC, which Node has none of: a browser's page may do so. Default: they are refused. */
  readonly answerCall?: AnswerCall;
  /** Gets a line for everything that is refused, and why. Default: nobody. */
  readonly log?: (line: string) => void;
}

/** A running sandbox. */
export interface Sandbox {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly port: number;
  /** Base addresses for `endpoint`: with a credential, as the vendor wants it. */
  readonly endpoints: Readonly<Record<VendorName, string>>;
  /** Base addresses for `proxyUrl`: the same services, and a credential is refused. */
  readonly proxies: Readonly<Record<VendorName, string>>;
  /** Lets something go wrong with the next connections or requests of a service. */
  setFault(service: ServiceName, fault: Fault): void;
  /** Takes the faults of one service back, or of all. */
  clearFaults(service?: ServiceName): void;
  /** What the services received, oldest first. */
  records(service?: ServiceName): readonly ServiceRecord[];
  clearRecords(): void;
  /** Cuts every connection and frees the port. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const vendorLimits: Limits = {
  alphaTtsCharactersPerMinute: 2400,
  alphaTtsFlushesPerMinute: 20,
  alphaTtsIdleMs: 60_000,
  alphaTtsSessionMs: 3_600_000,
  alphaIdleMs: 10_000,
  alphaFluxIdleMs: 60_000,
  betaAheadMs: Number.POSITIVE_INFINITY,
  gammaSttIdleMs: 11_000,
  gammaSttVadCommits: Number.POSITIVE_INFINITY,
  gammaAgentPingMs: 2_000,
  deltaIdleMs: 20_000,
  epsilonIdleMs: 30_000,
  etaIdleMs: 30_000,
  kappaIdleMs: 180_000,
  kappaSttConcurrency: 100,
  lambdaIdleMs: 15_000,
  omicronAgentSessionMs: 600_000,
  upsilonConcurrency: 1,
  piConcurrency: 2,
  rhoConcurrency: 1,
  sigmaConcurrency: 2,
  psiConcurrency: 5,
};

/** Starts the vendors' services on a local port; this folder's README shows how to use it. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = '127.0.0.1', port = 0, keys = ['sandbox-key'], keepRecords = 1000, log = () => undefined } = options;
  const server = await startServer({
    ...{ host, port, vendors, log, keepRecords },
    environment: (baseUrl, timers) => ({
      ...{ baseUrl, timers, credentials: new Credentials(keys) },
      realtimeFactor: options.realtimeFactor ?? 0,
      tokenDelayMs: options.tokenDelayMs ?? 0,
      answerCall: options.answerCall,
      limits: { ...vendorLimits, ...options.limits },
    }),
  });
  const url = `http://${host}:${server.port}`;
  const addresses = (prefix: string): Record<VendorName, string> =>
    Object.fromEntries(Object.entries(mounts).map(([name, mount]) => [name, prefix + mount])) as Record<
      VendorName,
      string
    >;
  const close = (): Promise<void> => server.close();
  return {
    url,
    port: server.port,
    endpoints: addresses(url),
    proxies: addresses(`${url}/proxy`),
    setFault: (service, fault) => server.faults.set(service, fault),
    clearFaults: (service) => server.faults.clear(service),
    records: (service) => server.records.filter((record) => service === undefined || record.service === service),
    clearRecords: () => void (server.records.length = 0),
    close,
    [Symbol.asyncDispose]: close,
  };
}

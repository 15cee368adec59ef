/** The services of the sandbox, one for each wire. */
export const serviceNames = [
  'alpha-stt',
  'alpha-flux',
  'alpha-tts',
  'alpha-agent',
  'beta-stt',
  'gamma-stt',
  'delta-stt',
  'zeta-stt',
  'epsilon-init',
  'epsilon-stt',
  'iota-stt',
  'iota-tts',
  'kappa-tts',
  'kappa-token',
  'omega-tts',
  'eta-stt',
  'kappa-stt',
  'lambda-stt',
  'compatible-llm',
  'theta-llm',
  'xi-llm',
  'omicron-llm',
  'nu-llm',
  'mu-llm',
  'theta-tts',
  'theta-realtime-stt',
  'theta-agent',
  'omicron-agent',
  'omicron-token',
  'upsilon-tts',
  'phi-tts',
  'chi-tts',
  'chi-subtitles',
  'psi-tts',
  'gamma-tts',
  'gamma-dialogue',
  'gamma-agent',
  'pi-tts',
  'tau-tts',
  'sigma-tts',
  'rho-tts',
] as const;

export type ServiceName = (typeof serviceNames)[number];

/** What can go wrong with a connection or a request. `after` counts what the service sends: messages, events, pieces of a body. */
export type FaultKind =
  /** The connection is cut before any answer. */
  | { readonly kind: 'refuse' }
  /** The answer (of a socket: the upgrade) comes this much later. */
  | { readonly kind: 'slowAccept'; readonly ms: number }
  /** Refused with a status, in the vendor's words unless `body` has others. `headers` may redirect. */
  | {
      readonly kind: 'status';
      readonly status: number;
      /** Seconds, or an HTTP date. */
      readonly retryAfter?: number | string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Accepted by TCP, never answered. */
  | { readonly kind: 'neverReady' }
  /** The connection is cut after so many messages of the service, or (`of: 'received'`) of the client. */
  | { readonly kind: 'dropAfter'; readonly messages: number; readonly of?: 'sent' | 'received' }
  /** A socket is closed with this code after so many messages (0: as soon as it is open). */
  | {
      readonly kind: 'close';
      readonly code: number;
      readonly reason?: string;
      readonly after?: number;
      readonly of?: 'sent' | 'received';
    }
  /** Nothing more is sent, and the connection stays open. With 0, the headers of an answer are all that comes. */
  | { readonly kind: 'stall'; readonly after?: number }
  /** Malformed messages, once, after so many good ones. */
  | { readonly kind: 'garbage'; readonly after?: number; readonly payloads?: readonly (string | Uint8Array)[] }
  /** Bodies come byte by byte; audio on a socket in pieces of odd length. */
  | { readonly kind: 'splitEveryByte' }
  /** The vendor's own error message in the middle of the stream. */
  | { readonly kind: 'error'; readonly after?: number };

/** A fault, and how many connections or requests it befalls before it is over. Default: all, until `clearFaults()`. */
export type Fault = FaultKind & { readonly times?: number };

/** What F11 of the fault matrix throws at a client. */
export const garbage: readonly string[] = [
  '',
  'null',
  '[]',
  '1',
  '"x"',
  '{',
  '{}',
  '{"type":null}',
  '{"type":"Results"}',
  '{"type":"TurnInfo","event":5}',
  '{"__proto__":{"polluted":true}}',
];

/** The faults that are set, for each service. */
export class Faults {
  readonly #set = new Map<ServiceName, { fault: Fault; left: number }>();

  set(service: ServiceName, fault: Fault): void {
    this.#set.set(service, { fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(service?: ServiceName): void {
    if (service) this.#set.delete(service);
    else this.#set.clear();
  }

  /** The fault that befalls the next connection or request of a service. */
  take(service: ServiceName): FaultKind | undefined {
    const entry = this.#set.get(service);
    if (!entry) return undefined;
    if (--entry.left <= 0) this.#set.delete(service);
    return entry.fault;
  }
}

/** Where a message that is about to be sent goes instead. */
export type Verdict = 'send' | 'swallow' | 'drop' | 'close' | 'garbage' | 'error';

/** Applies one fault to one connection: asked before each message. */
export class FaultPlan {
  readonly fault: FaultKind | undefined;
  #sent = 0;
  #received = 0;
  #done = false;

  constructor(fault: FaultKind | undefined) {
    this.fault = fault;
  }

  beforeSend(): Verdict {
    const { fault } = this;
    const sent = this.#sent++;
    if (!fault || this.#done) return this.#done && fault?.kind !== 'garbage' ? 'swallow' : 'send';
    const over = (after = 0): boolean => sent >= after;
    switch (fault.kind) {
      case 'dropAfter':
        return fault.of !== 'received' && over(fault.messages) ? this.#end('drop') : 'send';
      case 'close':
        return fault.of !== 'received' && over(fault.after) ? this.#end('close') : 'send';
      case 'stall':
        return over(fault.after) ? this.#end('swallow') : 'send';
      case 'garbage':
        return over(fault.after) ? this.#end('garbage') : 'send';
      case 'error':
        return over(fault.after) ? this.#end('error') : 'send';
      default:
        return 'send';
    }
  }

  afterReceive(): Verdict {
    const { fault } = this;
    const received = ++this.#received;
    if (fault?.kind === 'dropAfter' && fault.of === 'received' && received >= fault.messages) return this.#end('drop');
    if (fault?.kind === 'close' && fault.of === 'received' && received >= (fault.after ?? 0)) return this.#end('close');
    return 'send';
  }

  #end(verdict: Verdict): Verdict {
    this.#done = true;
    return verdict;
  }
}

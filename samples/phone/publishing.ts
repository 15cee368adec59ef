import { hostname } from 'node:os';
import { connect } from '@nats-io/transport-node';
import { PhoneStreamA, PhoneStreamACalls, publish, type PhoneSocketB, type Pipeline, type Publication } from 'rxvoice';
import { natsSink, type NatsConnection } from 'rxvoice/nats';

/** A live list's memory of a call whose machine is gone, in milliseconds. */
const expiryMs = 6_000;

/** A connection that is there as soon as the broker is, and comes back whenever it does. */
export function dialNats(url: string): Promise<NatsConnection & { close(): Promise<void> }> {
  return connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 500, waitOnFirstConnect: true });
}

/** Takes the calls of this process to NATS. */
export class Publishing {
  readonly #nats: ReturnType<typeof dialNats>;
  readonly #sink: ReturnType<typeof natsSink>;
  readonly #transfers: PhoneStreamACalls | undefined;
  readonly #open = new Set<Publication>();

  /** @param env - With the account of PhoneStreamA's platform in it, its calls can be transferred. */
  constructor(url: string, env: NodeJS.ProcessEnv) {
    this.#nats = dialNats(url);
    this.#sink = natsSink(this.#nats, { expiryMs });
    const { TWILIO_ACCOUNT_SID: accountSid, TWILIO_AUTH_TOKEN: authToken } = env;
    this.#transfers = accountSid && authToken ? new PhoneStreamACalls({ accountSid, authToken }) : undefined;
  }

  /** Publishes a call that has not begun yet. */
  add(pipeline: Pipeline, phone: PhoneStreamA | PhoneSocketB): void {
    const transfers = this.#transfers;
    const publication = publish(pipeline, this.#sink, {
      details: {
        platform: phone instanceof PhoneStreamA ? 'PhoneStreamA' : 'PhoneSocketB',
        machine: hostname(),
        process: String(process.pid),
      },
      hangUp: () => phone.hangUp(),
      ...(transfers &&
        phone instanceof PhoneStreamA && {
          transfer: (to: string) => transfers.redirect(phone.getCallSid() ?? '', [{ dial: to }]),
        }),
      audio: { caller: phone.audio$, agent: phone.heard$ },
    });
    this.#open.add(publication);
    void publication.done.then(() => this.#open.delete(publication));
  }

  /** Resolves when the last events are with the broker; a broker that is away is not waited for. */
  async close(): Promise<void> {
    const delivered = Promise.all([...this.#open].map(({ done }) => done));
    let patience: ReturnType<typeof setTimeout> | undefined;
    const enough = new Promise((resolve) => (patience = setTimeout(resolve, 2_000)));
    await Promise.race([delivered, enough]);
    clearTimeout(patience);
    await Promise.race([this.#nats.then((nats) => nats.close()), enough]);
  }
}

import { jetstream, jetstreamManager, type JetStreamClient } from '@nats-io/jetstream';
import { Kvm, type KV } from '@nats-io/kv';
import {
  asyncScheduler,
  concat,
  distinctUntilChanged,
  ignoreElements,
  map,
  of,
  startWith,
  switchMap,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { CallSide, CallSink, CommandRequest, ListedCall, SealedEvent } from '../features/call-sink.ts';
import { merge } from '../stream/merge.ts';
import { NatsLink, type NatsClient, type NatsConnection } from './link.ts';
import { assertPrefix, listenLeaseMs, subjectsOf, type CallSubjects } from './subjects.ts';

/** Options of {@link natsSink}. */
export interface NatsSinkOptions {
  /** Prefix of all names: letters, digits, `-` and `_`. Default: `rxvoice`. */
  readonly prefix?: string;
  /** How long the live list keeps a call whose machine is gone, in milliseconds, at least 1,000. Default: 15,000. */
  readonly expiryMs?: number;
  /** How long to keep events, in milliseconds. Default: 86,400,000 (one day). */
  readonly keepMs?: number;
  /** Most bytes of events to keep; the oldest are dropped first. Default: 1 GiB. */
  readonly maxBytes?: number;
  /** Replicas of both in a cluster, from 1 to 5. Default: 1. */
  readonly replicas?: number;
  /** Whether it creates the stream and the bucket where they are missing; else somebody with the permission does. Default: true. */
  readonly create?: boolean;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** Longest command, in bytes. */
const maxCommandBytes = 64 * 1024;

/**
 * Takes calls to NATS: pass it to `publish()`. One serves all calls of a process. Events go to a JetStream stream, the live
 * list to a key-value bucket whose entries expire, commands and audio over plain subjects. Works with nats-server from
 * 2.9 on.
 *
 * @example
 * ```ts
 * import { connect } from '@nats-io/transport-node';
 * import { publish, type Pipeline } from 'rxvoice';
 * import { natsSink } from 'rxvoice/nats';
 *
 * declare const pipeline: Pipeline;
 *
 * const sink = natsSink(connect({ servers: '127.0.0.1:4222', maxReconnectAttempts: -1, waitOnFirstConnect: true }));
 * publish(pipeline, sink);
 * ```
 *
 * @param connection - Yours: it should never stop reconnecting, and is not closed here.
 * @throws VoiceError `configuration` when an option cannot work.
 */
export function natsSink(
  connection: NatsConnection | PromiseLike<NatsConnection>,
  options: NatsSinkOptions = {},
): CallSink {
  return new NatsSink(connection, options);
}

class NatsSink implements CallSink {
  readonly expiryMs: number;
  readonly #options: NatsSinkOptions;
  readonly #subjects: CallSubjects;
  readonly #link: NatsLink;
  readonly #scheduler: SchedulerLike;
  #stream: Promise<JetStreamClient> | undefined;
  #bucket: Promise<KV> | undefined;

  constructor(connection: NatsConnection | PromiseLike<NatsConnection>, options: NatsSinkOptions) {
    const { prefix = 'rxvoice', expiryMs = 15_000, scheduler = asyncScheduler } = options;
    assertPrefix('natsSink', prefix);
    if (!(expiryMs >= 1_000 && Number.isFinite(expiryMs))) {
      throw new VoiceError(`natsSink: expiryMs must be at least 1000, not ${expiryMs}`, { code: 'configuration' });
    }
    this.expiryMs = expiryMs;
    this.#options = options;
    this.#subjects = subjectsOf(prefix);
    this.#link = new NatsLink(connection);
    this.#scheduler = scheduler;
  }

  deliver(callId: string, events: readonly SealedEvent[]): Observable<unknown> {
    return this.#link.whenUp(async (nats) => {
      try {
        const stream = await (this.#stream ??= this.#openStream(nats));
        // Sent in order, acknowledged in any.
        await Promise.all(
          events.map(({ id, type, body }) => stream.publish(this.#subjects.events(callId, type), body, { msgID: id })),
        );
      } catch (cause) {
        this.#stream = undefined;
        throw cause;
      }
    });
  }

  list(call: ListedCall): Observable<unknown> {
    return this.#listed((bucket) => bucket.put(call.callId, JSON.stringify(call)));
  }

  unlist(callId: string): Observable<unknown> {
    return this.#listed((bucket) => bucket.delete(callId));
  }

  commands(callId: string): Observable<CommandRequest> {
    return this.#link.messages(this.#subjects.commands(callId)).pipe(
      map((message) => ({
        body: message.data.length > maxCommandBytes ? '' : message.string(),
        reply: (reply) => void message.respond(JSON.stringify(reply)),
      })),
    );
  }

  listeners(callId: string): Observable<boolean> {
    const isHeard$ = this.#link.messages(this.#subjects.listen(callId)).pipe(
      // Somebody who listens says so again and again: else nobody does.
      switchMap(() => concat(of(true), timer(listenLeaseMs, this.#scheduler).pipe(map(() => false)))),
      startWith(false),
      distinctUntilChanged(),
    );
    // Audio is sent while the link is known to be up.
    return merge(isHeard$, this.#link.up$.pipe(ignoreElements()));
  }

  sendAudio(callId: string, side: CallSide, samples: Uint8Array<ArrayBuffer>): void {
    this.#link.up?.publish(this.#subjects.audio(callId, side), samples);
  }

  #listed(tell: (bucket: KV) => Promise<unknown>): Observable<unknown> {
    return this.#link.whenUp(async (nats) => {
      try {
        await tell(await (this.#bucket ??= this.#openBucket(nats)));
      } catch (cause) {
        this.#bucket = undefined;
        throw cause;
      }
    });
  }

  async #openStream(nats: NatsClient): Promise<JetStreamClient> {
    const { create = true, keepMs = 86_400_000, maxBytes = 2 ** 30, replicas = 1 } = this.#options;
    if (create) {
      const { streams } = await jetstreamManager(nats);
      const { stream: name, allEvents } = this.#subjects;
      const isThere = await streams.info(name).then(
        () => true,
        () => false,
      );
      // Several processes may create the same at once.
      if (!isThere) {
        await streams.add({
          ...{ name, subjects: [allEvents], max_age: keepMs * 1e6, max_bytes: maxBytes, num_replicas: replicas },
        });
      }
    }
    return jetstream(nats);
  }

  #openBucket(nats: NatsClient): Promise<KV> {
    const { create = true, replicas = 1 } = this.#options;
    const buckets = new Kvm(nats);
    const { bucket } = this.#subjects;
    return create ? buckets.create(bucket, { ttl: this.expiryMs, history: 1, replicas }) : buckets.open(bucket);
  }
}

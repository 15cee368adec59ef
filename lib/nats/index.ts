/**
 * Calls across many machines over NATS: an adapter of `publish()` for the machines that run calls, and a board for
 * those that watch them. Needs `@nats-io/jetstream` and `@nats-io/kv`.
 *
 * @packageDocumentation
 */
export { natsSink, type NatsSinkOptions } from './nats-sink.ts';
export { natsBoard, type BoardEvent, type CallBoard, type NatsBoardOptions } from './nats-board.ts';
export type { NatsConnection, NatsMessage, NatsSubscription } from './link.ts';
export type { BoardCall } from './watched-calls.ts';

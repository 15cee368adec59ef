/**
 * Calls of many machines over NATS: an adapter of `publish()` for those that have the calls, and a board for those that
 * watch them. Needs `@nats-io/jetstream` and `@nats-io/kv`.
 *
 * @packageDocumentation
 */
export { natsSink, type NatsSinkOptions } from './nats-sink.ts';
export { natsBoard, type BoardEvent, type CallBoard, type NatsBoardOptions } from './nats-board.ts';
export type { NatsConnection, NatsMessage, NatsSubscription } from './link.ts';
export type { BoardCall } from './watched-calls.ts';

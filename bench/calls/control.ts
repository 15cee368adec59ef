// What the benchmark asks of the process that it measures: the library's, the floor's and a peer's alike.
import type { AddressInfo } from 'node:net';
import type { WebSocketServer } from 'ws';

/** What a process says of itself. */
export interface Vitals {
  /** User and system time so far, in milliseconds. */
  readonly cpuMs: number;
  /** Bytes that are in use on the heap. */
  readonly heapBytes: number;
  /** Timers, sockets and the like that keep the process alive. */
  readonly handles: number;
  /** Those of them that are timers. */
  readonly timers?: number;
  /** Subscriptions that have not ended, where the process was started to count them. */
  readonly subscriptions?: number;
}

/** The question after a process's {@link Vitals}: as they are, or after garbage was collected. */
export type Question = 'look' | 'collect';

declare const gc: (() => void) | undefined;

/** Tells the parent process the server's port, and the vitals whenever it asks, after a collection if it says so. */
export function reportTo(server: WebSocketServer, more: () => Partial<Vitals> = () => ({})): void {
  server.once('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on('message', (question: unknown) => {
    if (question !== 'look' && question !== 'collect') return;
    if (question === 'collect' && typeof gc === 'function') gc();
    const { user, system } = process.cpuUsage();
    const { heapUsed: heapBytes } = process.memoryUsage();
    const resources = process.getActiveResourcesInfo();
    const timers = resources.filter((each) => each === 'Timeout').length;
    const vitals: Vitals = { cpuMs: (user + system) / 1000, heapBytes, handles: resources.length, timers, ...more() };
    process.send?.(vitals);
  });
}

/** Where the services of a call are: the benchmark says so in the address that it calls. */
export function worldOf(url: string | undefined): string {
  return `http://127.0.0.1:${parametersOf(url).get('world') ?? ''}`;
}

/** What the text-to-speech service of a call sends: the benchmark says so in the same address. */
export function voiceOf(url: string | undefined): Voice {
  return parametersOf(url).get('voice') === 'linear16' ? 'linear16' : 'mulaw';
}

/** mu-law at 8 kHz, as phones have it, or linear16 at 24 kHz. */
export type Voice = 'mulaw' | 'linear16';

const parametersOf = (url: string | undefined): URLSearchParams => new URL(url ?? '', 'http://127.0.0.1').searchParams;

// What the benchmark asks of the process that it measures, of the library's and the floor's alike.
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
}

declare const gc: (() => void) | undefined;

/** Tells the parent process the server's port, and the vitals whenever it asks, after a collection if it says so. */
export function reportTo(server: WebSocketServer): void {
  server.once('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on('message', (request) => {
    if (request === 'collect' && typeof gc === 'function') gc();
    const { user, system } = process.cpuUsage();
    const { heapUsed: heapBytes } = process.memoryUsage();
    const handles = process.getActiveResourcesInfo().length;
    process.send?.({ cpuMs: (user + system) / 1000, heapBytes, handles } satisfies Vitals);
  });
}

/** Where the services of a call are: the benchmark says so in the address that it calls. */
export function worldOf(url: string | undefined): string {
  return `http://127.0.0.1:${new URL(url ?? '', 'http://127.0.0.1').searchParams.get('world') ?? ''}`;
}

import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';

/** The connections to the services, kept for the next request, by protocol. */
export type Agents = Readonly<Record<string, http.Agent>>;

const kept = { keepAlive: true, timeout: 30_000 };

export function createAgents(): Agents {
  const agents = { 'http:': new http.Agent(kept), 'https:': new https.Agent(kept) };
  for (const agent of Object.values(agents)) {
    agent.on('free', (socket: Duplex) => void socket.on('data', destroyThis));
  }
  return agents;
}

/** For a connection that has got its next request. */
export function isAsked(socket: Duplex): void {
  socket.off('data', destroyThis);
}

/** What speaks before it is asked is not kept: the next user would take it for their answer. */
function destroyThis(this: Duplex): void {
  this.destroy();
}

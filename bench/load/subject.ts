// The system under test, in a process of its own: the telephone server of the samples, with a pipeline for each call.
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { NEVER } from 'rxjs';
import { publish, type CallSink } from 'rxvoice';
import { openServices, type SandboxAddresses } from '../../samples/phone/services.ts';
import { Switchboard } from '../../samples/phone/switchboard.ts';
import { serve } from './child.ts';
import { greeting, type History } from './judge.ts';

/** What has left this process so far. */
export interface Traffic {
  /** Events that were published. */
  readonly events: number;
  /** Their bytes, and those of all sockets. */
  readonly bytes: number;
}

const histories = new Map<string, () => History>();
let switchboard: Switchboard | undefined;
let publishes = false;

const sockets = new Set<Socket>();
let gone = 0;
for (const channel of ['net.client.socket', 'net.server.socket']) {
  subscribe(channel, (message) => {
    const { socket } = message as { readonly socket: Socket };
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      gone += socket.bytesWritten;
    });
  });
}
const sentBytes = (): number => [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, gone);

let [events, eventBytes] = [0, 0];
/** A broker that counts. */
const broker: CallSink = {
  expiryMs: 60_000,
  deliver: (_, delivered) => {
    events += delivered.length;
    eventBytes += delivered.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
    return [];
  },
  ...{ list: () => [], unlist: () => [], commands: () => NEVER, listeners: () => NEVER, sendAudio: () => undefined },
};

serve({
  open: async (addresses: SandboxAddresses) => {
    const services = await openServices({}, addresses);
    switchboard = await Switchboard.open({
      ...{ services, greeting, maxCalls: Number.MAX_SAFE_INTEGER },
      answered: (pipeline, phone) => {
        if (publishes) publish(pipeline, broker);
        pipeline.on('session.closed', () => {
          const { call } = 'getHeaders' in phone ? phone.getHeaders() : phone.getCustomParameters();
          histories.set(String(call), () => pipeline.history.messages().map(({ role, content }) => [role, content]));
        });
      },
    });
    return switchboard.port;
  },
  /** Milliseconds of CPU that this process has used so far. */
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  /** From now on, calls are published. */
  publish: () => {
    publishes = true;
  },
  traffic: (): Traffic => ({ events, bytes: sentBytes() + eventBytes }),
  /** Calls that are under way. */
  calls: () => switchboard?.calls ?? 0,
  /** What the calls that have ended since the last question came to. */
  histories: (): Record<string, History> => {
    const all = Object.fromEntries([...histories].map(([call, history]) => [call, history()]));
    histories.clear();
    return all;
  },
});

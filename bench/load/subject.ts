// The system under test, in a process of its own: the telephone server of the samples, with a pipeline for each call.
import { openServices, type SandboxAddresses } from '../../samples/phone/services.ts';
import { Switchboard } from '../../samples/phone/switchboard.ts';
import { serve } from './child.ts';
import { greeting, type History } from './judge.ts';

const histories = new Map<string, () => History>();
let switchboard: Switchboard | undefined;

serve({
  open: async (addresses: SandboxAddresses) => {
    const services = await openServices({}, addresses);
    switchboard = await Switchboard.open({
      ...{ services, greeting, maxCalls: Number.MAX_SAFE_INTEGER },
      answered: (pipeline, phone) => {
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
  /** Calls that are under way. */
  calls: () => switchboard?.calls ?? 0,
  /** What the calls that have ended since the last question came to. */
  histories: (): Record<string, History> => {
    const all = Object.fromEntries([...histories].map(([call, history]) => [call, history()]));
    histories.clear();
    return all;
  },
});

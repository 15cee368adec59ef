import { Subscription } from 'rxjs';
import type { ConnectionEvent, DeviceEvent, ProviderContract, ProviderRole } from '../core/roles.ts';
import type { Emit } from '../conversation/event-bus.ts';
import { validator } from '../conversation/malformed.ts';

/** The source of an error. */
export interface ErrorOrigin {
  readonly provider: string;
  readonly role?: ProviderRole;
}

/** Publishes the providers' connection and device events, and their errors. */
export function publishProviders(
  providers: readonly ProviderContract[],
  emit: Emit,
  reportError: (cause: unknown, origin: ErrorOrigin) => void,
): Subscription {
  const work = new Subscription();
  for (const provider of providers) {
    const role = provider.roles[0];
    // A chain of providers bears the name of the one in use.
    const origin = (): ErrorOrigin => ({ provider: provider.name, ...(role ? { role } : {}) });
    const report = (cause: unknown): void => {
      reportError(cause, origin());
    };
    work.add(provider.errors$?.subscribe({ next: report, error: report }));
    const { accepts } = validator(report);
    const onConnection = (event: ConnectionEvent): void => {
      if (accepts('connection', event)) publishConnection(event, origin(), emit);
    };
    work.add(provider.connection$?.subscribe({ next: onConnection, error: report }));
    const onDevice = (change: DeviceEvent): void => {
      if (!accepts('device', change)) return;
      if (provider.roles.includes('input')) emit('input.device', { change }, { ...origin(), role: 'input' });
      else emit('output.device', { change }, { ...origin(), role: 'output' });
    };
    work.add(provider.device$?.subscribe({ next: onDevice, error: report }));
  }
  return work;
}

function publishConnection(event: ConnectionEvent, origin: ErrorOrigin, emit: Emit): void {
  switch (event.type) {
    case 'connecting':
      emit('provider.connecting', {}, origin);
      break;
    case 'connected':
      emit('provider.connected', {}, origin);
      break;
    case 'reconnecting': {
      const { attempt, delayMs, error } = event;
      const why = error && { message: error.message, code: error.code };
      emit('provider.reconnecting', { attempt, delayMs, ...why }, origin);
      break;
    }
    case 'lost':
      emit('provider.lost', { message: event.error.message }, origin);
      break;
    case 'fallback': {
      const { from, to, error } = event;
      emit('provider.fallback', { from, to, ...(error && { message: error.message }) }, origin);
      break;
    }
    case 'closed':
      break;
  }
}

import type { Subject } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { OutputProvider, ProviderRole } from '../core/roles.ts';
import type { EventBus } from './event-bus.ts';
import type { History, HistoryChange } from './history.ts';
import type { Effect, Input } from './inputs.ts';

/** The world in which effects happen. */
export interface World {
  readonly output: Pick<OutputProvider, 'name' | 'positionMs' | 'pause' | 'resume' | 'setVolume'>;
  readonly history: History;
  readonly bus: EventBus;
  /** Joins the end of the queue. */
  readonly later$: Subject<Input>;
  /** Asks the speech-to-text service for its final word. */
  readonly finalize: (() => void) | undefined;
  /** How much softer the agent speaks while an interruption is suspected, in decibels. */
  readonly duckDb: number;
  /** Hands a text to an agent; what it gives back joins the queue. */
  readonly inject: ((effect: Extract<Effect, { readonly type: 'agent.inject' }>) => Input | undefined) | undefined;
}

/** Does what a step asks for. */
export function enact(effect: Effect, { output, history, bus, later$, finalize, duckDb, inject }: World): void {
  switch (effect.type) {
    case 'emit':
      bus.publish({ ...effect.event, at: bus.now() });
      break;
    case 'emit.position':
      bus.emit(effect.event, { positionMs: output.positionMs }, effect.envelope);
      break;
    case 'then':
      later$.next(effect.input);
      break;
    case 'error':
      reportError(bus, effect.error, effect);
      break;
    case 'remember':
      history.addUser(effect.text);
      break;
    case 'settle':
      effect.ticket.settle(effect.outcome);
      break;
    case 'duck':
      output.setVolume?.(10 ** (-duckDb / 20));
      break;
    case 'pause':
      output.pause();
      break;
    case 'release':
      output.setVolume?.(1);
      if (effect.wasPaused) output.resume();
      break;
    case 'finalize':
      finalize?.();
      break;
    case 'agent.inject': {
      const refused = inject?.(effect);
      if (refused) later$.next(refused);
      break;
    }
    case 'warm':
      // conversation.ts does this in a stream of its own, because it may take a while.
      break;
    case 'complete':
      bus.close();
      break;
  }
}

/** Tells of an error that ends nothing. */
export function reportError(
  bus: EventBus,
  error: unknown,
  { role, turnId }: { readonly role?: ProviderRole; readonly turnId?: string } = {},
): void {
  const { code, message, recoverable, retryAfterMs, provider } = VoiceError.from(error);
  bus.emit(
    'error',
    { code, message, recoverable, cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    {
      ...(role === undefined ? {} : { role }),
      ...(turnId === undefined ? {} : { turnId }),
      ...(provider === undefined ? {} : { provider }),
    },
  );
}

/** Tells what became of the history. */
export function publishHistory(change: HistoryChange, bus: EventBus): void {
  if (change.type === 'truncated') bus.emit('history.truncated', { removed: change.removed });
  else bus.emit(`history.${change.type}`, { item: change.item });
}

/** Which role an error of a speech is about. */
export function roleOf(error: unknown, outputName: string): 'output' | 'tts' {
  return VoiceError.is(error) && error.provider === outputName ? 'output' : 'tts';
}

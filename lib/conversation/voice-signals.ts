import { filter, map, pipe, type OperatorFunction } from 'rxjs';
import type { VoiceActivity } from '../core/roles.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import type { HeardSignal } from './inputs.ts';

/** A voice detector's events as signals on the conversation's clock. */
export function voiceSignals(
  capturedAt: ConversationPorts['capturedAt'],
): OperatorFunction<VoiceActivity, HeardSignal> {
  return pipe(
    filter(({ type }) => type !== 'confirmed'),
    map(({ type, positionMs, isBrief = false }): HeardSignal => {
      const since = capturedAt?.(positionMs);
      const event = type === 'ended' ? type : 'started';
      return { type: 'speech', event, isBrief, ...(since === undefined ? {} : { since }) };
    }),
  );
}

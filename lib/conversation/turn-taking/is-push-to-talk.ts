import type { Endpointing } from './endpointing.ts';

/** The options that say who ends a turn. */
interface WhoEndsTurns {
  readonly turnTaking?: { readonly strategy?: 'stt' | 'manual' | undefined } | undefined;
  readonly endpointing?: Endpointing | undefined;
}

/** Whether the application ends each turn. */
export function isPushToTalk({ turnTaking, endpointing }: WhoEndsTurns): boolean {
  return turnTaking?.strategy === 'manual' || (typeof endpointing === 'function' && endpointing.isManual === true);
}

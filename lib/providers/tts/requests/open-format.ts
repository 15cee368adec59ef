import { takes } from '../../../audio/accepted.ts';
import { configProblem } from '../../../core/config-rule.ts';
import type { VoiceRunner } from '../voice-service.ts';
import type { RequestService, RequestTTSConfig } from './request-wire.ts';

/**
 * Settles a format that is not configured, or `auto`: the service's usual one, but samples once an output does not accept
 * that; then for good, for every output takes samples.
 */
export function settleFormat<C extends RequestTTSConfig>(
  wire: RequestService<C>,
): NonNullable<VoiceRunner<C>['settle']> {
  let needsSamples = false;
  let last: { readonly from: readonly unknown[]; readonly config: Readonly<C> } | undefined;
  const settle: NonNullable<VoiceRunner<C>['settle']> = (given, accepts) => {
    const open = wire.openFormat?.(given);
    const asked: unknown = open && Reflect.get(given, open.key);
    if (!open || (asked !== undefined && asked !== 'auto')) return given;
    const usual: Readonly<C> = asked === undefined ? given : { ...given, [open.key]: undefined };
    // The usual one is compressed, so that nothing here can convert it.
    const isTaken = accepts?.some((format) => takes(format, wire.format(usual))) ?? true;
    needsSamples ||= !isTaken;
    if (!needsSamples) return usual;
    const samples: Readonly<C> = { ...given, [open.key]: open.samples };
    // Other keys may suit the usual format only.
    const problem = wire.problem?.(samples) ?? configProblem(samples, wire.rules(samples));
    return problem === undefined ? samples : usual;
  };
  return (given, accepts) => {
    if (last?.from[0] !== given || last.from[1] !== accepts)
      last = { from: [given, accepts], config: settle(given, accepts) };
    return last.config;
  };
}

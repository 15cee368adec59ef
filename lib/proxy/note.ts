import type { Asked } from './asked.ts';
import { originAdvice } from './origin.ts';
import type { ProxyTarget } from './proxy-target.ts';
import { isRefusal, noSocket, type Refusal } from './refusal.ts';
import { findRoute } from './target.ts';

/** What {@link noter} needs to know of the proxy. */
export interface NoterOptions {
  readonly prefix: string;
  readonly mounted: ReadonlyMap<string, ProxyTarget>;
  /** Variables without which a target is not mounted. */
  readonly missing: ReadonlyMap<string, readonly string[]>;
  readonly log: ((line: string) => void) | undefined;
}

/** Writes a line of the log: what was asked, what came of it, and why. */
export function noter({ prefix, mounted, missing, log }: NoterOptions) {
  return (asked: Asked, method: string, outcome: string | number, refusal?: Refusal): void => {
    const [path = ''] = asked.target.split(/[?#]/, 1);
    const name = path.slice(prefix.length).split('/')[1] ?? '';
    const absent = missing.get(name);
    const below = path.slice(prefix.length + name.length + 1);
    const target = mounted.get(name);
    const isToken = Object.hasOwn(target?.tokens ?? {}, below.slice(1));
    const advice = [
      absent && `${absent.join(', ')} not set`,
      refusal?.code === 'origin_refused' ? originAdvice(asked) : undefined,
      refusal?.code === 'path_not_listed' && isToken ? `${name} is not in the setting tokens` : undefined,
      refusal === noSocket ? refusal.message : undefined,
    ];
    const why = refusal && [refusal.code, ...advice].filter(Boolean).join(', ');
    // A path may be anything, a secret that went astray among it: only one that is listed is shown.
    const isKnown =
      isToken || (target?.routes ?? []).some((route) => !isRefusal(findRoute([route], below, route.method)));
    const shown = isKnown ? path : absent ? `${prefix}/${name}/…` : '…';
    write(log, `${method} ${shown} ${outcome}${why ? ` (${why})` : ''}`);
  };
}

/** Says once that clients are counted as one: nothing else would tell, until many of them are refused. */
export function unknownAddressNote(log: NoterOptions['log']): () => void {
  let isSaid = false;
  return () => {
    if (isSaid) return;
    isSaid = true;
    write(
      log,
      "No client's address is known, so all share one client's limits: fetch(request, { address }) or trustProxy",
    );
  };
}

function write(log: NoterOptions['log'], line: string): void {
  try {
    log?.(line);
  } catch {
    // A log that fails must not take the server with it.
  }
}

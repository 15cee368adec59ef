import { listedOrigins } from '../core/listed-origins.ts';
import type { Asked } from './asked.ts';
import type { ProxyOptions } from './options.ts';
import { isFromAllowedPage, type OriginRules } from './origin.ts';
import {
  baseOf,
  needsOf,
  type ProxyEnvironment,
  type ProxyRoute,
  type ProxyTarget,
  type ProxyTokenGrant,
} from './proxy-target.ts';
import { isRefusal, type Refusal } from './refusal.ts';
import { findRoute, parseTarget } from './target.ts';

/** A request that is for the proxy, from a page that may. */
export interface Admitted {
  readonly name: string;
  readonly target: ProxyTarget;
  /** Where it leads. */
  readonly url: URL;
  /** When it is for a token. */
  readonly grant: ProxyTokenGrant | undefined;
}

/** What a proxy serves: its targets, where they are mounted, and whose pages may ask. */
export class Mounts {
  /** Path before the mounts. */
  readonly prefix: string;
  readonly #mounted = new Map<string, ProxyTarget>();
  readonly #missing = new Map<string, readonly string[]>();
  readonly #bases: Readonly<Record<string, string | undefined>>;
  readonly #tokens: readonly string[];
  readonly #pages: OriginRules;
  readonly #environment: ProxyEnvironment;

  /** @throws Error when a setting could lead a credential astray, or names what is not there. */
  constructor(options: ProxyOptions, environment: ProxyEnvironment) {
    const { targets, bases = {}, prefix = '', tokens = [], requiresOrigin = true } = options;
    this.prefix = prefix;
    this.#bases = bases;
    this.#tokens = tokens;
    this.#pages = { origins: listedOrigins(options.origins), requiresOrigin };
    this.#environment = environment;
    if (prefix !== '' && !/^(\/[\w-][\w.-]*)+$/.test(prefix)) {
      throw new Error(`prefix must be a path such as /api: ${prefix}`);
    }
    for (const [name, target] of Object.entries(targets)) this.#mount(name, target);
    for (const name of Object.keys(bases)) {
      if (!Object.hasOwn(targets, name)) throw new Error(`bases names ${name}, which is not a target`);
    }
    for (const name of tokens) {
      if (!targets[name]?.tokens) throw new Error(`tokens names ${name}, which is not a target that grants tokens`);
    }
  }

  /** The targets that are mounted, by name. */
  get mounted(): ReadonlyMap<string, ProxyTarget> {
    return this.#mounted;
  }

  /** Variables without which a target is not mounted, by name. */
  get missing(): ReadonlyMap<string, readonly string[]> {
    return this.#missing;
  }

  /** The path of each target that is mounted, by its name. */
  get paths(): Record<string, string> {
    return Object.fromEntries([...this.#mounted.keys()].map((name) => [name, `${this.prefix}/${name}`]));
  }

  /** The same by the classes that it serves. */
  get providers(): Record<string, string> {
    const entries = [...this.#mounted].flatMap(([name, { providers = [] }]) =>
      providers.map((each) => [each, `${this.prefix}/${name}`] as const),
    );
    return Object.fromEntries(entries);
  }

  /** The address that the application gives in place of a target's own. */
  baseOf(name: string): string | undefined {
    const base = this.#bases[name];
    return base === '' ? undefined : base;
  }

  /** What a request is for, or why it is refused. */
  admit(asked: Asked, method: string): Admitted | Refusal {
    const parsed = parseTarget(asked.target, this.prefix);
    if (isRefusal(parsed)) return parsed;
    if (!isFromAllowedPage(asked, this.#pages)) {
      return { status: 403, code: 'origin_refused', message: 'The proxy does not serve this page' };
    }
    const { vendor: name, path, query } = parsed;
    const target = this.#mounted.get(name);
    if (!target) return { status: 404, code: 'vendor_not_mounted', message: 'The proxy does not serve this vendor' };
    const grantsTokens = this.#tokens.includes(name);
    const grant = grantsTokens ? this.#grant(target, path.slice(1)) : undefined;
    const routes = target.routes.filter(({ bypasses }) => !bypasses || grantsTokens);
    const route = findRoute(grant ? [{ method: 'POST', path }] : routes, path, method);
    if (isRefusal(route)) return route;
    const base = this.#address(name, target, route);
    const url = new URL(`${base}${path}${query}`);
    if (url.origin !== new URL(base).origin) throw new Error(`${path} led away from ${name}`);
    return { name, target, url, grant };
  }

  #mount(name: string, target: ProxyTarget): void {
    if (!/^[\w-]+$/.test(name)) throw new Error(`A mount must be a word such as deepgram: ${name}`);
    const absent = needsOf(target).filter((each) => !this.#environment[each]);
    if (absent.length > 0) {
      this.#missing.set(name, absent);
      return;
    }
    for (const route of target.routes) this.#address(name, target, route);
    this.#mounted.set(name, target);
  }

  #grant({ tokens }: ProxyTarget, path: string): ProxyTokenGrant | undefined {
    const grant = ownMember(tokens, path);
    return Object.values(grant?.query ?? {}).every((each) => this.#environment[each]) ? grant : undefined;
  }

  #address(name: string, target: ProxyTarget, { base }: Pick<ProxyRoute, 'base'>): string {
    return baseOf(name, this.baseOf(name) ?? base ?? target.base, this.#environment);
  }
}

function ownMember<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined;
}

import type { ConfigRules } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import { snakeKeys } from '../../core/wire-names.ts';
import type { AlphaFluxOptions } from './alpha-flux.ts';
import type { Failures } from './streaming-stt.ts';

/** What {@link AlphaFlux} takes beside SPEC.md's options. */
export interface AlphaFluxExtras {
  /** Milliseconds of silence that end a turn anyhow, 500 to 60,000. Default: the service's, 5,000. */
  readonly eotTimeoutMs?: number;
  /** Words to listen for, at most 100. */
  readonly keyterms?: readonly string[];
  /** Languages to expect, ISO 639-1; `flux-general-multi` only. */
  readonly languageHints?: readonly string[];
  /** Further parameters of the service, as they stand in its docs. */
  readonly parameters?: Query;
}

/** What the keys may hold. */
export const alphaFluxRules: ConfigRules = {
  'options.model': { oneOf: ['flux-general-en', 'flux-general-multi'] },
  'options.eagerEotThreshold': { min: 0.3, max: 0.9 },
  'options.eotThreshold': { min: 0.5, max: 1 },
  'options.eotTimeoutMs': { min: 500, max: 60_000, integer: true },
  'options.keyterms': { type: 'texts', maxLength: 100 },
  'options.languageHints': { type: 'texts' },
};

const thresholds = ['eagerEotThreshold', 'eotThreshold', 'eotTimeoutMs'] as const;

/** What does not go together, as a sentence for people. */
export function alphaFluxConflict(options: AlphaFluxOptions): string | undefined {
  const { model = 'flux-general-en', eagerEotThreshold = 0, eotThreshold = 0.7, languageHints = [] } = options;
  if (eagerEotThreshold > eotThreshold) {
    return `options.eagerEotThreshold must be at most eotThreshold (${eotThreshold}), not ${eagerEotThreshold}`;
  }
  return languageHints.length > 0 && model !== 'flux-general-multi'
    ? `options.languageHints is for flux-general-multi, not ${model}`
    : undefined;
}

/** The options as the address has them. */
export function alphaFluxQuery(options: AlphaFluxOptions): Query {
  const { model = 'flux-general-en', keyterms, languageHints, parameters } = options;
  return { model, ...snakeKeys(options, thresholds), keyterm: keyterms, language_hint: languageHints, ...parameters };
}

/** What the service's errors mean, by their code. */
export const alphaFluxFailures: Failures = {
  UNPARSABLE_CLIENT_MESSAGE: { code: 'protocol', hint: 'it does not know a message that it was sent' },
  INTERNAL_SERVER_ERROR: { code: 'server', recoverable: true, hint: 'it is connected to anew' },
};

/** What a session's options become while it lasts: tells the service of changes, one message at a time. */
export class AlphaFluxChanges {
  readonly #send: (message: WireObject) => void;
  /** What the service goes by. */
  #told: AlphaFluxOptions = {};
  #wanted: AlphaFluxOptions = {};
  /** For how many keep-alives the last change has waited for its answer. */
  #waits: number | undefined;

  constructor(send: (message: WireObject) => void) {
    this.#send = send;
  }

  /** A connection was asked for with these options. */
  asked(options: AlphaFluxOptions): void {
    this.#told = options;
  }

  /** The connection hears messages: what has changed since is told. */
  begin(options: AlphaFluxOptions): void {
    this.#waits = undefined;
    this.tell(options);
  }

  /** Whether a message can tell these options. */
  canTell(options: AlphaFluxOptions): boolean {
    const [{ model, parameters }, told] = [options, this.#told];
    const isFixed = !differing({ model: told.model, parameters: told.parameters }, { model, parameters });
    // No message takes a threshold back.
    return isFixed && thresholds.every((key) => told[key] === undefined || options[key] !== undefined);
  }

  /** Tells what has changed, when the service has answered what it was told before. */
  tell(options: AlphaFluxOptions): void {
    this.#wanted = options;
    if (this.#waits !== undefined) return;
    const changed = differing(snakeKeys(this.#told, thresholds), snakeKeys(options, thresholds));
    const lists = differing(listsOf(this.#told), listsOf(options));
    if (!changed && !lists) return;
    this.#told = options;
    this.#waits = 0;
    this.#send({ type: 'Configure', ...(changed && { thresholds: changed }), ...lists });
  }

  /** The service has answered; false when nobody waits for it. */
  answered(): boolean {
    if (this.#waits === undefined) return false;
    this.#waits = undefined;
    this.tell(this.#wanted);
    return true;
  }

  /** A keep-alive passes: no answer is waited for beyond the second. */
  tick(): void {
    if (this.#waits === undefined) return;
    this.#waits += 1;
    if (this.#waits > 1) this.answered();
  }
}

function listsOf({ keyterms = [], languageHints = [] }: AlphaFluxOptions): WireObject {
  return { keyterms, language_hints: languageHints };
}

/** The entries that are others than before; `undefined` when there are none. */
function differing(before: WireObject, after: WireObject): WireObject | undefined {
  const changed = Object.entries(after).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]));
  return changed.length > 0 ? Object.fromEntries(changed) : undefined;
}

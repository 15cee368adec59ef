import type { ConfigRule } from '../../core/config-rule.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { StreamingSTTConfig } from './streaming-stt.ts';

/** How the service hears turns. */
export interface AlphaFluxOptions {
  /** Default: `flux-general-en`. The other: `flux-general-multi`. */
  readonly model?: string;
  /**
   * How sure the service must be of an end of turn to announce it early, 0.3 to 0.9 and at most `eotThreshold`; brings
   * results with `isPreflight`. Default: it announces none.
   */
  readonly eagerEotThreshold?: number;
  /** How sure it must be to end a turn, 0.5 to 1. Default: the service's, 0.7. */
  readonly eotThreshold?: number;
  /** Milliseconds of silence that end a turn anyhow, 500 to 60,000. Default: the service's, 5,000. */
  readonly eotTimeoutMs?: number;
  /** Words to listen for, at most 100. */
  readonly keyterms?: readonly string[];
  /** Languages to expect, ISO 639-1; `flux-general-multi` only. */
  readonly languageHints?: readonly string[];
  /** Further parameters of the service, as they stand in its docs. */
  readonly parameters?: Query;
}

/** Configuration of {@link AlphaFlux}. The model sets the language; interim results always come. */
export interface AlphaFluxConfig extends StreamingSTTConfig {
  /** What the service is asked for. Default: its own defaults. */
  readonly options?: AlphaFluxOptions;
}

/** What the options may be. */
export const alphaFluxRules: Readonly<Record<string, ConfigRule>> = {
  'options.model': { oneOf: ['flux-general-en', 'flux-general-multi'] },
  'options.eagerEotThreshold': { min: 0.3, max: 0.9 },
  'options.eotThreshold': { min: 0.5, max: 1 },
  'options.eotTimeoutMs': { min: 500, max: 60_000, integer: true },
  'options.keyterms': { type: 'texts', maxLength: 100 },
  'options.languageHints': { type: 'texts' },
};

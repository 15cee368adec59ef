import type { ConfigRules } from '../../core/config-rule.ts';
import type { Query } from '../../core/remote-provider.ts';

/** What {@link AlphaSTT} takes beside SPEC.md's options. */
export interface AlphaSTTExtras {
  /** Whether the service tells the start of a voice before its words. Default: true. */
  readonly vadEvents?: boolean;
  /** Words to listen for. Nova-3 only. */
  readonly keyterms?: readonly string[];
  /** Further parameters of the service, as they stand in its docs. */
  readonly parameters?: Query;
}

/** What the keys may hold. */
export const alphaSTTRules: ConfigRules = {
  language: { type: 'text' },
  'options.model': { type: 'text' },
  'options.smartFormat': { type: 'boolean' },
  'options.punctuation': { type: 'boolean' },
  'options.profanityFilter': { type: 'boolean' },
  'options.diarize': { type: 'boolean' },
  'options.endpointing': { min: 0, integer: true, orFalse: true },
  'options.utteranceEndMs': { min: 1_000, integer: true, orFalse: true },
  'options.vadEvents': { type: 'boolean' },
  'options.keyterms': { type: 'texts' },
};

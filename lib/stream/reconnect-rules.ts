import type { ConfigRule } from '../core/config-rule.ts';
import type { BackoffOptions } from './backoff.ts';

type PolicyKey =
  | Exclude<keyof BackoffOptions, 'quickFailures'>
  | `quickFailures.${keyof NonNullable<BackoffOptions['quickFailures']>}`;

/** Rules for the configuration key `reconnect`. */
export const reconnectRules: Readonly<Record<`reconnect.${PolicyKey}`, ConfigRule>> = {
  'reconnect.initialMs': { min: 0 },
  'reconnect.factor': { min: 1 },
  'reconnect.maxMs': { min: 0 },
  'reconnect.jitter': { oneOf: ['full', 'none'] },
  'reconnect.maxTries': { min: 0 },
  'reconnect.resetAfterMs': { min: 0 },
  'reconnect.quickFailures.count': { min: 1 },
  'reconnect.quickFailures.withinMs': { min: 0 },
  'reconnect.maxRetryAfterMs': { min: 0 },
  'reconnect.budgetMs': { min: 0 },
  'reconnect.untilFirst': { type: 'boolean' },
  'reconnect.shouldRetry': {},
  'reconnect.random': {},
};

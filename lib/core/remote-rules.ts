import type { ConfigRule } from './config-rule.ts';
import type { RemoteConfig } from './remote-provider.ts';

/** Rules for the configuration of every provider that reaches a service: a misspelt one of these keys is refused. */
export const remoteRules: Readonly<Record<keyof RemoteConfig, ConfigRule>> = {
  apiKey: {},
  proxyUrl: {},
  endpoint: {},
  authType: {},
  allowInsecure: {},
  connectTimeoutMs: {},
  extraQuery: {},
  extraHeaders: {},
  fetch: { type: 'function' },
  WebSocket: { type: 'function' },
  scheduler: {},
};

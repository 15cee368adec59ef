/**
 * The proxy between pages and services: it holds the credentials.
 *
 * @packageDocumentation
 */
export { createProxy } from './proxy.ts';
export type {
  Authenticated,
  NodeRequest,
  NodeResponse,
  NodeSocket,
  Proxy,
  ProxyOptions,
  ProxyPeer,
} from './options.ts';
export type { ProxyLimits } from './limits.ts';
export type {
  ProxyBase,
  ProxyCredential,
  ProxyEnvironment,
  ProxyRoute,
  ProxyTarget,
  ProxyTokenGrant,
} from './proxy-target.ts';
export { needsOf } from './proxy-target.ts';
export { proxyToken, type ProxyToken } from './tokens.ts';
export {
  amazonPolly,
  amazonTranscribe,
  anthropic,
  assemblyai,
  azure,
  cartesia,
  compatible,
  deepgram,
  elevenlabs,
  fish,
  gemini,
  geminiLive,
  gladia,
  google,
  googleMeet,
  groq,
  lmnt,
  minimax,
  mistral,
  murf,
  openai,
  revai,
  rime,
  smallest,
  soniox,
  speechify,
  speechmatics,
} from './vendors.ts';

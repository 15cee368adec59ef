import type { RetiringModel } from '../core/retirement.ts';

/*
 * The models that services retire, by provider; `npm run retiring` lists those whose time is near. One constant for each
 * provider: bundles then hold the rows of their own providers only.
 */

/** Source: developers.openai.com/api/docs/deprecations, as for the other two of this vendor. */
export const thetaLLM: readonly RetiringModel[] = [
  { model: 'gpt-5', on: '2026-12-11', instead: 'gpt-6.1-sol' },
  { model: 'gpt-5-mini', on: '2026-12-11', instead: 'gpt-6.1-terra' },
  { model: 'gpt-5-nano', on: '2026-12-11', instead: 'gpt-6-luna' },
  { model: 'gpt-5-pro', on: '2026-12-11', instead: 'gpt-6.1-sol' },
  { model: 'o3', on: '2026-12-11', instead: 'gpt-6.1-sol' },
  { model: 'o3-pro', on: '2026-12-11', instead: 'gpt-6.1-sol' },
  { model: 'gpt-4.1-mini', on: '2027-01-14', instead: 'gpt-6-luna' },
  { model: 'gpt-4.1', on: '2027-01-14', instead: 'gpt-6-luna' },
  { model: 'gpt-4o-mini', on: '2027-01-14', instead: 'gpt-6-luna' },
  { model: 'gpt-4o', on: '2027-01-14', instead: 'gpt-6-luna' },
  // Gone on 2026-10-23.
  { model: 'gpt-4.1-nano', instead: 'gpt-5.6-luna' },
  { model: 'gpt-4', instead: 'gpt-5.6-sol' },
  { model: 'gpt-4-turbo', instead: 'gpt-5.6-sol' },
  { model: 'gpt-3.5-turbo', instead: 'gpt-5.6-terra' },
  { model: 'o1', instead: 'gpt-5.6-sol' },
  { model: 'o1-pro', instead: 'gpt-5.6-sol' },
  { model: 'o3-mini', instead: 'gpt-5.6-sol' },
  { model: 'o4-mini', instead: 'gpt-5.6-terra' },
];

/** What the vendor names in their place, `gpt-realtime-2.1-mini`, is not served by `/audio/speech`. */
const anotherVoice = 'another provider (gpt-realtime-2.1-mini, which follows, is not served as a voice)';
export const thetaTTS: readonly RetiringModel[] = [
  { model: 'tts-1', on: '2027-01-06', instead: anotherVoice },
  { model: 'tts-1-hd', on: '2027-01-06', instead: anotherVoice },
  { model: 'gpt-4o-mini-tts', on: '2027-01-06', instead: anotherVoice },
];

/** Live transcription; `gpt-transcribe` is its sibling for recordings. */
export const thetaRealtimeSTT: readonly RetiringModel[] = [
  { model: 'gpt-4o-mini-transcribe', on: '2027-02-26', instead: 'gpt-live-transcribe' },
  { model: 'gpt-4o-transcribe', on: '2027-02-26', instead: 'gpt-live-transcribe' },
  { model: 'whisper-1', on: '2027-02-26', instead: 'gpt-live-transcribe' },
];

/** Speech to speech. */
export const thetaAgent: readonly RetiringModel[] = [
  { model: 'gpt-realtime', on: '2027-01-20', instead: 'gpt-realtime-2.1' },
  { model: 'gpt-realtime-mini', on: '2027-01-20', instead: 'gpt-realtime-2.1-mini' },
  { model: 'gpt-4o-realtime-preview*', instead: 'gpt-realtime-2.1' },
  { model: 'gpt-4o-mini-realtime-preview*', instead: 'gpt-realtime-2.1-mini' },
];

/** From then on its successor answers, and is billed (ai.google.dev/gemini-api/docs/deprecations). */
export const omicronLLM: readonly RetiringModel[] = [
  { model: 'gemini-2.5-flash', on: '2026-12-01', instead: 'gemini-3.5-flash-lite' },
  { model: 'gemini-2.5-pro', on: '2026-12-01', instead: 'gemini-3.8-flash' },
  { model: 'gemini-2.0-flash', instead: 'gemini-3.8-flash' },
  { model: 'gemini-2.0-flash-lite', instead: 'gemini-3.5-flash-lite' },
];

/** Speech to speech. */
export const omicronAgent: readonly RetiringModel[] = [
  { model: 'gemini-2.0-flash-live-001', instead: 'gemini-3.8-live' },
  { model: 'gemini-live-2.5-flash-preview', instead: 'gemini-3.8-live' },
];

/** Withdrawn from free and developer accounts in July and August 2026: a 404 (console.groq.com/docs/deprecations). */
export const nuLLM: readonly RetiringModel[] = [
  { model: 'llama-3.3-70b-versatile', instead: 'openai/gpt-oss-120b' },
  { model: 'llama-3.1-8b-instant', instead: 'openai/gpt-oss-20b' },
  { model: 'qwen/qwen3-32b', instead: 'openai/gpt-oss-120b' },
  { model: 'meta-llama/llama-4-scout-17b-16e-instruct', instead: 'openai/gpt-oss-120b' },
];

/** The 5.5 family follows. Source: the vendor's SDK, 1.14.0, `internal/data/deprecated-models`. */
export const muLLM: readonly RetiringModel[] = [
  { model: 'claude-sonnet-4-5*', on: '2026-11-30', instead: 'claude-sonnet-5-5' },
  { model: 'claude-opus-4-5*', on: '2027-01-22', instead: 'claude-opus-5-5' },
];

export const xiLLM: readonly RetiringModel[] = [{ model: 'mistral-large-2411', instead: 'mistral-large-latest' }];

/** The vendor lists its flash models in place of the turbo ones: the same voices, sooner. */
export const gammaTTS: readonly RetiringModel[] = [
  { model: 'eleven_turbo_v2_5', on: 'unlisted', instead: 'eleven_flash_v2_5' },
];

/** From then on its successor answers. */
export const psiTTS: readonly RetiringModel[] = [{ model: 's1', on: '2026-12-31', instead: 's2.1-pro' }];

export const chiTTS: readonly RetiringModel[] = [
  { model: 'speech-01-*', on: 'unlisted', instead: 'speech-2.8-hd or speech-2.8-turbo' },
];

/** They fail since June 2026. */
export const piTTS: readonly RetiringModel[] = [
  { model: 'sonic', instead: 'sonic-3' },
  { model: 'sonic-english', instead: 'sonic-3' },
  { model: 'sonic-multilingual', instead: 'sonic-3' },
  { model: 'sonic-2-2025-03-07', instead: 'sonic-3' },
  { model: 'sonic-turbo-2025-03-07', instead: 'sonic-3' },
];

/** `coda` answers for them. */
export const phiTTS: readonly RetiringModel[] = [
  { model: 'arcana', instead: 'coda' },
  { model: 'arcanav2', instead: 'coda' },
  { model: 'arcanav3', instead: 'coda' },
];

export const rhoTTS: readonly RetiringModel[] = [
  { model: 'simba-english', instead: 'simba-3.2' },
  { model: 'simba-multilingual', instead: 'simba-3.0' },
];

export const tauTTS: readonly RetiringModel[] = [
  { model: 'aurora', instead: 'blizzard' },
  { model: 'blizzard-dialogue', instead: 'blizzard' },
];

export const deltaSTT: readonly RetiringModel[] = [
  { model: 'stt-rt-preview', instead: 'stt-rt-v6' },
  { model: 'stt-rt-v2', instead: 'stt-rt-v6' },
  { model: 'stt-rt-v3', instead: 'stt-rt-v6' },
  { model: 'stt-rt-v4', instead: 'stt-rt-v6' },
];

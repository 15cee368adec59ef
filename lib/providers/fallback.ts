import { VoiceError } from '../core/errors.ts';
import { asObject } from '../core/guard.ts';
import type { LLMProvider, ProviderContract, STTProvider, TTSProvider } from '../core/roles.ts';
import type { FallbackOptions } from './fallback-provider.ts';
import { FallbackLLM } from './llm/fallback-llm.ts';
import { FallbackSTT } from './stt/fallback-stt.ts';
import { FallbackTTS } from './tts/fallback-tts.ts';

export type { FallbackOptions } from './fallback-provider.ts';

/** The backups, in order, optionally followed by options. */
export type Backups<P> = readonly P[] | readonly [...P[], FallbackOptions];

/**
 * Combines several providers of one role: the first is used, and the next one takes over whenever it fails. Nothing is
 * said twice, and nothing is lost.
 *
 * - Speech-to-text: no connection for 5 s. The next service hears what was not final, up to 30 s of it.
 * - Language model: no useful token within 3 s, or 6 s for a backup; empty deltas are none. An answer that has begun is
 *   never begun twice.
 * - Text-to-speech: no audio of a sentence within 2.5 s. The next voice continues with that sentence.
 *
 * A switch is a `fallback` event on its `connection$` and a `provider.fallback` event of the pipeline. The first one is
 * retried every 30 s while calls are running, and used again as soon as it works. The result is a provider like any
 * other, usable without a pipeline; it initializes and disposes all its members.
 *
 * @example
 * ```ts
 * import { AlphaTTS, CompatibleLLM, fallback, GammaTTS, NuLLM } from 'rxvoice';
 *
 * const own = new CompatibleLLM({ endpoint: 'https://llm.example.com/v1', model: 'our-own' });
 * const llm = fallback(new NuLLM({ proxyUrl: '/voice/groq', model: 'openai/gpt-oss-20b' }), own);
 * const voice = new GammaTTS({ proxyUrl: '/voice/elevenlabs', voiceId: 'a-voice' });
 * const tts = fallback(new AlphaTTS({ proxyUrl: '/voice/deepgram' }), voice, { firstAudioMs: 1_500 });
 * ```
 *
 * @throws VoiceError `configuration` when these are not providers, or have none of these roles in common.
 */
export function fallback(first: STTProvider, ...backups: Backups<STTProvider>): STTProvider;
export function fallback(first: LLMProvider, ...backups: Backups<LLMProvider>): LLMProvider;
export function fallback(first: TTSProvider, ...backups: Backups<TTSProvider>): TTSProvider;
export function fallback(first: ProviderContract, ...backups: Backups<ProviderContract>): ProviderContract {
  const all: readonly (ProviderContract | FallbackOptions)[] = [first, ...backups];
  if (!isProvider(first) || !all.every(asObject)) {
    const message = 'fallback() takes providers, then options: write fallback(new NuLLM({ … }), new ThetaLLM({ … }))';
    throw new VoiceError(message, { code: 'configuration' });
  }
  const members = all.filter(isProvider);
  const options = all.find(isOptions);
  const has = (role: 'stt' | 'llm' | 'tts'): boolean => members.every(({ roles }) => roles.includes(role));
  // Roles are the contract: a provider that lists one has its members.
  if (has('stt')) return new FallbackSTT(members as never, options);
  if (has('llm')) return new FallbackLLM(members as never, options);
  if (has('tts')) return new FallbackTTS(members as never, options);
  const message = `fallback() needs providers of one role, stt, llm or tts: ${members.map(({ name }) => name).join(', ')}`;
  throw new VoiceError(message, { code: 'configuration' });
}

function isProvider(value: object): value is ProviderContract {
  return asObject(value)?.['roles'] !== undefined;
}

function isOptions(value: object): value is FallbackOptions {
  return !isProvider(value);
}

import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { entry, num, str, type WireObject } from '../../core/guard.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { HttpErrorOf } from '../../transport/http-error.ts';
import { ContextTTS } from './context-tts.ts';
import type { ContextVoice, ContextWire } from './sockets/context-wire.ts';
import type { GammaTTSConfig } from './gamma-tts-config.ts';
import { gammaTalk, isFinal } from './gamma-tts-talk.ts';

const formats: Readonly<Record<string, Pick<AudioMetadata, 'encoding' | 'bitDepth' | 'container' | 'mimeType'>>> = {
  pcm: { encoding: 'linear16', bitDepth: 16 },
  ulaw: { encoding: 'mulaw', bitDepth: 8 },
  alaw: { encoding: 'alaw', bitDepth: 8 },
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  opus: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
};
const rates = (name: string, ...values: readonly number[]): string[] => values.map((value) => `${name}_${value}`);
const outputFormats = [
  ...rates('pcm', 16000, 22050, 24000, 8000, 32000, 44100, 48000),
  ...['mp3_22050_32', ...rates('mp3_44100', 32, 64, 96, 128, 192), 'ulaw_8000', 'alaw_8000'],
  ...rates('opus_48000', 32, 64, 96, 128, 192),
];

/** Most characters of a text, by model; others take 10,000. */
const textLimits: Readonly<Record<string, number>> = {
  eleven_turbo_v2_5: 40_000,
  eleven_flash_v2_5: 40_000,
  eleven_turbo_v2: 30_000,
  eleven_flash_v2: 30_000,
};

/** What the service's words for an error mean. */
const errors: Readonly<Record<string, readonly [why: string, options: VoiceErrorOptions]>> = {
  input_timeout_exceeded: ['no text came for too long', { code: 'connection', recoverable: true }],
  max_active_conversations: ['too many utterances at once', { code: 'rate_limited', recoverable: true }],
  invalid_input_message: ['it does not understand a message', { code: 'protocol' }],
  invalid_api_key: ['it does not accept the credential', { code: 'unauthorized' }],
  voice_not_found: ['it has no such voice', { code: 'not_found' }],
  max_character_limit_exceeded: ['the text is too long', { code: 'configuration' }],
  quota_exceeded: ['the account has nothing left to spend', { code: 'quota' }],
};

/**
 * GammaTTS: ElevenLabs streaming text-to-speech (`/v1/text-to-speech/{voice}/multi-stream-input`),
 * `https://api.elevenlabs.io`, https://elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-multi-stream-input
 *
 * One connection speaks all utterances, at most five at once, each in a context of its own. The service tells when each
 * character sounds, so `words$` are its times.
 */
export class GammaTTS extends ContextTTS<GammaTTSConfig> {
  override readonly name: string = 'GammaTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.elevenlabs.io';
  // Its word for a refusal says more than the status.
  protected override readonly errorOf: HttpErrorOf = ({ reason }) => entry(errors, reason)?.[1];

  override get maxTextLength(): number {
    return entry(textLimits, this.#model) ?? 10_000;
  }

  override getMetadata(): AudioMetadata {
    const [name, rate] = (this.config.outputFormat ?? 'pcm_16000').split('_');
    return { encoding: 'linear16', ...entry(formats, name), sampleRate: Number(rate), channels: 1 };
  }

  /** In Node the key is a header; a page can only present a single-use token, which an `apiKey` factory fetches. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode) return {};
    const key = await this.resolveApiKey();
    const query = { single_use_token: key };
    if (key.startsWith('sutkn_')) return { query };
    return { headers: { 'xi-api-key': key }, ...(typeof this.config.apiKey === 'function' && { query }) };
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    const part = { min: 0, max: 1 };
    return {
      voiceId: { required: true, type: 'text' },
      modelId: { type: 'text' },
      outputFormat: { oneOf: outputFormats },
      ...{ stability: part, similarityBoost: part, style: part, speed: { min: 0.7, max: 1.2 } },
      inactivityTimeout: { min: 1, max: 180, integer: true },
      applyTextNormalization: { oneOf: ['auto', 'on', 'off'] },
      seed: { min: 0, max: 4_294_967_295, integer: true },
    };
  }

  protected override configProblem(): string | undefined {
    const { chunkLengthSchedule = [] } = this.config;
    if (this.#model.startsWith('eleven_v3')) {
      return `${this.#model} does not speak over a socket: set modelId to eleven_flash_v2_5`;
    }
    if (!chunkLengthSchedule.every((length) => Number.isInteger(length) && length >= 50 && length <= 500)) {
      return 'chunkLengthSchedule must hold whole numbers from 50 to 500';
    }
    return super.configProblem();
  }

  protected override socketUrl(): URL {
    const { voiceId, outputFormat = 'pcm_16000', language, inactivityTimeout = 180, seed } = this.config;
    const { enableSsmlParsing, enableLogging, applyTextNormalization } = this.config;
    return this.resolveSocketUrl(`/v1/text-to-speech/${encodeURIComponent(voiceId)}/multi-stream-input`, {
      model_id: this.#model,
      output_format: outputFormat,
      sync_alignment: true,
      inactivity_timeout: inactivityTimeout,
      auto_mode: this.#isAutomatic || undefined,
      language_code: language,
      apply_text_normalization: applyTextNormalization,
      enable_ssml_parsing: enableSsmlParsing,
      enable_logging: enableLogging,
      seed,
    });
  }

  protected override contextWire(): ContextWire {
    const format = this.getMetadata();
    return {
      voice: () => this.#voice(),
      contextOf: (message) => str(message['contextId']) ?? str(message['context_id']),
      errorOf: (message) => this.#errorOf(message),
      isEnd: isFinal,
      format: () => format,
      maxTextLength: this.maxTextLength,
      ...{ maxContexts: 5, endsCancelled: true, speaksAtOnce: this.#isAutomatic },
      keepAlive: (id) => JSON.stringify({ text: '', context_id: id }),
      farewell: ['{"close_socket":true}'],
      classifyClose: ({ reason, code }) => this.#errorOf({ error: reason, code }) ?? 'retry',
    };
  }

  get #model(): string {
    const { modelId = 'eleven_turbo_v2_5' } = this.config;
    return /^(turbo|flash|multilingual|v3)/.test(modelId) ? `eleven_${modelId}` : modelId;
  }

  get #isAutomatic(): boolean {
    return this.config.autoMode ?? this.config.chunkLengthSchedule === undefined;
  }

  #voice(): ContextVoice {
    const { stability, similarityBoost, style, useSpeakerBoost, speed, chunkLengthSchedule } = this.config;
    const isBalanced = stability !== undefined || similarityBoost !== undefined;
    const settings = {
      ...(isBalanced && { stability: stability ?? 0.5, similarity_boost: similarityBoost ?? 0.75 }),
      ...{ style, use_speaker_boost: useSpeakerBoost, speed },
    };
    const opening = {
      text: ' ',
      voice_settings: Object.values(settings).some((value) => value !== undefined) ? settings : undefined,
      generation_config: chunkLengthSchedule && { chunk_length_schedule: chunkLengthSchedule },
      pronunciation_dictionary_locators: this.config.pronunciationDictionaries?.map(({ id, versionId }) => ({
        ...{ pronunciation_dictionary_id: id, version_id: versionId },
      })),
    };
    const format = this.getMetadata();
    return (id) => gammaTalk(id, opening, format);
  }

  #errorOf(message: WireObject): VoiceError | undefined {
    const word = str(message['error']) ?? (num(message['code']) === undefined ? undefined : str(message['message']));
    if (!word || message['audio']) return undefined;
    const name = Object.keys(errors).find((each) => word.includes(each));
    const [why, options] = entry(errors, name) ?? ['the service failed', { code: 'server', recoverable: true }];
    return this.error(`${this.name}: ${why}${name === undefined ? '' : ` (${name})`}`, {
      ...options,
      status: num(message['code']),
    });
  }
}

import { bytesPerSample } from '../../audio/formats.ts';
import type { AudioEncoding, AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { arr, entry, num, obj, str, type WireObject } from '../../core/guard.ts';
import type { SocketCredentials } from '../../core/remote-provider.ts';
import type { HttpErrorFacts, HttpErrorOf } from '../../transport/http-error.ts';
import { ContextTTS } from './context-tts.ts';
import type { PiTTSConfig, PiTTSEncoding } from './pi-tts-config.ts';
import type { ContextEvent, ContextTalk, ContextVoice, ContextWire } from './sockets/context-wire.ts';

/** The version whose errors have codes, and whose voices are objects. */
const version = '2026-03-01';

const encodings: Readonly<Record<PiTTSEncoding, AudioEncoding>> = {
  pcm_s16le: 'linear16',
  pcm_f32le: 'linear32',
  pcm_mulaw: 'mulaw',
  pcm_alaw: 'alaw',
};

/** Models that fail since June 2026. */
const retired: Readonly<Record<string, string>> = {
  sonic: 'sonic-3',
  'sonic-english': 'sonic-3',
  'sonic-multilingual': 'sonic-3',
  'sonic-2-2025-03-07': 'sonic-3',
  'sonic-turbo-2025-03-07': 'sonic-3',
};

/** Models that know neither emotions nor numbers for a speed. */
const isOld = (model: string): boolean => /^sonic(-2|-turbo|-english|-multilingual|$)/.test(model);

const speeds: Readonly<Record<string, number>> = { slow: 0.8, normal: 1, fast: 1.2 };

/** What the tags of older versions are called now. */
const emotions: Readonly<Record<string, string>> = {
  anger: 'angry',
  positivity: 'happy',
  surprise: 'surprised',
  sadness: 'sad',
  curiosity: 'curious',
};

/** What the service's words for an error mean beyond their status. */
const errors: Readonly<Record<string, HttpErrorFacts>> = {
  model_not_found: { code: 'not_found', recoverable: false },
  model_sunsetted: { code: 'not_found', recoverable: false },
  voice_not_found: { code: 'not_found', recoverable: false },
  concurrency_limited: { code: 'rate_limited', recoverable: true },
};

/**
 * PiTTS: Cartesia Sonic text-to-speech (`/tts/websocket`, version 2026-03-01), `https://api.cartesia.ai`,
 * https://docs.cartesia.ai/api-reference/tts/websocket
 *
 * One connection speaks all utterances, each in a context of its own, so that the melody goes on from sentence to
 * sentence. The service tells when each word sounds in most languages; in the others `words$` are estimates.
 */
export class PiTTS extends ContextTTS<PiTTSConfig> {
  override readonly name: string = 'PiTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.cartesia.ai';
  protected override readonly errorOf: HttpErrorOf = ({ json }) => {
    const reason = str(obj(json)?.['error_code']);
    return { ...entry(errors, reason), reason };
  };

  override getMetadata(): AudioMetadata {
    const encoding = encodings[this.#encoding];
    const sampleRate = this.config.outputSampleRate ?? (bytesPerSample(encoding) === 1 ? 8000 : 24_000);
    return { encoding, sampleRate, channels: 1, bitDepth: bytesPerSample(encoding) * 8 };
  }

  /** In Node the key is a header; a page can only present an access token, which an `apiKey` factory fetches. */
  override async resolveSocketCredentials(): Promise<SocketCredentials> {
    if (this.isProxyMode) return {};
    const key = await this.resolveApiKey();
    if (typeof this.config.apiKey !== 'function') return { headers: { 'X-API-Key': key } };
    return { headers: { Authorization: `Bearer ${key}` }, query: { access_token: key } };
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    const { speed } = this.config;
    return {
      voiceId: { required: true, type: 'text' },
      modelId: { type: 'text' },
      outputEncoding: { oneOf: Object.keys(encodings) },
      outputSampleRate: { oneOf: [8000, 16_000, 22_050, 24_000, 44_100, 48_000] },
      speed: typeof speed === 'string' ? { oneOf: Object.keys(speeds) } : { min: 0.6, max: 1.5 },
      volume: { min: 0.5, max: 2 },
      emotion: { type: 'texts' },
      maxBufferDelayMs: { min: 0, max: 5_000, integer: true },
      concurrency: { min: 1, max: 1_000, integer: true },
    };
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    const { emotion = [], volume } = this.config;
    this.warnOfRetired(this.#model, retired);
    if (isOld(this.#model) && (emotion.length > 0 || volume !== undefined)) {
      this.logger.warn(`${this.name}: ${this.#model} knows no emotion and no volume, which are not sent`);
    } else if (emotion.length > 1) this.logger.warn(`${this.name}: of several emotions only the first is sent`);
  }

  protected override socketUrl(): URL {
    return this.resolveSocketUrl('/tts/websocket', { cartesia_version: version });
  }

  protected override contextWire(): ContextWire {
    const { concurrency = 2, maxBufferDelayMs = 0 } = this.config;
    return {
      voice: () => this.#voice(),
      contextOf: (message) => str(message['context_id']),
      errorOf: (message) =>
        message['type'] === 'error'
          ? this.refusalIn(message, { status: num(message['status_code']) ?? 500 })
          : undefined,
      isEnd: (message) => message['type'] === 'done',
      format: () => this.getMetadata(),
      ...{ maxTextLength: this.maxTextLength, maxContexts: concurrency, endsCancelled: false },
      speaksAtOnce: maxBufferDelayMs === 0,
      // The service's own limit is 1 s.
      expiresMs: 700,
      farewell: [],
      classifyClose: () => 'retry',
    };
  }

  get #model(): string {
    return this.config.modelId ?? 'sonic-3';
  }

  get #encoding(): PiTTSEncoding {
    return this.config.outputEncoding ?? 'pcm_s16le';
  }

  #voice(): ContextVoice {
    const { voiceId, language = 'en', maxBufferDelayMs = 0, pronunciationDictId } = this.config;
    const settings = {
      model_id: this.#model,
      voice: { mode: 'id', id: voiceId },
      language: language.split('-')[0]?.toLowerCase(),
      output_format: { container: 'raw', encoding: this.#encoding, sample_rate: this.getMetadata().sampleRate },
      add_timestamps: true,
      max_buffer_delay_ms: maxBufferDelayMs,
      pronunciation_dict_id: pronunciationDictId,
      ...this.#manner(),
    };
    return (id) => talk(id, settings);
  }

  #manner(): object {
    const { speed, volume, emotion: [tag = ''] = [] } = this.config;
    if (isOld(this.#model)) return { speed: typeof speed === 'number' ? nearestWord(speed) : speed };
    const [name = ''] = tag.split(':');
    const manner = {
      speed: typeof speed === 'string' ? entry(speeds, speed) : speed,
      volume,
      emotion: entry(emotions, name) ?? (name || undefined),
    };
    const isSet = Object.values(manner).some((value) => value !== undefined);
    return isSet ? { generation_config: manner } : {};
  }
}

function talk(id: string, settings: object): ContextTalk {
  const say = (transcript: string, hasMore: boolean): string =>
    JSON.stringify({ context_id: id, ...settings, transcript, continue: hasMore });
  return {
    opening: [],
    say: (text) => say(text, true),
    ending: [say('', false)],
    cancel: JSON.stringify({ context_id: id, cancel: true }),
    read: (message) => {
      if (message['type'] === 'timestamps') return wordsOf(obj(message['word_timestamps']));
      const data = message['type'] === 'chunk' ? decodeBase64(str(message['data']) ?? '') : undefined;
      return data ? [{ type: 'audio', data }] : [];
    },
  };
}

/** Words and their times in seconds; markup in the text comes back as words. */
function wordsOf(timestamps: WireObject = {}): ContextEvent[] {
  const seconds = (key: string, index: number): number | undefined => num(arr(timestamps[key])[index]);
  return arr(timestamps['words']).flatMap((word, index): ContextEvent[] => {
    const text = str(word)?.trim() ?? '';
    const start = seconds('start', index);
    const end = seconds('end', index);
    if (!text || text.startsWith('<') || start === undefined || end === undefined) return [];
    return [{ type: 'word', text, startMs: Math.round(start * 1000), endMs: Math.round(end * 1000) }];
  });
}

function nearestWord(speed: number): string {
  return speed < 0.9 ? 'slow' : speed > 1.1 ? 'fast' : 'normal';
}

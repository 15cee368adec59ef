import type { CallLine } from '../call-line.ts';
import { dial, isNumber } from '../keys.ts';
import { encodeText } from '../modem.ts';

type Json = Readonly<Record<string, unknown>>;

/** The session that a talker speaks for. */
export interface CallTalkerHost {
  /** The response that is being generated, and its message. */
  reply(): { readonly response: string; readonly item: string };
  /** A message has its audio, of so many milliseconds. */
  generated(item: string, ms: number): void;
  /** Resolves when the model has thought. */
  thought(): Promise<void>;
  /** A message was cut off when so many milliseconds of it had sounded. */
  cut(item: string, ms: number): void;
  send(type: string, more: Json): void;
}

/** Speaks over a call: the audio of a reply is generated at once, and played in real time, from a buffer of the service's. */
export class CallTalker {
  readonly #line: CallLine;
  readonly #host: CallTalkerHost;
  readonly #queue: { readonly text: string; readonly response: string; readonly item: string }[] = [];
  /** What is being played. */
  #playing: { isCut: boolean } | undefined;

  constructor(line: CallLine, host: CallTalkerHost) {
    this.#line = line;
    this.#host = host;
  }

  say(text: string): void {
    const reply = this.#host.reply();
    this.#queue.push({ text, ...reply });
    this.#host.generated(reply.item, samplesOf(text).length / 24);
    if (!this.#playing) void this.#play();
  }

  /** Generation does not wait for the sound. */
  afterwards(action: () => void): void {
    action();
  }

  clear(): void {
    if (!this.#playing) return;
    this.#playing.isCut = true;
    this.#line.clear();
  }

  async #play(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const { text, response, item } = next;
      const playing: { isCut: boolean } = { isCut: false };
      this.#playing = playing;
      await this.#host.thought();
      this.#host.send('output_audio_buffer.started', { response_id: response });
      const ms = playing.isCut ? 0 : await this.#line.play(samplesOf(text));
      if (playing.isCut) {
        this.#queue.length = 0;
        this.#host.cut(item, Math.floor(ms));
      }
      this.#host.send(`output_audio_buffer.${playing.isCut ? 'cleared' : 'stopped'}`, { response_id: response });
    }
    this.#playing = undefined;
  }
}

/** A number is dialled; anything else is the modem's. */
function samplesOf(text: string): Int16Array<ArrayBuffer> {
  if (!isNumber(text)) return encodeText(text, 24_000);
  return Int16Array.from(dial(text, 24_000), (sample) => Math.round(sample * 32_767));
}

import { setImmediate as breath, setTimeout as sleep } from 'node:timers/promises';
import { ModemDecoder } from '../../samples/sandbox/modem.ts';
import { readSamples } from '../../samples/sandbox/pcm.ts';
import { dial } from '../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { dialSocket } from '../../samples/sandbox/phone-socket-caller.ts';
import type { Clock } from '../load/clock.ts';
import type { Told } from './judge.ts';
import { callOf, type Call, type Scene } from './script.ts';

/** Silence after which an answer is over for a caller. */
const quietMs = 1_200;
/** How long a caller waits for an answer: for a service that is replaced only after ten seconds, and then some. */
const patienceMs = 25_000;

/** How long a caller stays on the line at the end, in milliseconds: services take a second or two to be sure of words. */
const farewellMs = 3_000;

/** Where callers call. */
export interface Exchange {
  readonly port: number;
  readonly seed: number;
  readonly clock: Clock;
  /** How a text is spoken: a spec swallows a word. */
  readonly pronounce: (text: string) => string;
  /** Whether no more turns begin. */
  readonly isTime: () => boolean;
}

/** The audio of a call. */
const formats = {
  a: { encoding: 'mulaw', sampleRate: 8_000, bytesPerSecond: 8_000 },
  b: { encoding: 'linear16', sampleRate: 16_000, bytesPerSecond: 32_000 },
} as const;

/** Silence between two lines of what was heard, in milliseconds: characters have 10 ms between them. */
const betweenLinesMs = 60;

/** What came out of a receiver, made out second by second: no other telephone waits for it. */
async function heardIn(audio: Uint8Array, platform: Call['platform']): Promise<Pick<Told, 'heard' | 'lines'>> {
  const { encoding, sampleRate, bytesPerSecond } = formats[platform];
  const decoder = new ModemDecoder(sampleRate);
  const lines: { readonly fromMs: number; toMs: number; text: string }[] = [];
  let heard = '';
  const listen = (events: ReturnType<ModemDecoder['push']>): void => {
    for (const event of events) {
      if (event.type === 'voice') continue;
      if (event.type === 'character') heard += event.character;
      const text = event.type === 'character' ? event.character : ` [${event.type}]`;
      const [fromMs, toMs] = [event.start, event.end].map((at) => (at / sampleRate) * 1000) as [number, number];
      const last = lines.at(-1);
      if (last && fromMs - last.toMs < betweenLinesMs) [last.toMs, last.text] = [toMs, last.text + text];
      else lines.push({ fromMs, toMs, text });
    }
  };
  for (let at = 0; at < audio.length; at += bytesPerSecond) {
    listen(decoder.push(readSamples(audio.subarray(at, at + bytesPerSecond), encoding)));
    await breath();
  }
  listen(decoder.end());
  const told = lines.map(
    ({ fromMs, toMs, text }) => `${fromMs.toFixed(0)} to ${toMs.toFixed(0)}: ${JSON.stringify(text)}`,
  );
  return { heard, lines: told };
}

/** A caller with a telephone, who does as the script says. */
class Caller {
  readonly #phone: PhoneLine;
  readonly #exchange: Exchange;
  readonly #said: string[] = [];
  #unanswered = 0;
  #due = 0;
  #left = false;

  constructor(phone: PhoneLine, exchange: Exchange) {
    this.#phone = phone;
    this.#exchange = exchange;
  }

  /** The whole call. */
  async converse({ call, platform, scenes }: Call): Promise<Told> {
    const problems: string[] = [];
    try {
      await this.#hearOut();
      for (const scene of scenes) {
        if (this.#exchange.isTime()) break;
        await this.#play(scene);
      }
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
    if (!this.#left) {
      // What sounded last may have been the answer to words before the last.
      await this.#wait(farewellMs).catch(() => undefined);
      await this.#phone.hangUp();
    }
    const { heard, lines: sounded } = await heardIn(this.#phone.playedAudio, platform);
    const lines = [...sounded, `silenced at ${this.#phone.silencedMs.join(', ')}`];
    problems.push(...this.#phone.warnings.map((warning) => warning.text));
    const lateMs = this.#exchange.clock.latestMs(this.#phone);
    const facts = { said: this.#said, due: this.#due, unanswered: this.#unanswered };
    return { call, ...facts, heard, lines, lateMs, problems };
  }

  async #play(scene: Scene): Promise<void> {
    // A cough has no answer of its own, later words have.
    const beganMs = scene.does === 'cough' ? this.#phone.playedMs : undefined;
    this.#say(scene.text);
    switch (scene.does) {
      case 'ask':
        break;
      case 'interrupt':
        await this.#hear(scene.afterMs);
        this.#say(scene.then);
        break;
      case 'cough':
        await this.#hear(scene.afterMs);
        this.#phone.cough();
        break;
      case 'hesitate':
        this.#phone.pause(scene.pauseMs);
        this.#say(scene.then);
        break;
      case 'leave':
        this.#left = true;
        await this.#wait(scene.afterMs);
        await this.#phone.hangUp(scene.how);
        return;
    }
    await this.#hearOut(beganMs);
    this.#due = this.#said.length;
  }

  #say(text: string): void {
    this.#said.push(text);
    this.#phone.say(this.#exchange.pronounce(text));
  }

  async #wait(ms: number): Promise<void> {
    const untilMs = this.#phone.nowMs + ms;
    await this.#phone.until(({ nowMs }) => nowMs >= untilMs);
  }

  /** Until so much of an answer has sounded, or none comes. */
  async #hear(ms: number): Promise<void> {
    await this.#spoken();
    const [heardMs, limitMs] = [this.#phone.playedMs + ms, this.#phone.nowMs + patienceMs];
    await this.#phone.until(({ playedMs, nowMs }) => playedMs >= heardMs || nowMs > limitMs);
  }

  /** Until an answer has ended that begins after `sinceMs` of what sounded, or none comes. */
  async #hearOut(sinceMs?: number): Promise<void> {
    await this.#spoken();
    const [beganMs, limitMs] = [sinceMs ?? this.#phone.playedMs, this.#phone.nowMs + patienceMs];
    let [playedMs, quietSinceMs] = [this.#phone.playedMs, this.#phone.nowMs];
    await this.#phone.until((phone) => {
      if (phone.playedMs > playedMs) [playedMs, quietSinceMs] = [phone.playedMs, phone.nowMs];
      const isOver = playedMs > beganMs && phone.nowMs - quietSinceMs > quietMs;
      return isOver || phone.nowMs > Math.max(limitMs, quietSinceMs + quietMs);
    });
    if (playedMs === beganMs) this.#unanswered++;
  }

  /** Until the caller has nothing left to say. */
  async #spoken(): Promise<void> {
    await this.#phone.until(({ isSpeaking }) => !isSpeaking);
  }
}

/** Makes one call. */
export async function makeCall(exchange: Exchange, number: number): Promise<Told> {
  const call = callOf(exchange.seed, number);
  const options = { speed: 'manual', url: `ws://127.0.0.1:${exchange.port}/${number}` } as const;
  const phone = await (call.platform === 'a' ? dial(options) : dialSocket(options));
  exchange.clock.add(phone);
  return new Caller(phone, exchange).converse(call);
}

/** Lets so many callers call, each again after a while. Resolves when the last has hung up. */
export async function keepCalling(exchange: Exchange, callers: number, told: (told: Told) => void): Promise<void> {
  let next = 0;
  const work = async (caller: number): Promise<void> => {
    // They do not come all at once.
    await sleep((caller * 2_000) / callers);
    while (!exchange.isTime()) told(await makeCall(exchange, next++));
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)));
}

/** Numbers that no call has. */
const rehearsals = 1e6;

/** Lets callers hear the greeting and hang up: what happens for the first time takes longer than sound does. */
export async function rehearse(exchange: Omit<Exchange, 'isTime'>, callers: number): Promise<void> {
  const isTime = (): boolean => true;
  const work = async (caller: number): Promise<void> => {
    await sleep(caller * 50);
    await makeCall({ ...exchange, isTime }, rehearsals + caller);
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)));
}

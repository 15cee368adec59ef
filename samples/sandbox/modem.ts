/**
 * The sandbox's voice: text as dual-tone audio that survives G.711, resampling and any framing, and shows every lost,
 * repeated or misplaced piece as wrong text.
 *
 * A character takes 80 ms for each byte of its UTF-8: the high half of the byte as a DTMF pair of 35 ms, 10 ms of
 * silence, the low half as a pair of 25 ms, 10 ms of silence. The lengths tell the halves apart, so that the decoder
 * finds its place again after any damage, and a pause in the middle of a tone can be told from a lost piece.
 */

/** How long one byte of text sounds, in milliseconds: all of ASCII is one byte a character. */
export const characterMs = 80;

const rows = [697, 770, 852, 941] as const;
const columns = [1209, 1336, 1477, 1633] as const;
/** The two tones of a byte, in seconds from the byte's start. */
const halves = [
  { at: 0, seconds: 0.035 },
  { at: 0.045, seconds: 0.025 },
] as const;
type Half = 0 | 1;
const rampSeconds = 0.002;
const amplitude = 0.3;

const tones = new Map<string, Int16Array<ArrayBuffer>>();

function tone(nibble: number, half: Half, sampleRate: number): Int16Array<ArrayBuffer> {
  const key = `${nibble}/${half}/${sampleRate}`;
  const known = tones.get(key);
  if (known) return known;
  const { seconds } = halves[half];
  const row = 2 * Math.PI * (rows[nibble >> 2] ?? 0);
  const column = 2 * Math.PI * (columns[nibble & 3] ?? 0);
  const samples = Int16Array.from({ length: Math.floor(seconds * sampleRate) }, (_, n) => {
    const time = n / sampleRate;
    const edge = Math.min(time, seconds - time) / rampSeconds;
    const level = edge < 1 ? 0.5 - 0.5 * Math.cos(Math.PI * edge) : 1;
    return Math.round(32767 * amplitude * level * (Math.sin(row * time) + Math.sin(column * time)));
  });
  tones.set(key, samples);
  return samples;
}

/** A text as audio: mono 16-bit samples at a rate of 8000 Hz or more. */
export function encodeText(text: string, sampleRate: number): Int16Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  const samplesPerByte = (characterMs / 1000) * sampleRate;
  const samples = new Int16Array(Math.round(bytes.length * samplesPerByte));
  bytes.forEach((byte, index) => {
    const start = Math.round(index * samplesPerByte);
    samples.set(tone(byte >> 4, 0, sampleRate), start);
    samples.set(tone(byte & 15, 1, sampleRate), start + Math.round(halves[1].at * sampleRate));
  });
  return samples;
}

/** Milliseconds that a text sounds. */
export function durationMs(text: string): number {
  return new TextEncoder().encode(text).length * characterMs;
}

/** Mono silence. */
export function silence(ms: number, sampleRate: number): Int16Array<ArrayBuffer> {
  return new Int16Array(Math.round((ms / 1000) * sampleRate));
}

/** Mono noise that no decoder takes for text, the same for the same seed: a cough, a slammed door. */
export function noise(ms: number, sampleRate: number, level = 0.3, seed = 1): Int16Array<ArrayBuffer> {
  let state = seed;
  return silence(ms, sampleRate).map(() => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return Math.round((state / 2 ** 31) * level * 32767);
  });
}

/** What a {@link ModemDecoder} hears. Positions are samples of its input, fractions included. */
export type ModemEvent =
  /** Sound after at least 60 ms without. */
  | { readonly type: 'voice'; readonly at: number }
  /** A character; U+FFFD where there was text but a piece of it was lost, repeated or misplaced. */
  | { readonly type: 'character'; readonly character: string; readonly start: number; readonly end: number }
  /** A character that broke off into silence: an interruption. */
  | { readonly type: 'cut'; readonly start: number; readonly end: number }
  /** Sound that is not this modem's. */
  | { readonly type: 'noise'; readonly start: number; readonly end: number };

/** The character that stands for damaged text. */
export const damaged = '\uFFFD';

/** A stretch of sound between two silences; positions are decimated samples. */
interface Burst {
  readonly start: number;
  readonly end: number;
  /** The samples between the positions, silence at the edges trimmed. */
  readonly samples: Float32Array;
  /** The parts between pauses, where the burst was joined from several. */
  readonly parts?: readonly Float32Array[];
}

interface Tone {
  readonly half: Half;
  readonly nibble: number;
}

const windowSeconds = 0.0025;
/** Lengths are measured from edge to edge, some tenths of a millisecond outside the tone. */
const measured: readonly [number, number] = [0.0354, 0.0254];
const toleranceSeconds = 0.003;
/** Power below which all is silence: -55 dB of full scale. */
const floorPower = 3e-6;
/** A tone ends where its power falls below this part of its peak (-17 dB): under a ducking by 12 dB. */
const endRatio = 0.02;
/** The part of a burst's energy that its two strongest tones hold at least; 0.64 where a ducking begins in it. */
const purity = 0.62;
/** A tone's edges are where the power of this many seconds passes this part of its peak: over noise, under a ducking. */
const edgeSeconds = 0.001;
const edgeRatio = 0.012;
/** A pause inside a tone is longer than this, in seconds; what is not is a piece out of its place. */
const shortestPause = 0.011;
/** A codec's smear is below this part of the power that follows: -30 dB, where Opus and AAC have -40. */
const smearRatio = 0.001;
/** Sound of less than this, in seconds, is too short to tell its tones. */
const shortestClear = 0.011;
/** Silence between two tones is 10 ms; with less than this, in seconds, a piece is missing. */
const shortestGap = 0.008;
/** A break shorter than this, in seconds, is inside one stretch of speech. */
const breakSeconds = 0.06;
const historyLength = 4096;

/**
 * Hears text in audio, piece by piece: the pieces may be of any length, and the events are the same for every framing.
 *
 * Costs some 40 operations for each sample at 8 kHz; higher rates are decimated first.
 */
export class ModemDecoder {
  readonly #factor: number;
  readonly #rate: number;
  readonly #window: number;
  readonly #squares: Float64Array;
  /** Halves what is left of a peak every 50 ms of silence. */
  readonly #peakDecay: number;
  readonly #history: Float32Array = new Float32Array(historyLength);
  readonly #bytes: { value: number; start: number; end: number }[] = [];
  #position = 0;
  #partial = 0;
  #partialCount = 0;
  #count = 0;
  #energy = 0;
  #peak = 0;
  #noise = 0;
  #burstStart: number | undefined;
  #announced = false;
  #lastSound = Number.NEGATIVE_INFINITY;
  #half: { readonly nibble: number; readonly start: number; readonly end: number } | undefined;
  #fragment: Burst | undefined;
  #lastTone: { readonly length: number; readonly half: Half } = { length: 0, half: 0 };
  #lastEnd = Number.NEGATIVE_INFINITY;

  /** @param sampleRate of the input, in Hz: 8000 or more. */
  constructor(sampleRate: number) {
    this.#factor = Math.max(1, Math.floor(sampleRate / 8000));
    this.#rate = sampleRate / this.#factor;
    this.#window = Math.round(windowSeconds * this.#rate);
    this.#squares = new Float64Array(this.#window);
    this.#peakDecay = 0.5 ** (1 / (0.05 * this.#rate));
  }

  /** Samples heard so far. */
  get position(): number {
    return this.#position;
  }

  /** Where the last sound was, in samples of the input; minus infinity before any. */
  get lastSound(): number {
    return this.#lastSound * this.#factor;
  }

  /** Hears the next mono 16-bit samples. */
  push(samples: Int16Array): ModemEvent[] {
    const events: ModemEvent[] = [];
    const factor = this.#factor;
    const scale = 1 / (32768 * factor);
    for (const sample of samples) {
      this.#partial += sample;
      if (++this.#partialCount < factor) continue;
      this.#step(this.#partial * scale, events);
      this.#partial = 0;
      this.#partialCount = 0;
    }
    this.#position += samples.length;
    return events;
  }

  /** Says that nothing follows: what is open is cut. */
  end(): ModemEvent[] {
    const events: ModemEvent[] = [];
    if (this.#burstStart !== undefined) this.#endBurst(events);
    this.#cut(events);
    return events;
  }

  #step(value: number, events: ModemEvent[]): void {
    const slot = this.#count % this.#window;
    const square = value * value;
    const energy = this.#energy - (this.#squares[slot] ?? 0) + square;
    // Rounding can leave a trace below zero.
    this.#energy = energy > 0 ? energy : 0;
    this.#squares[slot] = square;
    this.#history[this.#count % historyLength] = value;
    this.#count++;
    const power = this.#energy / this.#window;
    if (power >= floorPower && power >= this.#noise * 4 && power >= this.#peak * endRatio) {
      if (power > this.#peak) this.#peak = power;
      this.#loud(power, events);
      this.#lastSound = this.#count;
      return;
    }
    if (this.#burstStart !== undefined) this.#endBurst(events);
    this.#peak *= this.#peakDecay;
    this.#noise += (power - this.#noise) * (power < this.#noise ? 0.3 : 0.001);
  }

  #loud(power: number, events: ModemEvent[]): void {
    if (this.#burstStart === undefined) {
      this.#burstStart = this.#count - 1;
      this.#announced &&= this.#burstStart - this.#lastSound < breakSeconds * this.#rate;
    }
    const length = this.#count - this.#burstStart;
    if (!this.#announced && length >= 0.01 * this.#rate) {
      this.#announced = true;
      events.push({ type: 'voice', at: this.#inputPosition(this.#burstStart) });
    }
    if (length > 0.15 * this.#rate) {
      // Steady noise: it becomes the floor above which tones are looked for.
      this.#noise = power;
      this.#endBurst(events);
    }
  }

  #endBurst(events: ModemEvent[]): void {
    const burst = this.#takeBurst();
    if (this.#isTail(burst)) return;
    const open = this.#fragment ?? this.#half;
    if (open && burst.start - open.end > breakSeconds * this.#rate && !this.#continues(burst)) this.#cut(events);
    this.#hear(burst, events);
  }

  /** Whether a pause parted these last few samples from a tone that was long enough without them. */
  #isTail({ samples }: Burst): boolean {
    const { length, half } = this.#lastTone;
    const whole = (measured[half] + toleranceSeconds) * this.#rate;
    return samples.length < 0.005 * this.#rate && length > 0 && length + samples.length <= whole;
  }

  /** A burst with what was heard of its tone before a pause. */
  #joined(burst: Burst): Burst | undefined {
    const before = this.#fragment;
    return before && burst.start - before.end > shortestPause * this.#rate ? join(before, burst) : undefined;
  }

  /** Whether, after a pause, a burst goes on with what was open before it. */
  #continues(burst: Burst): boolean {
    const joined = this.#joined(burst) ?? burst;
    const expected = this.#half ? 1 : 0;
    return this.#symbol(joined)?.half === expected || this.#couldGrow(joined);
  }

  #takeBurst(): Burst {
    const from = Math.max(0, (this.#burstStart ?? this.#count) - this.#window, this.#count - historyLength);
    const samples = new Float32Array(this.#count - from);
    const slot = from % historyLength;
    const head = this.#history.subarray(slot, Math.min(historyLength, slot + samples.length));
    samples.set(head);
    samples.set(this.#history.subarray(0, samples.length - head.length), head.length);
    this.#burstStart = undefined;
    const [first, last] = edges(samples, Math.round(edgeSeconds * this.#rate));
    return { start: from + first, end: from + last, samples: samples.subarray(first, last) };
  }

  #hear(burst: Burst, events: ModemEvent[]): void {
    this.#lastTone = { length: 0, half: 0 };
    const joined = this.#joined(burst);
    const symbol = this.#symbol(joined ?? burst);
    if (joined && symbol) {
      this.#fragment = undefined;
      this.#take(symbol, joined, events);
      return;
    }
    if (this.#fragment) {
      if (joined && this.#couldGrow(joined)) {
        this.#fragment = joined;
        return;
      }
      if (this.#isSmear(this.#fragment, burst)) this.#fragment = undefined;
      else this.#damage(this.#fragment, events);
      this.#hear(burst, events);
      return;
    }
    if (symbol?.half === (this.#half ? 1 : 0)) this.#take(symbol, burst, events);
    else if (symbol && this.#half) {
      // The second half of a byte is missing.
      this.#damage(undefined, events);
      this.#take(symbol, burst, events);
    } else if (this.#couldGrow(burst)) this.#fragment = burst;
    else if (this.#isNoise(burst)) {
      events.push({ type: 'noise', start: this.#inputPosition(burst.start), end: this.#inputPosition(burst.end) });
    } else this.#damage(burst, events);
  }

  #take(symbol: Tone, burst: Burst, events: ModemEvent[]): void {
    const { start, end } = this.#place(symbol.half, burst);
    const isClose = burst.start - this.#lastEnd < shortestGap * this.#rate;
    this.#lastTone = { length: burst.samples.length, half: symbol.half };
    this.#lastEnd = burst.end;
    if (isClose) {
      this.#damage(burst, events);
      return;
    }
    if (symbol.half === 0) {
      this.#half = { nibble: symbol.nibble, start, end };
      return;
    }
    const first = this.#half;
    this.#half = undefined;
    if (first) this.#byte({ value: first.nibble * 16 + symbol.nibble, start: first.start, end }, events);
    else this.#damage(burst, events);
  }

  /** Where a tone begins and ends: by the centre of its energy, which no threshold moves. */
  #place(half: Half, { start, samples }: Burst): { start: number; end: number } {
    let energy = 0;
    let moment = 0;
    for (let index = 0; index < samples.length; index++) {
      const power = (samples[index] ?? 0) ** 2;
      energy += power;
      moment += power * index;
    }
    const centre = start + moment / energy;
    const reach = (halves[half].seconds * this.#rate) / 2;
    return { start: centre - reach, end: centre + reach };
  }

  #byte(byte: { value: number; start: number; end: number }, events: ModemEvent[]): void {
    const lead = byte.value < 0x80 || byte.value >= 0xc0;
    const before = this.#bytes.at(-1);
    if (lead && before && byte.start - before.end > breakSeconds * this.#rate) this.#cut(events);
    else if (lead) this.#flushBytes(events);
    this.#bytes.push(byte);
    const first = this.#bytes[0] ?? byte;
    const length =
      first.value < 0x80 ? 1 : first.value >= 0xf0 ? 4 : first.value >= 0xe0 ? 3 : first.value >= 0xc0 ? 2 : 0;
    if (this.#bytes.length >= length) this.#flushBytes(events);
  }

  #flushBytes(events: ModemEvent[]): void {
    const [first] = this.#bytes;
    const last = this.#bytes.at(-1);
    if (!first || !last) return;
    const text = new TextDecoder().decode(Uint8Array.from(this.#bytes, (byte) => byte.value));
    this.#bytes.length = 0;
    this.#emit([...text].length === 1 ? text : damaged, first.start, last.end, events);
  }

  #damage(burst: Burst | undefined, events: ModemEvent[]): void {
    const known = this.#half ?? this.#fragment ?? burst;
    const last = burst ?? this.#fragment ?? this.#half;
    this.#half = undefined;
    this.#fragment = undefined;
    this.#flushBytes(events);
    if (known && last) this.#emit(damaged, known.start, last.end, events);
  }

  #cut(events: ModemEvent[]): void {
    const known = this.#bytes[0] ?? this.#half ?? this.#fragment;
    const last = this.#fragment ?? this.#half ?? this.#bytes.at(-1);
    this.#half = undefined;
    this.#fragment = undefined;
    this.#bytes.length = 0;
    if (known && last) {
      events.push({ type: 'cut', start: this.#inputPosition(known.start), end: this.#inputPosition(last.end) });
    }
  }

  #emit(character: string, start: number, end: number, events: ModemEvent[]): void {
    events.push({ type: 'character', character, start: this.#inputPosition(start), end: this.#inputPosition(end) });
  }

  /** Whether this may be the beginning of a tone whose rest follows: a pure tone, but too short. */
  #couldGrow(burst: Burst): boolean {
    const seconds = burst.samples.length / this.#rate;
    const expected = measured[this.#half ? 1 : 0];
    return seconds < expected - toleranceSeconds && (seconds < shortestClear || this.#pair(burst) !== undefined);
  }

  #isNoise(burst: Burst): boolean {
    const isApart = burst.start - this.#lastEnd > breakSeconds * this.#rate;
    return (
      isApart &&
      !this.#half &&
      !this.#fragment &&
      (burst.samples.length > 0.06 * this.#rate || this.#pair(burst) === undefined)
    );
  }

  /** Whether a fragment is what a lossy codec smears before an onset: the first sound in a while, far below the next. */
  #isSmear(fragment: Burst, next: Burst): boolean {
    const isApart = fragment.start - this.#lastEnd > breakSeconds * this.#rate;
    return isApart && !this.#half && meanPower(fragment) < smearRatio * meanPower(next);
  }

  #symbol(burst: Burst): Tone | undefined {
    const seconds = burst.samples.length / this.#rate;
    const half = measured.findIndex((each) => Math.abs(seconds - each) < toleranceSeconds);
    if (half < 0) return undefined;
    const nibble = this.#pair(burst);
    return nibble === undefined ? undefined : { half: half === 0 ? 0 : 1, nibble };
  }

  /** The number of the DTMF pair that a burst consists of, from its beginning to its end. */
  #pair({ samples, parts }: Burst): number | undefined {
    if (!parts) return this.#pairOf(samples);
    // At a pause the phase may jump: each part is heard for itself.
    const clear = parts.filter((part) => part.length >= shortestClear * this.#rate);
    const [pair, ...others] = clear.map((part) => this.#pairOf(part));
    return others.every((other) => other === pair) ? pair : undefined;
  }

  #pairOf(samples: Float32Array): number | undefined {
    const length = Math.min(samples.length, Math.round(0.022 * this.#rate));
    const from = (samples.length - length) >> 1;
    const part = samples.subarray(from, from + length);
    let energy = 0;
    for (const value of part) energy += value * value;
    const row = strongest(part, rows, this.#rate);
    const column = strongest(part, columns, this.#rate);
    const held = (2 * (row.power + column.power)) / (length * energy);
    const twist = row.power / column.power;
    if (held < purity || twist < 0.1 || twist > 10) return undefined;
    const middle = length >> 1;
    const isOne = [part.subarray(0, middle), part.subarray(middle)].every(
      (half) =>
        strongest(half, rows, this.#rate).index === row.index &&
        strongest(half, columns, this.#rate).index === column.index,
    );
    return isOne ? row.index * 4 + column.index : undefined;
  }

  #inputPosition(decimated: number): number {
    return Math.max(0, decimated * this.#factor);
  }
}

function meanPower({ samples }: Burst): number {
  return samples.reduce((sum, value) => sum + value * value, 0) / samples.length;
}

function join(first: Burst, second: Burst): Burst {
  const samples = new Float32Array(first.samples.length + second.samples.length);
  samples.set(first.samples);
  samples.set(second.samples, first.samples.length);
  const parts = [...(first.parts ?? [first.samples]), second.samples];
  return { start: second.end - samples.length, end: second.end, samples, parts };
}

/** Where the sound in some samples begins and ends. */
function edges(samples: Float32Array, window: number): [first: number, last: number] {
  const powers = new Float32Array(Math.max(1, samples.length - window + 1));
  let energy = 0;
  let peak = 0;
  for (let index = 0; index < samples.length; index++) {
    energy += (samples[index] ?? 0) ** 2 - (index < window ? 0 : (samples[index - window] ?? 0) ** 2);
    if (index < window - 1) continue;
    powers[index - window + 1] = energy;
    if (energy > peak) peak = energy;
  }
  const isLoud = (power: number): boolean => power >= peak * edgeRatio;
  return [Math.max(0, powers.findIndex(isLoud)), Math.min(samples.length, powers.findLastIndex(isLoud) + window)];
}

/** The strongest of some frequencies, by Goertzel's algorithm. */
function strongest(
  samples: Float32Array,
  frequencies: readonly number[],
  sampleRate: number,
): { index: number; power: number } {
  let best = { index: 0, power: 0 };
  frequencies.forEach((frequency, index) => {
    const coefficient = 2 * Math.cos((2 * Math.PI * frequency) / sampleRate);
    let before = 0;
    let last = 0;
    for (const value of samples) {
      const next = value + coefficient * last - before;
      before = last;
      last = next;
    }
    const power = last * last + before * before - coefficient * last * before;
    if (power > best.power) best = { index, power };
  });
  return best;
}

/** A word with its place in the audio, in milliseconds. */
export interface HeardWord {
  readonly text: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** What a listener heard of a recording. */
export interface Heard {
  /** The characters heard to their end, damaged ones as U+FFFD. */
  readonly text: string;
  /** The words of `text` heard to their end: an unfinished last one is left out when the voice was cut in it. */
  readonly words: readonly HeardWord[];
  /** Stretches of text between pauses of `pauseMs`, trimmed: as a rule, one for each thing that was said. */
  readonly utterances: readonly string[];
  /** Whether the last thing said was cut in the middle of a character. */
  readonly cut: boolean;
  /** Whether any text was damaged. */
  readonly damaged: boolean;
}

/**
 * What was heard in mono 16-bit samples.
 *
 * @param pauseMs silence that parts two utterances. Default: 250 ms.
 */
export function decodeSamples(samples: Int16Array, sampleRate: number, pauseMs = 250): Heard {
  const decoder = new ModemDecoder(sampleRate);
  const events = [...decoder.push(samples), ...decoder.end()];
  const toMs = (position: number): number => (position / sampleRate) * 1000;
  const words: HeardWord[] = [];
  const utterances: string[] = [];
  let text = '';
  let utterance = '';
  let word: HeardWord | undefined;
  let cut = false;
  let lastEnd = 0;
  const endWord = (): void => {
    if (word) words.push(word);
    word = undefined;
  };
  const endUtterance = (): void => {
    endWord();
    if (utterance.trim()) utterances.push(utterance.trim());
    utterance = '';
  };
  for (const event of events) {
    if (event.type === 'cut') {
      cut = true;
      word = undefined;
    }
    if (event.type !== 'character') continue;
    cut = false;
    if (toMs(event.start) - lastEnd >= pauseMs) endUtterance();
    lastEnd = toMs(event.end);
    text += event.character;
    utterance += event.character;
    if (/\s/.test(event.character)) endWord();
    else
      word = {
        text: (word?.text ?? '') + event.character,
        startMs: word?.startMs ?? toMs(event.start),
        endMs: lastEnd,
      };
  }
  endUtterance();
  return { text, words, utterances, cut, damaged: text.includes(damaged) };
}

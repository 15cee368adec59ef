import { concatMap, defer, from, map, Subject, tap, type Observable, type ObservableInput } from 'rxjs';
import { Provider, type AudioChunk, type AudioMetadata, type SpokenWord, type TTSProvider } from 'rxvoice';
import { int16Bytes } from 'rxvoice/audio';

/** Settings of a {@link MorseTTS}. */
export interface MorseConfig {
  /** Length of a dot, in milliseconds, 20 to 500. Default: 60. */
  readonly unitMs?: number;
}

const format: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };
const toneHz = 600;

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
const signs =
  '.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. ' +
  '----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.';
const codes = new Map(signs.split(' ').map((sign, index) => [letters[index], sign]));

/** A word in units of tone (above 0) and silence: a dot 1, a dash 3, between marks 1, letters 3, words 7. */
function beatsOf(word: string): number[] {
  const known = [...word.toLowerCase()].flatMap((letter) => codes.get(letter) ?? []);
  return known.flatMap((sign, index) => {
    const marks = [...sign].flatMap((mark) => [mark === '.' ? 1 : 3, -1]);
    return [...marks.slice(0, -1), index < known.length - 1 ? -3 : -7];
  });
}

/** Says everything in Morse code: no service, and no network. */
export class MorseTTS extends Provider<MorseConfig> implements TTSProvider {
  readonly name = 'MorseTTS';
  readonly roles = ['tts'] as const;
  readonly type = 'rest';
  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  readonly #words$ = new Subject<SpokenWord>();

  constructor(config: MorseConfig = {}) {
    super(config);
    this.assertConfig();
  }

  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#audio$);
  }

  get metadata$(): Observable<AudioMetadata> {
    return this.handOut('metadata$', this.#metadata$);
  }

  get words$(): Observable<SpokenWord> {
    return this.handOut('words$', this.#words$);
  }

  getMetadata(): AudioMetadata {
    return format;
  }

  speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    // All that an utterance knows is made when somebody subscribes: two of them share nothing.
    return defer(() => {
      const utteranceId = crypto.randomUUID();
      let startMs = 0;
      this.#metadata$.next(format);
      return from(text$).pipe(
        concatMap((text) => text.match(/\S+/g) ?? []),
        map((text) => {
          const samples = this.#tones(beatsOf(text));
          const endMs = startMs + (samples.length * 1000) / format.sampleRate;
          this.#words$.next({ text, startMs, endMs, utteranceId });
          startMs = endMs;
          return { data: int16Bytes(samples), metadata: format, utteranceId };
        }),
        tap((chunk) => this.#audio$.next(chunk)),
      );
    });
  }

  protected override configProblem(): string | undefined {
    const { unitMs = 60 } = this.config;
    return unitMs >= 20 && unitMs <= 500 ? undefined : 'unitMs must be a number from 20 to 500';
  }

  #tones(beats: readonly number[]): Int16Array<ArrayBuffer> {
    const unit = ((this.config.unitMs ?? 60) * format.sampleRate) / 1000;
    const samples = new Int16Array(beats.reduce((sum, beat) => sum + Math.abs(beat), 0) * unit);
    let at = 0;
    for (const beat of beats) {
      const end = at + Math.abs(beat) * unit;
      for (; at < end; at += 1) {
        samples[at] = beat > 0 ? 8_000 * Math.sin((2 * Math.PI * toneHz * at) / format.sampleRate) : 0;
      }
    }
    return samples;
  }
}

/**
 * A service of the three fails in the middle of a conversation, and another one is there. What goes wrong then: words are
 * heard or said twice, words are lost between the two, a tool runs twice, the first one is never used again, or its
 * keep-alives pass for progress.
 *
 * Slow: every fate of two pieces with each of two voices, 625 conversations.
 */
import { map, merge, mergeMap, NEVER, Observable, of, startWith, Subject, take, throwError, timer } from 'rxjs';
import {
  type AudioChunk,
  type ConnectionEvent,
  fallback,
  type FallbackOptions,
  type LLMEvent,
  type LLMProvider,
  type SpokenWord,
  type STTProvider,
  type TranscriptionResult,
  type TTSProvider,
} from 'rxvoice';
import { audioToText, FakeLLM, FakeSTT, FakeTTS, textAudioFormat, textToAudio, tokensOf } from 'rxvoice/testing';
import { VoiceError } from '../../lib/core/errors.ts';
import { TestClock } from '../transport/test-clock.ts';

const broken = (message: string): VoiceError => new VoiceError(message, { code: 'server', recoverable: true });

/** What happens on its connection, as lines. */
function switchesOf(provider: { readonly connection$?: Observable<ConnectionEvent> }): string[] {
  const lines: string[] = [];
  provider.connection$?.subscribe((event) => {
    lines.push(
      event.type === 'fallback' ? `${event.from} -> ${event.to}: ${event.error?.message ?? 'ok'}` : event.type,
    );
  });
  return lines;
}

let clock: TestClock;
beforeEach(() => {
  clock = new TestClock();
});

async function ready<P extends { initialize(): Promise<void> }>(provider: P): Promise<P> {
  const initialized = provider.initialize();
  await clock.advance(0);
  await initialized;
  return provider;
}

class NamedLLM extends FakeLLM {
  override readonly name: 'FakeLLM';
  constructor(name: string, answer: () => string | readonly LLMEvent[] | Observable<LLMEvent>) {
    super({ scheduler: clock, answer });
    this.name = name as 'FakeLLM';
  }
}

describe('fallback() of language models', () => {
  const chain = (first: FakeLLM, second: FakeLLM, options: FallbackOptions = {}): Promise<LLMProvider> =>
    ready(fallback(first as LLMProvider, second, { scheduler: clock, ...options }));

  function ask(llm: LLMProvider): string[] {
    const lines: string[] = [];
    const told = (text: string): number => lines.push(`${clock.now()} ${text}`);
    llm.generate([{ role: 'user', content: 'hi' }]).subscribe({
      next: (event) => told(event.type === 'token' ? event.text : event.type),
      error: (error: unknown) => told(`error ${VoiceError.from(error).message}`),
      complete: () => told('end'),
    });
    return lines;
  }

  it('no useful token within 3 s: the next one answers, and the first request is aborted', async () => {
    const first = new NamedLLM('A', () => NEVER);
    const second = new NamedLLM('B', () => 'Hello there.');
    const llm = await chain(first, second);
    const switches = switchesOf(llm);
    const lines = ask(llm);
    await clock.advance(4_000);
    expect(lines).toEqual(['3100 Hello', '3110  there.', '3120 done', '3120 end']);
    expect(first.requests[0]?.outcome).toBe('aborted');
    expect(switches).toEqual(['A -> B: A: no useful token within 3000 ms']);
    expect(llm.name).toBe('B');
  });

  it('a backup has 6 s; when none of them works the error names all', async () => {
    const llm = await chain(
      new NamedLLM('A', () => throwError(() => broken('A: down'))),
      new NamedLLM('B', () => NEVER),
    );
    const lines = ask(llm);
    await clock.advance(7_000);
    expect(lines).toEqual(['6000 error all providers of the chain failed: A: down; B: no useful token within 6000 ms']);
  });

  it('keep-alives, empty deltas and white space are no progress', async () => {
    const blank = timer(100, 100, clock).pipe(map((): LLMEvent => ({ type: 'token', text: ' ' })));
    const llm = await chain(new NamedLLM('A', () => blank), new NamedLLM('B', () => 'Well.'));
    const lines = ask(llm);
    await clock.advance(4_000);
    expect(lines).toEqual(['3100 Well.', '3110 done', '3110 end']);
  });

  it('white space before a useful token is part of the answer', async () => {
    const events: LLMEvent[] = [{ type: 'token', text: '' }, { type: 'token', text: ' ' }, ...tokensOf('Well.')];
    const llm = await chain(new NamedLLM('A', () => events), new NamedLLM('B', () => 'No.'));
    const lines = ask(llm);
    await clock.advance(1_000);
    expect(lines).toEqual(['120  ', '120 Well.', '130 done', '130 end']);
  });

  it('an answer that has begun is never begun twice; the next one is the backup’s', async () => {
    const half = of<LLMEvent>({ type: 'token', text: 'I was' });
    const dies = timer(200, clock).pipe(
      mergeMap(() => throwError(() => broken('A: died'))),
      startWith(null),
    );
    const first = new NamedLLM('A', () => dies.pipe(mergeMap(() => half)));
    const second = new NamedLLM('B', () => 'Well.');
    const llm = await chain(first, second);
    const lines = ask(llm);
    await clock.advance(1_000);
    expect(lines).toEqual(['0 I was', '200 error A: died']);
    expect(second.requests).toHaveLength(0);
    const next = ask(llm);
    await clock.advance(1_000);
    expect(next).toEqual(['1100 Well.', '1110 done', '1110 end']);
  });

  it('a tool call is never doubled: it counts as the beginning of an answer', async () => {
    const call: LLMEvent = { type: 'tool-call', id: '1', name: 'book', args: {}, argsText: '{}' };
    const dies = timer(200, clock).pipe(
      mergeMap(() => throwError(() => broken('A: died'))),
      startWith(null),
    );
    const first = new NamedLLM('A', () => dies.pipe(map(() => call)));
    const second = new NamedLLM('B', () => [call]);
    const llm = await chain(first, second);
    const lines = ask(llm);
    await clock.advance(1_000);
    expect(lines).toEqual(['0 tool-call', '200 error A: died']);
    expect(second.requests).toHaveLength(0);
  });

  it('unsubscribing reaches the one in use, and nobody else is asked', async () => {
    const first = new NamedLLM('A', () => throwError(() => broken('A: down')));
    const second = new NamedLLM('B', () => NEVER);
    const third = new NamedLLM('C', () => 'No.');
    const llm = await ready(fallback(first as LLMProvider, second, third, { scheduler: clock }));
    const asked = llm.generate([]).subscribe();
    await clock.advance(100);
    asked.unsubscribe();
    await clock.advance(20_000);
    expect(second.requests.map(({ outcome }) => outcome)).toEqual(['aborted']);
    expect(third.requests).toHaveLength(0);
  });

  it('the first one is probed back: every 30 s, with a request of its own', async () => {
    let isDown = true;
    const first = new NamedLLM('A', () => (isDown ? throwError(() => broken('A: down')) : 'OK.'));
    const llm = await chain(first, new NamedLLM('B', () => 'Well.'));
    const switches = switchesOf(llm);
    ask(llm);
    await clock.advance(59_000);
    expect(first.requests).toHaveLength(2);
    isDown = false;
    ask(llm);
    await clock.advance(2_000);
    expect(switches).toEqual(['A -> B: A: down', 'B -> A: ok']);
    expect(first.requests.at(-1)).toMatchObject({ messages: [{ content: 'Say OK.' }], outcome: 'aborted' });
    expect(llm.name).toBe('A');
    await clock.advance(120_000);
    expect(first.requests).toHaveLength(3);
    const disposed = llm.dispose();
    await clock.advance(0);
    await disposed;
    expect(clock.pending).toBe(0);
  });

  it('the first one is not probed while nobody calls, which would cost; the next call does, even before it asks', async () => {
    for (const begin of [(llm: LLMProvider) => void ask(llm), (llm: LLMProvider) => void llm.warm?.()]) {
      let isDown = true;
      const first = new NamedLLM('A', () => (isDown ? throwError(() => broken('A: down')) : 'OK.'));
      const llm = await chain(first, new NamedLLM('B', () => 'Well.'));
      ask(llm);
      await clock.advance(3_600_000);
      // The call's own request, and one probe after it.
      expect(first.requests).toHaveLength(2);
      isDown = false;
      begin(llm);
      await clock.advance(1_000);
      expect(llm.name).toBe('A');
      expect(first.requests).toHaveLength(3);
      const disposed = llm.dispose();
      await clock.advance(0);
      await disposed;
      expect(clock.pending).toBe(0);
    }
  });

  it('disposal leaves nothing behind that was still being initialized', async () => {
    let isUp = false;
    let finish = (): void => undefined;
    const tries = [
      () => Promise.reject(broken('A: no key')),
      () =>
        new Promise<void>((resolve) => {
          finish = () => {
            isUp = true;
            resolve();
          };
        }),
    ];
    const first = Object.assign(new NamedLLM('A', () => throwError(() => broken('A: down'))), {
      initialize: () => tries.shift()?.() ?? Promise.resolve(),
      isReady: () => isUp,
      dispose: () => {
        isUp = false;
        return Promise.resolve();
      },
    });
    const llm = await chain(first, new NamedLLM('B', () => 'Second.'));
    // A failure at the beginning: the next one answers, and the first one is tried from then on.
    ask(llm);
    await clock.advance(31_000);
    const disposed = llm.dispose();
    await clock.advance(0);
    await disposed;
    finish();
    await clock.advance(0);
    expect(isUp).toBe(false);
    expect(tries).toEqual([]);
  });

  it('disposal reaches all, and ends the probing', async () => {
    const first = new NamedLLM('A', () => throwError(() => broken('A: down')));
    const second = new NamedLLM('B', () => NEVER);
    const llm = await chain(first, second);
    const lines = ask(llm);
    await clock.advance(10);
    const disposed = llm.dispose();
    await clock.advance(0);
    await disposed;
    expect([first.isReady(), second.isReady(), llm.isReady()]).toEqual([false, false, false]);
    expect(lines.at(-1)).toContain('error');
    expect(second.requests[0]?.outcome).toBe('aborted');
    expect(clock.pending).toBe(0);
  });

  it('starts with one of them alone: the failure of the other is an error, and is tried again', async () => {
    let isMissing = true;
    class Missing extends NamedLLM {
      protected override onInitialize(): void {
        if (isMissing) throw broken('A: no key');
      }
    }
    const first = new Missing('A', () => 'First.');
    const chained = fallback(first as LLMProvider, new NamedLLM('B', () => 'Second.'), { scheduler: clock });
    const errors: string[] = [];
    chained.errors$?.subscribe(({ message }) => errors.push(message));
    const llm = await ready(chained);
    expect(errors).toEqual(['A could not be initialized: no key']);
    isMissing = false;
    ask(llm);
    await clock.advance(1_000);
    expect(first.requests).toHaveLength(1);
    const disposed = llm.dispose();
    await clock.advance(0);
    await disposed;
  });

  it('takes plain objects, and refuses what has no role in common', async () => {
    const plain = asPlain(new NamedLLM('A', () => 'Plain.'));
    const llm = await ready(fallback(plain, new NamedLLM('B', () => 'No.'), { scheduler: clock }));
    const lines = ask(llm);
    await clock.advance(1_000);
    expect(lines[0]).toBe('100 Plain.');
    const mixed = [new FakeLLM(), new FakeTTS()] as unknown as [LLMProvider, LLMProvider];
    expect(() => fallback(...mixed)).toThrow(
      'fallback() needs providers of one role, stt, llm or tts: FakeLLM, FakeTTS',
    );
  });

  it.each<readonly [string, readonly unknown[]]>([
    ['nothing', []],
    ['an array of them', [[new FakeLLM(), new FakeLLM()]]],
    ['an array after one', [new FakeLLM(), [new FakeLLM()]]],
    ['null', [new FakeLLM(), null]],
    ['a class', [FakeLLM, new FakeLLM()]],
    ['options alone', [{ probeMs: 5 }]],
  ])('refuses %s in place of providers', (_, given) => {
    const create = fallback as (...all: readonly unknown[]) => unknown;
    expect(() => create(...given)).toThrow(
      'fallback() takes providers, then options: write fallback(new NuLLM({ … }), new ThetaLLM({ … }))',
    );
  });

  it('refuses an option that there is not', async () => {
    const chain = fallback(new FakeLLM(), new FakeLLM(), { firstToken: 500 } as FallbackOptions);
    await expect(chain.initialize()).rejects.toThrow('there is no option firstToken, only scheduler, firstTokenMs, ');
  });
});

/** The same as an object with nothing but the contract's members. */
function asPlain(llm: FakeLLM): LLMProvider {
  return {
    name: llm.name,
    roles: ['llm'],
    tokens$: llm.tokens$,
    initialize: () => llm.initialize(),
    dispose: () => llm.dispose(),
    isReady: () => true,
    generate: (messages, options) => llm.generate(messages, options),
  };
}

/** A voice that can hang, die in the middle of a piece, or be silent. */
class NamedTTS extends FakeTTS {
  override readonly name: 'FakeTTS';
  /** By piece: what becomes of it. */
  readonly fates: Readonly<Record<string, 'hangs' | 'dies' | 'dies in the middle' | 'is mute'>>;
  constructor(name: string, fates: NamedTTS['fates'] = {}, words: boolean = true) {
    super({ scheduler: clock, words });
    this.name = name as 'FakeTTS';
    this.fates = fates;
  }

  override speak(text$: Parameters<FakeTTS['speak']>[0]): Observable<AudioChunk> {
    return new Observable((subscriber) => {
      let text = '';
      const whole = super.speak(text$);
      const input = (text$ as Observable<string>).subscribe((piece) => {
        text = piece;
      });
      input.unsubscribe();
      const fate = this.fates[text];
      if (!fate) return whole.subscribe(subscriber);
      this.pieces.push(text);
      subscriber.add(() => this.cancelled++);
      if (fate === 'dies') subscriber.error(broken(`${this.name}: died`));
      else if (fate === 'is mute') subscriber.complete();
      else if (fate === 'dies in the middle') return this.#half(text).subscribe(subscriber);
      return undefined;
    });
  }

  #half(text: string): Observable<AudioChunk> {
    const said = text.slice(0, text.indexOf(' ', text.length / 2));
    const utteranceId = `half-${text}`;
    const chunk: AudioChunk = { data: textToAudio(said), metadata: textAudioFormat, utteranceId };
    return timer(50, 50, clock).pipe(
      map((count) => {
        if (count > 0) throw broken(`${this.name}: died`);
        for (const { 0: word, index } of said.matchAll(/\S+/g)) {
          const startMs = index * 50;
          const told: SpokenWord = { text: word, startMs, endMs: startMs + word.length * 50, utteranceId };
          if (this.config.words) this.told$.next(told);
        }
        return chunk;
      }),
    );
  }

  readonly told$: Subject<SpokenWord> = new Subject<SpokenWord>();
  override get words$(): Observable<SpokenWord> {
    return merge(super.words$, this.told$);
  }
}

describe('fallback() of voices', () => {
  const chain = (first: TTSProvider, second: TTSProvider, options: FallbackOptions = {}): Promise<TTSProvider> =>
    ready(fallback(first, second, { scheduler: clock, ...options }));

  function speak(tts: TTSProvider, pieces: readonly string[], everyMs: number = 0) {
    const heard: AudioChunk[] = [];
    const words: string[] = [];
    const lines: string[] = [];
    tts.words$?.subscribe(({ text, startMs }) => words.push(`${startMs} ${text}`));
    const text$ = timer(0, everyMs, clock).pipe(
      mergeMap((index) => (pieces[index] === undefined ? [] : [pieces[index]])),
      take(pieces.length),
    );
    const speaking = tts.speak(text$).subscribe({
      next: (chunk) => {
        heard.push(chunk);
        lines.push(String(clock.now()));
      },
      error: (error: unknown) => lines.push(`error ${VoiceError.from(error).message}`),
      complete: () => lines.push('end'),
    });
    return { speaking, lines, words, text: () => audioToText(heard), heard };
  }

  it('no audio within 2.5 s: the next voice says it, and the first one is cancelled', async () => {
    const [first, second] = [new NamedTTS('A', { 'One.': 'hangs' }), new NamedTTS('B')];
    const tts = await chain(first, second);
    const switches = switchesOf(tts);
    const said = speak(tts, ['One.']);
    await clock.advance(3_000);
    expect(said.text()).toBe('One.');
    expect(said.lines).toEqual(['2550', 'end']);
    expect(first.cancelled).toBe(1);
    expect(switches).toEqual(['A -> B: A: no audio within 2500 ms']);
  });

  it('continues from the sentence that was not said: nothing twice, nothing lost', async () => {
    const [first, second] = [new NamedTTS('A', { 'Two.': 'dies' }), new NamedTTS('B')];
    const said = speak(await chain(first, second), ['One.', 'Two.', 'Three.']);
    await clock.advance(3_000);
    expect(said.text()).toBe('One.Two.Three.');
    expect(second.pieces).toEqual(['Two.', 'Three.']);
    expect(said.words).toEqual(['0 One.', '200 Two.', '400 Three.']);
    expect(new Set(said.heard.map(({ utteranceId }) => utteranceId)).size).toBe(1);
  });

  it('a voice that dies in the middle of a sentence: the next one goes on with the next word', async () => {
    const sentence = 'the quick brown fox jumps over it';
    const [first, second] = [new NamedTTS('A', { [sentence]: 'dies in the middle' }), new NamedTTS('B')];
    const said = speak(await chain(first, second), ['One.', sentence, 'Three.']);
    await clock.advance(3_000);
    expect(second.pieces).toEqual(['jumps over it', 'Three.']);
    expect(said.text()).toBe('One.the quick brown foxjumps over itThree.');
    expect(said.words.map((word) => word.split(' ')[1]).join(' ')).toBe(
      'One. the quick brown fox jumps over it Three.',
    );
  });

  it('its words tell where the next voice began', async () => {
    const first = new NamedTTS('A', { 'Three four five six.': 'dies in the middle' });
    const tts = await chain(first, new NamedTTS('B'));
    const places: unknown[] = [];
    tts.words$?.subscribe(({ text, resumesAt }) => places.push(resumesAt === undefined ? text : [text, resumesAt]));
    speak(tts, ['One two.', 'Three four five six.', 'Seven.']);
    await clock.advance(3_000);
    expect(places).toEqual(['One', 'two.', 'Three', 'four', ['five', 16], 'six.', 'Seven.']);
  });

  it('without word times it says the sentence anew: a word twice is better than none', async () => {
    const sentence = 'the quick brown fox';
    const first = new NamedTTS('A', { [sentence]: 'dies in the middle' }, false);
    const said = speak(await chain(first, new NamedTTS('B')), [sentence]);
    await clock.advance(3_000);
    expect(said.text()).toBe('the quickthe quick brown fox');
  });

  it('a voice that ends without audio is no voice', async () => {
    const said = speak(await chain(new NamedTTS('A', { 'One.': 'is mute' }), new NamedTTS('B')), ['One.', '…']);
    await clock.advance(3_000);
    expect(said.text()).toBe('One.…');
  });

  it('what was synthesized ahead by the voice that failed is said by the next one as well', async () => {
    const [first, second] = [new NamedTTS('A', { 'One.': 'hangs' }), new NamedTTS('B')];
    const said = speak(await chain(first, second), ['One.', 'Two.']);
    await clock.advance(5_000);
    expect(second.pieces).toEqual(['One.', 'Two.']);
    expect(said.text()).toBe('One.Two.');
  });

  it('a text that comes slowly is no reason to change voices', async () => {
    const [first, second] = [new NamedTTS('A'), new NamedTTS('B')];
    const said = speak(await chain(first, second), ['One.', 'Two.', 'Three.'], 4_000);
    await clock.advance(20_000);
    expect(said.text()).toBe('One.Two.Three.');
    expect(second.pieces).toEqual([]);
  });

  it('cancelling reaches the voice in use, in the same tick', async () => {
    const [first, second] = [new NamedTTS('A', { 'One.': 'dies' }), new NamedTTS('B', { 'One.': 'hangs' })];
    const said = speak(await chain(first, second), ['One.']);
    await clock.advance(100);
    said.speaking.unsubscribe();
    expect(second.cancelled).toBe(1);
    await clock.advance(20_000);
    expect(said.lines).toEqual([]);
  });

  it('the audio is in one format, whoever speaks', async () => {
    const wide = { encoding: 'linear16', sampleRate: 16_000, channels: 1 } as const;
    const second = new NamedTTS('B');
    const speakWide: TTSProvider['speak'] = () =>
      of({ data: new Uint8Array(32_000), metadata: wide, utteranceId: 'w' });
    Object.assign(second, { speak: speakWide });
    const said = speak(await chain(new NamedTTS('A', { 'Two.': 'dies' }), second), ['One.', 'Two.']);
    await clock.advance(3_000);
    const bytes = said.heard.map(({ data }) => data.byteLength);
    expect(said.heard.map(({ metadata }) => metadata?.sampleRate ?? 8_000)).toEqual(bytes.map(() => 8_000));
    // 200 ms of the first, a second of the other.
    expect(bytes.reduce((sum, length) => sum + length) / 16).toBeCloseTo(1_200, -1);
  });

  it('when no voice is left, what was said stays said, and the error names all', async () => {
    const fates = { 'Two.': 'dies' } as const;
    const said = speak(await chain(new NamedTTS('A', fates), new NamedTTS('B', fates)), ['One.', 'Two.']);
    await clock.advance(3_000);
    expect(said.text()).toBe('One.');
    expect(said.lines.at(-1)).toBe('error all providers of the chain failed: A: died; B: died');
  });

  it('whatever becomes of each piece with each of two voices, it ends in time, and loses a word only with an error', async () => {
    const fates = [undefined, 'hangs', 'dies', 'dies in the middle', 'is mute'] as const;
    const pieces = ['one two three.', 'four five six.'];
    const whole = 'onetwothreefourfivesix';
    const lost: string[] = [];
    for (let code = 0; code < fates.length ** 4; code += 1) {
      clock = new TestClock();
      const fateOf = (place: number) => fates[Math.floor(code / fates.length ** place) % fates.length];
      const [first, second] = [0, 2].map((place, index) => {
        const own = pieces.map((piece, at) => [piece, fateOf(place + at)] as const);
        return new NamedTTS('AB'.charAt(index), Object.fromEntries(own) as NamedTTS['fates']);
      }) as [NamedTTS, NamedTTS];
      const tts = await chain(first, second);
      const said = speak(tts, pieces);
      await clock.advance(60_000);
      const heard = said.text().replace(/[^a-z]/g, '');
      const end = said.lines.at(-1) ?? '';
      const isWhole = heard === whole;
      if (end === 'end' ? !isWhole : !end.startsWith('error all providers of the chain failed'))
        lost.push(`${code}: ${end}`);
      // What an error cuts off is the end.
      expect(whole.startsWith(heard)).toBe(true);
      const disposed = tts.dispose();
      await clock.advance(0);
      await disposed;
      expect(clock.pending).toBe(0);
    }
    expect(lost).toEqual([]);
  });

  it('the first voice is probed back without being heard', async () => {
    const [first, second] = [new NamedTTS('A', { 'One.': 'dies' }), new NamedTTS('B')];
    const tts = await chain(first, second);
    const audio: AudioChunk[] = [];
    tts.audio$.subscribe((chunk) => audio.push(chunk));
    speak(tts, ['One.']);
    await clock.advance(31_000);
    expect(first.pieces).toEqual(['One.', 'Hello.']);
    expect(audioToText(audio)).toBe('One.');
    expect(tts.name).toBe('A');
  });
});

class NamedSTT extends FakeSTT {
  override readonly name: 'FakeSTT';
  readonly connection$: Subject<ConnectionEvent> = new Subject<ConnectionEvent>();
  /** How `connect()` ends. */
  fate: 'opens' | 'hangs' | 'refuses' = 'opens';
  connections = 0;
  disconnections = 0;

  constructor(name: string) {
    super({ scheduler: clock });
    this.name = name as 'FakeSTT';
  }

  override connect(): Promise<void> {
    this.connections++;
    if (this.fate === 'refuses') return Promise.reject(broken(`${this.name}: refused`));
    if (this.fate === 'hangs') return new Promise(() => undefined);
    return Promise.resolve();
  }

  override disconnect(): Promise<void> {
    this.disconnections++;
    return Promise.resolve();
  }

  /** The text of the audio that it was sent. */
  get heard(): string {
    return audioToText(this.sent);
  }
}

describe('fallback() of speech-to-text', () => {
  const again: ConnectionEvent = { type: 'reconnecting', attempt: 1, delayMs: 250 };
  let first: NamedSTT;
  let second: NamedSTT;
  let stt: STTProvider;
  let results: TranscriptionResult[];
  let connection: string[];
  beforeEach(async () => {
    [first, second] = [new NamedSTT('A'), new NamedSTT('B')];
    stt = await ready(fallback(first as STTProvider, second, { scheduler: clock }));
    results = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    connection = switchesOf(stt);
    stt.configureAudio(textAudioFormat);
  });
  afterEach(async () => {
    const disposed = stt.dispose();
    await clock.advance(1_000);
    await disposed;
    expect(clock.pending).toBe(0);
    expect([first.isReady(), second.isReady()]).toEqual([false, false]);
  });
  const say = (text: string): void => stt.sendAudio({ data: textToAudio(text), metadata: textAudioFormat });
  async function connected(): Promise<void> {
    const opened = stt.connect();
    await clock.advance(0);
    await opened;
  }
  /** A result with the time of its last word. */
  const hears = (heard: NamedSTT, text: string, kind: 'interim' | 'final', endMs: number): void =>
    heard.hearWords({ ...FakeSTT.result(text, kind, 'u1'), metadata: { words: [{ text, startMs: 0, endMs }] } });

  it('no connection within 5 s: the next one hears all of it, from the first sample', async () => {
    first.fate = 'hangs';
    const opened = stt.connect();
    say('abc');
    await clock.advance(4_999);
    expect(second.connections).toBe(0);
    say('def');
    await clock.advance(1);
    await opened;
    expect(second.heard).toBe('abcdef');
    say('ghi');
    expect([first.heard, second.heard]).toEqual(['', 'abcdefghi']);
    expect(connection).toEqual(['connecting', 'A -> B: A: no connection within 5000 ms', 'connecting', 'connected']);
    expect(first.disconnections).toBe(1);
  });

  it('a refusal takes no 5 s, and when all refuse connect() fails with both reasons', async () => {
    first.fate = second.fate = 'refuses';
    // Handled before it fails: a promise that rejects unheard ends the test under Deno.
    const refused = expect(stt.connect()).rejects.toThrow('all providers of the chain failed: A: refused; B: refused');
    await clock.advance(0);
    await refused;
    expect(connection.at(-1)).toBe('lost');
    first.fate = 'opens';
    await connected();
    expect(connection.at(-1)).toBe('connected');
  });

  it('a connection lost in mid-utterance: the next one hears that utterance from its start, and nothing before it', async () => {
    await connected();
    say('one ');
    hears(first, 'one', 'final', 200);
    say('two ');
    hears(first, 'two', 'interim', 400);
    first.connection$.next(again);
    say('three ');
    await clock.advance(5_000);
    expect(second.heard).toBe('two three ');
    hears(second, 'two three', 'final', 450);
    expect(results.map(({ text, utteranceComplete }) => [text, utteranceComplete])).toEqual([
      ['one', true],
      ['two', false],
      ['two three', true],
    ]);
    // Times count from the start of all audio.
    expect(results.at(-1)?.metadata?.words?.[0]?.endMs).toBe(650);
    // The same id of another service is another utterance.
    expect(results.at(-1)?.utteranceId).not.toBe('u1');
    // What the first one still says is nobody's.
    hears(first, 'two', 'final', 400);
    expect(results).toHaveLength(3);
  });

  it('no service for more than 60 s: tells what of the audio is lost', () => {
    first.fate = second.fate = 'hangs';
    const lost: number[] = [];
    stt.droppedMs$?.subscribe((ms) => lost.push(ms));
    const second8k = (): void => stt.sendAudio({ data: new Uint8Array(16_000), metadata: textAudioFormat });
    for (let seconds = 0; seconds < 60; seconds++) second8k();
    expect(lost).toEqual([]);
    second8k();
    second8k();
    expect(lost).toEqual([1_000, 1_000]);
  });

  it('a connection that returns within 5 s is kept', async () => {
    await connected();
    first.connection$.next(again);
    await clock.advance(4_900);
    first.connection$.next({ type: 'connected' });
    await clock.advance(60_000);
    expect(second.connections).toBe(0);
    expect(connection).toEqual(['connecting', 'connected', 'reconnecting', 'connected']);
  });

  it('a final that the application asked for is asked of the next one too', async () => {
    await connected();
    say('one');
    stt.finalize?.();
    first.connection$.next({ type: 'lost', error: broken('A: gone') });
    await clock.advance(0);
    expect([second.heard, second.finalizations]).toEqual(['one', 1]);
  });

  it('a final that has come is not asked for again, nor is one of the session before', async () => {
    await connected();
    say('one');
    stt.finalize?.();
    hears(first, 'one', 'final', 150);
    first.connection$.next({ type: 'lost', error: broken('A: gone') });
    await clock.advance(0);
    expect([first.finalizations, second.finalizations]).toEqual([1, 0]);
    stt.finalize?.();
    const closed = stt.disconnect();
    await clock.advance(0);
    await closed;
    await connected();
    expect(second.finalizations).toBe(1);
  });

  it('two services that die as soon as they are open do not take turns for ever', async () => {
    await connected();
    first.connection$.next({ type: 'lost', error: broken('A: gone') });
    await clock.advance(0);
    second.connection$.next({ type: 'lost', error: broken('B: gone') });
    await clock.advance(1_000);
    expect([first.connections, second.connections]).toEqual([1, 1]);
    expect(connection.at(-1)).toBe('lost');
  });

  it('one that has lasted 10 s may be tried again', async () => {
    first.fate = 'refuses';
    await connected();
    first.fate = 'opens';
    await clock.advance(10_001);
    second.connection$.next({ type: 'lost', error: broken('B: gone') });
    await clock.advance(0);
    expect(connection.slice(-3)).toEqual(['B -> A: B: gone', 'connecting', 'connected']);
  });

  it('the first one is probed back, between two utterances', async () => {
    first.fate = 'refuses';
    await connected();
    first.fate = 'opens';
    say('one ');
    hears(second, 'one', 'interim', 200);
    await clock.advance(31_000);
    expect(first.connections).toBe(2);
    expect(connection.at(-1)).toBe('connected');
    say('two ');
    hears(second, 'one two', 'final', 400);
    await clock.advance(0);
    say('three');
    expect(connection.slice(-2)).toEqual(['B -> A: ok', 'connected']);
    expect([first.heard, second.heard]).toEqual(['three', 'one two ']);
    expect([first.disconnections, second.disconnections]).toEqual([1, 1]);
  });

  it('the first one waits while a voice goes on, though it has no words yet', async () => {
    first.fate = 'refuses';
    await connected();
    first.fate = 'opens';
    second.hearVoice('started');
    await clock.advance(31_000);
    expect([first.connections, stt.name]).toEqual([2, 'B']);
    second.hearVoice('ended');
    await clock.advance(0);
    expect(stt.name).toBe('A');
  });

  it('an utterance that a disconnect cut off does not keep the first one waiting', async () => {
    first.fate = 'refuses';
    await connected();
    first.fate = 'opens';
    hears(second, 'one', 'interim', 200);
    const closed = stt.disconnect();
    await clock.advance(0);
    await closed;
    await connected();
    await clock.advance(31_000);
    expect(stt.name).toBe('A');
  });

  it('a backup gets the audio in a format that it accepts', async () => {
    Object.assign(second, { accepts: [{ encoding: 'linear16', sampleRates: [16_000] }] });
    first.fate = 'refuses';
    await connected();
    say('abcd');
    expect(second.sent[0]?.metadata).toMatchObject({ sampleRate: 16_000 });
    Object.assign(second, { accepts: [{ encoding: 'opus' }] });
    expect(() => stt.configureAudio(textAudioFormat)).toThrow('B does not support');
  });

  it('disconnect() waits for the last results of the one in use', async () => {
    await connected();
    say('one');
    let finish = (): void => undefined;
    first.disconnect = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const closed = stt.disconnect();
    hears(first, 'one', 'final', 150);
    finish();
    await clock.advance(0);
    await closed;
    expect(results.map(({ text }) => text)).toEqual(['one']);
    expect(connection.at(-1)).toBe('closed');
  });

  it('transcribe() begins anew with the next one, unless a result has come', () => {
    const errors: string[] = [];
    const recording = of({ data: textToAudio('abc'), metadata: textAudioFormat });
    const transcribed = (): unknown =>
      stt.transcribe(recording).subscribe({ error: (error: unknown) => errors.push(VoiceError.from(error).message) });
    first.transcribe = () => throwError(() => broken('A: down'));
    transcribed();
    expect(second.heard).toBe('abc');
    second.transcribe = () => throwError(() => broken('B: down')).pipe(startWith(FakeSTT.result('a', 'interim')));
    transcribed();
    expect(errors).toEqual(['B: down']);
  });
});

import { Subject } from 'rxjs';
import { Pipeline, VoiceError } from 'rxvoice';
import { FakeInput, FakeLLM, FakeSTT } from 'rxvoice/testing';
import type { PlaybackEvent } from '../../../lib/core/roles.ts';
import { nativeVoiceSpeaks$ } from '../../../lib/playback/native-voice.ts';
import { NativeTTS } from '../../../lib/providers/tts/native-tts.ts';
import type { NativeTTSConfig } from '../../../lib/providers/tts/native-tts-config.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';

/** One utterance, as a script plays it. */
class FakeUtterance {
  readonly text: string;
  voice: { readonly name: string } | null = null;
  lang = '';
  rate = 1;
  pitch = 1;
  volume = 1;
  onstart: (() => void) | null = null;
  onend: (() => void) | null = null;
  onerror: ((event: { error: string }) => void) | null = null;
  onboundary: ((event: { name: string; charIndex: number; charLength: number }) => void) | null = null;

  constructor(text: string) {
    this.text = text;
  }
  word(charIndex: number, charLength = 0): void {
    this.onboundary?.({ name: 'word', charIndex, charLength });
  }
}

/** The browser's voice, as a script plays it. */
class FakeSynthesis extends EventTarget {
  readonly spoken: FakeUtterance[] = [];
  readonly calls: string[] = [];
  paused = false;
  voices: { name: string; lang: string; default: boolean; localService?: boolean }[] = [
    { name: 'Google US English', lang: 'en-US', default: true },
    { name: 'Anna', lang: 'de_DE', default: false },
    { name: 'Anna (Premium)', lang: 'de-DE', default: false },
  ];

  get last(): FakeUtterance {
    const last = this.spoken.at(-1);
    if (!last) throw new Error('nothing is spoken');
    return last;
  }
  speak(utterance: FakeUtterance): void {
    this.calls.push('speak');
    this.spoken.push(utterance);
    this.dispatchEvent(new Event('spoken'));
  }
  cancel(): void {
    this.calls.push('cancel');
    this.spoken.at(-1)?.onerror?.({ error: 'interrupted' });
  }
  pause(): void {
    this.calls.push('pause');
    this.paused = true;
  }
  resume(): void {
    this.calls.push('resume');
    this.paused = false;
  }
  getVoices(): FakeSynthesis['voices'] {
    return this.voices;
  }
}

const fast = 85;

describe('NativeTTS', () => {
  let clock: TestClock;
  let synthesis: FakeSynthesis;
  const all: NativeTTS[] = [];
  beforeEach(() => {
    clock = new TestClock();
    synthesis = new FakeSynthesis();
    Object.assign(globalThis, { speechSynthesis: synthesis, SpeechSynthesisUtterance: FakeUtterance });
  });
  afterEach(async () => {
    await Promise.all(all.splice(0).map((tts) => tts.dispose()));
    Reflect.deleteProperty(globalThis, 'speechSynthesis');
    Reflect.deleteProperty(globalThis, 'SpeechSynthesisUtterance');
  });

  async function ready(config: NativeTTSConfig = {}): Promise<NativeTTS> {
    const tts = new NativeTTS({ scheduler: clock, ...config });
    all.push(tts);
    await tts.initialize();
    synthesis.calls.length = 0;
    await clock.advance(10);
    return tts;
  }

  /** Plays texts; the log has events with rounded positions. */
  function playing(tts: NativeTTS, texts: readonly string[]) {
    const log: string[] = [];
    const subscription = tts.play(tts.speak(texts)).subscribe({
      next: ({ type, positionMs }: PlaybackEvent) => log.push(`${type} ${Math.round(positionMs)}`),
      complete: () => log.push('complete'),
      error: (error: unknown) => log.push(`error ${VoiceError.from(error).code}`),
    });
    return { log, subscription };
  }

  it('covers tts and output, and says where it does not work', async () => {
    Reflect.deleteProperty(globalThis, 'speechSynthesis');
    const tts = new NativeTTS();
    expect(tts.roles).toEqual(['tts', 'output']);
    await expect(tts.initialize()).rejects.toThrow('needs a browser with speech synthesis');
  });

  for (const [config, problem] of [
    [{ rate: 0 }, 'rate must be a number from 0.1 to 10'],
    [{ pitch: 21 }, 'pitch must be a number from -20 to 20'],
  ] as const) {
    it(`refuses ${JSON.stringify(config)}`, async () => {
      await expect(new NativeTTS(config).initialize()).rejects.toThrow(problem);
    });
  }

  for (const [config, spoken] of [
    [{}, { voice: null, lang: '', rate: 1, pitch: 1 }],
    [{ voiceName: 'Anna' }, { voice: 'Anna', lang: 'de-DE', rate: 1, pitch: 1 }],
    [
      { voiceName: 'premium', rate: 1.5, pitch: -20 },
      { voice: 'Anna (Premium)', lang: 'de-DE', rate: 1.5, pitch: 0 },
    ],
    [
      { voiceLang: 'de', pitch: 10 },
      { voice: 'Anna', lang: 'de-DE', rate: 1, pitch: 1.5 },
    ],
    [{ voiceLang: 'fr-FR' }, { voice: null, lang: 'fr-FR', rate: 1, pitch: 1 }],
  ] as const) {
    it(`speaks with ${JSON.stringify(config)}`, async () => {
      const tts = await ready(config);
      playing(tts, ['Hello.']);
      const { voice, lang, rate, pitch, text } = synthesis.last;
      expect({ voice: voice?.name ?? null, lang, rate, pitch }).toEqual(spoken);
      expect(text).toBe('Hello.');
    });
  }

  for (const [lang, voiceLang, spoken] of [
    ['en_US', 'en-US', 'en-US'],
    ['eng-USA-f000', 'en-US', 'en-US'],
    ['eng_GBR_f000', 'en', 'en-GB'],
    ['deu-AUT-f000', 'de-AT', 'de-AT'],
    ['por-PRT-f000', 'pt-PT', 'pt-PT'],
    ['pol-POL', 'pl', 'pl-PL'],
    ['zho-CHN-f000', 'zh-CN', 'zh-CN'],
    ['kor-KOR', 'ko-KR', 'ko-KR'],
    ['fil-PH', 'fil', 'fil-PH'],
  ] as const) {
    it(`finds the voice ${lang} of Android for ${voiceLang}`, async () => {
      synthesis.voices = [
        { name: 'another', lang: 'sv-SE', default: true },
        { name: 'wanted', lang, default: false },
      ];
      playing(await ready({ voiceLang }), ['Hello.']);
      expect([synthesis.last.voice?.name, synthesis.last.lang]).toEqual(['wanted', spoken]);
    });
  }

  it('a language is not the beginning of another', async () => {
    synthesis.voices = [{ name: 'Filipino', lang: 'fil-PH', default: true }];
    playing(await ready({ voiceLang: 'fi' }), ['Hello.']);
    expect(synthesis.last.voice ?? null).toBe(null);
  });

  it('another region of a voice of Android is another voice', async () => {
    synthesis.voices = [{ name: 'wanted', lang: 'eng-GBR-f000', default: true }];
    playing(await ready({ voiceLang: 'en-US' }), ['Hello.']);
    expect(synthesis.last.voice ?? null).toBe(null);
  });

  it('waits for voices that come late, asks again where no event tells, and says that a voice is missing', async () => {
    const voices = synthesis.voices;
    synthesis.voices = [];
    const tts = new NativeTTS({ scheduler: clock, voiceName: 'Zira' });
    const codes: string[] = [];
    tts.errors$.subscribe(({ code }) => codes.push(code));
    const initialized = tts.initialize();
    await clock.advance(400);
    expect(tts.isReady()).toBe(false);
    synthesis.voices = voices;
    await clock.advance(100);
    await initialized;
    expect(codes).toEqual(['not_found']);
    await tts.dispose();
  });

  it('starts without voices after 2 s, and finds its voice when it speaks', async () => {
    const { voices } = synthesis;
    synthesis.voices = [];
    const tts = new NativeTTS({ scheduler: clock, voiceName: 'Anna' });
    const codes: string[] = [];
    tts.errors$.subscribe(({ code }) => codes.push(code));
    const initialized = tts.initialize();
    await clock.advance(2000);
    await initialized;
    // A list that is not there yet does not say that the voice is missing.
    expect([tts.isReady(), codes]).toEqual([true, []]);
    synthesis.voices = voices;
    playing(tts, ['Hello.']);
    await clock.advance(10);
    expect(synthesis.last.voice?.name).toBe('Anna');
    await tts.dispose();
  });

  it('isolates a callback that throws, and reports it (F60)', async () => {
    const tts = await ready();
    const messages: string[] = [];
    tts.errors$.subscribe(({ message }) => messages.push(message));
    tts.onMetadata(() => {
      throw new Error('mine');
    });
    tts.onAudio(() => {
      throw new Error('mine');
    });
    playing(tts, ['Hello.']);
    expect(synthesis.last.text).toBe('Hello.');
    expect(messages).toEqual(['NativeTTS: the onMetadata callback threw', 'NativeTTS: the onAudio callback threw']);
  });

  it('knows what was heard, by the words the browser tells of and the clock in between', async () => {
    const tts = await ready();
    const words: string[] = [];
    tts.words$.subscribe(({ text, startMs, endMs }) => words.push(`${text} ${startMs}-${endMs}`));
    const { log } = playing(tts, ['One two.', 'Three.']);
    expect(words).toEqual([`One 0-${3 * fast}`, `two. ${4 * fast}-${8 * fast}`, `Three. ${8 * fast}-${14 * fast}`]);
    expect(synthesis.spoken).toHaveLength(1);
    synthesis.last.onstart?.();
    expect(nativeVoiceSpeaks$.value).toBe(true);
    synthesis.last.word(0, 3);
    await clock.advance(100);
    expect(tts.positionMs).toBe(100);
    await clock.advance(1000);
    expect(tts.positionMs).toBe(3 * fast);
    synthesis.last.word(4);
    expect(tts.positionMs).toBe(4 * fast);
    await clock.advance(2000);
    expect(tts.positionMs).toBe(8 * fast);
    synthesis.last.onend?.();
    expect(synthesis.last.text).toBe('Three.');
    synthesis.last.onstart?.();
    synthesis.last.onend?.();
    expect(log).toEqual([
      'started 0',
      'progress 0',
      `progress ${4 * fast}`,
      `progress ${8 * fast}`,
      `progress ${14 * fast}`,
      `finished ${14 * fast}`,
      'complete',
    ]);
    expect(nativeVoiceSpeaks$.value).toBe(false);
    expect(tts.positionMs).toBe(14 * fast);
  });

  it('falls silent when it is unsubscribed from, and can speak again, but not in the same moment', async () => {
    const tts = await ready();
    const { log, subscription } = playing(tts, ['A long answer.']);
    synthesis.last.onstart?.();
    await clock.advance(300);
    subscription.unsubscribe();
    expect(tts.positionMs).toBe(300);
    expect(synthesis.calls).toEqual(['speak', 'cancel']);
    playing(tts, ['Next.']);
    expect(synthesis.spoken).toHaveLength(1);
    await clock.advance(10);
    expect(synthesis.last.text).toBe('Next.');
    expect(log).toEqual(['started 0']);
  });

  it('pauses at the word, and a cut while paused does not keep the next answer silent', async () => {
    const tts = await ready();
    const { log, subscription } = playing(tts, ['A long answer.']);
    synthesis.last.onstart?.();
    await clock.advance(200);
    tts.pause();
    await clock.advance(60_000);
    expect(tts.positionMs).toBe(200);
    tts.resume();
    await clock.advance(100);
    expect(tts.positionMs).toBe(300);
    tts.pause();
    subscription.unsubscribe();
    expect(synthesis.calls).toEqual(['speak', 'pause', 'resume', 'pause', 'cancel', 'resume']);
    expect(log).toEqual(['started 0', 'paused 200', 'resumed 200', 'paused 300']);
  });

  describe('where a pause would break the voice', () => {
    const own = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
    const runOn = (userAgent: string): void => {
      Object.defineProperty(globalThis, 'navigator', { value: { userAgent }, configurable: true });
    };
    afterEach(() => {
      if (own) Object.defineProperty(globalThis, 'navigator', own);
      else Reflect.deleteProperty(globalThis, 'navigator');
    });

    for (const userAgent of [
      'Mozilla/5.0 (X11; Linux x86_64) Chrome/156',
      'Mozilla/5.0 (Linux; Android 16) Chrome/156',
    ]) {
      it(`ends the utterance, and speaks the rest again: ${userAgent}`, async () => {
        runOn(userAgent);
        const tts = await ready();
        const { log } = playing(tts, ['A long answer.', 'Next.']);
        synthesis.last.onstart?.();
        // In the middle of the second word.
        await clock.advance(4 * fast);
        tts.pause();
        await clock.advance(60_000);
        expect([tts.positionMs, synthesis.calls]).toEqual([4 * fast, ['speak', 'cancel']]);
        tts.resume();
        await clock.advance(10);
        expect(synthesis.last.text).toBe('long answer.');
        synthesis.last.onstart?.();
        synthesis.last.word(5, 7);
        expect(tts.positionMs).toBeCloseTo(7 * fast, 6);
        synthesis.last.onend?.();
        expect(synthesis.last.text).toBe('Next.');
        synthesis.last.onstart?.();
        synthesis.last.onend?.();
        expect([log.slice(-2), synthesis.calls.includes('pause')]).toEqual([
          [`finished ${19 * fast}`, 'complete'],
          false,
        ]);
      });
    }

    it('waits, without a word to the browser, where it is paused before it speaks', async () => {
      runOn('Linux');
      const tts = await ready();
      const text$ = new Subject<string>();
      tts.play(tts.speak(text$)).subscribe();
      tts.pause();
      text$.next('One two.');
      expect(synthesis.calls).toEqual([]);
      tts.resume();
      expect(synthesis.calls).toEqual(['speak']);
    });

    it('ends the utterance of a remote voice anywhere', async () => {
      runOn('Mozilla/5.0 (Macintosh)');
      synthesis.voices.push({ name: 'Remote', lang: 'en-US', default: false, localService: false });
      const tts = await ready({ voiceName: 'Remote' });
      playing(tts, ['One two.']);
      synthesis.last.onstart?.();
      tts.pause();
      expect(synthesis.calls).toEqual(['speak', 'cancel']);
      tts.resume();
      await clock.advance(10);
      expect(synthesis.last.text).toBe('One two.');
    });

    for (const [where, atMs, rest] of [
      ['before the first word', 0, 'One two.'],
      ['between two words', 3 * fast, ' two.'],
      ['at the estimated end', 8 * fast, 'two.'],
    ] as const) {
      it(`goes on ${where}`, async () => {
        runOn('Linux');
        const tts = await ready();
        playing(tts, ['One two.']);
        synthesis.last.onstart?.();
        await clock.advance(atMs);
        tts.pause();
        tts.resume();
        await clock.advance(10);
        expect(synthesis.last.text).toBe(rest);
      });
    }
  });

  it('continues when the browser falls silent', async () => {
    const tts = await ready();
    const { log } = playing(tts, ['Never starts.', 'Never ends.', 'Fine.']);
    await clock.advance(3000);
    expect(synthesis.calls).toEqual(['speak', 'cancel']);
    await clock.advance(10);
    expect(synthesis.last.text).toBe('Never ends.');
    synthesis.last.onstart?.();
    await clock.advance(16_010);
    expect(synthesis.last.text).toBe('Fine.');
    synthesis.last.onstart?.();
    synthesis.last.onend?.();
    expect(log.at(-1)).toBe('complete');
  });

  for (const [error, code] of [
    ['not-allowed', 'permission'],
    ['network', 'connection'],
    ['synthesis-failed', 'device'],
    ['voice-unavailable', 'configuration'],
  ] as const) {
    it(`fails with ${code} for ${error}`, async () => {
      const tts = await ready();
      const { log } = playing(tts, ['Hello.']);
      synthesis.last.onerror?.({ error });
      expect(log).toEqual([`error ${code}`]);
      expect(nativeVoiceSpeaks$.value).toBe(false);
    });
  }

  it('cuts a long text at its sentences', async () => {
    const tts = await ready();
    const sentence = 'This sentence has some eighty characters, which is about as long as they are, mostly. ';
    playing(tts, [sentence.repeat(3)]);
    expect(synthesis.last.text).toBe((sentence + sentence).trim());
    synthesis.last.onend?.();
    expect(synthesis.last.text).toBe(sentence.trim());
  });

  it('tells the format once for each synthesis, with its first chunk', async () => {
    const tts = await ready();
    const formats: unknown[] = [];
    tts.metadata$.subscribe((format) => formats.push(format));
    const chunks: Parameters<NativeTTS['enqueue']>[0][] = [];
    for (const texts of [['One.', 'Two.'], ['Three.']]) tts.speak(texts).subscribe((chunk) => chunks.push(chunk));
    const format = tts.getMetadata();
    expect([formats, chunks.map(({ metadata }) => metadata)]).toEqual([
      [format, format],
      [format, undefined, format],
    ]);
    const [first, second, third] = chunks.map(({ utteranceId }) => utteranceId);
    expect([first === second, first === third]).toEqual([true, false]);
  });

  it('plays one thing at a time, and no audio of others', async () => {
    const tts = await ready();
    playing(tts, ['Hello.']);
    expect(playing(tts, ['Too.']).log).toEqual(['error not_ready']);
    tts.stop();
    const codes: string[] = [];
    const chunk = { data: new Uint8Array(320), metadata: tts.getMetadata() };
    tts.play([chunk]).subscribe({ error: (error: unknown) => codes.push(VoiceError.from(error).code) });
    expect(codes).toEqual(['unsupported_format']);
  });

  it('speaks what is enqueued in order; flush() waits, stop() drops', async () => {
    const tts = await ready();
    const chunks: Parameters<NativeTTS['enqueue']>[0][] = [];
    tts.onAudio((chunk) => chunks.push(chunk));
    tts.speak(['One.', 'Two.']).subscribe();
    expect(chunks.every((chunk) => tts.isAudioReady(chunk))).toBe(true);
    chunks.forEach((chunk) => tts.enqueue(chunk));
    let flushed = 0;
    void tts.flush().then(() => flushed++);
    synthesis.last.onend?.();
    await settle();
    expect([synthesis.last.text, flushed]).toEqual(['Two.', 0]);
    synthesis.last.onend?.();
    await settle();
    expect(flushed).toBe(1);
    chunks.forEach((chunk) => tts.enqueue(chunk));
    void tts.flush().then(() => flushed++);
    tts.stop();
    await settle();
    expect(flushed).toBe(2);
    expect(synthesis.spoken).toHaveLength(3);
  });

  it('gives an empty Blob when a text was spoken, and speaks a buffer', async () => {
    const tts = await ready();
    tts.processChunk('Hello ');
    tts.processChunk('there.');
    const finalized = tts.finalize();
    expect(synthesis.last.text).toBe('Hello there.');
    synthesis.last.onend?.();
    await finalized;
    const blob = tts.synthesize('Again.');
    synthesis.last.onend?.();
    expect((await blob).size).toBe(0);
    expect(tts.getAvailableVoices()).toHaveLength(3);
    tts.unlock();
    expect(synthesis.last.volume).toBe(0);
  });

  it('is voice and output of a pipeline: the history has what was heard', async () => {
    const tts = new NativeTTS();
    const [input, stt, llm] = [new FakeInput(), new FakeSTT(), new FakeLLM({ firstTokenMs: 0, tokenMs: 0 })];
    const pipeline = new Pipeline({ providers: [input, stt, llm, tts] });
    await pipeline.start();
    const spoken = new Promise((resolve) => synthesis.addEventListener('spoken', resolve, { once: true }));
    stt.hearWords(FakeSTT.result('hello', 'final'));
    await spoken;
    expect(synthesis.last.text).toBe('You said hello.');
    synthesis.last.onstart?.();
    synthesis.last.word(4, 4);
    synthesis.last.word(9, 5);
    const ended = new Promise((resolve) => pipeline.once('turn.ended', resolve));
    pipeline.interrupt();
    await ended;
    expect(pipeline.history.messages().at(-1)).toEqual({ role: 'assistant', content: 'You said' });
    expect(synthesis.calls.at(-1)).toBe('cancel');
    await pipeline.dispose();
  });
});

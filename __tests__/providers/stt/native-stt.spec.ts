import { lastValueFrom, Subject, tap } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import type { VoiceError } from '../../../lib/core/errors.ts';
import { nativeVoiceSpeaks$ } from '../../../lib/playback/native-voice.ts';
import { NativeSTT, type NativeSTTConfig } from '../../../lib/providers/stt/native-stt.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';

interface Said {
  readonly text: string;
  readonly isFinal?: boolean;
  readonly confidence?: number;
  readonly others?: readonly string[];
}

/** The browser's recognizer, as a script plays it. */
class FakeRecognition extends EventTarget {
  static all: FakeRecognition[] = [];
  static get last(): FakeRecognition {
    const last = FakeRecognition.all.at(-1);
    if (!last) throw new Error('no recognition');
    return last;
  }
  lang = '';
  continuous = false;
  interimResults = false;
  maxAlternatives = 1;
  phrases: unknown = [];
  processLocally = false;
  readonly calls: string[] = [];

  constructor() {
    super();
    FakeRecognition.all.push(this);
  }
  start(track?: { readonly id: string }): void {
    this.calls.push(track ? `start ${track.id}` : 'start');
  }
  stop(): void {
    this.calls.push('stop');
  }
  abort(): void {
    this.calls.push('abort');
  }
  fire(type: string, detail: object = {}): void {
    this.dispatchEvent(Object.assign(new Event(type), detail));
  }
  hear(resultIndex: number, ...results: readonly Said[]): void {
    this.fire('result', {
      resultIndex,
      results: results.map(({ text, isFinal = false, confidence = 0.9, others = [] }) =>
        Object.assign(
          [text, ...others].map((transcript) => ({ transcript, confidence })),
          { isFinal },
        ),
      ),
    });
  }
}

const install = (names: Readonly<Record<string, unknown>>): void => void Object.assign(globalThis, names);

describe('NativeSTT', () => {
  let clock: TestClock;
  const all: NativeSTT[] = [];
  beforeEach(() => {
    clock = new TestClock();
    FakeRecognition.all = [];
    install({ webkitSpeechRecognition: FakeRecognition });
  });
  afterEach(async () => {
    await Promise.all(all.splice(0).map((stt) => stt.dispose()));
    Reflect.deleteProperty(globalThis, 'webkitSpeechRecognition');
    Reflect.deleteProperty(globalThis, 'SpeechRecognitionPhrase');
    nativeVoiceSpeaks$.next(false);
  });

  async function listening(config: NativeSTTConfig = {}) {
    const stt = new NativeSTT({ scheduler: clock, ...config });
    const log: string[] = [];
    all.push(stt);
    stt.transcripts$.subscribe(({ text, isFinal, utteranceId }) =>
      log.push(`${isFinal ? 'final' : 'interim'} ${text} ${utteranceId ?? ''}`),
    );
    stt.speech$.subscribe(({ type }) => log.push(type));
    stt.errors$.subscribe(({ code }) => log.push(`error ${code}`));
    await stt.initialize();
    const connected = stt.connect();
    FakeRecognition.last.fire('start');
    await connected;
    return { stt, log };
  }

  it('covers input and stt, and says where it does not work', async () => {
    Reflect.deleteProperty(globalThis, 'webkitSpeechRecognition');
    const stt = new NativeSTT();
    expect(stt.roles).toEqual(['input', 'stt']);
    await expect(stt.initialize()).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('needs a browser with speech recognition') as unknown,
    });
  });

  it('updateConfig() takes effect at once, in a session of its own', async () => {
    const { stt, log } = await listening();
    FakeRecognition.last.hear(0, { text: 'hello' });
    stt.updateConfig({ language: 'de-DE' });
    const [first, second] = FakeRecognition.all;
    expect([first?.calls.at(-1), second?.lang, second?.calls]).toEqual(['abort', 'de-DE', ['start']]);
    const languages: unknown[] = [];
    stt.transcripts$.subscribe(({ metadata }) => languages.push(metadata?.language));
    second?.fire('start');
    second?.hear(0, { text: 'hallo', isFinal: true });
    expect([log.filter((line) => line.startsWith('final')).length, languages]).toEqual([2, ['de-DE']]);
    stt.pause();
    stt.updateConfig({ language: 'fr-FR' });
    expect(FakeRecognition.all.length).toBe(2);
    stt.resume();
    expect(FakeRecognition.last.lang).toBe('fr-FR');
  });

  for (const [config, problem] of [
    [{ language: '' }, undefined],
    [{ maxAlternatives: 0 }, 'maxAlternatives must be a whole number'],
    [{ continuous: 'yes' }, 'continuous must be true or false'],
  ] as const) {
    it(`${problem ? 'refuses' : 'takes'} ${JSON.stringify(config)}`, async () => {
      const ready = new NativeSTT(config as NativeSTTConfig).initialize();
      if (problem) await expect(ready).rejects.toThrow(problem);
      else await ready;
    });
  }

  it('hands every key to the recognizer', async () => {
    class Phrase {
      readonly phrase: string;
      readonly boost: number;
      constructor(phrase: string, boost: number) {
        this.phrase = phrase;
        this.boost = boost;
      }
    }
    install({ SpeechRecognitionPhrase: Phrase });
    await listening({
      ...{ language: 'de-DE', continuous: false, interimResults: false, maxAlternatives: 3, processLocally: true },
      phrases: [{ phrase: 'Grüß Gott', boost: 5 }],
      track: { id: 'clean', readyState: 'live' } as MediaStreamTrack,
    });
    const { lang, continuous, interimResults, maxAlternatives, processLocally, phrases, calls } = FakeRecognition.last;
    expect({ lang, continuous, interimResults, maxAlternatives, processLocally, calls }).toEqual({
      ...{ lang: 'de-DE', continuous: false, interimResults: false, maxAlternatives: 3, processLocally: true },
      calls: ['start clean'],
    });
    expect(phrases).toEqual([new Phrase('Grüß Gott', 5)]);
  });

  it('gives interims joined, several finals of one event, and an id to each utterance', async () => {
    const { log } = await listening();
    FakeRecognition.last.fire('speechstart');
    FakeRecognition.last.hear(0, { text: 'what is' });
    FakeRecognition.last.hear(0, { text: 'what is the' }, { text: ' weather' });
    FakeRecognition.last.hear(0, { text: 'what is the weather', isFinal: true }, { text: ' in', isFinal: true });
    FakeRecognition.last.hear(2, { text: 'x' }, { text: 'y' }, { text: ' Paris', isFinal: true });
    expect(log).toEqual([
      'started',
      'interim what is native-1',
      'interim what is the weather native-1',
      'final what is the weather native-1',
      'ended',
      'final in native-2',
      'started',
      'final Paris native-3',
      'ended',
    ]);
  });

  it('brings the other readings and the confidence with a final', async () => {
    const { stt } = await listening({ language: 'en-GB' });
    const metadata: unknown[] = [];
    stt.transcripts$.subscribe((result) => metadata.push([result.confidence, result.metadata]));
    FakeRecognition.last.hear(0, { text: 'two', isFinal: true, confidence: 0.8, others: ['too'] });
    expect(metadata).toEqual([[0.8, { language: 'en-GB', alternatives: [{ text: 'too', confidence: 0.8 }] }]]);
  });

  it('makes words final whose final does not come, and does not say them again when it does', async () => {
    const { log } = await listening();
    FakeRecognition.last.hear(0, { text: 'turn on the light' });
    await clock.advance(1500);
    FakeRecognition.last.hear(0, { text: 'turn on the light please' });
    FakeRecognition.last.hear(0, { text: 'turn on the light please', isFinal: true });
    FakeRecognition.last.hear(1, { text: '' }, { text: 'thanks', isFinal: true });
    expect(log.filter((line) => line.startsWith('final'))).toEqual([
      'final turn on the light native-1',
      'final please native-2',
      'final thanks native-3',
    ]);
  });

  it('drops a final that comes twice, but not words that are said twice', async () => {
    const { log } = await listening();
    FakeRecognition.last.hear(0, { text: 'yes', isFinal: true });
    await clock.advance(100);
    FakeRecognition.last.hear(1, { text: 'yes' }, { text: 'yes', isFinal: true });
    await clock.advance(1000);
    FakeRecognition.last.hear(2, { text: 'yes' }, { text: 'yes' }, { text: 'yes', isFinal: true });
    expect(log.filter((line) => line.startsWith('final'))).toEqual(['final yes native-1', 'final yes native-2']);
  });

  it('listens on when the browser ends a session, and loses no words that were pending', async () => {
    const { log } = await listening();
    FakeRecognition.last.hear(0, { text: 'half a sentence' });
    FakeRecognition.last.fire('end');
    await clock.advance(0);
    expect(log).toContain('final half a sentence native-1');
    expect(FakeRecognition.all).toHaveLength(2);
    FakeRecognition.last.hear(0, { text: 'and more', isFinal: true });
    expect(log).toContain('final and more native-2');
  });

  it('waits longer after each session that fails at once, then gives up with one error', async () => {
    const { stt, log } = await listening();
    const starts: number[] = [];
    for (let session = 1; session <= 6; session++) {
      FakeRecognition.last.fire('error', { error: 'network' });
      FakeRecognition.last.fire('end');
      const before = FakeRecognition.all.length;
      const from = clock.now();
      while (FakeRecognition.all.length === before && clock.now() - from < 10_000) await clock.advance(100);
      if (FakeRecognition.all.length > before) starts.push(clock.now() - from);
    }
    expect(starts).toEqual([200, 400, 800, 1600, 3200]);
    expect(log).toEqual(['error connection']);
    await stt.dispose();
  });

  for (const [name, sentence] of [
    ['network', "the browser's speech service is unreachable: is the page offline, or does this browser have none?"],
    ['aborted', 'the browser ends every session at once: is another page or tab listening?'],
  ] as const) {
    it(`says why it gives up after ${name}, and that it may be tried again`, async () => {
      const { stt } = await listening();
      const errors: VoiceError[] = [];
      stt.errors$.subscribe((error) => errors.push(error));
      // The pauses between six sessions: one that lasts a second has not failed.
      for (const pauseMs of [200, 400, 800, 1_600, 3_200, 0]) {
        FakeRecognition.last.fire('error', { error: name });
        FakeRecognition.last.fire('end');
        await clock.advance(pauseMs);
      }
      expect(errors).toMatchObject([{ code: 'connection', recoverable: true, message: `NativeSTT: ${sentence}` }]);
    });
  }

  it('takes silence for no failure', async () => {
    const { log } = await listening();
    for (let session = 0; session < 20; session++) {
      FakeRecognition.last.fire('error', { error: 'no-speech' });
      FakeRecognition.last.fire('end');
      await clock.advance(0);
    }
    expect(FakeRecognition.all).toHaveLength(21);
    expect(log).toEqual([]);
  });

  const blocked = 'the microphone or the speech service is blocked: allow them for this page in the browser';
  for (const [error, code, recoverable, sentence] of [
    ['not-allowed', 'permission', false, blocked],
    ['service-not-allowed', 'permission', false, blocked],
    ['audio-capture', 'device', true, 'no microphone found: plug one in, then start again'],
    ['language-not-supported', 'configuration', false, 'the browser does not support this language'],
  ] as const) {
    it(`fails at once with ${code} for ${error}, without another session`, async () => {
      const stt = new NativeSTT({ scheduler: clock });
      await stt.initialize();
      const connected = stt.connect();
      FakeRecognition.last.fire('error', { error });
      await expect(connected).rejects.toMatchObject({
        ...{ code, recoverable, provider: 'NativeSTT', message: `NativeSTT: ${sentence}` },
      });
      await clock.advance(60_000);
      expect(FakeRecognition.all).toHaveLength(1);
    });
  }

  it('leaves phrases out when the browser refuses them', async () => {
    install({ SpeechRecognitionPhrase: Object });
    await listening({ phrases: [{ phrase: 'x' }] });
    FakeRecognition.last.fire('error', { error: 'phrases-not-supported' });
    FakeRecognition.last.fire('end');
    await clock.advance(0);
    expect(FakeRecognition.all).toHaveLength(2);
    expect(FakeRecognition.last.phrases).toEqual([]);
  });

  it("is deaf while the browser's own voice speaks, and hears again afterwards", async () => {
    const { log } = await listening();
    const first = FakeRecognition.last;
    nativeVoiceSpeaks$.next(true);
    expect(first.calls).toEqual(['start', 'abort']);
    first.hear(0, { text: 'its own words', isFinal: true });
    expect(log).toEqual([]);
    nativeVoiceSpeaks$.next(false);
    expect(FakeRecognition.all).toHaveLength(2);
  });

  it('hears through its own voice with halfDuplex: false', async () => {
    await listening({ halfDuplex: false });
    nativeVoiceSpeaks$.next(true);
    expect(FakeRecognition.last.calls).toEqual(['start']);
  });

  it('pauses, resumes, finalizes, and stops for good', async () => {
    const { stt, log } = await listening();
    const first = FakeRecognition.last;
    stt.finalize();
    stt.pause();
    expect(first.calls).toEqual(['start', 'stop', 'abort']);
    stt.resume();
    expect(FakeRecognition.all).toHaveLength(2);
    FakeRecognition.last.hear(0, { text: 'last words' });
    await Promise.all([stt.stop(), stt.disconnect()]);
    expect(log.at(-2)).toBe('final last words native-1');
    FakeRecognition.last.fire('end');
    await clock.advance(60_000);
    expect(FakeRecognition.all).toHaveLength(2);
    const again = stt.start();
    FakeRecognition.last.fire('start');
    await again;
    await stt.dispose();
    expect(FakeRecognition.last.calls).toEqual(['start', 'abort']);
  });

  it('transcribes for as long as a stream lasts, and completes', async () => {
    const stt = new NativeSTT({ scheduler: clock });
    await stt.initialize();
    const audio$ = new Subject<AudioChunk>();
    const texts: string[] = [];
    const done = lastValueFrom(stt.transcribe(audio$).pipe(tap(({ text }) => texts.push(text))));
    FakeRecognition.last.fire('start');
    await settle();
    FakeRecognition.last.hear(0, { text: 'one', isFinal: true });
    FakeRecognition.last.hear(1, { text: 'one' }, { text: 'two' });
    audio$.complete();
    expect(await done).toMatchObject({ text: 'two', utteranceComplete: true });
    expect(texts).toEqual(['one', 'two', 'two']);
    expect(FakeRecognition.last.calls).toEqual(['start', 'abort']);
  });
});

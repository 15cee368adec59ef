import { from, lastValueFrom, Subject, toArray } from 'rxjs';
import { isPcmLike } from '../../lib/audio/formats.ts';
import { decodeSamples as decodeAudio, toInt16 } from '../../lib/audio/samples.ts';
import type { AudioChunk } from '../../lib/audio/types.ts';
import { WavReader } from '../../lib/audio/wav-reader.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import type { SpokenWord } from '../../lib/core/roles.ts';
import { ttsContract } from '../../lib/testing/contracts/model-and-voice.ts';
import type { RemoteVoice, TTSConfig } from '../../lib/providers/tts/voice-service.ts';
import {
  sentJson,
  startSandbox,
  type Sandbox,
  type ServiceName,
  type VendorName,
} from '../../samples/sandbox/index.ts';
import { decodeSamples as decodeModem, type Heard } from '../../samples/sandbox/modem.ts';
import { concatBytes } from '../../samples/sandbox/pcm.ts';
import { settle, TestClock, until } from '../transport/test-clock.ts';

export { until };

const key = 'sandbox-key';
type Voice = RemoteVoice;

/** A provider in its formats, and what is peculiar to its service. */
export interface TTSSubject {
  readonly vendor: VendorName;
  readonly service: ServiceName;
  /** The formats that speak by name; through the faults goes the first. */
  readonly voices: Readonly<Record<string, (config: TTSConfig) => Voice>>;
  /** Rounds of five utterances for each format. Default: 2. */
  readonly rounds?: number;
  /** Whether the service tells itself when each word sounds. Default: false. */
  readonly tellsWords?: boolean;
  /** Whether an answer comes whole, so that no audio is heard while it is under way. Default: false. */
  readonly answersWhole?: boolean;
  /** The status that comes with the refusal of a wrong credential. Default: 401. */
  readonly refusedStatus?: number;
  /** Whether a message to the service cancels an utterance; else the request is aborted or the connection closed. */
  readonly isCancel?: (message: unknown) => boolean;
}

const words = 'the quick brown fox jumps over a lazy dog while seven wizards vex 12 jolly quads';
/** Texts of different lengths, in one to three sentences. */
const texts = Array.from({ length: 10 }, (_, index) => {
  const all = words.split(' ');
  return Array.from({ length: 1 + (index % 3) }, (_, at) => `${all.slice(index, index + 2 + at).join(' ')}.`);
});

/** What is heard in the chunks of one utterance. */
export function hear(chunks: readonly AudioChunk[]): Heard {
  const metadata = chunks[0]?.metadata;
  if (!metadata || !isPcmLike(metadata.encoding)) throw new Error('there is no raw audio');
  const bytes = concatBytes(chunks.map(({ data }) => data));
  const samples = toInt16(decodeAudio(bytes, metadata.encoding));
  return decodeModem(samples, metadata.sampleRate);
}

/** What is heard in chunks whose format changes on the way. */
function hearAll(chunks: readonly AudioChunk[]): string {
  const parts: AudioChunk[][] = [];
  for (const chunk of chunks) {
    if (chunk.metadata) parts.push([]);
    parts.at(-1)?.push(chunk);
  }
  return parts.map((part) => hear(part).text).join('');
}

async function failureOf(promise: Promise<unknown>): Promise<VoiceError> {
  try {
    await promise;
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

/** Sentences of scripts with and without spaces, with marks of their own, and characters of many code points. */
const scripts = [
  ...['The quick brown fox jumps over a lazy dog.', 'Grüße aus Köln, né Ö!', 'Привет, как дела?'],
  ...['日本語を話します。', '你好，世界！今天天气很好。', 'สวัสดีชาวโลก', 'मैं ठीक हूँ। आप कैसे हैं?'],
  ...['مرحبا بالعالم، كيف حالك؟', 'Family: 👩‍👩‍👧‍👦 flag: 🇩🇪 thumb: 👍🏽!'],
];

const withoutSpace = (text: string): string => text.replace(/\s/g, '');

/** What every voice does over real connections: its words, and the rows of the fault matrix. */
export function describeTTS(subject: TTSSubject): void {
  for (const [index, [name, create]] of Object.entries(subject.voices).entries()) {
    describeVoice(name, create, subject, index === 0);
  }
}

function describeVoice(
  name: string,
  create: (config: TTSConfig) => Voice,
  subject: TTSSubject,
  isFirst: boolean,
): void {
  const {
    vendor,
    service,
    rounds = 2,
    tellsWords = false,
    refusedStatus = 401,
    answersWhole = false,
    isCancel = () => false,
  } = subject;
  describe(`${name} in the sandbox`, () => {
    let sandbox: Sandbox;
    const providers: Voice[] = [];

    beforeAll(async () => {
      sandbox = await startSandbox();
    });
    afterEach(async () => {
      await Promise.all(providers.splice(0).map((tts) => tts.dispose()));
      sandbox.clearFaults();
      sandbox.clearRecords();
    });
    afterAll(() => sandbox.close());

    const direct = (to: Sandbox = sandbox): TTSConfig => ({ apiKey: key, endpoint: to.endpoints[vendor] });
    async function ready(config: TTSConfig = direct()): Promise<Voice> {
      const tts = create(config);
      providers.push(tts);
      await tts.initialize();
      return tts;
    }
    const speak = (tts: Voice, text: readonly string[]): Promise<AudioChunk[]> =>
      lastValueFrom(tts.speak(from(text)).pipe(toArray()));
    const expectText = (chunks: readonly AudioChunk[], text: readonly string[]): void =>
      expect(withoutSpace(hear(chunks).text)).toBe(withoutSpace(text.join('')));
    const refusals = (): string[] => sandbox.records().flatMap(({ refusal = [] }) => refusal);

    for (let round = 1; round <= rounds; round++) {
      // A provider of its own for each round: services limit what comes in a minute.
      it(`speaks every word of five utterances, round ${round}`, async () => {
        const tts = await ready();
        const first = (round % 2) * 5;
        for (const text of texts.slice(first, first + 5)) expectText(await speak(tts, text), text);
        expect(refusals()).toEqual([]);
      });
    }

    it('synthesizes a whole text as one file', async () => {
      const tts = await ready();
      const blob = await tts.synthesize('Hello there. How are you?');
      const wav = new WavReader();
      const file = wav.push(new Uint8Array(await blob.arrayBuffer()));
      const data = concatBytes([file, wav.flush()]);
      expectText([{ data, metadata: wav.metadata ?? tts.getMetadata() }], ['Hello there. How are you?']);
    });

    it('speaks through a proxy, which it sends no credential', async () => {
      const tts = await ready({ proxyUrl: sandbox.proxies[vendor] });
      expectText(await speak(tts, ['Hello there.']), ['Hello there.']);
      expect([refusals(), sandbox.records(service).every(({ proxied }) => proxied)]).toEqual([[], true]);
    });

    it('says that a credential is wrong', async () => {
      const tts = await ready({ ...direct(), apiKey: 'wrong-credential' });
      const error = await failureOf(speak(tts, ['Hello.']));
      expect([error.code, error.status, error.provider]).toEqual(['unauthorized', refusedStatus, tts.name]);
      expect(error.message).not.toContain('wrong-credential');
    });

    it('tells when each word sounds', async () => {
      const tts = await ready();
      const told: SpokenWord[] = [];
      tts.words$.subscribe((word) => told.push(word));
      const chunks = await speak(tts, ['The quick brown fox.', 'It jumps.']);
      const heard = hear(chunks).words.flatMap(({ text, startMs, endMs }) =>
        // Sentences of separate requests follow each other without a space.
        text === 'fox.It' ? [] : [{ text, startMs, endMs }],
      );
      for (const { text, startMs, endMs } of heard) {
        const word = told.find((each) => each.text === text);
        expect(word?.estimated ?? false).toBe(!tellsWords);
        // The service lets a sentence fade into a space, which nobody else hears.
        expect(Math.abs((word?.startMs ?? NaN) - startMs)).toBeLessThan(130);
        expect(Math.abs((word?.endMs ?? NaN) - endMs)).toBeLessThan(130);
      }
      expect(told.map(({ text }) => text)).toEqual(['The', 'quick', 'brown', 'fox.', 'It', 'jumps.']);
      expect(new Set(told.map(({ utteranceId }) => utteranceId))).toEqual(new Set([chunks[0]?.utteranceId]));
    });

    it('never mixes utterances that are spoken at the same time (F62)', async () => {
      const tts = await ready();
      const heard = await Promise.all(texts.slice(0, 4).map((text) => speak(tts, text)));
      heard.forEach((chunks, index) => expectText(chunks, texts[index] ?? []));
    });

    // What follows is the same for every format.
    if (!isFirst) return;

    const contract = ttsContract(() => create(direct()), {
      texts: ['One two three.', 'Four five six seven.'],
      hear: (chunks) => withoutSpace(hear(chunks).text),
      inUse: () => sandbox.records().filter(({ status, close }) => status === 101 && !close).length,
      failing: () => create({ ...direct(), apiKey: 'canary-0123456789' }),
      credential: 'canary-0123456789',
    });
    for (const { name: rule, run } of contract) it(rule, run);

    it('says signs of markup, and any script, as they are', async () => {
      const tts = await ready();
      for (const text of [`Tom & Jerry's "<b>" > 2 &amp; 'x' ]]>.`, ...scripts]) {
        expectText(await speak(tts, [text]), [text]);
      }
      expect(refusals()).toEqual([]);
    });

    it('cuts what is longer than the service takes at once, in any script, and loses nothing of it', async () => {
      const tts = create(direct());
      providers.push(tts);
      // Less than any service takes: a true limit is an hour of this voice.
      Object.defineProperty(tts, 'maxTextLength', { value: 120 });
      await tts.initialize();
      const text = [...scripts, ...scripts].join(' ');
      expectText(await speak(tts, [text]), [text]);
      const asked = sandbox
        .records(service)
        .flatMap((record) => (record.method === 'WS' ? sentJson(record) : [record]));
      expect([refusals(), asked.length > 3]).toEqual([[], true]);
    });

    const [, another] = Object.values(subject.voices);
    if (another) {
      it('takes another configuration while it speaks, and says of all audio what it is', async () => {
        const live = await startSandbox({ realtimeFactor: 30 });
        try {
          const tts = await ready(direct(live));
          const other = another(direct(live));
          const all: AudioChunk[] = [];
          tts.audio$.subscribe((chunk) => all.push(chunk));
          const text$ = new Subject<string>();
          const present = lastValueFrom(tts.speak(text$).pipe(toArray()));
          text$.next('One two three.');
          await until(() => (answersWhole ? live.records(service) : all).length > 0);
          tts.updateConfig(other.config);
          text$.next('Four five.');
          text$.complete();
          expect(withoutSpace(hearAll(await present))).toBe('Onetwothree.Fourfive.');
          const next = await speak(tts, ['Six seven.']);
          expectText(next, ['Six seven.']);
          const { encoding, sampleRate } = other.getMetadata();
          expect(next[0]?.metadata).toMatchObject({ encoding, sampleRate });
        } finally {
          await live.close();
        }
      });
    }

    it('says nothing of blank text, and asks for nothing', async () => {
      const tts = await ready();
      expect(await speak(tts, ['', ' ', '\n\t'])).toEqual([]);
      expect(refusals()).toEqual([]);
    });

    it('speaks right after a cancelled utterance, of which nothing late is heard (F28, F31)', async () => {
      const live = await startSandbox({ realtimeFactor: 30 });
      try {
        const tts = await ready(direct(live));
        const all: AudioChunk[] = [];
        tts.audio$.subscribe((chunk) => all.push(chunk));
        const subscription = tts.speak(from(['One two three four five six seven.', 'Eight nine ten.'])).subscribe();
        await until(() => (answersWhole ? live.records(service) : all).length > 0);
        subscription.unsubscribe();
        const before = all.length;
        const next = await speak(tts, ['Sure, go ahead.']);
        expectText(next, ['Sure, go ahead.']);
        expect(all.slice(before)).toEqual(next);
        const records = live.records(service);
        const messages = records.flatMap((record) => (record.method === 'WS' ? sentJson(record) : []));
        expect(messages.some(isCancel) || records.some(({ aborted }) => aborted)).toBe(true);
      } finally {
        await live.close();
      }
    });

    it('gives the same words when the audio comes in odd pieces (F29)', async () => {
      sandbox.setFault(service, { kind: 'splitEveryByte' });
      const tts = await ready();
      expectText(await speak(tts, ['Hi.']), ['Hi.']);
    });

    it('outlives a refused connection', async () => {
      sandbox.setFault(service, { kind: 'refuse', times: 1 });
      const tts = await ready();
      expectText(await speak(tts, ['Hello.']), ['Hello.']);
    });

    it('outlives a service that is busy, after the wait that it asks for (F4, F18)', async () => {
      sandbox.setFault(service, { kind: 'status', status: 429, retryAfter: 1, times: 1 });
      const scheduler = new TestClock(Date.now());
      const spoken = speak(await ready({ ...direct(), scheduler }), ['Hello.']);
      await until(() => scheduler.isDueIn(1_000));
      await scheduler.advance(999);
      expect(scheduler.isDueIn(1)).toBe(true);
      await scheduler.advance(1);
      expectText(await spoken, ['Hello.']);
    });

    it('outlives a server error (F19)', async () => {
      sandbox.setFault(service, { kind: 'status', status: 500, times: 1 });
      const tts = await ready();
      expectText(await speak(tts, ['Hello.']), ['Hello.']);
    });

    it('continues after a break in the middle of the audio, or says that there was one (F26)', async () => {
      sandbox.setFault(service, { kind: 'dropAfter', messages: 1, times: 1 });
      const tts = await ready();
      const chunks: AudioChunk[] = [];
      tts.audio$.subscribe((chunk) => chunks.push(chunk));
      const outcome = await speak(tts, ['One two three.']).then(
        () => 'spoken',
        (error: unknown) => VoiceError.from(error).code,
      );
      expect(['spoken', 'connection']).toContain(outcome);
      // A sentence that was cut short is said again from its beginning, which sounds into what was heard of it.
      if (outcome === 'spoken') expect(withoutSpace(hearAll(chunks))).toMatch(/twothree\.$/);
      expectText(await speak(tts, ['Next turn.']), ['Next turn.']);
    });

    it('does not wait for ever for a service that accepts, and never answers (F2)', async () => {
      sandbox.setFault(service, { kind: 'neverReady' });
      const tts = await ready({ ...direct(), connectTimeoutMs: 100, firstAudioTimeoutMs: 100 });
      expect((await failureOf(speak(tts, ['Hello.']))).code).toBe('timeout');
    });

    it('does not follow a redirect with its credential (F47)', async () => {
      const headers = { location: 'https://elsewhere.example/' };
      sandbox.setFault(service, { kind: 'status', status: 307, headers });
      const error = await failureOf(speak(await ready(), ['Hello.']));
      expect([error.code, error.message.includes('elsewhere.example')]).toEqual(['configuration', true]);
    });

    it('says that its credential cannot be had, without a word of what fetches it (F6)', async () => {
      const apiKey = (): Promise<string> => Promise.reject(new Error('the vault has canary-1'));
      const tts = await ready({ ...direct(), apiKey, connectTimeoutMs: 300 });
      const error = await failureOf(speak(tts, ['Hello.']));
      expect([error.provider, error.message.includes('canary'), sandbox.records(service)]).toEqual([
        ...[tts.name, false, []],
      ]);
    });

    it('does not wait for ever for its credential (F6)', async () => {
      const apiKey = (): Promise<string> => new Promise(() => undefined);
      const tts = await ready({ ...direct(), apiKey, connectTimeoutMs: 100, firstAudioTimeoutMs: 100 });
      expect((await failureOf(speak(tts, ['Hello.']))).code).toBe('timeout');
    });

    if (create({ apiKey: key }).type === 'websocket') {
      it('gives up a service that accepts, and closes at once, again and again (F5)', async () => {
        sandbox.setFault(service, { kind: 'close', code: 1011 });
        const tts = await ready();
        expect((await failureOf(speak(tts, ['Hello.']))).provider).toBe(tts.name);
        expect(sandbox.records(service).length).toBeLessThan(8);
        sandbox.clearFaults();
        expectText(await speak(tts, ['Next turn.']), ['Next turn.']);
      });
    }

    it('tries once more when no audio comes, then fails (F27)', async () => {
      sandbox.setFault(service, { kind: 'stall' });
      const tts = await ready({ ...direct(), firstAudioTimeoutMs: 100, idleTimeoutMs: 100 });
      const error = await failureOf(speak(tts, ['Hello.']));
      expect(error.code).toBe('timeout');
      sandbox.clearFaults();
      expectText(await speak(tts, ['Next turn.']), ['Next turn.']);
    });

    it('is warmed without a word to the service, so that nothing is billed twice', async () => {
      const tts = await ready();
      tts.warm();
      const isSocket = tts.type === 'websocket';
      if (isSocket) await until(() => sandbox.records(service).length > 0);
      tts.warm();
      await settle();
      expect(sandbox.records(service)).toHaveLength(isSocket ? 1 : 0);
      const sent = (): unknown[] =>
        sandbox.records(service).flatMap(({ messages }) => messages.filter((each) => each.from === 'client'));
      expect(sent()).toEqual([]);
      expectText(await speak(tts, ['Said once.']), ['Said once.']);
      const [asked, told] = [sandbox.records(service).length, sent().length];
      expectText(await speak(tts, ['Said again.']), ['Said again.']);
      // By now a request of the warm-up, or what it sent, would have arrived.
      expect(sandbox.records(service)).toHaveLength(isSocket ? asked : 2 * asked);
      expect(sent()).toHaveLength(2 * told);
    });

    it('connects no more after dispose(), even when it is warmed (F43)', async () => {
      const gone = await ready();
      await gone.dispose();
      sandbox.clearRecords();
      const other = await ready();
      gone.warm();
      expectText(await speak(other, ['Only this.']), ['Only this.']);
      await other.dispose();
      const [first] = sandbox.records(service);
      expect(sandbox.records(service)).toEqual([first]);
    });

    it('leaves nothing behind dispose() in the middle of an utterance (F43)', async () => {
      const live = await startSandbox({ realtimeFactor: 10 });
      try {
        // It stands still: who waits for a timer waits for ever.
        const scheduler = new TestClock(Date.now());
        const tts = await ready({ ...direct(live), scheduler });
        let chunks = 0;
        tts.audio$.subscribe(() => chunks++);
        const failed = failureOf(speak(tts, ['One two three four five six seven.']));
        await until(() => (answersWhole ? live.records(service).length : chunks) > 0);
        await tts.dispose();
        expect((await failed).code).toBe('aborted');
        await until(() => live.records(service).every(({ close, aborted }) => close !== undefined || aborted));
      } finally {
        await live.close();
      }
    });
  });
}

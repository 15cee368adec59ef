// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { filter, firstValueFrom, skip } from 'rxjs';
import { KappaSTT, type KappaSTTConfig, type TranscriptionResult, type VoiceError } from '../../../lib/index.ts';
import { startSandbox, type Sandbox, type ServiceRecord } from '../../../samples/sandbox/index.ts';
import { concatBytes } from '../../../samples/sandbox/pcm.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

/** The client's binary messages: their headers, and what follows. */
const messagesOf = ({ messages }: ServiceRecord): { readonly headers: string; readonly payload: Uint8Array }[] =>
  messages.flatMap(({ from, bytes }) => {
    if (from !== 'client' || !bytes) return [];
    const length = 256 * (bytes[0] ?? 0) + (bytes[1] ?? 0);
    return [{ headers: new TextDecoder().decode(bytes.subarray(2, 2 + length)), payload: bytes.subarray(2 + length) }];
  });
const requestOf = (headers: string): string => /X-RequestId: (\w+)/.exec(headers)?.[1] ?? '';

/** The audio of the first turn, without the RIFF header. */
function audioOf(record: ServiceRecord): Uint8Array {
  const messages = messagesOf(record);
  const first = requestOf(messages[0]?.headers ?? '');
  const turn = messages.filter(({ headers }) => requestOf(headers) === first && !headers.includes('Content-Type'));
  return concatBytes(turn.map(({ payload }) => payload));
}

async function tokenOf(endpoint: string, key: string): Promise<string> {
  const headers = { 'Ocp-Apim-Subscription-Key': key };
  const answer = await fetch(`${endpoint}/sts/v1.0/issueToken`, { method: 'POST', headers });
  return answer.ok ? answer.text() : key;
}

describeStreamingSTT({
  ...{ name: 'KappaSTT', vendor: 'kappa', service: 'kappa-stt', first: 'kappa-stt', greetings: 0 },
  formats: [
    ...[8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000].map(linear),
    ...[mulaw, { ...mulaw, encoding: 'alaw' } as const],
  ],
  ...{ audioOf, dropAfter: 20 },
  create({ apiKey, ...config }) {
    // A factory gives tokens here.
    const fetched =
      typeof apiKey === 'function' ? async () => tokenOf(String(config.endpoint ?? ''), await apiKey()) : apiKey;
    const credential = fetched !== undefined && { apiKey: fetched };
    return new KappaSTT({ catchUpSpeed: false, outputFormat: 'detailed', ...credential, ...config });
  },
  token: () => Promise.resolve('sandbox-key'),
});

describe('KappaSTT: what is peculiar to it', () => {
  let sandbox: Sandbox;
  let stt: KappaSTT;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await stt.dispose();
    await sandbox.close();
  });

  async function live(config: KappaSTTConfig = {}) {
    const { kappa: endpoint } = sandbox.endpoints;
    stt = new KappaSTT({ apiKey: 'sandbox-key', endpoint, catchUpSpeed: false, ...config });
    const results: TranscriptionResult[] = [];
    const errors: VoiceError[] = [];
    stt.transcripts$.subscribe((result) => results.push(result));
    stt.errors$.subscribe((error) => errors.push(error));
    await stt.initialize();
    await stt.connect();
    return {
      results,
      errors,
      complete: () => results.filter((each) => each.utteranceComplete).map(({ text }) => text),
    };
  }
  const say = (...texts: string[]): void => {
    for (const chunk of frames(texts)) stt.sendAudio(chunk);
  };
  const heard = (text: string): Promise<unknown> =>
    firstValueFrom(stt.transcripts$.pipe(filter((each) => each.utteranceComplete && each.text === text)));

  for (const recognitionMode of ['conversation', 'interactive', 'dictation'] as const) {
    it(`loses nothing at the ends of turns on one connection: ${recognitionMode}`, async () => {
      const { complete, errors, results } = await live({ recognitionMode });
      const last = heard('five six');
      // All at once: what comes after the end of a turn was sent in it, and is heard in the next one.
      say('one two', 'three four', 'five six');
      await last;
      expect(complete()).toEqual(['one two', 'three four', 'five six']);
      const records = sandbox.records('kappa-stt');
      expect([records.length, records[0]?.refusal, errors]).toEqual([1, undefined, []]);
      const turns = new Set(records.flatMap(messagesOf).map(({ headers }) => requestOf(headers)));
      expect(turns.size).toBeGreaterThanOrEqual(3);
      expect(results.some(({ isFinal }) => !isFinal)).toBe(true);
    });
  }

  it('dates words by all audio, whichever turn they are heard in', async () => {
    const { results } = await live({ outputFormat: 'detailed' });
    const last = heard('three four');
    say('one two', 'three four');
    await last;
    const starts = results
      .filter(({ utteranceComplete }) => utteranceComplete)
      .flatMap(({ metadata }) => metadata?.words?.map(({ startMs = NaN }) => startMs) ?? []);
    // Characters of 80 ms; the second text begins 2 s after the first has ended.
    const expected = [0, 320, 2_560, 3_040];
    expect(starts.map((start, at) => Math.abs(start - (expected[at] ?? NaN)) < 40)).toEqual([true, true, true, true]);
  });

  it('takes the newer address as endpoint', async () => {
    const { errors } = await live({ endpoint: `${sandbox.endpoints.kappa}/stt/speech/universal/v2` });
    const said = heard('hello there');
    say('hello there');
    await said;
    expect([errors, sandbox.records('kappa-stt')[0]?.path]).toEqual([[], '/stt/speech/universal/v2']);
  });

  it('identifies the language of each phrase, at the address that can', async () => {
    const { errors, results } = await live({ languages: ['en-US', 'de-DE'] });
    for (const text of ['hello there', 'grüß dich']) {
      const said = heard(text);
      say(text);
      await said;
    }
    const languages = results.filter(({ isFinal }) => isFinal).map(({ metadata }) => metadata?.language);
    expect([languages, errors]).toEqual([['en-US', 'de-DE'], []]);
    const [record] = sandbox.records('kappa-stt');
    expect([record?.path, new Map(record?.query).get('lidEnabled')]).toEqual(['/stt/speech/universal/v2', 'true']);
  });

  for (const interimSpeakers of [false, true]) {
    it(`tells speakers apart, in every turn${interimSpeakers ? ', and before they have finished' : ''}`, async () => {
      const { errors, results } = await live({ enableSpeakerDiarization: true, interimSpeakers });
      for (const text of ['hello there', 'WHO IS THAT', 'hm']) {
        const said = heard(text);
        say(text);
        await said;
      }
      const final = results.filter(({ isFinal }) => isFinal).map(({ metadata }) => metadata?.speaker);
      expect([final, errors]).toEqual([['Guest-1', 'Guest-2', undefined], []]);
      const interim = new Set(results.filter(({ isFinal }) => !isFinal).map(({ metadata }) => metadata?.speaker));
      expect(interim.has('Guest-1')).toBe(interimSpeakers);
      expect(sandbox.records('kappa-stt').map(({ refusal }) => refusal)).toEqual([undefined]);
    });
  }

  it('ends a phrase that lasts too long', async () => {
    const { complete } = await live({ segmentationMaximumTimeMs: 20_000 });
    const words = Array.from({ length: 60 }, () => 'again');
    const last = firstValueFrom(
      stt.transcripts$.pipe(
        filter(({ utteranceComplete }) => utteranceComplete),
        skip(1),
      ),
    );
    say(words.join(' '));
    await last;
    expect([complete().length, complete().join(' ')]).toEqual([2, words.join(' ')]);
  });

  it('every key is taken by the service', async () => {
    const { errors } = await live({
      ...{ outputFormat: 'detailed', profanity: 'raw', initialSilenceTimeoutMs: 5_000, phrases: ['Contoso'] },
      ...{ segmentationSilenceTimeoutMs: 300, stableIntermediateThreshold: 2, storeAudio: true, language: 'de-DE' },
      ...{ languages: ['de-DE', 'en-US'], languageIdentification: 'atStart', segmentationStrategy: 'semantic' },
      ...{ enableSpeakerDiarization: true, interimSpeakers: true, segmentationMaximumTimeMs: 30_000 },
    });
    const said = heard('hallo');
    say('hallo');
    await said;
    await stt.disconnect();
    expect([errors, sandbox.records('kappa-stt')[0]?.refusal]).toEqual([[], undefined]);
  });
});

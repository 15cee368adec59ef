import { concatMap, delay, from, lastValueFrom, of, take, tap, type Observable } from 'rxjs';
import {
  AlphaTTS,
  ChiTTS,
  GammaTTS,
  IotaTTS,
  KappaTTS,
  OmegaTTS,
  PhiTTS,
  PiTTS,
  PsiTTS,
  RhoTTS,
  SigmaTTS,
  TauTTS,
  ThetaTTS,
  UpsilonTTS,
} from 'rxvoice';
import type { RemoteVoice, TTSConfig } from 'rxvoice/provider';
import { sentences } from 'rxvoice/operators';
import { startSandbox, type Sandbox, type VendorName } from '../../samples/sandbox/index.ts';
import { median, type BenchOptions, type Measured } from '../harness.ts';

type Address = Pick<TTSConfig, 'proxyUrl'>;

const voices: readonly { readonly vendor: VendorName; readonly create: (at: Address) => RemoteVoice }[] = [
  {
    vendor: 'alpha',
    create: (at) => new AlphaTTS({ limits: { flushesPerMinute: 1e6, charactersPerMinute: 1e6 }, ...at }),
  },
  {
    vendor: 'gamma',
    create: (at) => new GammaTTS({ voiceId: '21m00Tcm4TlvDq8ikWAM', outputFormat: 'pcm_24000', ...at }),
  },
  { vendor: 'pi', create: (at) => new PiTTS({ voiceId: 'a0e99841-438c-4a64-b679-ae501e7d6091', ...at }) },
  {
    vendor: 'chi',
    create: (at) =>
      new ChiTTS({ voiceId: 'English_expressive_narrator', groupId: '1900000000000000000', audioFormat: 'pcm', ...at }),
  },
  { vendor: 'iota', create: (at) => new IotaTTS({ audioEncoding: 'LINEAR16', ...at }) },
  {
    vendor: 'kappa',
    create: (at) => new KappaTTS({ voiceName: 'en-US-JennyNeural', outputFormat: 'raw-24khz-16bit-mono-pcm', ...at }),
  },
  {
    vendor: 'omega',
    create: (at) => new OmegaTTS({ voiceId: 'Joanna', region: 'eu-west-1', outputFormat: 'pcm', ...at }),
  },
  { vendor: 'phi', create: (at) => new PhiTTS({ speaker: 'astra', audioFormat: 'pcm', language: 'en', ...at }) },
  { vendor: 'psi', create: (at) => new PsiTTS({ format: 'pcm', sampleRate: 24000, ...at }) },
  { vendor: 'rho', create: (at) => new RhoTTS({ voiceId: 'geffen_32', audioFormat: 'pcm', ...at }) },
  { vendor: 'sigma', create: (at) => new SigmaTTS({ voiceId: 'en-US-natalie', format: 'pcm', ...at }) },
  { vendor: 'tau', create: (at) => new TauTTS({ voice: 'leah', format: 'pcm_s16le', ...at }) },
  { vendor: 'theta', create: (at) => new ThetaTTS({ responseFormat: 'pcm', ...at }) },
  {
    vendor: 'upsilon',
    create: (at) => new UpsilonTTS({ voiceId: 'magnus', sampleRate: 24000, outputFormat: 'pcm', ...at }),
  },
];

/** An answer of four sentences, as a model writes it: a word every few milliseconds. */
const words = 'It is sunny today. You may want a hat. The wind is mild. Have a nice day out there.'.split(/(?<= )/);
const tokenMs = 10;
const tokens = (): Observable<string> =>
  from(words).pipe(concatMap((word, index) => (index === 0 ? of(word) : of(word).pipe(delay(tokenMs)))));

/** Milliseconds from the first token to the first audio. */
async function firstAudioMs(audio$: Observable<unknown>): Promise<number> {
  const startedAt = performance.now();
  await lastValueFrom(audio$.pipe(take(1)));
  return performance.now() - startedAt;
}

/** Milliseconds from the first token to the first audio, for who waits for the whole answer, as text and as sound. */
async function wholeAnswerMs(tts: RemoteVoice): Promise<number> {
  const startedAt = performance.now();
  const text: string[] = [];
  await lastValueFrom(tokens().pipe(tap((token) => text.push(token))));
  await lastValueFrom(tts.speak(of(text.join(''))));
  return performance.now() - startedAt;
}

/**
 * Milliseconds from a barge-in in the middle of an answer until its service knows: the request is aborted, or a message
 * has come. `undefined` when there is nothing to end: all had come.
 */
async function endOfRequestMs(sandbox: Sandbox, audio$: Observable<unknown>): Promise<number | undefined> {
  await lastValueFrom(audio$.pipe(take(3)));
  const heard = (): number =>
    sandbox.records().reduce((sum, { aborted, close, messages }) => {
      return (
        sum + Number(aborted) + Number(close !== undefined) + messages.filter(({ from }) => from === 'client').length
      );
    }, 0);
  const startedAt = performance.now();
  const before = heard();
  while (performance.now() - startedAt < 300) {
    if (heard() > before) return performance.now() - startedAt;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return undefined;
}

/**
 * P27: for each voice, the first audio of an answer that is still being written, against waiting for all of it; and how
 * soon a barge-in ends the request. The sandbox speaks at forty times the speed of sound.
 */
export async function run({ quick = false }: BenchOptions = {}): Promise<Measured[]> {
  await using sandbox = await startSandbox({
    realtimeFactor: 40,
    limits: { alphaTtsCharactersPerMinute: 1e6, alphaTtsFlushesPerMinute: 1e6 },
  });
  const results: Measured[] = [];
  for (const { vendor, create } of voices) {
    await using tts = create({ proxyUrl: sandbox.proxies[vendor] });
    await tts.initialize();
    const speak = (): Observable<unknown> => tts.speak(tokens().pipe(sentences()));
    const figures: { readonly first: number; readonly whole: number; readonly ended: number | undefined }[] = [];
    // The first answer opens the connection.
    for (let round = 0; round <= (quick ? 2 : 5); round++) {
      const figure = {
        first: await firstAudioMs(speak()),
        ended: await endOfRequestMs(sandbox, speak()),
        whole: await wholeAnswerMs(tts),
      };
      if (round > 0) figures.push(figure);
    }
    const [firstMs, wholeMs] = [median(figures.map(({ first }) => first)), median(figures.map(({ whole }) => whole))];
    const endedMs = median(figures.flatMap(({ ended }) => ended ?? []));
    const bargeIn = Number.isNaN(endedMs) ? 'nothing is left to end' : `barge-in ends it in ${endedMs.toFixed(1)} ms`;
    results.push({
      ...{ row: 'P27', of: tts.name, value: firstMs / wholeMs },
      detail: `${firstMs.toFixed(0)} ms, whole ${wholeMs.toFixed(0)} ms; ${bargeIn}`,
    });
  }
  return results;
}

/** Slow: every provider speaks through a real proxy. */
import { EMPTY, filter, firstValueFrom, from, lastValueFrom, map, reduce, timeout, toArray } from 'rxjs';
import { encodeWav } from '../../lib/audio/index.ts';
import * as library from '../../lib/index.ts';
import {
  AlphaFlux,
  AlphaSTT,
  AlphaTTS,
  BetaSTT,
  ChiTTS,
  EpsilonSTT,
  GammaTTS,
  IotaSTT,
  LambdaSTT,
  MuLLM,
  NuLLM,
  PhiTTS,
  PsiTTS,
  RemoteProvider,
  ThetaTTS,
  UpsilonTTS,
  type AudioChunk,
  type LLMProvider,
  type STTProvider,
  type TTSProvider,
} from '../../lib/index.ts';
import { startProxy, targets, type RunningProxy } from '../../samples/proxy/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { frames } from '../conformance/streaming-stt.ts';

const key = 'sandbox-key';
const names = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_REGION',
  'AZURE_SPEECH_REGION',
  'COMPATIBLE_BASE_URL',
];
const environment: Record<string, string> = {
  ...Object.fromEntries(
    Object.values(targets).flatMap(({ credential }) => (credential.as === 'signature' ? [] : [[credential.key, key]])),
  ),
  ...Object.fromEntries(names.map((name) => [name, key])),
  ...{ AWS_REGION: 'us-east-1', AZURE_SPEECH_REGION: 'westeurope', COMPATIBLE_BASE_URL: 'https://models.example.com' },
};

/** A provider in proxy mode, given its `proxyUrl`. */
type Make<P> = (config: { readonly proxyUrl: string; readonly connectTimeoutMs: number }) => P & library.AnyProvider;
const ears: Readonly<Record<string, Make<STTProvider>>> = {
  AlphaSTT: (config) => new AlphaSTT(config),
  AlphaFlux: (config) => new AlphaFlux(config),
  BetaSTT: (config) => new BetaSTT({ ...config, catchUpSpeed: false }),
  DeltaSTT: (config) => new library.DeltaSTT(config),
  EtaSTT: (config) => new library.EtaSTT({ ...config, sampleRate: 16000 }),
  GammaSTT: (config) => new library.GammaSTT(config),
  ZetaSTT: (config) => new library.ZetaSTT(config),
  KappaSTT: (config) => new library.KappaSTT({ ...config, language: 'en-US' }),
  EpsilonSTT: (config) => new EpsilonSTT(config),
  LambdaSTT: (config) => new LambdaSTT({ ...config, languageCode: 'en-US' }),
};
const voices: Readonly<Record<string, Make<TTSProvider>>> = {
  AlphaTTS: (config) => new AlphaTTS(config),
  GammaTTS: (config) => new GammaTTS({ ...config, voiceId: '21m00Tcm4TlvDq8ikWAM' }),
  PiTTS: (config) => new library.PiTTS({ ...config, voiceId: 'a0e99841-438c-4a64-b679-ae501e7d6091' }),
  KappaTTS: (config) => new library.KappaTTS({ ...config, voiceName: 'en-US-JennyNeural' }),
  IotaTTS: (config) => new library.IotaTTS({ ...config, languageCode: 'en-US', audioEncoding: 'LINEAR16' }),
  OmegaTTS: (config) => new library.OmegaTTS({ ...config, voiceId: 'Joanna', outputFormat: 'pcm' }),
  ThetaTTS: (config) => new ThetaTTS({ ...config, responseFormat: 'wav' }),
  UpsilonTTS: (config) => new UpsilonTTS({ ...config, voiceId: 'voice' }),
  PhiTTS: (config) => new PhiTTS({ ...config, speaker: 'luna' }),
  PsiTTS: (config) => new PsiTTS({ ...config, format: 'wav' }),
  ChiTTS: (config) => new ChiTTS({ ...config, voiceId: 'voice', audioFormat: 'pcm' }),
};
const minds: Readonly<Record<string, Make<LLMProvider>>> = {
  NuLLM: (config) => new NuLLM({ ...config, model: 'openai/gpt-oss-20b' }),
  MuLLM: (config) => new MuLLM(config),
};

describe('the proxy, for providers in proxy mode', () => {
  let sandbox: Sandbox;
  let proxy: RunningProxy;
  const lines: string[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
    proxy = await startProxy({
      environment,
      bases: sandbox.endpoints,
      requiresOrigin: false,
      log: (line) => lines.push(line),
    });
  });
  afterAll(async () => {
    await proxy.close();
    await sandbox.close();
  });
  beforeEach(() => {
    lines.length = 0;
    sandbox.clearRecords();
  });
  afterEach(() => {
    expect(lines.join('\n')).not.toContain(key);
  });
  const config = (name: string) => ({ proxyUrl: proxy.providers[name] ?? '', connectTimeoutMs: 5000 });

  it('knows every remote provider of the library', () => {
    const classes = Object.entries(library).flatMap(([name, value]) =>
      typeof value === 'function' && value.prototype instanceof RemoteProvider ? [{ name, value }] : [],
    );
    const providers = classes.filter(
      ({ value }) => !classes.some((other) => Object.getPrototypeOf(other.value) === value && other.value !== value),
    );
    // MeetingInputD signs with the secret of a server: no page has it.
    const known = ['MeetingInputD', ...Object.keys(proxy.providers)];
    expect(providers.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
  });

  for (const name of ['NuLLM', 'MuLLM']) {
    it(`${name} says that the proxy has refused it, and nothing of a credential that it does not have`, async () => {
      await using strict = await startProxy({ environment, bases: sandbox.endpoints, requiresOrigin: true });
      const llm = minds[name]?.({ ...config(name), proxyUrl: strict.providers[name] ?? '' });
      await llm?.initialize();
      const answer = lastValueFrom(llm?.generate([{ role: 'user', content: 'hello' }]) ?? EMPTY);
      await expect(answer).rejects.toMatchObject({
        code: 'forbidden',
        message: `${name}: the proxy refused the request, and its log says why (403, origin_refused)`,
      });
      await llm?.dispose();
    });
  }

  for (const [name, make] of Object.entries(ears)) {
    it(`${name} hears through it`, async () => {
      const stt = make(config(name));
      const heard = firstValueFrom(
        stt.transcripts$.pipe(
          filter(({ utteranceComplete }) => utteranceComplete),
          timeout(20_000),
        ),
      );
      await stt.initialize();
      stt.configureAudio({ encoding: 'linear16', sampleRate: 16000, channels: 1 });
      await stt.connect();
      for (const chunk of frames(['hello proxy'])) stt.sendAudio(chunk);
      expect((await heard).text.toLowerCase()).toContain('hello proxy');
      await stt.dispose();
    });
  }

  for (const [name, make] of Object.entries(voices)) {
    it(`${name} speaks through it`, async () => {
      const tts = make(config(name));
      await tts.initialize();
      const bytes = await lastValueFrom(
        tts.speak('hello proxy').pipe(
          reduce((sum: number, { data }: AudioChunk) => sum + data.length, 0),
          timeout(20_000),
        ),
      );
      expect(bytes).toBeGreaterThan(1000);
      await tts.dispose();
    });
  }

  for (const [name, make] of Object.entries(minds)) {
    it(`${name} answers through it, token by token`, async () => {
      const llm = make(config(name));
      await llm.initialize();
      const tokens = await firstValueFrom(
        llm.generate([{ role: 'user', content: 'count to 5' }]).pipe(
          filter((event) => event.type === 'token'),
          map((event) => event.text),
          toArray(),
          timeout(20_000),
        ),
      );
      expect(tokens.length).toBeGreaterThan(3);
      expect(tokens.join('')).toContain('4, 5');
      await llm.dispose();
    });
  }

  it('IotaSTT hears a recording through it', async () => {
    const stt = new IotaSTT(config('IotaSTT'));
    await stt.initialize();
    const chunks = await firstValueFrom(from(frames(['hello proxy'])).pipe(toArray()));
    const wav = encodeWav(Uint8Array.from(chunks.flatMap(({ data }) => [...data])), {
      encoding: 'linear16',
      sampleRate: 16000,
      channels: 1,
    });
    const { text } = await firstValueFrom(from(stt.transcribe(new Blob([wav]))));
    expect(text).toContain('hello proxy');
    await stt.dispose();
  });
});

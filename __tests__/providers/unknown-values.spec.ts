/**
 * Unknown enum values pass through with a warning: services add values faster than libraries list them. What goes wrong
 * otherwise: a documented value that is refused here, or a misspelt one that nobody is told of.
 */
import { silentLogger, type Logger } from '../../lib/core/logger.ts';
import {
  AlphaAgent,
  AlphaFlux,
  BetaSTT,
  ChiTTS,
  EpsilonSTT,
  EtaSTT,
  GammaSTT,
  GammaTTS,
  IotaTTS,
  KappaSTT,
  LambdaSTT,
  OmegaTTS,
  OmicronAgent,
  PsiTTS,
  RhoTTS,
  ThetaAgent,
  ThetaRealtimeSTT,
  ZetaSTT,
  type Provider,
} from 'rxvoice';

/** Nobody is there: what needs no connection to initialize is. */
const proxy = { proxyUrl: 'http://127.0.0.1:9', connectTimeoutMs: 1 };

const region = { ...proxy, region: 'eu-west-1' };

const cases: readonly (readonly [key: string, value: string | number, (value: never) => Provider<object>])[] = [
  ['think.provider.type', 'later', (type) => new AlphaAgent({ ...proxy, think: { provider: { type } } })],
  ['speak.provider.type', 'later', (type) => new AlphaAgent({ ...proxy, speak: { provider: { type } } })],
  ['turnDetection.type', 'later', (type) => new ThetaAgent({ ...proxy, turnDetection: { type } })],
  ['turnDetection.eagerness', 'later', (eagerness) => new ThetaAgent({ ...proxy, turnDetection: { eagerness } })],
  ['noiseReduction', 'later', (noiseReduction) => new ThetaAgent({ ...proxy, noiseReduction })],
  ['reasoningEffort', 'later', (reasoningEffort) => new ThetaAgent({ ...proxy, reasoningEffort })],
  ['functionBehavior', 'later', (functionBehavior) => new OmicronAgent({ ...proxy, functionBehavior })],
  ['functionScheduling', 'later', (functionScheduling) => new OmicronAgent({ ...proxy, functionScheduling })],
  [
    'turnDetection.endSensitivity',
    'later',
    (it) => new OmicronAgent({ ...proxy, turnDetection: { endSensitivity: it } }),
  ],
  ['options.model', 'flux-later', (model) => new AlphaFlux({ ...proxy, options: { model } })],
  ['mode', 'later', (mode) => new BetaSTT({ ...proxy, mode })],
  ['region', 'ap-south', (place) => new EpsilonSTT({ ...proxy, region: place })],
  ['transcriber', 'later', (transcriber) => new EtaSTT({ ...proxy, transcriber })],
  ['commitStrategy', 'turn_prediction', (commitStrategy) => new GammaSTT({ ...proxy, commitStrategy })],
  ['profanity', 'later', (profanity) => new KappaSTT({ ...proxy, profanity })],
  ['segmentationStrategy', 'later', (segmentationStrategy) => new KappaSTT({ ...proxy, segmentationStrategy })],
  ['partialResultsStability', 'later', (it) => new LambdaSTT({ ...region, partialResultsStability: it })],
  ['contentRedactionType', 'PHI', (contentRedactionType) => new LambdaSTT({ ...region, contentRedactionType })],
  ['noiseReduction', 'later', (noiseReduction) => new ThetaRealtimeSTT({ ...proxy, noiseReduction })],
  ['operatingPoint', 'later', (operatingPoint) => new ZetaSTT({ ...proxy, operatingPoint })],
  ['applyTextNormalization', 'later', (it) => new GammaTTS({ ...proxy, voiceId: 'v', applyTextNormalization: it })],
  ['ssmlGender', 'NEUTRAL', (ssmlGender) => new IotaTTS({ ...proxy, ssmlGender })],
  ['engine', 'later', (engine) => new OmegaTTS({ ...region, voiceId: 'Joanna', engine })],
  ['latency', 'later', (latency) => new PsiTTS({ ...proxy, latency })],
  ['bitrate', 96_000, (bitrate) => new ChiTTS({ ...proxy, voiceId: 'v', bitrate })],
  ['bitrate', 48, (bitrate) => new RhoTTS({ ...proxy, voiceId: 'v', bitrate })],
];

describe('Unknown enum values pass through with a warning', () => {
  for (const [key, value, create] of cases) {
    const { name } = create(value as never);
    it(`${name}: ${key}`, async () => {
      const { provider, warnings } = await initialized(create(value as never));
      expect(warnings.filter((line) => line.includes('is sent as it is'))).toEqual([
        expect.stringContaining(`${name}: ${key} ${JSON.stringify(value)} is sent as it is (known: `),
      ]);
      await provider.dispose();
    });
  }

  it('once, also where other settings change; another value is another warning', async () => {
    const { provider, warnings } = await initialized(new KappaSTT({ ...proxy, profanity: 'later' }));
    provider.updateConfig({ language: 'de-DE' });
    provider.updateConfig({ profanity: 'even-later' });
    provider.updateConfig({ profanity: 'raw' });
    expect(warnings).toEqual([
      'KappaSTT: profanity "later" is sent as it is (known: masked, removed, raw)',
      'KappaSTT: profanity "even-later" is sent as it is (known: masked, removed, raw)',
    ]);
    await provider.dispose();
  });

  it('but not what is no word, and not what decides how audio is read', async () => {
    const wrong = new KappaSTT({ ...proxy, profanity: 7 as unknown as string });
    await expect(wrong.initialize()).rejects.toThrow('profanity must be a text, not 7');
    const unread = new ChiTTS({ ...proxy, voiceId: 'v', audioFormat: 'later' as 'mp3' });
    await expect(unread.initialize()).rejects.toThrow('audioFormat must be');
  });
});

/** An initialized provider, and what it warns of. */
async function initialized<P extends Provider<object>>(provider: P): Promise<{ provider: P; warnings: string[] }> {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (line) => void warnings.push(line) };
  await provider.initialize({ logger });
  return { provider, warnings };
}

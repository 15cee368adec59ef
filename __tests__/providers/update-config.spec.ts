import {
  AlphaAgent,
  AlphaSTT,
  AlphaTTS,
  CompatibleLLM,
  GammaTTS,
  GammaAgent,
  IotaSTT,
  KappaTTS,
  PhoneStreamA,
  OmicronAgent,
  ThetaAgent,
  VoiceError,
  type Provider,
} from 'rxvoice';

const apiKey = 'key';

/** A provider of each kind, a value that it may not have, and the name of its key. */
const cases: readonly (readonly [string, Provider<object>, object])[] = [
  ['sampleRate', new AlphaTTS({ apiKey }), { sampleRate: 12_345 }],
  ['endpointing', new AlphaSTT({ apiKey }), { options: { endpointing: -1 } }],
  ['sampleRate', new IotaSTT({ apiKey }), { sampleRate: 5 }],
  ['maxTokens', new CompatibleLLM({ apiKey, endpoint: 'http://127.0.0.1:9', model: 'm' }), { maxTokens: 0 }],
  ['chunkLengthSchedule', new GammaTTS({ apiKey, voiceId: 'v' }), { chunkLengthSchedule: [7] }],
  ['region', new KappaTTS({ apiKey, region: 'westeurope', voiceName: 'v' }), { region: 'a/b' }],
  ['leadMs', new PhoneStreamA(), { leadMs: -1 }],
  ['greeting', new AlphaAgent({ apiKey }), { greeting: 7 }],
  ['stability', new GammaAgent({ apiKey, agentId: 'a' }), { stability: 7 }],
  ['temperature', new OmicronAgent({ apiKey }), { temperature: 7 }],
  ['speed', new ThetaAgent({ apiKey }), { speed: 7 }],
];

describe('updateConfig', () => {
  for (const [key, provider, wrong] of cases) {
    it(`of ${provider.name} refuses a wrong ${key} at once, and keeps what it had`, () => {
      const before = provider.config;
      let error: unknown;
      try {
        provider.updateConfig(wrong);
      } catch (cause) {
        error = cause;
      }
      expect(VoiceError.is(error) && [error.code, error.provider]).toEqual(['configuration', provider.name]);
      expect(String(error)).toContain(key);
      expect(provider.config).toBe(before);
    });
  }
});

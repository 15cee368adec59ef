import {
  AlphaTTS,
  ChiTTS,
  fallback,
  GammaTTS,
  IotaTTS,
  NativeTTS,
  OmegaTTS,
  PhiTTS,
  PiTTS,
  PsiTTS,
  RhoTTS,
} from '../../../lib/index.ts';
import type { TTSProvider } from '../../../lib/core/roles.ts';

const apiKey = 'key';
const gamma = (applyTextNormalization?: 'auto' | 'on' | 'off'): GammaTTS =>
  new GammaTTS({ apiKey, voiceId: 'v', ...(applyTextNormalization ? { applyTextNormalization } : {}) });

/** Which voices read numbers out themselves, as their services document it. */
const voices: readonly (readonly [string, () => TTSProvider, TTSProvider['normalizesText']])[] = [
  ['AlphaTTS, which does not say', () => new AlphaTTS({ apiKey }), false],
  ['GammaTTS, which decides itself', () => gamma(), false],
  ['GammaTTS, told to', () => gamma('on'), true],
  ['PsiTTS', () => new PsiTTS({ apiKey }), ['en', 'zh']],
  ['PsiTTS, told not to', () => new PsiTTS({ apiKey, normalize: false }), false],
  ['PhiTTS', () => new PhiTTS({ apiKey, speaker: 'astra' }), ['en']],
  ['RhoTTS', () => new RhoTTS({ apiKey, voiceId: 'v' }), false],
  ['RhoTTS, told to', () => new RhoTTS({ apiKey, voiceId: 'v', textNormalization: true }), true],
  ['ChiTTS, told to', () => new ChiTTS({ apiKey, voiceId: 'v', textNormalization: true }), true],
  ['PiTTS', () => new PiTTS({ apiKey, voiceId: 'v' }), true],
  ['IotaTTS', () => new IotaTTS({ apiKey }), true],
  ['OmegaTTS', () => new OmegaTTS({ region: 'eu-west-1', voiceId: 'Joanna' }), true],
  ['NativeTTS', () => new NativeTTS(), true],
  ['two of which one does', () => fallback(new PiTTS({ apiKey, voiceId: 'v' }), new AlphaTTS({ apiKey })), false],
  [
    'two that share a language',
    () =>
      fallback(new PsiTTS({ apiKey }), new PhiTTS({ apiKey, speaker: 'astra' }), new PiTTS({ apiKey, voiceId: 'v' })),
    ['en'],
  ],
];

it.each(voices)('normalizesText: %s', (_name, create, expected) => {
  expect(create().normalizesText).toEqual(expected);
});

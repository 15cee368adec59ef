// What a voice asks its service for when nobody configured a format: `auto`.
import {
  ChiTTS,
  IotaTTS,
  KappaTTS,
  OmegaTTS,
  PhiTTS,
  PsiTTS,
  RhoTTS,
  SigmaTTS,
  TauTTS,
  ThetaTTS,
  type AudioFormat,
  type AudioMetadata,
} from 'rxvoice';

interface Voice {
  getMetadata(): AudioMetadata;
  configureOutput(accepts: readonly AudioFormat[]): void;
  updateConfig(partial: object): void;
}

const phone: readonly AudioFormat[] = [{ encoding: 'mulaw', sampleRates: [8000] }];
const speaker: readonly AudioFormat[] = [{ encoding: 'linear16' }, { encoding: 'mp3' }];

const voices: readonly (readonly [string, string, (format: object) => Voice])[] = [
  ['ThetaTTS', 'responseFormat', (format) => new ThetaTTS(format)],
  ['RhoTTS', 'audioFormat', (format) => new RhoTTS({ voiceId: 'v', ...format })],
  ['SigmaTTS', 'format', (format) => new SigmaTTS({ voiceId: 'v', ...format })],
  ['TauTTS', 'format', (format) => new TauTTS({ voice: 'v', ...format })],
  ['PhiTTS', 'audioFormat', (format) => new PhiTTS({ speaker: 'v', ...format })],
  ['ChiTTS', 'audioFormat', (format) => new ChiTTS({ voiceId: 'v', ...format })],
  ['PsiTTS', 'format', (format) => new PsiTTS(format)],
  ['IotaTTS', 'audioEncoding', (format) => new IotaTTS(format)],
  ['KappaTTS', 'outputFormat', (format) => new KappaTTS({ voiceName: 'v', region: 'westeurope', ...format })],
  ['OmegaTTS', 'outputFormat', (format) => new OmegaTTS({ voiceId: 'v', region: 'us-east-1', ...format })],
];

describe.each(voices)('%s', (name, key, create) => {
  it.each([{}, { [key]: 'auto' }])('asks for samples where the output decodes nothing: %j', (format) => {
    const voice = create(format);
    expect(voice.getMetadata().encoding).toBe('mp3');
    voice.configureOutput(phone);
    expect(voice.getMetadata()).toMatchObject({ encoding: 'linear16', bitDepth: 16, channels: 1 });
    // Another output, that decodes, takes samples too.
    voice.configureOutput(speaker);
    expect(voice.getMetadata().encoding).toBe('linear16');
  });

  it.each([{}, { [key]: 'auto' }])('keeps its usual format where the output decodes it: %j', (format) => {
    const voice = create(format);
    voice.configureOutput(speaker);
    expect(voice.getMetadata().encoding).toBe('mp3');
  });

  it('never overrules a format that is configured', () => {
    const mp3 = { IotaTTS: 'MP3', KappaTTS: 'audio-24khz-48kbitrate-mono-mp3' }[name] ?? 'mp3';
    const voice = create({ [key]: mp3 });
    voice.configureOutput(phone);
    expect(voice.getMetadata().encoding).toBe('mp3');
  });
});

it('keeps the usual format where another key suits no other', () => {
  const voice = new OmegaTTS({ voiceId: 'v', region: 'us-east-1', sampleRate: 24_000 });
  voice.configureOutput(phone);
  expect(voice.getMetadata()).toMatchObject({ encoding: 'mp3', sampleRate: 24_000 });
  voice.updateConfig({ sampleRate: 8000 });
  expect(voice.getMetadata()).toMatchObject({ encoding: 'linear16', sampleRate: 8000 });
});

it('ChiTTS asks for WAV where what changes the voice refuses raw samples', () => {
  const voice = new ChiTTS({ voiceId: 'v', voiceModify: { pitch: 10 } });
  voice.configureOutput(phone);
  expect(voice.config.audioFormat).toBe('wav');
});

import { azureSpeechUrl, isAzureRegion } from '../../lib/core/azure-region.ts';

describe('azureSpeechUrl', () => {
  const cases: readonly (readonly ['tts' | 'stt', string | undefined, string | undefined])[] = [
    ['tts', 'eastus', 'https://eastus.tts.speech.microsoft.com'],
    ['stt', 'westus2', 'https://westus2.stt.speech.microsoft.com'],
    ['tts', 'chinaeast2', 'https://chinaeast2.tts.speech.azure.cn'],
    ['stt', 'usgovvirginia', 'https://usgovvirginia.stt.speech.azure.us'],
    ['tts', undefined, undefined],
    ['tts', '', undefined],
    ['tts', 'evil.example/', undefined],
  ];
  for (const [service, region, url] of cases) {
    it(`of ${service} in ${region ?? 'no region'}`, () => expect(azureSpeechUrl(service, region)).toBe(url));
  }
});

describe('isAzureRegion', () => {
  for (const region of ['', 'a', 'east us', 'eastus.evil', 'eastus#', 'a@b']) {
    it(`refuses ${JSON.stringify(region)}`, () => expect(isAzureRegion(region)).toBe(false));
  }
});

/** Separate clouds, by the prefix of their region names. */
const clouds: readonly (readonly [prefix: string, domain: string])[] = [
  ['china', 'azure.cn'],
  ['usgov', 'azure.us'],
];

/** Whether a text can be the name of an Azure region, such as `westeurope`. */
export function isAzureRegion(region: string): boolean {
  return /^[a-z\d]{3,40}$/i.test(region);
}

/** The address of an Azure speech service in a region; `undefined` without a region. */
export function azureSpeechUrl(service: 'tts' | 'stt' | 'voice', region: string | undefined): string | undefined {
  if (!region || !isAzureRegion(region)) return undefined;
  const [, domain = 'microsoft.com'] = clouds.find(([prefix]) => region.startsWith(prefix)) ?? [];
  return `https://${region}.${service}.speech.${domain}`;
}

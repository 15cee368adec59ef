/** Clouds of their own, by what their regions' names begin with. */
const clouds: readonly (readonly [prefix: string, domain: string])[] = [
  ['china', 'azure.cn'],
  ['usgov', 'azure.us'],
];

/** Whether a text can be the name of a region of Azure, such as `westeurope`. */
export function isAzureRegion(region: string): boolean {
  return /^[a-z\d]{3,40}$/i.test(region);
}

/** The address of a speech service of Azure in a region; `undefined` where there is no region. */
export function azureSpeechUrl(service: 'tts' | 'stt', region: string | undefined): string | undefined {
  if (!region || !isAzureRegion(region)) return undefined;
  const [, domain = 'microsoft.com'] = clouds.find(([prefix]) => region.startsWith(prefix)) ?? [];
  return `https://${region}.${service}.speech.${domain}`;
}

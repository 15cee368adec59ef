import { isSsml, ssml } from '../../text/ssml.ts';
import { escapeXml, xmlElement } from '../../text/xml.ts';
import { inExpression, inProsody, wrapContent, type Wrapper } from './kappa-ssml.ts';
import type { KappaFacts, KappaTTSConfig } from './kappa-tts.ts';
import type { RequestDialect } from './requests/request-wire.ts';

/** Such as `+10.00%`: without a sign it would be absolute. */
function signed(value: number, unit: string, digits?: number): string {
  return `${value < 0 ? '' : '+'}${digits === undefined ? value : value.toFixed(digits)}${unit}`;
}

/** What a document says, without the element around it. */
function contentOf(document: string): string {
  return document.replace(/^\s*<speak[^>]*>/i, '').replace(/<\/speak>\s*$/i, '');
}

function documentOf(text: string, config: KappaTTSConfig): string {
  const { voiceName, style, styleDegree, role, rate, pitch, volume, language } = config;
  const prosody = {
    rate: rate === undefined ? undefined : signed((rate - 1) * 100, '%', 2),
    pitch: pitch === undefined ? undefined : signed(pitch, 'st'),
    volume,
  };
  const expression = { style, styledegree: style === undefined ? undefined : styleDegree, role };
  const isDocument = isSsml(text);
  // A document with voices of its own is complete.
  if (isDocument && /<voice[\s>]/i.test(text)) return text;
  const content = isDocument ? contentOf(text) : escapeXml(text);
  // Expression first: prosody goes within it.
  const wrappers: readonly Wrapper[] = [
    { name: 'mstts:express-as', attributes: expression, holds: inExpression },
    { name: 'prosody', attributes: prosody, holds: inProsody },
  ];
  const expressed = wrappers
    .filter(({ attributes }) => Object.values(attributes).some((value) => value !== undefined))
    .reduce(wrapContent, content);
  const attributes = {
    version: '1.0',
    xmlns: 'http://www.w3.org/2001/10/synthesis',
    'xmlns:mstts': expressed.includes('<mstts:') ? 'https://www.w3.org/2001/mstts' : undefined,
    'xml:lang': language ?? /^[^-]+-[^-]+(?=-)/.exec(voiceName)?.[0] ?? 'en-US',
  };
  return xmlElement('speak', attributes, xmlElement('voice', { name: voiceName }, expressed));
}

/** How Azure is spoken with. */
export const kappaDialect = ({ authTypeOf, usualFormat }: KappaFacts): RequestDialect<KappaTTSConfig> => ({
  markupOf: (text) => (isSsml(text) ? ssml : undefined),
  credential: (key, config) =>
    authTypeOf(config) === 'bearer' ? { Authorization: `Bearer ${key}` } : { 'Ocp-Apim-Subscription-Key': key },
  request: (text, { config }) => ({
    path: '/cognitiveservices/v1',
    query: { deploymentId: config.deploymentId },
    headers: {
      'Content-Type': 'application/ssml+xml',
      'X-Microsoft-OutputFormat': config.outputFormat ?? usualFormat,
    },
    body: documentOf(text, config),
  }),
});

import type { RhoTTSConfig } from './rho-tts-config.ts';
import { escapeXml, isSsml, xmlElement } from '../../text/ssml.ts';

/** How plain text is to be spoken: the service has no other fields for it. */
type Manner = Pick<RhoTTSConfig, 'emotion' | 'pitch' | 'speed' | 'volume'>;

/** What says a text. Plain text is escaped only where it is wrapped, or could be taken for SSML. */
export function rhoInput(text: string, manner: Manner): string {
  if (isSsml(text) || /^\s*<\?xml/.test(text)) return text;
  const escaped = escapeXml(text);
  const document = rhoDocument(escaped, manner);
  return document === rhoDocument(escaped) && !/^\s*</.test(text) ? text : document;
}

/** An SSML document of escaped text. */
export function rhoDocument(escaped: string, { emotion, pitch, speed, volume }: Manner = {}): string {
  const prosody = {
    pitch: signed(pitch, '%'),
    rate: speed === undefined ? undefined : signed(Math.round((speed - 1) * 100), '%'),
    volume: signed(volume, 'dB'),
  };
  const isSet = Object.values(prosody).some((value) => value !== undefined);
  const said = isSet ? xmlElement('prosody', prosody, escaped, '"') : escaped;
  return xmlElement('speak', {}, emotion ? xmlElement('speechify:style', { emotion }, said, '"') : said);
}

function signed(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${value < 0 ? '' : '+'}${value}${unit}`;
}

/** Names of the characters that mean something in XML. */
export const entities: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/** Escapes text for an XML element or attribute, and removes what XML 1.0 does not allow. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replace(/[&<>"']/g, (character) => `&${entities[character] ?? ''};`);
}

/** An XML element. Its content is XML; attributes are texts, and `undefined` omits one. */
export function xmlElement(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  content: string,
  quote: '"' | "'" = "'",
): string {
  const given = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}=${quote}${escapeXml(String(value))}${quote}`],
  );
  return `<${name}${given.join('')}>${content}</${name}>`;
}

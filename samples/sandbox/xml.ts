/** An element of a document. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (XmlElement | string)[];
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const forbidden = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const pieces =
  /<!--(?:(?!--)[\s\S])*-->|<\/([\w:.-]+)\s*>|<([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/gy;

function unescape(text: string): string {
  return text.replace(/&([^;\s]*);?/g, (all, name: string) => {
    const code = /^#(?:x([\da-f]+)|(\d+))$/i.exec(name);
    const character = code
      ? String.fromCodePoint(parseInt(code[1] ?? code[2] ?? '', code[1] ? 16 : 10))
      : entities[name];
    if (character === undefined || !all.endsWith(';')) throw new Error(`${all} is no entity`);
    return character;
  });
}

function attributesOf(text: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', quoted = ''] of text.matchAll(/([\w:.-]+)\s*=\s*("[^"]*"|'[^']*')/g)) {
    if (Object.hasOwn(attributes, name)) throw new Error(`attribute ${name} is given twice`);
    attributes[name] = unescape(quoted.slice(1, -1));
  }
  return attributes;
}

/**
 * The one element of a document, read as strictly as XML demands.
 *
 * @throws Error that says what is not well-formed.
 */
export function parseXml(document: string): XmlElement {
  const strange = forbidden.exec(document);
  if (strange) throw new Error(`character ${strange[0].charCodeAt(0).toString(16)} is not allowed in XML`);
  const root: { name: string; children: (XmlElement | string)[] } = { name: '', children: [] };
  const open = [root];
  pieces.lastIndex = 0;
  for (let at = 0; at < document.length; at = pieces.lastIndex) {
    pieces.lastIndex = at;
    const match = pieces.exec(document);
    if (!match) throw new Error(`malformed markup at ${document.slice(at, at + 20)}`);
    const [, closed, name, attributes = '', empty, text] = match;
    const parent = open.at(-1) ?? root;
    if (text !== undefined) {
      if (parent === root && text.trim()) throw new Error('text outside of the root element');
      if (parent !== root) parent.children.push(unescape(text));
    } else if (name !== undefined) {
      const element = { name, attributes: attributesOf(attributes), children: [] };
      parent.children.push(element);
      if (!empty) open.push(element);
    } else if (closed !== undefined) {
      if (parent === root || parent.name !== closed) throw new Error(`</${closed}> closes nothing`);
      open.pop();
    }
  }
  const [element, ...others] = root.children;
  if (open.length > 1) throw new Error(`<${open.at(-1)?.name ?? ''}> is not closed`);
  if (typeof element !== 'object' || others.length > 0) throw new Error('a document has one root element');
  return element;
}

/** All elements, outer ones first. */
export function elementsOf(element: XmlElement): XmlElement[] {
  return [element, ...element.children.flatMap((child) => (typeof child === 'string' ? [] : elementsOf(child)))];
}

/** What is said of a document: its text, white space collapsed. */
export function spokenOf(element: XmlElement): string {
  const text = (node: XmlElement | string): string =>
    typeof node === 'string' ? node : node.children.map(text).join('');
  return text(element).replace(/\s+/g, ' ').trim();
}

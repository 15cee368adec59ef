import { countWords } from './words.ts';

/** How a URL starts. */
export const urlStart: readonly string[] = ['https://', 'http://', 'www.'];
/** A URL's start with nothing after it. */
export const urlScheme: RegExp = /^(?:https?:\/\/|www\.)$/i;
/** The longest run that can be a URL. */
export const urlRun: RegExp = /^(?:https?:\/\/|www\.)(?=[a-z\d])[!#-;=?-Z_a-z~]*/i;
export const mailAddress: RegExp = /^[^\s@]+@\S+$/;

/** Where unclosed code turns into what reads as prose; its length if it doesn't. */
export function proseStart(code: string): number {
  let at = 0;
  for (const line of code.split('\n')) {
    if (/^[*_"'“«¿¡]*[\p{Lu}\p{Lo}]/u.test(line) && /[\p{STerm}…:][\p{Pe}\p{Pf}"'*_]*\s*$/u.test(line)) {
      if (!/[{}<>=;|\\]|\(\)/.test(line) && countWords(line) >= 3) return at;
    }
    at += line.length + 1;
  }
  return code.length;
}

/**
 * Finds the close of the bracket that opens at an offset: -1 if it is not in the line and the limit, `undefined` if the
 * text ends first.
 */
export function closing(text: string, from: number, limit: number): number | undefined {
  const open = text[from];
  const close = open === '(' ? ')' : ']';
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\n' || at - from > limit) return -1;
    if (character === '\\') at += 1;
    else if (character === open) depth += 1;
    else if (character === close && --depth === 0) return at;
  }
  return undefined;
}

/** A URL without the punctuation of the sentence around it. */
export function trimUrl(run: string): string {
  let url = run;
  for (;;) {
    const last = url.at(-1) ?? '';
    const isOpen = last === ')' && url.split('(').length >= url.split(')').length;
    if (!/[.,!?;:'*_~)]/.test(last) || isOpen) return url;
    url = url.slice(0, -1);
  }
}

/** A URL's host, as spoken. */
export function hostOf(url: string): string {
  return url
    .replace(/^https?:\/\//i, '')
    .replace(/[/?#].*$/s, '')
    .replace(/^.*@/, '')
    .replace(/^www\.|:\d*$/gi, '');
}

/** Length of the run of the first character. */
export function runLength(text: string): number {
  let length = 1;
  while (text[length] === text[0]) length += 1;
  return length;
}

/** The first character, whole; '' when there is none. */
export function firstCharacter(text: string): string {
  const code = text.codePointAt(0);
  return code === undefined ? '' : String.fromCodePoint(code);
}

/** The last character, whole; '' when there is none. */
export function lastCharacter(text: string): string {
  return /[\ud800-\udbff][\udc00-\udfff]$/.exec(text)?.[0] ?? text.slice(-1);
}

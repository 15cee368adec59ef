/** The element with an id, of a class. */
export function byId<T extends HTMLElement>(id: string, type: abstract new () => T): T {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new Error(`The page has no ${type.name} #${id}`);
}

type Child = Node | string | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An element; attributes that are `true` are set without a value, those that are `false` or absent are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== undefined && child !== false));
  return element;
}

/** A button that says what it does. */
export function button(label: string, attributes: Attributes = {}): HTMLButtonElement {
  return h('button', { type: 'button', ...attributes }, label);
}

/** Hands on the focus of what is about to go: nobody who uses the keyboard should begin anew at the top. */
export function handFocus(from: HTMLElement, to: HTMLElement | null | undefined): void {
  if (from.contains(document.activeElement)) to?.focus();
}

/** Hands the user a file. */
export function download(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  h('a', { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** Whether the user wants little to move. */
export const wantsStillness = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;

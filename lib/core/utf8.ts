/** Made when they are first used: jsdom, in which many pages are tested, has neither. */
let encoder: TextEncoder | undefined;
let decoder: TextDecoder | undefined;

/** A text as UTF-8. */
export function utf8Of(text: string): Uint8Array<ArrayBuffer> {
  encoder ??= new TextEncoder();
  return encoder.encode(text);
}

/** The text of UTF-8; throws at anything else. */
export function textOf(bytes: Uint8Array): string {
  decoder ??= new TextDecoder('utf-8', { fatal: true });
  return decoder.decode(bytes);
}

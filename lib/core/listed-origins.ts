/**
 * The origins as browsers write them: in lower case, without the port that goes without saying, without a last slash.
 *
 * @throws Error when an entry is not an origin: no page would match it, or any page would.
 */
export function listedOrigins(origins: unknown): readonly string[] | undefined {
  if (origins === undefined) return undefined;
  if (!Array.isArray(origins)) throw new Error(`origins must be a list: ['https://app.example.com']`);
  return origins.map((each: unknown) => {
    const text = String(each).toLowerCase();
    if (!/^[a-z][a-z\d+.-]*:\/\/[^\s*/?#@]+\/?$/.test(text) || (/^https?:/.test(text) && !URL.canParse(text))) {
      throw new Error(
        `origins must look like https://app.example.com, with nothing after the host, not ${String(each)}`,
      );
    }
    return /^https?:/.test(text) ? new URL(text).origin : text.replace(/\/$/, '');
  });
}

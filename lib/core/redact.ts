const mask = '[redacted]';

/** Longest text shown in an error or a log line. A service may send a megabyte. */
const longest = 2048;

const patterns: readonly RegExp[] = [
  /\b(Bearer|Token|Basic)\s+[\w.~+/=-]{6,}/gi,
  /\b((?:access_|api_?|single_use_)?(?:token|key|secret|password|signature|credential|jwt)s?["']?\s*[=:]\s*["']?)[^\s"'&,;}]{4,}/gi,
  /([?&](?:token|access_token|key|api_key|apikey|authorization|x-amz-[\w-]+|sig)=)[^&\s"']+/gi,
  /\b(?:sk|pk|gsk|xai|rk)[-_][\w-]{8,}/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}/g,
];

/**
 * The first 2,048 characters of a text, masking anything that looks like a credential, and each of `secrets` wherever
 * it occurs.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  let safe = text;
  for (const secret of secrets) {
    if (secret.length < 4) continue;
    safe = safe.replaceAll(secret, mask).replaceAll(encodeURIComponent(secret), mask);
  }
  // After masking the secrets: half of one would not be recognized.
  if (safe.length > longest) safe = `${safe.slice(0, longest)}…`;
  for (const pattern of patterns) {
    safe = safe.replace(pattern, (match, prefix: unknown) => {
      if (match.includes(mask)) return match;
      return typeof prefix === 'string' ? `${prefix}${/\w$/.test(prefix) ? ' ' : ''}${mask}` : mask;
    });
  }
  return safe.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

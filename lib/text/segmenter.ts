const segmenters = new Map<string, Intl.Segmenter>();

/** A shared `Intl.Segmenter` (making one takes longer than using it). A malformed locale counts as none. */
export function segmenterFor(granularity: 'grapheme' | 'word', locale?: string): Intl.Segmenter {
  const key = `${granularity} ${locale ?? ''}`;
  let segmenter = segmenters.get(key);
  if (!segmenter) {
    try {
      segmenter = new Intl.Segmenter(locale, { granularity });
    } catch {
      segmenter = new Intl.Segmenter(undefined, { granularity });
    }
    segmenters.set(key, segmenter);
  }
  return segmenter;
}

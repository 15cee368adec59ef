const segmenters = new Map<string, Intl.Segmenter>();

/** A shared `Intl.Segmenter` (creating one takes longer than using it). A malformed locale is ignored. */
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

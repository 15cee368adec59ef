/** A key that is none of these, but differs by a letter from one, as a sentence: it was meant to be that. */
export function misspeltKey(given: object, keys: readonly string[]): string | undefined {
  for (const [key, value] of Object.entries(given)) {
    const forms = value === undefined || keys.includes(key) ? [] : formsOf(key);
    const meant = keys.find((each) => formsOf(each).some((form) => forms.includes(form)));
    if (meant) return `there is no option ${key}: did you mean ${meant}?`;
  }
  return undefined;
}

/** A key in any spelling, and without each of its letters: those of a misspelt one share one with those of the right. */
function formsOf(key: string): readonly string[] {
  const word = key.replaceAll('_', '').toLowerCase();
  return Array.from(`${word}.`, (_, at) => word.slice(0, at) + word.slice(at + 1));
}

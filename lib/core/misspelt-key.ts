/** The first key that differs by a letter from one of these, in a sentence that says which was meant. */
export function misspeltKey(given: object, keys: readonly string[]): string | undefined {
  for (const [key, value] of Object.entries(given)) {
    const forms = value === undefined || keys.includes(key) ? [] : formsOf(key);
    const meant = keys.find((each) => formsOf(each).some((form) => forms.includes(form)));
    if (meant) return `there is no option ${key}: did you mean ${meant}?`;
  }
  return undefined;
}

/** The key in lower case, and with each letter left out in turn: keys that differ by a letter share one of these forms. */
function formsOf(key: string): readonly string[] {
  const word = key.replaceAll('_', '').toLowerCase();
  return Array.from(`${word}.`, (_, at) => word.slice(0, at) + word.slice(at + 1));
}

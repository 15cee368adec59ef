/**
 * Reads Prometheus's text format 0.0.4 as strictly as its grammar says. To it, the unit of a metric is a comment.
 *
 * @returns values by series, as they are written.
 * @throws Error with the line that breaks the format.
 */
export function readExposition(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  const seen = new Set<string>();
  let current = { name: '', type: '' };
  if (text === '') return values;
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  for (const line of text
    .slice(0, -1)
    .split('\n')
    .filter((each) => !each.startsWith('# UNIT '))) {
    const help = /^# HELP ([a-zA-Z_:][\w:]*) (?:[^\\]|\\\\|\\n)+$/.exec(line)?.[1];
    const [, typed, type] = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line) ?? [];
    const [, name, labels = '', value] =
      /^([a-zA-Z_:][\w:]*)((?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)+\})?) (-?[\d.]+(?:e[+-]?\d+)?)$/.exec(
        line,
      ) ?? [];
    if (help !== undefined && !seen.has(help)) {
      seen.add(help);
      current = { name: help, type: '' };
    } else if (typed !== undefined && type !== undefined && typed === current.name && current.type === '') {
      current = { name: typed, type };
    } else if (name !== undefined && seriesOf(current).includes(name) && !values.has(name + labels)) {
      values.set(name + labels, Number(value));
    } else {
      throw new Error(`not the format: ${line}`);
    }
  }
  return values;
}

/** The names under which a metric's values stand. */
function seriesOf({ name, type }: { readonly name: string; readonly type: string }): readonly string[] {
  if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
  return type === '' ? [] : [name];
}

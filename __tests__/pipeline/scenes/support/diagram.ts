import { partsOf, wordMs, type Performance } from './scene.ts';
import type { Cue } from './script.ts';

/** What a character of a diagram stands for: as long as the voice speaks one. */
const columnMs = 50;

/**
 * A scene as a picture: what each says stands where it is said. The agent's voice speaks a character in 50 ms, so its
 * lane is what was heard, to the character; `~` is a voice without words.
 *
 * ```text
 * seconds 0                   1                   2
 * user    Tell  me
 * agent                       Once upon
 *                          ^ turn
 * ```
 */
export function diagram(cues: readonly Cue[], { heard, decisions }: Performance): string {
  const lanes = [
    ...['user', 'echo', 'stt', 'app'].map((who): Lane => laneOf(who, cues)),
    { name: 'agent', marks: heard.map(({ fromMs, text }) => ({ atMs: fromMs, text })) },
  ].filter(({ marks }) => marks.length > 0);
  const marks = decisions.map(({ atMs, line }) => ({ atMs, text: `^ ${shorten(line)}` }));
  const until = Math.max(...heard.map(({ toMs }) => toMs), ...cues.map(({ atMs }) => atMs + 1_000));
  const scale = Array.from({ length: Math.floor(until / 1_000) + 1 }, (_, second): Mark => {
    return { atMs: second * 1_000, text: String(second) };
  });
  return [
    ...rowsOf('seconds', scale),
    ...lanes.flatMap(({ name, marks: said }) => rowsOf(name, said)),
    ...rowsOf('', marks),
  ].join('\n');
}

interface Mark {
  readonly atMs: number;
  readonly text: string;
}

interface Lane {
  readonly name: string;
  readonly marks: readonly Mark[];
}

function laneOf(name: string, cues: readonly Cue[]): Lane {
  const own = cues.filter(({ who }) => who === name);
  return { name, marks: own.flatMap(marksOf) };
}

/** A word stands where it is said; what is done by other means stands where it begins. */
function marksOf({ atMs, who, how, text }: Cue): Mark[] {
  if (who === 'stt') return [{ atMs, text: `${how === 'interim' ? '' : `${how} `}${text}`.trim() }];
  // What is said is heard, below.
  if (who === 'app') return [{ atMs, text: how }];
  if (!text) return [{ atMs, text: '~'.repeat(Math.ceil(noiseMs(how) / columnMs)) }];
  const fits = wordMs / columnMs - 1;
  const words = partsOf(text).map((word) => word.trim());
  return words.map((word, index) => ({
    atMs: atMs + index * wordMs,
    text: index < words.length - 1 ? word.slice(0, fits) : word,
  }));
}

function noiseMs(how: string): number {
  return how === 'coughs' ? 250 : Number(/[\d.]+$/.exec(how)?.[0]) * 1_000;
}

/** A decision without its time, and without what was said, which stands above. */
function shorten(line: string): string {
  return line
    .replace(/^\S+ /, '')
    .replace(/^agent (?=ducks|pauses|goes on|holds back)/, '')
    .replace(/^agent is (cut off|stopped)/, '$1')
    .replace(/^(turn|ignored \([\w-]+\)|prepares):.*/, '$1')
    .replace(/ \d.* ago$/, '');
}

/** Marks in as few rows as hold them without one covering another. */
function rowsOf(name: string, marks: readonly Mark[]): string[] {
  const rows: string[] = [];
  for (const { atMs, text } of marks) {
    const column = Math.round(atMs / columnMs);
    const free = rows.findIndex(
      (row) => row.length === 0 || row.length < column || (row.length === column && /\s$/.test(row)),
    );
    const row = free < 0 ? rows.length : free;
    rows[row] = (rows[row] ?? '').padEnd(column) + text;
  }
  return rows.map((row, index) => `${(index === 0 ? name : '').padEnd(8)}${row}`.trimEnd());
}

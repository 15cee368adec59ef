/**
 * The notation of a scene, for people who have never seen the code:
 *
 * ```text
 * model: It is noon.                     what the model would answer, request by request
 *
 * 0.00       user: What time is it?      seconds: somebody does something
 * 1.40       turn: What time is it?      … and what comes of it
 * 1.61-2.16  heard: It is noon.          what sounds, from when to when, as the samples say
 *
 * asked: 1                               how many requests the model was sent
 * history:                               what the model will be told later
 *   user: What time is it?
 *   agent: It is noon.                   «—» after what was cut off
 * ```
 *
 * Lines of `user`, `echo`, `stt` and `app` are what happens to the agent; all others must come out exactly as written,
 * no more and no less. `#` begins a remark.
 *
 * Everyone takes their time: `user` and `echo` say a word in 0.30; the service tells words so far as they end, the end
 * of the voice 0.05 after it, and all that was said 0.20 later. The model begins after 0.10 and writes a word in 0.01;
 * the voice begins after 0.05 and speaks a character in 0.05. `stt` lines are what the service tells, moment by moment.
 */

/** Something that happens to the agent. */
export interface Cue {
  readonly atMs: number;
  /** The line as written. */
  readonly line: string;
  readonly who: Actor;
  /** What is done, such as `says (urgent)`; empty for those who just speak. */
  readonly how: string;
  /** What is said. */
  readonly text: string;
}

/** A scene's script. */
export interface Script {
  /** What is prepared: `model`, `greeting`, `tool`, each with its lines. */
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly cues: readonly Cue[];
  /** Every line but remarks, in one form. */
  readonly lines: readonly string[];
  /** The lines before the first that has a time. */
  readonly preface: readonly string[];
  /** When it ends: 12 s after the last cue, unless it says so. */
  readonly endMs: number;
  readonly hasEnd: boolean;
}

type Actor = 'user' | 'echo' | 'stt' | 'app';

/** What may be prepared. */
const givens = ['model', 'backup', 'voice', 'backup voice', 'greeting', 'locale', 'tool', 'prompt'];

const timed = /^(\d+\.\d\d)(?:-\d+\.\d\d)?\s+(.*)$/;
const cueLine = /^(user|echo|stt|app)(?:\s+([^:]*?))?\s*(?::\s*(.*))?$/;

/** Reads a script. */
export function parseScript(source: string): Script {
  const lines = source
    .split('\n')
    .map((line) => line.replace(/(^|\s)#\s.*$/, '').trimEnd())
    .filter((line) => line.trim());
  const given = new Map<string, string[]>();
  const cues: Cue[] = [];
  const preface: string[] = [];
  let endMs: number | undefined;
  let inHistory = false;
  let hasTimes = false;
  for (const raw of lines) {
    const line = raw.trim();
    const [, seconds, what] = timed.exec(line) ?? [];
    if (seconds !== undefined && what !== undefined) {
      hasTimes = true;
      const atMs = Math.round(Number(seconds) * 1_000);
      if (what === 'end') endMs = atMs;
      const [, who, how = '', text = ''] = cueLine.exec(what) ?? [];
      if (who) cues.push({ atMs, line: oneForm(line), who: who as Actor, how, text });
    } else if (!hasTimes) {
      preface.push(oneForm(line));
      const [, name = '', text = ''] = /^([\w ]+):\s*(.*)$/.exec(line) ?? [];
      if (!givens.includes(name)) throw new Error(`What does "${line}" prepare?`);
      given.set(name, [...(given.get(name) ?? []), text]);
    } else if (line === 'history:') inHistory = true;
    else if (!inHistory && !line.startsWith('asked: ')) throw new Error(`When is "${line}"?`);
  }
  const last = Math.max(0, ...cues.map(({ atMs }) => atMs));
  const hasEnd = endMs !== undefined;
  return { given, cues, preface, hasEnd, lines: lines.map(oneForm), endMs: endMs ?? last + 12_000 };
}

/** A line with one space wherever there is more. */
export function oneForm(line: string): string {
  return line.trim().replaceAll(/\s+/g, ' ');
}

/** Seconds as scripts write them. */
export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

/**
 * Compares what happened with the script.
 *
 * @throws Error with both side by side.
 */
export function assertScript(expected: readonly string[], actual: readonly string[]): void {
  if (expected.length === actual.length && expected.every((line, index) => line === actual[index])) return;
  throw new Error(`The scene went differently.\n\n${sideBySide(expected, actual)}\n`);
}

/** Both scripts, line by line; `|` marks what differs. */
export function sideBySide(expected: readonly string[], actual: readonly string[]): string {
  const rows = align(expected, actual);
  const width = Math.max('as written'.length, ...rows.map(([left = '']) => left.length));
  const row = (left: string, mark: string, right: string): string =>
    `${left.padEnd(width)}  ${mark}  ${right}`.trimEnd();
  return [
    row('as written', ' ', 'as it went'),
    row('-'.repeat(width), ' ', '-'.repeat(width)),
    ...rows.map(([left, right]) => row(left ?? '', left === right ? ' ' : '|', right ?? '')),
  ].join('\n');
}

type Row = readonly [string | undefined, string | undefined];

/** Pairs equal lines, as many as possible; others stand alone. */
function align(left: readonly string[], right: readonly string[]): Row[] {
  const lengths = Array.from({ length: left.length + 1 }, () => new Array<number>(right.length + 1).fill(0));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    const row = lengths[i] ?? [];
    for (let j = right.length - 1; j >= 0; j--) {
      row[j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const rows: Row[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && left[i] === right[j]) rows.push([left[i++], right[j++]]);
    else if (j >= right.length || (i < left.length && at(i + 1, j) >= at(i, j + 1))) rows.push([left[i++], undefined]);
    else rows.push([undefined, right[j++]]);
  }
  return rows;
}

import type { VoiceEvent } from 'rxvoice';
import { lanes, summaryOf, type LaneId } from './lanes.ts';
import type { Mark, Row, Timeline } from './timeline.ts';

/** Longest diagram, in characters; the frames are made as long as that takes. */
const maxFrames = 110;
const frameLengths = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** Lanes that a spec speaks of: audio and levels are made, not said. */
const told: readonly LaneId[] = ['transcripts', 'generation', 'tools', 'playback', 'bargeIn', 'errors'];
/** Events that come in crowds: their lane shows the first of each run. */
const crowds: ReadonlySet<string> = new Set(['llm.token', 'transcript.interim']);

/** One lane as RxJS writes it: `--a--(bc)---`. */
function marbles(marks: readonly Mark[], startedAt: number, frameMs: number, letterOf: (row: Row) => string): string {
  const frames = new Map<number, string>();
  for (const { at, row } of marks) {
    const frame = Math.round((at - startedAt) / frameMs);
    frames.set(frame, (frames.get(frame) ?? '') + letterOf(row));
  }
  let text = '';
  for (const [frame, letters_] of [...frames].sort(([a], [b]) => a - b)) {
    // A group takes as many frames as it has characters: what follows it moves on as TestScheduler counts.
    text += '-'.repeat(Math.max(0, frame - text.length));
    text += letters_.length > 1 ? `(${letters_})` : letters_;
  }
  return text;
}

function withoutCrowds(marks: readonly Mark[]): Mark[] {
  return marks.filter(({ row }, index) => {
    const before = marks[index - 1]?.row.event.type;
    return !(crowds.has(row.event.type) && before === row.event.type);
  });
}

/** What of the outside world an event tells of, as a step of `voiceTest`; `undefined` for what the engine does. */
function stepOf(event: VoiceEvent, typed: ReadonlySet<string | undefined>): string | undefined {
  const text = 'text' in event ? quoted(event.text) : '';
  switch (event.type) {
    case 'user.state':
      return event.state === 'speaking' ? 'user.starts' : 'user.falls';
    case 'transcript.interim':
      return `user.interim(${text})`;
    case 'transcript.preflight':
      return `user.preflight(${text})`;
    case 'transcript.final':
      return event.result && `user.final(${text})`;
    case 'turn.committed':
      return typed.has(event.turnId) ? `application.send(${text})` : undefined;
    default:
      return undefined;
  }
}

/** A text as the project writes it. */
function quoted(text: string): string {
  const json = JSON.stringify(text);
  return text.includes("'") ? json : `'${json.slice(1, -1).replaceAll('\\"', '"')}'`;
}

function stepsOf(timeline: Timeline, startedAt: number): string[] {
  const isTyped = ({ event }: Row): boolean => event.type === 'turn.started' && event.source === 'text';
  const typed = new Set(timeline.rows.filter(isTyped).map(({ event }) => event.turnId));
  const steps = new Map<number, string[]>();
  for (const { event } of timeline.rows) {
    const step = stepOf(event, typed);
    const at = Math.round(event.at - startedAt);
    if (step) steps.set(at, [...(steps.get(at) ?? []), step]);
  }
  return [...steps].map(([at, each]) => `      ${at}: ${each.length > 1 ? `[${each.join(', ')}]` : each.join('')},`);
}

/**
 * A conversation as the skeleton of a spec: marble pictures of its lanes with a key, and a `voiceTest` with the same
 * user, which expects the same turns.
 */
export function marbleSpec(timeline: Timeline): string {
  const { startedAt = 0, endedAt = 0 } = timeline;
  const length = endedAt - startedAt;
  const frameMs = frameLengths.find((ms) => length / ms <= maxFrames) ?? Math.ceil(length / maxFrames);
  const names = new Map<string, string>();
  const letterOf = ({ event }: Row): string => {
    const name = `${event.type} ${crowds.has(event.type) ? '' : summaryOf(event)}`.trim();
    const known = names.get(name) ?? letters[names.size] ?? '*';
    if (known !== '*') names.set(name, known);
    return known;
  };
  const rows = told.flatMap((id) => {
    const marks = withoutCrowds(timeline.lanes[id].marks);
    const title = lanes.find((lane) => lane.id === id)?.title ?? id;
    return marks.length === 0 ? [] : [`// ${title.padEnd(12)} ${marbles(marks, startedAt, frameMs, letterOf)}`];
  });
  const key = [...names].map(([name, letter]) => `//   ${letter}  ${name}`);
  const steps = stepsOf(timeline, startedAt);
  const helpers = ['application', 'user'].filter((name) => steps.some((step) => step.includes(`${name}.`)));
  const ended = timeline.turns.map(({ reason = 'stopped' }) => quoted(reason));
  return [
    `import { ${[...helpers, 'voiceTest'].join(', ')} } from 'rxvoice/testing';`,
    '',
    `// One character is ${frameMs} ms.`,
    ...rows,
    '//',
    ...key,
    "it('goes as it went', () => {",
    '  const { events } = voiceTest({',
    '    steps: {',
    ...steps,
    '    },',
    `    untilMs: ${Math.ceil(length)},`,
    '  });',
    "  const ended = events.flatMap((event) => (event.type === 'turn.ended' ? [event.reason] : []));",
    `  expect(ended).toEqual([${ended.join(', ')}]);`,
    '});',
    '',
  ].join('\n');
}

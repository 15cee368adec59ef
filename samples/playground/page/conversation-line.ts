import { counted } from '../../marbles/timeline.ts';
import { splitHeard, type Line } from './conversation.ts';
import { h } from './dom.ts';
import { latencyOf } from './latency.ts';

export type AgentLine = Extract<Line, { kind: 'agent' }>;
export type ToolLine = Extract<Line, { kind: 'tool' }>;

/** A piece of an answer, between two calls of tools: what of it was heard, and what is still to come. */
export interface Piece {
  readonly from: number;
  readonly to: number;
  readonly heard: HTMLElement;
  readonly pending: HTMLElement;
}

/** A line as it stands on the page. */
export interface LineElement {
  readonly element: HTMLElement;
  /** The pieces of an answer that is being said. */
  readonly pieces: readonly Piece[];
}

const names: Readonly<Record<Line['kind'], string>> = { user: 'You', agent: 'Agent', tool: 'Tool' };

/** A line, and the calls of tools that stand inside of it. */
export function lineElement(line: Line, tools: readonly ToolLine[], tag: 'li' | 'div' = 'li'): LineElement {
  const pieces = line.kind === 'agent' ? piecesOf(line, tools) : [];
  const said = line.kind === 'agent' ? answerOf(line, tools, pieces) : [saidOf(line)];
  const element = h(
    tag,
    { class: `line ${line.kind}`, 'data-phase': 'phase' in line ? line.phase : 'ended' },
    whoOf(line),
    ...said,
    memoryOf(line),
    line.kind === 'agent' && line.metrics !== undefined && latencyOf(line.metrics),
  );
  return { element, pieces };
}

function whoOf(line: Line): HTMLElement {
  const tag = tagOf(line);
  return h(
    'div',
    { class: 'who' },
    names[line.kind],
    line.kind === 'user' && line.turn !== undefined && h('span', { class: 'turn' }, `turn ${line.turn}`),
    tag !== '' && h('span', { class: 'tag' }, tag),
  );
}

function tagOf(line: Line): string {
  if (line.kind === 'user') return line.ended === 'merged' || line.ended === 'cancelled' ? line.ended : '';
  if (line.kind === 'agent' && line.interrupted) return 'interrupted';
  return line.phase === 'ended' ? '' : line.phase;
}

function saidOf(line: Exclude<Line, AgentLine>): HTMLElement {
  if (line.kind === 'user') return h('p', { class: 'said' }, line.text);
  const result = line.result === undefined ? undefined : h('span', { class: 'result' }, ` → ${line.result}`);
  return h('p', { class: 'said' }, h('code', {}, line.text), result);
}

function piecesOf({ text, phase, heard = '' }: AgentLine, tools: readonly ToolLine[]): Piece[] {
  const calls = tools.map(({ within }) => Math.min(within?.at ?? 0, text.length));
  const cut = phase === 'ended' ? splitHeard(text, heard).heard.length : 0;
  return [0, ...calls].map((from, index) => {
    const to = calls[index] ?? text.length;
    const middle = Math.min(to, Math.max(from, cut));
    return {
      ...{ from, to, heard: h('span', {}, text.slice(from, middle)) },
      pending: h('span', { class: 'pending' }, phase === 'ended' ? '' : text.slice(middle, to)),
    };
  });
}

/** An answer in its pieces, each call of a tool where it was made; what was never heard is folded away at its end. */
function answerOf(line: AgentLine, tools: readonly ToolLine[], pieces: readonly Piece[]): HTMLElement[] {
  const { text, phase, heard = '', memory = [] } = line;
  const parts = pieces.flatMap((piece, index) => {
    const tool = tools[index];
    const isSilent = piece.heard.textContent + piece.pending.textContent === '';
    const said = h('p', { class: 'said' }, piece.heard, piece.pending);
    return [...(isSilent && tools.length > 0 ? [] : [said]), ...(tool ? [lineElement(tool, [], 'div').element] : [])];
  });
  const { unheard } = splitHeard(text, heard);
  if (phase !== 'ended' || unheard.trim() === '') return parts;
  const isAbout = memory.some(({ estimated }) => estimated);
  const words = `${isAbout ? 'about ' : ''}${counted(unheard.trim().split(/\s+/).length, 'word')}`;
  const title = isAbout && 'Reckoned: this voice gives no word times';
  return [
    ...parts,
    h('details', { class: 'unheard' }, h('summary', { title }, `${words} never heard`), h('s', {}, unheard)),
  ];
}

/** What the model will remember of a line, where that is not what was said and heard. */
function memoryOf(line: Line): HTMLElement | undefined {
  const { memory } = line;
  if (!memory || (line.kind === 'agent' && line.phase !== 'ended')) return undefined;
  const known = line.kind === 'agent' ? line.heard : line.kind === 'tool' ? line.result : line.text;
  const text = memory.map((each) => each.text.trim()).join(' ');
  return folded(text) === folded(known ?? '') ? undefined : h('p', { class: 'memory' }, `Remembered: ${text}`);
}

/** A text without its spaces: rounds of an answer are joined with or without one. */
function folded(text: string): string {
  return text.replace(/\s+/g, '');
}

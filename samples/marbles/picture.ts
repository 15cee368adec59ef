/** Sizes of a picture, in pixels: a frame is a character of the text. */
const [frame, lane, noteLine, nameWidth, top] = [11, 34, 15, 8, 6];

/** One line of the text: whose it is, what stands at which frame, and what is said of it. */
export interface LaneText {
  readonly name: string;
  readonly marbles: string;
  readonly from: number;
  readonly note: string;
}

/** What stands in marbles, as it is drawn: each with its own form. */
const pieces = /\([^)]*\)|([A-Za-z▇])\1{2,}|[A-Za-z][\w.,?']{3,}|[\w|#^!▇]/g;

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/**
 * A diagram that is written as RxJS writes it, one stream a line, as an SVG; `undefined` when the text is none. Classes
 * say what is what (`marble`, `name`, `note`, …): the page that shows it has the colours.
 */
export function drawMarbles(text: string): string | undefined {
  const lanes = lanesOf(text);
  if (!lanes) return undefined;
  const names = Math.max(...lanes.map(({ name }) => name.length)) * nameWidth + 22;
  const frames = Math.max(...lanes.map(({ from, marbles }) => from + marbles.length));
  const notes = Math.max(...lanes.map(({ note }) => note.length)) * 6.6;
  const ends = names + frames * frame + 18;
  const width = Math.ceil(ends + (notes > 0 ? notes + 20 : 0));
  let y = top + lane / 2;
  const drawn = lanes.map((each, index) => {
    // A line that only goes on with a note stands close below it.
    if (index > 0) y += each.marbles ? lane : noteLine;
    return drawLane(each, names, ends, y);
  });
  return svgOf(width, y + lane / 2 + top, text, drawn.join(''));
}

function svgOf(width: number, height: number, text: string, inner: string): string {
  return (
    `<svg class="marbles" role="img" aria-label="${escape(text)}" width="${width}" height="${height}" ` +
    // A little smaller where it would not fit; beyond that, the page scrolls it.
    `style="width:100%;max-width:${width}px;min-width:${Math.round(width * 0.8)}px" ` +
    `viewBox="0 0 ${width} ${height}">${inner}</svg>`
  );
}

/** What a diagram says, line by line; `undefined` when the text is none. A line without marbles goes on with a note. */
export function lanesOf(text: string): LaneText[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const found = lines.map((line) => /^(\S+(?: \S+)*?)?\s+(\S*[-|]\S*)(?:\s{2,}(\S.*))?$/d.exec(line));
  const starts = found.flatMap((match) => match?.indices?.[2]?.[0] ?? []);
  if (starts.length < 2) return undefined;
  const base = Math.min(...starts);
  const lanes: LaneText[] = [];
  for (const [index, match] of found.entries()) {
    const marbles = match?.[2] ?? '';
    const last = lanes.at(-1);
    // What has neither a name nor marbles goes on with the note above it.
    if (!/^[-\w|()#^!.,?'▇]+$/.test(marbles) || !(marbles.includes('-') || match?.[1])) {
      const line = lines[index] ?? '';
      if (!last || !line.startsWith(' '.repeat(base))) return undefined;
      lanes.push({ name: '', marbles: '', from: 0, note: line.trim() });
      continue;
    }
    const from = (match?.indices?.[2]?.[0] ?? base) - base;
    lanes.push({ name: match?.[1] ?? '', marbles, from, note: match?.[3] ?? '' });
  }
  return lanes;
}

function drawLane({ name, marbles, from, note }: LaneText, left: number, ends: number, y: number): string {
  const x = (at: number): number => left + (from + at + 0.5) * frame;
  const isSubscription = /^[-^!]+$/.test(marbles) && /[\^!]/.test(marbles);
  const end = marbles.search(/[|#]|$/);
  const begin = isSubscription ? Math.max(0, marbles.indexOf('^')) : 0;
  const line = `<path class="line" d="M${x(begin - 0.5)} ${y}H${x(isSubscription ? marbles.indexOf('!') : end)}"/>`;
  const drawn = [...marbles.matchAll(pieces)].map(({ 0: piece, index }) => drawPiece(piece, x(index), y));
  return [
    name && `<text class="name" x="0" y="${y + 4}">${escape(name)}</text>`,
    marbles && line,
    ...drawn,
    note && `<text class="note" x="${ends}" y="${y + 4}">${escape(note)}</text>`,
  ].join('');
}

function drawPiece(piece: string, x: number, y: number): string {
  if (piece === '|') return `<path class="end" d="M${x} ${y - 11}v22"/>`;
  if (piece === '#') return `<path class="error" d="M${x - 6} ${y - 6}l12 12m0-12l-12 12"/>`;
  if (piece === '^') return `<path class="sign" d="M${x} ${y - 9}v18"/>`;
  if (piece === '!') return `<path class="sign" d="M${x} ${y - 9}v18m-4-18h8m-8 18h8"/>`;
  const letters = piece.replace(/[()]/g, '');
  if (piece.startsWith('(')) {
    // What happens in one frame stands side by side, a little apart.
    return [...letters].map((letter, index) => drawPiece(letter, x + index * 17, y)).join('');
  }
  if (piece.length === 1) {
    const text = piece === '▇' ? '' : `<text class="letter" x="${x}" y="${y + 4}">${escape(piece)}</text>`;
    return `<circle class="marble" cx="${x}" cy="${y}" r="9"/>${text}`;
  }
  const width = piece.length * frame;
  const box = `x="${x - frame / 2}" y="${y - 9}" width="${width}" height="18" rx="5"`;
  const isRun = new Set(piece).size === 1;
  if (isRun) return `<rect class="run" ${box}/>`;
  return `<rect class="word" ${box}/><text class="letter" x="${x + (width - frame) / 2}" y="${y + 4}">${escape(piece)}</text>`;
}

/** A drawing over seconds, as the specs of the conversation have them: what happens stands below its time. */
export function drawSeconds(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const [axis = '', ...rows] = lines;
  const first = /^seconds\s+(?=0)/.exec(axis)?.[0].length;
  if (first === undefined) return undefined;
  const width = Math.max(...lines.map(({ length }) => length)) * 7.6 + 24;
  const x = (column: number): number => column * 7.6 + 4;
  const height = 26 + rows.length * 26 + 6;
  const seconds = [...axis.matchAll(/\d+/g)].map(
    ({ 0: second, index }) =>
      `<path class="line faint" d="M${x(index)} 22V${height - 4}"/><text class="note" x="${x(index)}" y="15">${second} s</text>`,
  );
  const drawn = rows.flatMap((row, index) => {
    const y = 40 + index * 26;
    const name = row.slice(0, first).trim();
    const parts = [...row.matchAll(/\S+(?: \S+)*/g)].filter(({ index: at }) => at >= first);
    return [
      name && `<text class="name" x="0" y="${y + 4}">${escape(name)}</text>`,
      ...parts.map(({ 0: part, index: at }) => {
        if (part.startsWith('^')) {
          const said = escape(part.slice(1).trim());
          return `<path class="sign" d="M${x(at)} ${y + 7}V${y - 12}m-4 5l4-5l4 5"/><text class="note" x="${x(at) + 9}" y="${y + 5}">${said}</text>`;
        }
        const box = `x="${x(at) - 3}" y="${y - 10}" width="${part.length * 7.6 + 8}" height="20" rx="5"`;
        return `<rect class="word" ${box}/><text class="said" x="${x(at) + 1}" y="${y + 4}">${escape(part)}</text>`;
      }),
    ];
  });
  return svgOf(Math.ceil(width), height, text, [...seconds, ...drawn].join(''));
}

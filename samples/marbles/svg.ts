import { gapIn } from './gap.ts';
import { lanes } from './lanes.ts';
import { darkPalette, lightPalette, type Palette, type Tone } from './palette.ts';
import type { Bar, Lane, Mark, Shape, Timeline, Turn } from './timeline.ts';
import { steps, waterfallOf } from './waterfall.ts';

const [labelWidth, laneHeight, trackHeight, top] = [104, 44, 28, 62];

/** Options of {@link marbleDiagram}. */
export interface DiagramOptions {
  /** Default: 0.06. */
  readonly pixelsPerMs?: number;
  /** Lanes without anything are left out. Default: true. */
  readonly hideEmpty?: boolean;
}

/** Marks as SVG, about a point: their class says the colour. */
const shapes: Readonly<Record<Shape, (x: number, y: number, tone: Tone) => string>> = {
  dot: (x, y, tone) => `<circle cx="${x}" cy="${y}" r="6" class="${tone}"/>`,
  ring: (x, y, tone) => `<circle cx="${x}" cy="${y}" r="5" class="${tone}-line hollow" stroke-width="2"/>`,
  diamond: (x, y, tone) => `<path d="M${x} ${y - 7}l7 7l-7 7l-7-7z" class="${tone}"/>`,
  cross: (x, y, tone) => `<path d="M${x - 5} ${y - 5}l10 10m0-10l-10 10" class="${tone}-line" stroke-width="2.5"/>`,
  tick: (x, y, tone) => `<path d="M${x} ${y - 6}v12" class="${tone}-line" stroke-width="1.5"/>`,
};

/** What the shapes say, as the page's legend has it. */
const legend: readonly (readonly [shape: Shape | 'hatched' | 'ducked', says: string])[] = [
  ['ring', 'interim'],
  ['dot', 'final, done'],
  ['diamond', 'preflight, pause'],
  ['tick', 'token, audio'],
  ['cross', 'cancelled, failed'],
  ['hatched', 'never heard'],
  ['ducked', 'ducked'],
];

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
const round = (value: number): number => Math.round(value * 10) / 10;
/** As much of a text as there is room for; nothing where that says nothing. */
const shorten = (text: string, room: number): string =>
  text.length <= room ? text : room < 4 ? '' : `${text.slice(0, room - 1).trimEnd()}…`;
/** How wide a letter of a label is at most, in pixels, and how long the longest label beside a mark. */
const letterWidth = 6;
const longestLabel = 40;
/** How far apart two times of the axis are, in pixels, at least. */
const leastTick = 70;
const tickSteps = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/** The colours as CSS: a class fills, its `-line` strokes. */
function rulesOf(palette: Palette): string {
  const tones = Object.entries(palette).map(([tone, color]) => `.${tone}{fill:${color}}.${tone}-line{stroke:${color}}`);
  return `${tones.join('')}.label,.lane,.time{fill:${palette.text}}.inside,.hollow{fill:${palette.paper}}.faint{opacity:.3}.band{opacity:.12}`;
}

/**
 * A timeline as an SVG marble diagram: an axis of time, a lane for each stream, turns as bands behind them with their
 * latency, and a legend. It is light or dark as the page or the system that shows it.
 */
export function marbleDiagram(timeline: Timeline, options: DiagramOptions = {}): string {
  const { pixelsPerMs = 0.06, hideEmpty = true } = options;
  const { startedAt = 0, endedAt = 0 } = timeline;
  const x = (at: number): number => round(labelWidth + 8 + (at - startedAt) * pixelsPerMs);
  const width = Math.max(Math.ceil(x(endedAt) + 48), 760);
  const shown = lanes.filter(({ id }) => {
    const { marks, bars, levels } = timeline.lanes[id];
    return !hideEmpty || marks.length + bars.length + levels.length > 0;
  });
  let bottom = top;
  const rows = shown.map(({ id, title }) => {
    const lane = timeline.lanes[id];
    const row = drawLane(title, lane, { x, endedAt, top: bottom, width });
    bottom += heightOf(lane);
    return row;
  });
  const height = bottom + 66;
  const hatch =
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">' +
    '<path d="M0 0V6" class="heard-line" stroke-width="2.5"/></pattern>';
  const style =
    `text{font-family:ui-sans-serif,system-ui,sans-serif}.lane{font-size:12px}.label,.inside{font-size:10px}` +
    `.time{font-size:11px}${rulesOf(lightPalette)}@media(prefers-color-scheme:dark){${rulesOf(darkPalette)}}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<style>${style}</style><defs>${hatch}</defs><rect width="100%" height="100%" class="paper"/>`,
    drawAxis(timeline, pixelsPerMs, bottom),
    ...timeline.turns.map((turn) => drawTurn(turn, x, endedAt, bottom)),
    ...rows,
    drawLegend(bottom + 24),
    drawParts(bottom + 46),
    '</svg>\n',
  ].join('\n');
}

/** Where something is drawn. */
interface Place {
  readonly x: (at: number) => number;
  /** Where what still lasts is cut off. */
  readonly endedAt: number;
  readonly top: number;
  readonly width: number;
}

function heightOf({ tracks }: Lane): number {
  return laneHeight + (tracks - 1) * trackHeight;
}

function drawAxis({ startedAt = 0, endedAt = 0 }: Timeline, pixelsPerMs: number, bottom: number): string {
  const stepMs = tickSteps.find((step) => step * pixelsPerMs >= leastTick) ?? 120_000;
  const times = Array.from({ length: Math.floor((endedAt - startedAt) / stepMs) + 1 }, (_, index) => index * stepMs);
  return times
    .map((ms) => {
      const left = round(labelWidth + 8 + ms * pixelsPerMs);
      const line = `<path d="M${left} 22V${bottom}" class="line-line"/>`;
      return `${line}<text x="${left}" y="16" class="time" text-anchor="middle">${ms / 1000} s</text>`;
    })
    .join('');
}

function drawTurn(turn: Turn, x: Place['x'], endedAt: number, bottom: number): string {
  const { number, from, to = endedAt, soundAt, metrics = {} } = turn;
  const box = `x="${x(from)}" y="${top - 32}" width="${round(x(to) - x(from))}" height="${bottom - top + 32}"`;
  const { total, preflightLead } = metrics;
  const said = [
    `turn ${number}`,
    ...(total === undefined ? [] : [`${Math.round(total)} ms`]),
    ...(preflightLead === undefined ? [] : [`preflight saved ${Math.round(preflightLead)} ms`]),
  ];
  const room = Math.floor((x(to) - x(from) - 8) / letterWidth);
  const label = said
    .map((_, index) => said.slice(0, said.length - index).join(' · '))
    .find(({ length }) => length <= room);
  const heard = soundAt === undefined || total === undefined ? [] : waterfallOf(metrics);
  const begins = (soundAt ?? 0) - (total ?? 0);
  const strip = heard.map(({ tone, ms, from: after, title }) => {
    const [left, right] = [x(begins + after), x(begins + after + ms)];
    const path = `<path d="M${left} ${top - 8}H${Math.max(left + 1, right)}" class="${tone}-line" stroke-width="5">`;
    return `${path}<title>${title}: ${Math.round(ms)} ms</title></path>`;
  });
  return (
    `<rect ${box} rx="4" class="band"/>${strip.join('')}` +
    `<text x="${x(from) + 5}" y="${top - 18}" class="label">${label ?? `turn ${number}`}</text>`
  );
}

function drawLane(title: string, lane: Lane, place: Place): string {
  const { marks, bars, levels, tracks } = lane;
  const { x, width } = place;
  const first = place.top + laneHeight / 2;
  const yOf = ({ track }: Bar | Mark): number => first + track * trackHeight;
  const lines = Array.from({ length: tracks }, (_, track) => {
    const y = first + track * trackHeight;
    return `<path d="M${labelWidth} ${y}H${width - 16}l-6-4m6 4l-6 4" class="line-line" fill="none"/>`;
  });
  const wave = levels
    .map(({ at, level }) => `M${x(at)} ${round(first - level * 28)}V${round(first + level * 28)}`)
    .join('');
  return [
    `<text x="12" y="${first + 4}" class="lane">${title}</text>`,
    ...lines,
    wave && `<path d="${wave}" class="user-line"/>`,
    ...bars.map((bar) => {
      const own = marks.filter(({ track }) => track === bar.track).map(({ at }) => x(at));
      return drawBar(bar, yOf(bar), place, own);
    }),
    ...marks.map((mark, index) => {
      const next = marks.slice(index + 1).find(({ track, label }) => track === mark.track && label !== '');
      return drawMark(mark, yOf(mark), place, next && x(next.at));
    }),
  ].join('');
}

/** @param marks - Where the marks of its track stand: its text keeps clear of them. */
function drawBar(
  { from, to, label, tone, style, ducked }: Bar,
  y: number,
  { x, endedAt }: Place,
  marks: readonly number[],
): string {
  const end = to ?? endedAt;
  const paint =
    style === 'hatched'
      ? `fill="url(#hatch)" class="${tone}-line"`
      : `class="${tone}${style === 'soft' ? ' faint' : ''}"`;
  const box = `x="${x(from)}" y="${y - 8}" width="${Math.max(2, round(x(end) - x(from)))}" height="16" rx="4"`;
  const quiet = ducked.map((part) => {
    const [left, right] = [x(part.from), x(part.to ?? end)];
    return `<path d="M${left} ${y - 6}H${right}M${left} ${y + 6}H${right}" class="paper-line" stroke-width="5"/>`;
  });
  const bar = `<rect ${box} ${paint}><title>${escape(label)}</title></rect>${quiet.join('')}`;
  const { left, room } = gapIn(x(from), x(end), marks, label.length * letterWidth);
  const text = shorten(label, Math.floor(room / letterWidth));
  // A hatched bar is no ground for a part of a text.
  if (!text || (style === 'hatched' && text !== label)) return bar;
  const ground = `<path d="M${round(left - 3)} ${y - 6}h${text.length * letterWidth}v12h-${text.length * letterWidth}z" class="paper"/>`;
  const look = style === 'solid' ? 'inside' : 'label';
  const words = `<text x="${round(left)}" y="${y + 3.5}" class="${look}">${escape(text)}</text>`;
  return bar + (style === 'hatched' ? ground : '') + words;
}

/** @param next - Where the next label of its track begins, if there is one. */
function drawMark({ at, shape, tone, label, row }: Mark, y: number, { x }: Place, next = Infinity): string {
  const title = `<title>${escape(`${row.event.type} ${label}`.trim())}</title>`;
  const room = Math.min(longestLabel, Math.floor((next - x(at) - 4) / letterWidth));
  const said = shorten(label, room);
  const text = said && `<text x="${x(at)}" y="${y + 20}" class="label">${escape(said)}</text>`;
  return `<g>${shapes[shape](x(at), y, tone)}${title}</g>${text}`;
}

/** The parts of a turn's latency, whose strip stands above its lanes. */
function drawParts(y: number): string {
  let left = labelWidth + 12;
  const heading = `<text x="12" y="${y + 4}" class="lane">latency</text>`;
  const parts = steps.map(({ title, tone }) => {
    const sign = `<path d="M${left - 6} ${y - 6}h12v12h-12z" class="${tone}"/>`;
    const text = `<text x="${left + 16}" y="${y + 4}" class="time">${title}</text>`;
    left += title.length * letterWidth + 48;
    return sign + text;
  });
  return heading + parts.join('');
}

function drawLegend(y: number): string {
  let left = labelWidth + 12;
  return legend
    .map(([shape, says]) => {
      const sign =
        shape === 'hatched'
          ? `<path d="M${left - 8} ${y - 7}h20v14h-20z" fill="url(#hatch)" class="heard-line"/>`
          : shape === 'ducked'
            ? `<path d="M${left - 8} ${y}h20" class="heard-line" stroke-width="6"/>`
            : shapes[shape](left, y, 'quiet');
      const text = `<text x="${left + 16}" y="${y + 4}" class="time">${says}</text>`;
      left += says.length * letterWidth + 48;
      return sign + text;
    })
    .join('');
}

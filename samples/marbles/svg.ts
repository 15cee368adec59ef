import { lanes } from './lanes.ts';
import { lightPalette, type Palette } from './palette.ts';
import type { Bar, Mark, Shape, Timeline } from './timeline.ts';

const [labelWidth, laneHeight, top] = [104, 44, 40];

/** Options of {@link marbleDiagram}. */
export interface DiagramOptions {
  /** Default: 0.06. */
  readonly pixelsPerMs?: number;
  /** Default: {@link lightPalette}. */
  readonly palette?: Palette;
  /** Lanes without anything are left out. Default: true. */
  readonly hideEmpty?: boolean;
}

/** Marks as SVG, about a point. */
const shapes: Readonly<Record<Shape, (x: number, y: number, color: string) => string>> = {
  dot: (x, y, color) => `<circle cx="${x}" cy="${y}" r="6" fill="${color}"/>`,
  ring: (x, y, color) => `<circle cx="${x}" cy="${y}" r="5" fill="none" stroke="${color}" stroke-width="2"/>`,
  diamond: (x, y, color) => `<path d="M${x} ${y - 7}l7 7l-7 7l-7-7z" fill="${color}"/>`,
  cross: (x, y, color) => `<path d="M${x - 5} ${y - 5}l10 10m0-10l-10 10" stroke="${color}" stroke-width="2.5"/>`,
  tick: (x, y, color) => `<path d="M${x} ${y - 6}v12" stroke="${color}" stroke-width="1.5"/>`,
};

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
const round = (value: number): number => Math.round(value * 10) / 10;
/** As much of a text as there is room for; nothing where that says nothing. */
const shorten = (text: string, room: number): string =>
  text.length <= room ? text : room < 4 ? '' : `${text.slice(0, room - 1).trimEnd()}…`;
/** How wide a letter of a label is at most, in pixels, and how long the longest label beside a mark. */
const letterWidth = 6;
const longestLabel = 40;

/** A timeline as an SVG marble diagram: a lane for each stream, turns as bands behind them. */
export function marbleDiagram(timeline: Timeline, options: DiagramOptions = {}): string {
  const { pixelsPerMs = 0.06, palette = lightPalette, hideEmpty = true } = options;
  const { startedAt = 0, endedAt = 0 } = timeline;
  const shown = lanes.filter(({ id }) => {
    const { marks, bars, levels } = timeline.lanes[id];
    return !hideEmpty || marks.length + bars.length + levels.length > 0;
  });
  const x = (at: number): number => round(labelWidth + 8 + (at - startedAt) * pixelsPerMs);
  const width = Math.ceil(x(endedAt) + 48);
  const height = top + shown.length * laneHeight + 20;

  const bands = timeline.turns.map(({ number, from, to = endedAt }) => {
    const box = `x="${x(from)}" y="${top - 16}" width="${round(x(to) - x(from))}" height="${height - top}"`;
    return (
      `<rect ${box} rx="4" fill="${palette.band}" opacity="0.12"/>` +
      `<text x="${x(from) + 4}" y="${top - 21}" class="label">turn ${number}</text>`
    );
  });
  const drawBar = ({ from, to = endedAt, label, tone, style }: Bar, y: number): string => {
    const fill = style === 'hatched' ? `url(#hatch)` : palette[tone];
    const outline = style === 'hatched' ? ` stroke="${palette[tone]}"` : style === 'soft' ? ' opacity="0.3"' : '';
    const box = `x="${x(from)}" y="${y - 8}" width="${Math.max(2, round(x(to) - x(from)))}" height="16" rx="4"`;
    const bar = `<rect ${box} fill="${fill}"${outline}><title>${escape(label)}</title></rect>`;
    const text = shorten(label, Math.floor((x(to) - x(from) - 12) / letterWidth));
    const color = style === 'solid' ? palette.paper : palette.text;
    return text && style !== 'hatched'
      ? `${bar}<text x="${x(from) + 6}" y="${y + 3.5}" font-size="10" fill="${color}">${escape(text)}</text>`
      : bar;
  };
  const drawMark = ({ at, shape, tone, label, row }: Mark, y: number): string =>
    `<g>${shapes[shape](x(at), y, palette[tone])}<title>${escape(`${row.event.type} ${label}`.trim())}</title></g>` +
    (label ? `<text x="${x(at)}" y="${y + 20}" class="label">${escape(shorten(label, longestLabel))}</text>` : '');

  const rows = shown.map(({ id, title }, index) => {
    const { marks, bars, levels } = timeline.lanes[id];
    const y = top + index * laneHeight + laneHeight / 2;
    const line = `<path d="M${labelWidth} ${y}H${width - 16}l-6-4m6 4l-6 4" stroke="${palette.line}" fill="none"/>`;
    const wave = levels.map(({ at, level }) => `M${x(at)} ${round(y - level * 28)}V${round(y + level * 28)}`).join('');
    return [
      `<text x="12" y="${y + 4}" class="lane">${title}</text>`,
      line,
      wave && `<path d="${wave}" stroke="${palette.user}"/>`,
      ...bars.map((bar) => drawBar(bar, y)),
      ...marks.map((mark) => drawMark(mark, y)),
    ].join('');
  });
  const style =
    `text{font-family:ui-sans-serif,system-ui,sans-serif}.lane{font-size:12px;fill:${palette.text}}` +
    `.label{font-size:10px;fill:${palette.quiet}}`;
  const hatch =
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">' +
    `<path d="M0 0V6" stroke="${palette.heard}" stroke-width="2.5"/></pattern>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<style>${style}</style><defs>${hatch}</defs><rect width="100%" height="100%" fill="${palette.paper}"/>`,
    ...bands,
    ...rows,
    '</svg>\n',
  ].join('\n');
}

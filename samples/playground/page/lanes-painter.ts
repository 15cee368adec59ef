import { lanes, type LaneId } from '../../marbles/lanes.ts';
import type { Palette } from '../../marbles/palette.ts';
import {
  counted,
  type Bar,
  type Lane,
  type Mark,
  type Row,
  type Shape,
  type Timeline,
  type Turn,
} from '../../marbles/timeline.ts';
import { gapIn } from '../../marbles/gap.ts';
import { waterfallOf } from '../../marbles/waterfall.ts';
import type { Viewport } from './viewport.ts';

/** Sizes of the diagram, in CSS pixels. */
export interface Measures {
  /** How wide the lanes' titles are. */
  readonly label: number;
  /** How high the axis is, with the turns' titles. */
  readonly axis: number;
  readonly font: string;
}

/** Where a lane stands, in CSS pixels. */
export interface LaneBox {
  readonly id: LaneId;
  readonly title: string;
  readonly top: number;
  readonly height: number;
}

/** What is drawn. */
export interface Scene {
  readonly timeline: Timeline;
  readonly viewport: Viewport;
  readonly palette: Palette;
  readonly width: number;
  readonly height: number;
  readonly measures: Measures;
  readonly boxes: readonly LaneBox[];
  /** The clock's time: where what lasts ends for now. */
  readonly now: number;
  readonly selected: Row | undefined;
  /** The lane that the keyboard is in. */
  readonly lane: LaneId | undefined;
}

/** Where something stands that can be clicked. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly row: Row;
}

const shapes: Readonly<Record<Shape, (pen: CanvasRenderingContext2D, x: number, y: number) => void>> = {
  dot: (pen, x, y) => {
    pen.arc(x, y, 5.5, 0, 2 * Math.PI);
    pen.fill();
  },
  ring: (pen, x, y) => {
    pen.arc(x, y, 4.5, 0, 2 * Math.PI);
    pen.stroke();
  },
  diamond: (pen, x, y) => {
    pen.moveTo(x, y - 7);
    pen.lineTo(x + 7, y);
    pen.lineTo(x, y + 7);
    pen.lineTo(x - 7, y);
    pen.closePath();
    pen.fill();
  },
  cross: (pen, x, y) => {
    pen.moveTo(x - 4.5, y - 4.5);
    pen.lineTo(x + 4.5, y + 4.5);
    pen.moveTo(x + 4.5, y - 4.5);
    pen.lineTo(x - 4.5, y + 4.5);
    pen.stroke();
  },
  tick: (pen, x, y) => {
    pen.moveTo(x, y - 6);
    pen.lineTo(x, y + 6);
    pen.stroke();
  },
};

/** How much higher a lane is for each track after its first. */
const trackShare = 0.7;

/** Shares the height out among the lanes: those in which things happen at once get more. */
export function boxesOf(timeline: Timeline, height: number, { axis }: Measures): LaneBox[] {
  const shares = lanes.map(({ id }) => 1 + (timeline.lanes[id].tracks - 1) * trackShare);
  const unit = (height - axis - 6) / shares.reduce((sum, share) => sum + share);
  let top = axis;
  return lanes.map(({ id, title }, index) => {
    const box = { id, title, top, height: (shares[index] ?? 1) * unit };
    top += box.height;
    return box;
  });
}

/** The lane at a height; `undefined` on the axis. */
export function laneAt(y: number, boxes: readonly LaneBox[]): LaneId | undefined {
  return boxes.find(({ top, height }) => y >= top && y < top + height)?.id;
}

/** Draws a scene, and says what of it can be clicked. */
export function paint(pen: CanvasRenderingContext2D, scene: Scene): Spot[] {
  const { viewport, measures, width, height, timeline } = scene;
  const pixelsPerMs = (width - measures.label) / viewport.spanMs;
  const x = (at: number): number => measures.label + (at - viewport.from) * pixelsPerMs;
  const spots: Spot[] = [];
  const brush: Brush = { pen, scene, x, spots };

  pen.clearRect(0, 0, width, height);
  pen.save();
  pen.beginPath();
  pen.rect(measures.label, 0, width - measures.label, height);
  pen.clip();
  paintAxis(brush);
  paintTurns(brush);
  for (const box of scene.boxes) paintLane({ ...brush, box }, timeline.lanes[box.id]);
  paintNow(brush);
  pen.restore();
  paintLabels(brush);
  return spots;
}

interface Brush {
  readonly pen: CanvasRenderingContext2D;
  readonly scene: Scene;
  readonly x: (at: number) => number;
  readonly spots: Spot[];
}

/** What draws in one lane. */
interface LaneBrush extends Brush {
  readonly box: LaneBox;
}

function paintAxis({ pen, scene, x }: Brush): void {
  const { viewport, measures, palette, width, height, timeline } = scene;
  const origin = timeline.startedAt;
  if (origin === undefined) return;
  const step = viewport.tickMs(Math.max(2, (width - measures.label) / 90));
  pen.font = measures.font;
  pen.textBaseline = 'middle';
  pen.textAlign = 'left';
  const first = Math.ceil((viewport.from - origin) / step) * step;
  for (let at = Math.max(0, first); at <= viewport.to - origin; at += step) {
    const left = Math.round(x(origin + at)) + 0.5;
    pen.fillStyle = palette.line;
    pen.fillRect(left - 0.5, measures.axis - 4, 1, height);
    pen.fillStyle = palette.quiet;
    const label = `${Number((at / 1000).toFixed(2))} s`;
    if (left + 4 + pen.measureText(label).width < width) pen.fillText(label, left + 4, 10);
  }
}

/** How high the title of a turn is, and below it the strip of its latency. */
const [titleHeight, stripHeight] = [18, 5];

/** Where turns begin: what stands above is the axis of time. */
function topOf({ axis }: Measures): number {
  return axis - titleHeight - stripHeight - 7;
}

function paintTurns({ pen, scene, x }: Brush): void {
  const { timeline, viewport, palette, measures, height, now } = scene;
  const top = topOf(measures);
  for (const turn of timeline.turns) {
    const { number, from, to = now } = turn;
    if (to < viewport.from || from > viewport.to) continue;
    const [left, right] = [x(from), x(to)];
    pen.globalAlpha = number % 2 === 0 ? 0.1 : 0.16;
    pen.fillStyle = palette.band;
    pen.beginPath();
    pen.roundRect(left, top, Math.max(1, right - left), height, [5, 5, 0, 0]);
    pen.fill();
    pen.globalAlpha = 1;
    paintLatency({ pen, scene, x }, turn, top + titleHeight);
    const begin = Math.max(left, measures.label) + 6;
    const text = titlesOf(turn).find((each) => pen.measureText(each).width <= right - begin - 4);
    if (text === undefined) continue;
    pen.fillStyle = palette.text;
    pen.fillText(text, begin, top + titleHeight / 2);
  }
}

/** What there is to say of a turn, from all of it down to its number. */
function titlesOf({ number, metrics = {} }: Turn): string[] {
  const { total, preflightLead, wastedTokens = 0 } = metrics;
  const parts = [
    `turn ${number}`,
    ...(total === undefined ? [] : [`${Math.round(total)} ms`]),
    ...(preflightLead === undefined ? [] : [`preflight saved ${Math.round(preflightLead)} ms`]),
    ...(wastedTokens === 0 ? [] : [counted(wastedTokens, 'wasted token')]),
  ];
  return [...parts.map((_, index) => parts.slice(0, parts.length - index).join(' · ')), String(number)];
}

/** A turn's latency at its place in time: from the end of the user's speech to the first sound. */
function paintLatency({ pen, scene, x }: Omit<Brush, 'spots'>, { soundAt, metrics = {} }: Turn, y: number): void {
  if (soundAt === undefined || metrics.total === undefined) return;
  const from = soundAt - metrics.total;
  for (const step of waterfallOf(metrics)) {
    const left = x(from + step.from);
    pen.fillStyle = scene.palette[step.tone];
    pen.fillRect(left, y, Math.max(1, x(from + step.from + step.ms) - left), stripHeight);
  }
}

function paintLane(brush: LaneBrush, lane: Lane): void {
  const { pen, scene, box } = brush;
  const { palette, measures, width, viewport } = scene;
  pen.fillStyle = scene.lane === box.id ? palette.quiet : palette.line;
  for (let track = 0; track < lane.tracks; track++) {
    pen.fillRect(measures.label, Math.round(middleOf(box, lane.tracks, track)), width, 1);
  }
  paintLevels(brush, lane);
  const yOf = ({ track }: Bar | Mark): number => middleOf(box, lane.tracks, track);
  const half = Math.min(9, box.height / lane.tracks / 2 - 2);
  for (const bar of lane.bars) paintBar(brush, bar, yOf(bar), half);
  const from = firstFrom(lane.marks, viewport.from - viewport.spanMs * 0.05);
  const to = firstFrom(lane.marks, viewport.to + viewport.spanMs * 0.05);
  const marks = lane.marks.slice(from, to);
  for (const mark of marks) paintMark(brush, mark, yOf(mark));
  for (const bar of lane.bars) paintBarLabel(brush, bar, yOf(bar), marks);
  for (let track = 0; track < lane.tracks; track++) {
    paintMarkLabels(
      brush,
      marks.filter((mark) => mark.track === track),
      middleOf(box, lane.tracks, track),
    );
  }
}

function middleOf({ top, height }: LaneBox, tracks: number, track: number): number {
  return top + ((track + 0.5) * height) / tracks;
}

/** A wave: for each pixel the loudest level that falls on it, or the last one before it. */
function paintLevels({ pen, scene, x, box }: LaneBrush, { levels }: Lane): void {
  if (levels.length === 0) return;
  const { palette, viewport } = scene;
  const y = middleOf(box, 1, 0);
  const reach = box.height / 2 - 3;
  pen.fillStyle = palette.user;
  const to = firstFrom(levels, viewport.to + 100);
  let [column, half] = [Number.NEGATIVE_INFINITY, 0];
  for (let index = firstFrom(levels, viewport.from - 100); index < to; index++) {
    const { at, level } = levels[index] ?? { at: 0, level: 0 };
    const left = Math.round(x(at));
    const own = Math.max(0.5, loudness(level) * reach);
    half = left === column ? Math.max(half, own) : own;
    const begin = left - column > widestGap ? left : column + 1;
    pen.fillRect(Math.min(begin, left), y - half, Math.max(1, left - begin + 1), 2 * half);
    column = left;
  }
}

/** Pixels between two levels that are of one sound. */
const widestGap = 40;

function paintBar({ pen, scene, x, spots }: Brush, bar: Bar, y: number, half: number): void {
  const { palette, viewport, now, selected } = scene;
  const { from, to = Math.max(now, bar.from), tone, style, ducked, row } = bar;
  if (to < viewport.from || from > viewport.to) return;
  const left = x(from);
  const width = Math.max(2, x(to) - left);
  pen.beginPath();
  pen.roundRect(left, y - half, width, 2 * half, Math.min(5, width / 2));
  if (style === 'hatched') {
    hatch(pen, left, y - half, width, 2 * half, palette[tone]);
  } else {
    pen.fillStyle = palette.paper;
    pen.fill();
    pen.globalAlpha = style === 'soft' ? 0.22 : 0.92;
    pen.fillStyle = palette[tone];
    pen.fill();
    pen.globalAlpha = 1;
  }
  // What is ducked is quieter: a thinner bar.
  pen.fillStyle = palette.paper;
  for (const { from: begin, to: end = to } of ducked) {
    const quiet = Math.max(1, x(end) - x(begin));
    pen.fillRect(x(begin), y - half - 0.5, quiet, half * 0.6);
    pen.fillRect(x(begin), y + half * 0.4 + 0.5, quiet, half * 0.6);
  }
  if (row === selected) outline(pen, palette.text);
  spots.push({ x: left, y, width, row });
}

/** Labels stand in their bar, beside its marks, as far as there is room. */
function paintBarLabel({ pen, scene, x }: Brush, bar: Bar, y: number, marks: readonly Mark[]): void {
  const { palette, viewport, now, measures } = scene;
  // What is ducked has no room for words.
  const { from, style, label, ducked, track } = bar;
  const to = ducked[0]?.from ?? bar.to ?? Math.max(now, from);
  if (!label || to < viewport.from || from > viewport.to) return;
  const others = marks.filter((mark) => mark.track === track).map(({ at }) => x(at));
  const { left, room } = gapIn(Math.max(x(from), measures.label), x(to), others, pen.measureText(label).width);
  const text = shortened(pen, label, room);
  if (!text) return;
  if (style === 'hatched') {
    pen.fillStyle = palette.paper;
    pen.fillRect(left - 3, y - 6, pen.measureText(text).width + 6, 12);
  }
  pen.fillStyle = style === 'solid' ? palette.paper : palette.text;
  pen.fillText(text, left, y + 0.5);
}

function hatch(
  pen: CanvasRenderingContext2D,
  left: number,
  top: number,
  width: number,
  height: number,
  color: string,
): void {
  pen.save();
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  pen.stroke();
  pen.clip();
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let at = left - height; at < left + width; at += 6) {
    pen.moveTo(at, top + height);
    pen.lineTo(at + height, top);
  }
  pen.stroke();
  pen.restore();
}

function paintMark({ pen, scene, x, spots }: Brush, { at, shape, tone, row }: Mark, y: number): void {
  const { palette, selected } = scene;
  const left = x(at);
  if (row === selected) {
    pen.beginPath();
    pen.arc(left, y, 11, 0, 2 * Math.PI);
    outline(pen, palette.text);
  }
  pen.beginPath();
  pen.fillStyle = palette[tone];
  pen.strokeStyle = palette[tone];
  pen.lineWidth = shape === 'tick' ? 1.5 : 2;
  pen.lineCap = 'round';
  if (shape === 'ring') {
    pen.save();
    pen.fillStyle = palette.paper;
    pen.arc(left, y, 4.5, 0, 2 * Math.PI);
    pen.fill();
    pen.restore();
    pen.beginPath();
  }
  shapes[shape](pen, left, y);
  spots.push({ x: left - 6, y, width: 12, row });
}

/** Labels stand right of their mark, where there is room until the next one. */
function paintMarkLabels({ pen, scene, x }: Brush, marks: readonly Mark[], y: number): void {
  const { palette, width } = scene;
  pen.fillStyle = palette.text;
  marks.forEach(({ at, label }, index) => {
    if (!label) return;
    const left = x(at) + 10;
    const next = marks[index + 1];
    const room = Math.min(260, (next ? x(next.at) - 8 : width) - left);
    const text = shortened(pen, label, room);
    if (!text) return;
    pen.save();
    pen.globalAlpha = 0.85;
    pen.fillStyle = palette.paper;
    pen.fillRect(left - 2, y - 7, pen.measureText(text).width + 4, 14);
    pen.restore();
    pen.fillText(text, left, y + 0.5);
  });
}

function shortened(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (pen.measureText(text).width <= room) return text;
  for (let length = Math.min(text.length, 60); length >= 3; length--) {
    const short = `${text.slice(0, length).trimEnd()}…`;
    if (pen.measureText(short).width <= room) return short;
  }
  return '';
}

function paintNow({ pen, scene, x }: Brush): void {
  const { palette, now, measures, height, timeline } = scene;
  if (timeline.startedAt === undefined) return;
  pen.fillStyle = palette.bad;
  pen.globalAlpha = 0.7;
  pen.fillRect(Math.round(x(now)), topOf(measures), 1, height);
  pen.globalAlpha = 1;
}

function paintLabels({ pen, scene }: Brush): void {
  const { palette, measures, height, boxes } = scene;
  pen.fillStyle = palette.paper;
  pen.fillRect(0, 0, measures.label, height);
  pen.fillStyle = palette.line;
  pen.fillRect(measures.label - 1, topOf(measures), 1, height);
  pen.textAlign = 'left';
  for (const box of boxes) {
    const isCurrent = scene.lane === box.id;
    const isEmpty = scene.timeline.lanes[box.id].rows.length === 0;
    pen.fillStyle = isEmpty && !isCurrent ? palette.quiet : palette.text;
    pen.font = isCurrent ? `600 ${measures.font}` : measures.font;
    pen.fillText(box.title, 12, middleOf(box, 1, 0) + 0.5);
  }
  pen.font = measures.font;
}

function outline(pen: CanvasRenderingContext2D, color: string): void {
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.stroke();
}

/** Half a lane is full scale; speech is seldom louder than a third of it. */
function loudness(level: number): number {
  return Math.min(1, Math.sqrt(level) * 1.6);
}

/** The index of the first entry at or after a time. */
export function firstFrom(entries: readonly { readonly at: number }[], at: number): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.at ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What a pointer is at: the nearest mark, else the bar under it. */
export function spotAt(spots: readonly Spot[], x: number, y: number, reach: number): Row | undefined {
  const near = spots.filter(
    (spot) => Math.abs(spot.y - y) <= reach && x >= spot.x - reach / 2 && x <= spot.x + spot.width + reach / 2,
  );
  const distance = (spot: Spot): number => Math.abs(spot.x + spot.width / 2 - x) + (spot.width > 12 ? 1_000 : 0);
  return near.sort((a, b) => distance(a) - distance(b))[0]?.row;
}

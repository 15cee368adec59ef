import { animationFrames, BehaviorSubject, fromEvent, merge, Subscription, throttleTime, type Observable } from 'rxjs';
import { laneOf, lanes, type LaneId } from '../../marbles/lanes.ts';
import { lightPalette, type Palette } from '../../marbles/palette.ts';
import type { Row, Timeline } from '../../marbles/timeline.ts';
import { handFocus, wantsStillness } from './dom.ts';
import { boxesOf, laneAt, paint, spotAt, type LaneBox, type Measures, type Spot } from './lanes-painter.ts';
import { Viewport } from './viewport.ts';

const family = 'ui-sans-serif, system-ui, sans-serif';
const wide: Measures = { label: 92, axis: 52, font: `12px ${family}` };
const narrow: Measures = { label: 76, axis: 52, font: `11px ${family}` };
/** How often the diagram moves for those who want little to move, in milliseconds. */
const stillMs = 500;
const zoomStep = 1.4;
/** How far from a mark a click may be, in pixels: fingers are wider than pointers. */
const reach = { mouse: 9, touch: 20 } as const;

/** The live marble diagram: a canvas that follows the clock, and can be stopped, moved, zoomed and asked. */
export class Diagram {
  readonly #canvas: HTMLCanvasElement;
  readonly #waiting: HTMLElement;
  readonly #timeline: () => Timeline;
  readonly #now: () => number;
  readonly #viewport = new Viewport();
  readonly #selected$ = new BehaviorSubject<Row | undefined>(undefined);
  readonly #follows$ = new BehaviorSubject(true);
  readonly #pointers = new Map<number, { x: number; y: number }>();
  #palette: Palette = lightPalette;
  #spots: readonly Spot[] = [];
  #boxes: readonly LaneBox[] = [];
  #lane: LaneId | undefined;
  #moved = 0;
  #drawn = '';

  /**
   * @param waiting - What stands in the diagram before anything has happened.
   * @param now - The clock: where what lasts ends for now.
   */
  constructor(canvas: HTMLCanvasElement, waiting: HTMLElement, timeline: () => Timeline, now: () => number) {
    this.#canvas = canvas;
    this.#waiting = waiting;
    this.#timeline = timeline;
    this.#now = now;
  }

  /** The event that the user asked about. Hot, the latest first. */
  get selected$(): Observable<Row | undefined> {
    return this.#selected$.asObservable();
  }

  /** Whether the right edge follows the clock. Hot, the latest first. */
  get follows$(): Observable<boolean> {
    return this.#follows$.asObservable();
  }

  /** Draws with each frame, and listens, until unsubscribed. */
  run(palette$: Observable<Palette>): Subscription {
    const canvas = this.#canvas;
    const work = new Subscription();
    work.add(palette$.subscribe((palette) => (this.#palette = palette)));
    const frames$ = wantsStillness() ? animationFrames().pipe(throttleTime(stillMs)) : animationFrames();
    work.add(frames$.subscribe(() => this.#draw()));
    work.add(fromEvent<PointerEvent>(canvas, 'pointerdown').subscribe((event) => this.#press(event)));
    work.add(fromEvent<PointerEvent>(canvas, 'pointermove').subscribe((event) => this.#move(event)));
    const releases$ = merge(
      fromEvent<PointerEvent>(canvas, 'pointerup'),
      fromEvent<PointerEvent>(canvas, 'pointercancel'),
    );
    work.add(releases$.subscribe((event) => this.#release(event)));
    work.add(fromEvent<WheelEvent>(canvas, 'wheel', { passive: false }).subscribe((event) => this.#wheel(event)));
    work.add(fromEvent<KeyboardEvent>(canvas, 'keydown').subscribe((event) => this.#key(event)));
    work.add(
      fromEvent(canvas, 'blur').subscribe(() => {
        this.#lane = undefined;
        this.#redraw();
      }),
    );
    return work;
  }

  follow(): void {
    this.#viewport.follow();
    this.#changed();
  }

  pause(): void {
    this.#viewport.pause();
    this.#changed();
  }

  zoom(direction: 'in' | 'out'): void {
    this.#viewport.zoom(direction === 'in' ? 1 / zoomStep : zoomStep);
    this.#changed();
  }

  /** Shows everything. */
  fit(): void {
    const { startedAt, endedAt } = this.#timeline();
    if (startedAt === undefined || endedAt === undefined) return;
    this.#viewport.fit(startedAt, endedAt);
    this.#changed();
  }

  select(row: Row | undefined): void {
    this.#selected$.next(row);
    if (row) {
      this.#lane = laneOf[row.event.type];
      // What is asked about stays where it is.
      this.#viewport.pause();
      this.#viewport.reveal(row.event.at);
    }
    this.#changed();
  }

  /** Selects the event before or after the selected one, in its lane. */
  step(by: 1 | -1): void {
    const lane = this.#lane ?? 'transcripts';
    const marks = this.#marked(lane);
    const selected = this.#selected$.value;
    const at = selected?.event.at ?? this.#viewport.to;
    const index = selected?.lane === lane ? marks.indexOf(selected) : -1;
    const next =
      index >= 0
        ? marks[index + by]
        : by > 0
          ? marks.find(({ event }) => event.at > at)
          : marks.findLast(({ event }) => event.at < at);
    if (next) this.select(next);
  }

  /** The rows of a lane that have a mark or a bar. */
  #marked(lane: LaneId): Row[] {
    const { marks, bars } = this.#timeline().lanes[lane];
    return [...new Set([...marks, ...bars].map(({ row }) => row))].sort((a, b) => a.index - b.index);
  }

  #moveLane(by: 1 | -1): void {
    const index = lanes.findIndex(({ id }) => id === this.#lane);
    this.#lane = lanes[Math.min(lanes.length - 1, Math.max(0, index + by))]?.id;
    const at = this.#selected$.value?.event.at ?? this.#viewport.to;
    const nearest = this.#marked(this.#lane ?? 'transcripts').sort(
      (a, b) => Math.abs(a.event.at - at) - Math.abs(b.event.at - at),
    )[0];
    if (nearest) this.select(nearest);
    else this.#redraw();
  }

  #changed(): void {
    if (this.#follows$.value !== this.#viewport.follows) this.#follows$.next(this.#viewport.follows);
    this.#redraw();
  }

  #redraw(): void {
    this.#drawn = '';
  }

  get #measures(): Measures {
    return this.#canvas.clientWidth < 560 ? narrow : wide;
  }

  #draw(): void {
    const canvas = this.#canvas;
    const timeline = this.#timeline();
    const { clientWidth: width, clientHeight: height } = canvas;
    const measures = this.#measures;
    if (width === 0) return;
    const isEmpty = timeline.startedAt === undefined;
    const now = isEmpty ? 0 : this.#now();
    if (this.#waiting.hidden === isEmpty) {
      if (!isEmpty) handFocus(this.#waiting, this.#canvas);
      this.#waiting.hidden = !isEmpty;
    }
    this.#viewport.advance(now, timeline.startedAt);
    // Nothing is drawn twice: what shows is the part of time, what has happened, and the size.
    const state = [
      ...[this.#viewport.from, this.#viewport.spanMs, timeline.rows.length, timeline.startedAt],
      ...[width, height, devicePixelRatio, this.#palette.paper],
    ].join();
    if (state === this.#drawn) return;
    this.#drawn = state;
    const ratio = devicePixelRatio;
    this.#boxes = boxesOf(timeline, height, measures);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext('2d');
    if (!pen) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#spots = paint(pen, {
      ...{ timeline, viewport: this.#viewport, palette: this.#palette, width, height, measures, now },
      ...{ boxes: this.#boxes, selected: this.#selected$.value, lane: this.#lane },
    });
  }

  get #msPerPixel(): number {
    return this.#viewport.spanMs / Math.max(1, this.#canvas.clientWidth - this.#measures.label);
  }

  #timeAt(x: number): number {
    return this.#viewport.from + (x - this.#measures.label) * this.#msPerPixel;
  }

  #press(event: PointerEvent): void {
    this.#canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.#pointers.size === 1) this.#moved = 0;
  }

  #move(event: PointerEvent): void {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const here = { x: event.offsetX, y: event.offsetY };
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, here);
    this.#moved += Math.abs(here.x - before.x);
    if (other) {
      const factor = Math.max(20, Math.abs(before.x - other.x)) / Math.max(20, Math.abs(here.x - other.x));
      this.#viewport.zoom(factor, this.#timeAt((here.x + other.x) / 2));
    } else if (this.#moved > 4) {
      this.#viewport.pan((before.x - here.x) * this.#msPerPixel);
    }
    this.#changed();
  }

  #release({ pointerId, pointerType, offsetX, offsetY, type }: PointerEvent): void {
    if (!this.#pointers.delete(pointerId) || type === 'pointercancel' || this.#moved > 4) return;
    const row = spotAt(this.#spots, offsetX, offsetY, pointerType === 'touch' ? reach.touch : reach.mouse);
    this.select(row);
    this.#lane = laneAt(offsetY, this.#boxes);
  }

  #wheel(event: WheelEvent): void {
    const isZoom = event.ctrlKey || event.metaKey;
    if (!isZoom && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    if (isZoom) this.#viewport.zoom(Math.exp(event.deltaY / 300), this.#timeAt(event.offsetX));
    else this.#viewport.pan(event.deltaX * this.#msPerPixel);
    this.#changed();
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.#keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  readonly #keys: Readonly<Partial<Record<string, () => void>>> = {
    ArrowLeft: () => this.step(-1),
    ArrowRight: () => this.step(1),
    ArrowUp: () => this.#moveLane(-1),
    ArrowDown: () => this.#moveLane(1),
    '+': () => this.zoom('in'),
    '=': () => this.zoom('in'),
    '-': () => this.zoom('out'),
    Home: () => this.fit(),
    End: () => this.follow(),
    Escape: () => this.select(undefined),
  };
}

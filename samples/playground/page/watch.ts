import { interval, merge, type Observable } from 'rxjs';
import { marbleSpec } from '../../marbles/notation.ts';
import type { Palette } from '../../marbles/palette.ts';
import { marbleDiagram } from '../../marbles/svg.ts';
import { steps } from '../../marbles/waterfall.ts';
import { announce, showDetails } from './details.ts';
import { Diagram } from './diagram.ts';
import { byId, download, h, handFocus } from './dom.ts';
import type { Notices } from './notices.ts';
import { readRecording, writeRecording } from './recorder.ts';
import { showRecording } from './recording-bar.ts';
import type { Stage } from './stage.ts';
import { EventTable } from './table.ts';

/** How often the table follows what happens, in milliseconds. */
const refreshMs = 250;
/** Pixels of the exported diagram for a second. */
const exportedPixelsPerMs = 0.08;

/** What others do with the diagram. */
export interface Watch {
  /** Shows a recording. */
  readonly open: (name: string, ndjson: string) => Promise<void>;
  /** Shows everything, or what happens now. */
  readonly show: (what: 'all' | 'live') => void;
}

/** Wires the diagram, its table, and what can be taken out of and brought into it. */
export function wireWatch(stage: Stage, palette$: Observable<Palette>, notices: Notices): Watch {
  const button = (id: string): HTMLButtonElement => byId(id, HTMLButtonElement);
  const on = (id: string, act: () => void): void => button(id).addEventListener('click', act);
  const { log } = stage;
  const diagram = new Diagram(
    byId('canvas', HTMLCanvasElement),
    byId('waiting', HTMLElement),
    () => log.timeline,
    () => stage.now,
  );
  const table = new EventTable(byId('table', HTMLElement), (row) => diagram.select(row));
  const [details, selected] = [byId('details', HTMLElement), byId('selected', HTMLElement)];
  const bar = byId('recording', HTMLElement);
  const file = byId('file', HTMLInputElement);
  const legends = [byId('shapes', HTMLElement), byId('parts', HTMLElement)];
  byId('parts', HTMLElement).append(
    h('li', {}, 'latency:'),
    ...steps.map(({ title, tone }) => h('li', {}, h('i', { class: `swatch ${tone}` }), title)),
  );

  diagram.run(palette$);
  diagram.selected$.subscribe((row) => {
    const { timeline } = log;
    const startedAt = timeline.startedAt ?? 0;
    const close = (): void => diagram.select(undefined);
    showDetails(details, row, timeline, { step: (by) => diagram.step(by), close }, byId('canvas', HTMLElement));
    selected.textContent = row ? announce(row, startedAt) : '';
  });
  diagram.follows$.subscribe((follows) => {
    button('follow').setAttribute('aria-pressed', String(follows));
  });
  log.timeline$.subscribe(() => {
    diagram.select(undefined);
    diagram.follow();
  });
  merge(interval(refreshMs), log.timeline$).subscribe(() => table.update(log.timeline));

  const view = (isTable: boolean): void => {
    byId('lanes', HTMLElement).hidden = isTable;
    byId('table', HTMLElement).hidden = !isTable;
    for (const legend of legends) legend.hidden = isTable;
    button('view-table').setAttribute('aria-pressed', String(isTable));
    button('view-diagram').setAttribute('aria-pressed', String(!isTable));
    table.update(log.timeline);
  };
  on('view-diagram', () => view(false));
  on('view-table', () => view(true));
  on('follow', () => {
    if (button('follow').getAttribute('aria-pressed') === 'true') diagram.pause();
    else diagram.follow();
  });
  on('zoom-in', () => diagram.zoom('in'));
  on('zoom-out', () => diagram.zoom('out'));
  on('fit', () => diagram.fit());

  on('sound', () => stage.consent$.next(!stage.consent$.value));
  stage.consent$.subscribe((isGiven) => button('sound').setAttribute('aria-pressed', String(isGiven)));
  stage.sound$.subscribe((sound) => download('conversation.webm', sound.type, [sound]));
  on('save', () => {
    void writeRecording(log.events).then((lines) => download('session.ndjson', 'application/x-ndjson', lines));
  });
  on('svg', () => {
    const svg = marbleDiagram(log.timeline, { pixelsPerMs: exportedPixelsPerMs });
    download('session.svg', 'image/svg+xml', [svg]);
  });
  on('marbles', () => {
    const copied = button('marbles');
    navigator.clipboard.writeText(marbleSpec(log.timeline)).then(
      () => {
        copied.textContent = 'Copied';
        setTimeout(() => (copied.textContent = 'Copy as marbles'), 1500);
      },
      () => download('session.spec.ts', 'text/plain', [marbleSpec(log.timeline)]),
    );
  });
  on('load', () => file.click());
  file.addEventListener('change', () => {
    const [chosen] = file.files ?? [];
    if (chosen) void chosen.text().then((ndjson) => open(chosen.name, ndjson));
    file.value = '';
  });

  async function open(name: string, ndjson: string): Promise<void> {
    try {
      const events = readRecording(ndjson);
      await stage.open(events);
      notices.clear();
      diagram.fit();
      const attempt = (act: () => Promise<void>) => (): void =>
        void act().catch((error: unknown) => notices.show(error));
      showRecording(bar, `${name}: ${events.length} events`, {
        play: attempt(() => stage.play()),
        rerun: attempt(async () => {
          await stage.rerun();
          diagram.fit();
        }),
        close: attempt(() => stage.close()),
      });
    } catch (error) {
      notices.show(error);
    }
  }
  stage.mode$.subscribe((mode) => {
    if (mode === 'recording' || mode === 'playing') return;
    handFocus(bar, button('load'));
    bar.hidden = true;
  });
  return { open, show: (what) => (what === 'all' ? diagram.fit() : diagram.follow()) };
}

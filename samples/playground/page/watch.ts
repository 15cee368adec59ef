import { distinctUntilChanged, interval, map, merge, Subscription, type Observable } from 'rxjs';
import { marbleSpec } from '../../marbles/notation.ts';
import type { Palette } from '../../marbles/palette.ts';
import { marbleDiagram } from '../../marbles/svg.ts';
import { announce, showDetails } from './details.ts';
import { Diagram } from './diagram.ts';
import { byId, download } from './dom.ts';
import { showLatency } from './latency.ts';
import type { Notices } from './notices.ts';
import { readRecording, writeRecording } from './recorder.ts';
import { showRecording } from './recording-bar.ts';
import type { Stage } from './stage.ts';
import { EventTable } from './table.ts';

/** How often tables follow what happens, in milliseconds. */
const refreshMs = 250;
/** Pixels of the exported diagram for a second. */
const exportedPixelsPerMs = 0.08;

/** Wires the diagram, its table, and what can be taken out of and brought into it. */
export function wireWatch(
  stage: Stage,
  palette$: Observable<Palette>,
  palette: () => Palette,
  notices: Notices,
): Subscription {
  const work = new Subscription();
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
  const latency = byId('latency', HTMLElement);
  const bar = byId('recording', HTMLElement);
  const file = byId('file', HTMLInputElement);

  work.add(diagram.run(palette$));
  work.add(
    diagram.selected$.subscribe((row) => {
      const startedAt = log.timeline.startedAt ?? 0;
      const close = (): void => diagram.select(undefined);
      showDetails(details, row, startedAt, { step: (by) => diagram.step(by), close });
      selected.textContent = row ? announce(row, startedAt) : '';
    }),
  );
  work.add(
    diagram.follows$.subscribe((follows) => {
      button('follow').setAttribute('aria-pressed', String(follows));
    }),
  );
  work.add(
    log.timeline$.subscribe(() => {
      diagram.select(undefined);
      diagram.follow();
    }),
  );
  work.add(
    merge(interval(refreshMs), log.timeline$)
      .pipe(
        map(() => log.timeline.turns.map(({ id, metrics }) => `${id} ${metrics?.total ?? ''}`).join()),
        distinctUntilChanged(),
      )
      .subscribe(() => showLatency(latency, log.timeline.turns)),
  );
  work.add(merge(interval(refreshMs), log.timeline$).subscribe(() => table.update(log.timeline)));

  const view = (isTable: boolean): void => {
    byId('lanes', HTMLElement).hidden = isTable;
    byId('table', HTMLElement).hidden = !isTable;
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

  on('save', () => {
    void writeRecording(log.events).then((lines) => download('session.ndjson', 'application/x-ndjson', lines));
  });
  on('svg', () => {
    const options = { palette: palette(), pixelsPerMs: exportedPixelsPerMs };
    download('session.svg', 'image/svg+xml', [marbleDiagram(log.timeline, options)]);
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
    if (chosen) void open(chosen);
    file.value = '';
  });

  async function open(chosen: File): Promise<void> {
    try {
      const events = readRecording(await chosen.text());
      await stage.open(events);
      notices.clear();
      diagram.fit();
      const attempt = (act: () => Promise<void>) => (): void =>
        void act().catch((error: unknown) => notices.show(error));
      showRecording(bar, `${chosen.name}: ${events.length} events`, {
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
  work.add(
    stage.mode$.subscribe((mode) => {
      if (mode !== 'recording' && mode !== 'playing') bar.hidden = true;
    }),
  );
  return work;
}

import { lanes, type LaneId } from '../../marbles/lanes.ts';
import { wordsOf, type Row, type Timeline } from '../../marbles/timeline.ts';
import { h } from './dom.ts';

/** Rows that are shown at once; the newest. */
const page = 400;

/** The events of a timeline as a table: of one lane, or of all but the captured audio. */
export class EventTable {
  readonly #place: HTMLElement;
  readonly #select: (row: Row) => void;
  readonly #lane = h('select', { 'aria-label': 'Lane' });
  readonly #count = h('p', { class: 'hint', role: 'status' });
  readonly #body = h('tbody');
  #shown = '';

  constructor(place: HTMLElement, select: (row: Row) => void) {
    this.#place = place;
    this.#select = select;
    const head = ['Time', 'Lane', 'Event', 'What', 'Turn'].map((title) => h('th', { scope: 'col' }, title));
    const table = h(
      'table',
      {},
      h('caption', { class: 'sr-only' }, 'Events'),
      h('thead', {}, h('tr', {}, ...head)),
      this.#body,
    );
    this.#lane.append(
      h('option', { value: 'all' }, 'All lanes'),
      ...lanes.map(({ id, title }) => h('option', { value: id }, title)),
    );
    place.append(
      h('div', { class: 'bar' }, h('label', {}, 'Lane ', this.#lane), this.#count),
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Events' }, table),
    );
  }

  /** Shows what has happened, if the table is seen and something has. */
  update(timeline: Timeline): void {
    if (this.#place.hidden) return;
    const lane = this.#lane.value as LaneId | 'all';
    const state = [lane, timeline.rows.length, timeline.startedAt].join();
    if (state === this.#shown) return;
    this.#shown = state;
    const startedAt = timeline.startedAt ?? 0;
    const rows =
      lane === 'all' ? timeline.rows.filter(({ event }) => event.type !== 'audio.input') : timeline.lanes[lane].rows;
    for (const option of this.#lane.options) {
      const known = lanes.find(({ id }) => id === option.value);
      if (known) option.textContent = `${known.title} (${timeline.lanes[known.id].rows.length})`;
    }
    const newest = rows.slice(-page);
    this.#count.textContent =
      rows.length > newest.length ? `The newest ${newest.length} of ${rows.length} events` : `${rows.length} events`;
    this.#body.replaceChildren(...newest.toReversed().map((row) => this.#row(row, startedAt, timeline)));
  }

  #row(row: Row, startedAt: number, timeline: Timeline): HTMLTableRowElement {
    const { seconds, type, text } = wordsOf(row, startedAt);
    const ask = h('button', { type: 'button', class: 'link' }, type);
    ask.addEventListener('click', () => this.#select(row));
    return h(
      'tr',
      { 'data-type': type },
      h('td', { class: 'number' }, seconds),
      h('td', {}, lanes.find(({ id }) => id === row.lane)?.title ?? row.lane),
      h('td', {}, ask),
      h('td', { class: 'text' }, text),
      h('td', { class: 'number' }, timeline.turnNumber(row.event.turnId)?.toString()),
    );
  }
}

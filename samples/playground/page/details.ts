import type { VoiceEvent } from 'rxvoice';
import { summaryOf } from '../../marbles/lanes.ts';
import type { Row, Timeline } from '../../marbles/timeline.ts';
import { button, h, handFocus } from './dom.ts';

/** What the payload of an event shows by itself: its envelope stands above it. */
const envelope = new Set(['type', 'at', 'turnId', 'speechId', 'role', 'provider']);

/** An event's payload as indented JSON; audio by its length, of an error's cause nothing. */
export function payloadOf(event: VoiceEvent): string {
  const payload = Object.fromEntries(Object.entries(event).filter(([key]) => !envelope.has(key)));
  return JSON.stringify(
    payload,
    (key, value: unknown) => {
      if (key === 'cause') return undefined;
      return value instanceof Uint8Array ? `${value.length} bytes` : value;
    },
    2,
  );
}

/** Shows the event that was asked about in a drawer over the diagram. */
export function showDetails(
  place: HTMLElement,
  row: Row | undefined,
  timeline: Timeline,
  actions: { readonly step: (by: 1 | -1) => void; readonly close: () => void },
  canvas: HTMLElement,
): void {
  if (!row) handFocus(place, canvas);
  place.hidden = row === undefined;
  if (!row) {
    place.replaceChildren();
    return;
  }
  const { event } = row;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['at', `${((event.at - (timeline.startedAt ?? 0)) / 1000).toFixed(3)} s`],
    ['turn', timeline.turnNumber(event.turnId)?.toString()],
    ['speech', event.speechId],
    ['by', event.provider ?? event.role],
  ];
  const [before, after, close] = [
    button('‹', { class: 'icon', 'aria-label': 'Event before' }),
    button('›', { class: 'icon', 'aria-label': 'Event after' }),
    button('×', { class: 'icon', 'aria-label': 'Close' }),
  ];
  before.addEventListener('click', () => actions.step(-1));
  after.addEventListener('click', () => actions.step(1));
  close.addEventListener('click', actions.close);
  place.onkeydown = ({ key }): void => {
    if (key === 'Escape') actions.close();
  };
  const focused = document.activeElement?.getAttribute('aria-label');
  const isWithin = place.contains(document.activeElement);
  place.replaceChildren(
    h('div', { class: 'head' }, h('h3', {}, event.type), h('div', { class: 'group' }, before, after, close)),
    h(
      'dl',
      {},
      ...facts.flatMap(([name, value]) =>
        value === undefined ? [] : [h('div', {}, h('dt', {}, name), h('dd', {}, value))],
      ),
    ),
    h('pre', { tabindex: 0, 'aria-label': 'Payload' }, payloadOf(event)),
  );
  if (isWithin) [before, after, close].find((control) => control.ariaLabel === focused)?.focus();
}

/** What a screen reader says of the event that was asked about. */
export function announce({ event }: Row, startedAt: number): string {
  return `${event.type} at ${((event.at - startedAt) / 1000).toFixed(2)} seconds. ${summaryOf(event)}`.trim();
}

import type { Turn } from '../../marbles/timeline.ts';
import { steps, waterfallOf } from '../../marbles/waterfall.ts';
import { h } from './dom.ts';

/** Turns that are shown; the newest. */
const most = 30;
const extras = [
  ['preflightLead', 'ahead by preflight', 'ms'],
  ['bargeInDetect', 'barge-in seen after', 'ms'],
  ['bargeInCut', 'cut in', 'ms'],
  ['wastedTokens', 'tokens in vain', ''],
  ['wastedAudio', 'of speech in vain', 'ms'],
] as const;

/** Shows the latency of each turn as a waterfall, newest first, all on one scale. */
export function showLatency(place: HTMLElement, turns: readonly Turn[]): void {
  const measured = turns.filter(({ metrics }) => metrics?.total !== undefined).slice(-most);
  if (measured.length === 0) {
    place.replaceChildren(h('p', { class: 'hint' }, 'From the end of your speech to the first sound of the answer.'));
    return;
  }
  const longest = Math.max(...measured.map(({ metrics }) => metrics?.total ?? 0), 1);
  const legend = steps.map(({ title, tone }) => h('li', {}, h('i', { class: `swatch ${tone}` }), title));
  const rows = measured.toReversed().map(({ number, metrics = {}, text }) => {
    const parts = waterfallOf(metrics);
    const bars = parts
      .filter(({ ms }) => ms > 0)
      .map(({ tone, ms, from, title, until }) => {
        const bar = h('i', { class: `part ${tone}`, title: `${title}: ${Math.round(ms)} ms, until the ${until}` });
        bar.style.left = `${(from / longest) * 100}%`;
        bar.style.width = `max(2px, ${(ms / longest) * 100}%)`;
        return bar;
      });
    const spoken = parts.map(({ title, ms }) => `${title} ${Math.round(ms)} ms`).join(', ');
    const more = extras.flatMap(([key, title, unit]) => {
      const value = metrics[key];
      return value === undefined ? [] : [`${title} ${Math.round(value)} ${unit}`.trim()];
    });
    return h(
      'tr',
      {},
      h('th', { scope: 'row', title: text }, `turn ${number}`),
      h(
        'td',
        {},
        h('div', { class: 'track', 'aria-hidden': 'true' }, ...bars),
        h('span', { class: 'sr-only' }, spoken),
        more.length > 0 && h('small', {}, more.join(' · ')),
      ),
      h('td', { class: 'number' }, `${Math.round(metrics.total ?? 0)} ms`),
    );
  });
  const head = ['Turn', 'Parts', 'Total'].map((title) => h('th', { scope: 'col' }, title));
  place.replaceChildren(
    h('ul', { class: 'legend', 'aria-hidden': 'true' }, ...legend),
    h('table', {}, h('thead', { class: 'sr-only' }, h('tr', {}, ...head)), h('tbody', {}, ...rows)),
  );
}

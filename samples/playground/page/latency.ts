import type { TurnMetrics } from 'rxvoice';
import { counted } from '../../marbles/timeline.ts';
import { waterfallOf } from '../../marbles/waterfall.ts';
import { h } from './dom.ts';

/** A latency that fills the track, in milliseconds: all turns are drawn on one scale, unless one is longer. */
const fullMs = 2_000;

const ms = (value: number): string => `${Math.round(value)} ms`;

/** What else there is to say of a turn, in words. */
const notes: readonly (readonly [key: keyof TurnMetrics, say: (value: number) => string])[] = [
  ['preflightLead', (value) => `preflight saved ${ms(value)}`],
  ['bargeInDetect', (value) => `barge-in seen after ${ms(value)}`],
  ['bargeInCut', (value) => `cut in ${ms(value)}`],
  ['wastedTokens', (value) => counted(value, 'wasted token')],
  ['wastedAudio', (value) => `${(value / 1000).toFixed(1)} s of wasted audio`],
];

/** The latency of a turn as a waterfall with its notes; `undefined` where nothing is known. */
export function latencyOf(metrics: TurnMetrics): HTMLElement | undefined {
  const { total } = metrics;
  const said = notes.flatMap(([key, say]) => {
    const value = metrics[key];
    return typeof value === 'number' && value > 0 ? [say(value)] : [];
  });
  if (total === undefined && said.length === 0) return undefined;
  const note = said.length > 0 && h('small', {}, said.join(' · '));
  if (total === undefined) return h('div', { class: 'latency' }, note);
  const parts = waterfallOf(metrics);
  const scale = 100 / Math.max(fullMs, total);
  const bars = parts
    .filter((part) => part.ms > 0)
    .map(({ tone, ms: length, title, until }) => {
      const bar = h('i', { class: tone, title: `${title}: ${ms(length)}, until the ${until}` });
      bar.style.width = `${length * scale}%`;
      return bar;
    });
  const spoken = parts.map(({ title, ms: length }) => `${title} ${ms(length)}`).join(', ');
  return h(
    'div',
    { class: 'latency' },
    h('span', { class: 'track', 'aria-hidden': 'true' }, ...bars),
    h('span', { class: 'number', title: 'From the end of the speech to the first sound of the answer' }, ms(total)),
    h('span', { class: 'sr-only' }, `Latency: ${spoken}`),
    note,
  );
}

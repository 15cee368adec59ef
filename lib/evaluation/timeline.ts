import type { CallRecord } from './call-record.ts';
import { escaped } from './escaped.ts';

/** Width of a second, and heights, in the drawing's own units. */
const perSecond = 24;
const laneHeight = 22;
const [callerY, agentY, axisY] = [6, 36, 64];
const height = 84;

/** A call on a time axis: who spoke when, what cut whom off, which tools ran. Every bar leads to its words. */
export function timelineOf(call: CallRecord, id: string): string {
  const { utterances, noises, tools, durationMs } = call;
  const seconds = Math.max(10, Math.ceil(durationMs / 1_000));
  const width = seconds * perSecond + 24;
  const x = (ms: number): string => ((ms / 1_000) * perSecond + 8).toFixed(1);
  const bar = (className: string, y: number, startMs: number, endMs: number, title: string): string =>
    `<rect class="${className}" x="${x(startMs)}" y="${y}" rx="3" width="${Math.max(3, ((endMs - startMs) / 1_000) * perSecond).toFixed(1)}" height="${laneHeight}"><title>${escaped(title)}</title></rect>`;
  const spoken = utterances.map((utterance, index) => {
    const { who, text, startMs, endMs } = utterance;
    const isCut = utterance.who === 'agent' && utterance.isInterrupted;
    const drawn = bar(
      isCut ? 'agent cut' : who,
      who === 'caller' ? callerY : agentY,
      startMs,
      endMs,
      `${who}: ${text}`,
    );
    return `<a href="#${id}-${index}">${drawn}</a>`;
  });
  const marks = [
    ...noises.map(({ startMs, endMs }) => bar('noise', callerY, startMs, endMs, 'a noise')),
    ...tools.map(({ call: { name }, atMs, outcome }) => {
      const title = `<title>${escaped(`${name}: ${outcome}`)}</title>`;
      return `<circle class="tool" cx="${x(atMs)}" cy="${axisY - 4}" r="4">${title}</circle>`;
    }),
  ];
  const step = seconds > 120 ? 10 : 5;
  const ticks = Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => {
    const at = x(index * step * 1_000);
    return `<path d="M${at} 2V${axisY}"/><text x="${at}" y="${axisY + 14}">${index * step} s</text>`;
  });
  const label = `Time axis of ${seconds} seconds: the caller's words above, the agent's below`;
  return (
    `<div class="axis" tabindex="0" role="group" aria-label="${escaped(label)}">` +
    `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">` +
    `<g class="ticks">${ticks.join('')}</g>${spoken.join('')}${marks.join('')}</svg></div>`
  );
}

import { ofType, type CallRecord } from './call.ts';

const [labelWidth, laneHeight, top] = [120, 44, 36];
const pixelsPerMs = 0.06;

interface Mark {
  readonly at: number;
  readonly label: string;
  readonly shape: 'dot' | 'ring' | 'diamond' | 'cross' | 'tick';
  readonly color: string;
}

interface Bar {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly color: string;
}

interface Lane {
  readonly name: string;
  readonly marks?: readonly Mark[];
  readonly bars?: readonly Bar[];
}

/** The lanes of a call: one stream each, as in a marble diagram. */
function lanesOf({ events }: CallRecord): Lane[] {
  const mark =
    (shape: Mark['shape'], color: string, label = '') =>
    ({ at }: { at: number }): Mark => ({
      ...{ at, shape, color, label },
    });
  const speeches = ofType(events, 'speech.ended').flatMap(({ at, speechId, heardText }) => {
    const started = ofType(events, 'speech.started').find((event) => event.speechId === speechId);
    return started ? [{ from: started.at, to: at, label: heardText, color: '#3b82f6' }] : [];
  });
  return [
    {
      name: 'transcripts',
      marks: [
        ...ofType(events, 'transcript.interim').map(mark('ring', '#64748b')),
        ...ofType(events, 'transcript.preflight').map(mark('diamond', '#d97706')),
        ...ofType(events, 'transcript.final').map((event) => mark('dot', '#0891b2', event.text)(event)),
      ],
    },
    {
      name: 'preflight',
      marks: [
        ...ofType(events, 'preflight.started').map(mark('ring', '#d97706')),
        ...ofType(events, 'preflight.adopted').map(mark('dot', '#16a34a', 'adopted')),
        ...ofType(events, 'preflight.discarded').map((event) => mark('cross', '#dc2626', event.reason)(event)),
      ],
    },
    {
      name: 'tokens',
      marks: [
        ...ofType(events, 'llm.token').map(mark('tick', '#16a34a')),
        ...ofType(events, 'llm.aborted').map(mark('cross', '#dc2626', 'aborted')),
      ],
    },
    { name: 'synthesis', marks: ofType(events, 'audio.chunk').map(mark('tick', '#7c3aed')) },
    { name: 'playback', bars: speeches },
    {
      name: 'barge-in',
      marks: [
        ...ofType(events, 'bargeIn.suspected').map(mark('ring', '#c026d3')),
        ...ofType(events, 'bargeIn.paused').map(mark('diamond', '#c026d3')),
        ...ofType(events, 'bargeIn.confirmed').map(mark('dot', '#c026d3', 'confirmed')),
        ...ofType(events, 'bargeIn.resumed').map(mark('ring', '#16a34a', 'resumed')),
      ],
    },
    { name: 'errors', marks: ofType(events, 'error').map((event) => mark('cross', '#dc2626', event.code)(event)) },
  ];
}

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const shapes: Readonly<Record<Mark['shape'], (x: number, y: number, color: string) => string>> = {
  dot: (x, y, color) => `<circle cx="${x}" cy="${y}" r="6" fill="${color}"/>`,
  ring: (x, y, color) => `<circle cx="${x}" cy="${y}" r="5" fill="none" stroke="${color}" stroke-width="2"/>`,
  diamond: (x, y, color) => `<path d="M${x} ${y - 7}l7 7l-7 7l-7-7z" fill="${color}"/>`,
  cross: (x, y, color) => `<path d="M${x - 6} ${y - 6}l12 12m0-12l-12 12" stroke="${color}" stroke-width="2.5"/>`,
  tick: (x, y, color) => `<path d="M${x} ${y - 6}v12" stroke="${color}" stroke-width="1.5"/>`,
};

/** A call as an SVG marble diagram: a lane for each stream, turns as bands behind them. */
export function marbleDiagram(call: CallRecord): string {
  const x = (at: number): number => Math.round((labelWidth + (at - call.startedAt) * pixelsPerMs) * 10) / 10;
  const lanes = lanesOf(call);
  const width = x(call.endedAt) + 40;
  const height = top + lanes.length * laneHeight + 24;
  const bands = ofType(call.events, 'turn.started').map(({ at, turnId }, index) => {
    const end = ofType(call.events, 'turn.ended').find((event) => event.turnId === turnId)?.at ?? call.endedAt;
    const box = `x="${x(at)}" y="${top - 14}" width="${x(end) - x(at)}" height="${height - top}"`;
    return `<rect ${box} fill="#94a3b8" opacity="0.12"/><text x="${x(at) + 4}" y="${top - 18}">turn ${index + 1}</text>`;
  });
  const rows = lanes.map(({ name, marks = [], bars = [] }, index) => {
    const y = top + index * laneHeight + laneHeight / 2;
    const line = `<path d="M${labelWidth} ${y}H${width - 24}l-6-4m6 4l-6 4" stroke="#94a3b8" fill="none"/>`;
    const drawnBars = bars.map(
      ({ from, to, label, color }) =>
        `<rect x="${x(from)}" y="${y - 8}" width="${Math.max(2, x(to) - x(from))}" height="16" rx="4" fill="${color}">` +
        `<title>${escape(label)}</title></rect>`,
    );
    const drawnMarks = marks.map(
      ({ at, shape, color, label }) =>
        `<g>${shapes[shape](x(at), y, color)}<title>${escape(label)}</title></g>` +
        (label ? `<text x="${x(at)}" y="${y + 19}" class="label">${escape(label)}</text>` : ''),
    );
    return [`<text x="8" y="${y + 4}">${name}</text>`, line, ...drawnBars, ...drawnMarks].join('');
  });
  const style = 'text{font:12px system-ui,sans-serif;fill:#334155}.label{font-size:10px;fill:#64748b}';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<style>${style}</style><rect width="100%" height="100%" fill="#ffffff"/>`,
    ...bands,
    ...rows,
    '</svg>\n',
  ].join('\n');
}

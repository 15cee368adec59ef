import type { AudioMetadata, TurnEndReason, TurnMetrics, VoiceEvent, VoiceEventType } from 'rxvoice';
import { durationMs, int16View, isPcmLike, rmsLevel } from 'rxvoice/audio';
import { laneOf, lanes, summaryOf, type LaneId } from './lanes.ts';
import type { Tone } from './palette.ts';

/** The form of a mark: it says what the colour says, for those who do not see colours. */
export type Shape = 'dot' | 'ring' | 'diamond' | 'cross' | 'tick';

/** An event in its lane. */
export interface Row {
  /** Counts the events of a timeline from 0. */
  readonly index: number;
  readonly lane: LaneId;
  readonly event: VoiceEvent;
}

/** A moment in a lane. */
export interface Mark {
  readonly at: number;
  readonly shape: Shape;
  readonly tone: Tone;
  /** Written beside it; empty for none. */
  readonly label: string;
  /** Counts from 0 the tracks of its lane: what happens at once stands one below the other. */
  readonly track: number;
  readonly row: Row;
}

/** A stretch of a lane. */
export interface Bar {
  readonly from: number;
  /** Absent while it lasts. */
  readonly to?: number;
  /** `hatched` is what never happened: audio that was not heard. */
  readonly style: 'solid' | 'soft' | 'hatched';
  readonly tone: Tone;
  readonly label: string;
  /** As a {@link Mark}'s. */
  readonly track: number;
  /** Where it was ducked: quieter, because somebody may be interrupting. */
  readonly ducked: readonly Stretch[];
  readonly row: Row;
}

/** A part of a bar. */
export interface Stretch {
  readonly from: number;
  /** Absent while it lasts. */
  readonly to?: number;
}

/** How loud the audio was at a moment, 0 to 1. */
export interface Level {
  readonly at: number;
  readonly level: number;
}

/** One lane of a timeline. */
export interface Lane {
  readonly rows: readonly Row[];
  readonly marks: readonly Mark[];
  readonly bars: readonly Bar[];
  readonly levels: readonly Level[];
  /** How many tracks its marks and bars take: 1, and more where things happen at once. */
  readonly tracks: number;
}

/** A turn: a band behind the lanes. */
export interface Turn {
  readonly id: string;
  /** Counts from 1. */
  readonly number: number;
  readonly from: number;
  /** Absent while it lasts. */
  readonly to?: number;
  readonly reason?: TurnEndReason;
  /** What the user said. */
  readonly text: string;
  /** When the first sound of its answer was heard: its latency ends there. */
  readonly soundAt?: number;
  readonly metrics?: TurnMetrics;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type OpenBar = Mutable<Omit<Bar, 'ducked'>> & { readonly ducked: Mutable<Stretch>[] };
interface OpenLane extends Lane {
  readonly rows: Row[];
  readonly marks: Mark[];
  readonly bars: OpenBar[];
  readonly levels: Level[];
  tracks: number;
}

/** What has been synthesized of a speech. */
interface Synthesis {
  ms: number;
  format: AudioMetadata | undefined;
}

/** Draws the events of one lane. */
interface Pen {
  /** Marks the moment, in the track of what was opened with a key. */
  mark(shape: Shape, tone: Tone, label?: string, key?: string): void;
  /** Opens a bar in the first track of the lane that is free. */
  open(key: string, tone: Tone, style: Bar['style'], label?: string): void;
  close(key: string): void;
  /** Says of what was opened what it turned out to be. */
  label(key: string, label: string): void;
  bar(bar: Omit<Bar, 'row' | 'track' | 'ducked'>): void;
  /** Says whether what is heard is ducked from here on. */
  duck(isDucked: boolean): void;
  /** What was not to be ends here: something else takes its place. */
  cut(): void;
  level(level: number): void;
}

type Draw<T extends VoiceEventType> = (event: VoiceEvent<T>, pen: Pen, timeline: Timeline) => void;

/** A mark, whose label is what `label` makes of the event. */
function mark<T extends VoiceEventType>(
  shape: Shape,
  tone: Tone,
  label: (event: VoiceEvent<T>) => string = () => '',
): Draw<T> {
  return (event, pen) => pen.mark(shape, tone, label(event));
}

const speechKey = ({ speechId = '' }: { readonly speechId?: string }): string => `speech ${speechId}`;
const states = {
  listening: { tone: 'quiet', style: 'soft' },
  thinking: { tone: 'guess', style: 'solid' },
  speaking: { tone: 'heard', style: 'solid' },
} as const;

/** How each type of event is drawn; types that are not here are rows of the table only. */
const drawn: { readonly [T in VoiceEventType]?: Draw<T> } = {
  'audio.input': ({ chunk: { data, metadata } }, pen) => {
    if ((metadata?.encoding ?? 'linear16') === 'linear16') pen.level(rmsLevel(int16View(data)));
  },
  'input.listening': ({ listening }, pen) =>
    pen.mark(listening ? 'dot' : 'cross', 'quiet', listening ? 'listens' : 'deaf'),
  'input.muted': ({ muted }, pen) => pen.mark(muted ? 'cross' : 'dot', 'quiet', muted ? 'muted' : 'unmuted'),
  'input.device': mark('ring', 'quiet', ({ change }) => change.type),
  'input.permission': mark('ring', 'quiet', ({ permission }) => permission),
  'input.overflow': mark('cross', 'quiet', ({ lostMs }) => `${Math.round(lostMs)} ms lost`),
  'output.device': mark('ring', 'quiet', ({ change }) => change.type),
  'dtmf.digit': mark('dot', 'user', ({ digit }) => digit),
  'user.state': ({ state }, pen) => {
    pen.close('user');
    if (state === 'speaking') pen.open('user', 'user', 'solid');
  },
  'user.idle': mark('ring', 'quiet', () => 'idle'),
  'user.away': mark('ring', 'quiet', () => 'away'),
  'transcript.interim': mark('ring', 'quiet'),
  'transcript.preflight': mark('diamond', 'guess'),
  'transcript.final': mark('dot', 'user', ({ text }) => text),
  'transcript.timeout': mark('cross', 'bad', () => 'no words came'),
  'agent.state': ({ state }, pen) => {
    pen.close('agent');
    if (state !== 'idle') pen.open('agent', states[state].tone, states[state].style, state);
  },
  'turn.started': mark('tick', 'text'),
  'turn.committed': mark('dot', 'text'),
  'turn.ended': ({ reason }, pen) => pen.mark(reason === 'completed' ? 'tick' : 'cross', 'text'),
  'preflight.started': (_, pen) => pen.open('preflight', 'guess', 'solid'),
  'preflight.adopted': ({ leadMs }, pen) => {
    pen.close('preflight');
    pen.mark('dot', 'good', `saved ${Math.round(leadMs)} ms`);
  },
  'preflight.discarded': ({ reason, wastedTokens }, pen) => {
    pen.close('preflight');
    pen.mark('cross', 'bad', `${reason}: ${counted(wastedTokens, 'wasted token')}`);
  },
  'llm.started': mark('ring', 'model'),
  'llm.token': mark('tick', 'model'),
  'llm.completed': mark('dot', 'model'),
  'llm.aborted': mark('cross', 'bad', () => 'cancelled'),
  'tool.call': ({ call }, pen) => pen.open(`tool ${call.id}`, 'tool', 'soft', call.name),
  'tool.result': ({ call }, pen) => endTool(call.id, pen, 'dot', 'tool'),
  'tool.error': ({ call }, pen) => endTool(call.id, pen, 'cross', 'bad', 'failed'),
  'tool.cancelled': ({ call }, pen) => endTool(call.id, pen, 'cross', 'quiet', 'cancelled'),
  'speech.created': mark('ring', 'voice'),
  'audio.chunk': mark('tick', 'voice'),
  'speech.started': (event, pen) => {
    pen.cut();
    pen.open(speechKey(event), 'heard', 'solid', event.source);
  },
  'speech.paused': (event, pen) => {
    pen.close(speechKey(event));
    pen.mark('diamond', 'barge');
  },
  'speech.resumed': (event, pen) => {
    pen.open(speechKey(event), 'heard', 'solid');
    pen.mark('ring', 'good');
  },
  'speech.ended': (event, pen, timeline) => {
    pen.label(speechKey(event), event.heardText.trim());
    pen.close(speechKey(event));
    const unheardMs = timeline.synthesizedMs(event.speechId) - event.playedMs;
    if (!event.interrupted || unheardMs < leastUnheardMs) return;
    const label = `never heard: ${(unheardMs / 1000).toFixed(1)} s`;
    pen.bar({ from: event.at, to: event.at + unheardMs, tone: 'heard', style: 'hatched', label });
  },
  'bargeIn.suspected': (_, pen) => {
    pen.open('barge-in', 'barge', 'soft', 'ducked');
    pen.duck(true);
    pen.mark('ring', 'barge');
  },
  'bargeIn.paused': (_, pen) => {
    pen.close('barge-in');
    pen.open('barge-in', 'barge', 'solid', 'paused');
    pen.mark('diamond', 'barge');
  },
  'bargeIn.confirmed': ({ detectMs }, pen) =>
    endBargeIn(pen, 'dot', 'barge', `cut off after ${Math.round(detectMs)} ms`),
  'bargeIn.resumed': (_, pen) => endBargeIn(pen, 'ring', 'good', 'false alarm, resumed'),
  'bargeIn.ignored': ({ reason }, pen) => endBargeIn(pen, 'cross', 'quiet', reason),
  'session.ready': mark('dot', 'good', () => 'ready'),
  'agent.handoff': mark('diamond', 'good', ({ to }) => `to ${to}`),
  'user.language': mark('ring', 'good', ({ language }) => language),
  'session.updated': mark('ring', 'quiet', ({ changed }) => changed.join(', ')),
  'session.closed': mark('cross', 'quiet', () => 'closed'),
  'provider.connecting': mark('ring', 'quiet'),
  'provider.connected': mark('dot', 'good'),
  'provider.reconnecting': mark('diamond', 'guess', ({ attempt }) => `attempt ${attempt}`),
  'provider.lost': mark('cross', 'bad', ({ provider = '' }) => provider),
  'provider.format': mark('tick', 'quiet'),
  'call.ended': mark('cross', 'quiet', () => 'hung up'),
  'history.added': mark('dot', 'quiet'),
  'history.updated': mark('ring', 'quiet'),
  'history.truncated': mark('cross', 'quiet'),
  'turn.metrics': mark('diamond', 'quiet', ({ wastedTokens = 0 }) =>
    wastedTokens > 0 ? counted(wastedTokens, 'wasted token') : '',
  ),
  error: mark('cross', 'bad', ({ code }) => code),
};

/** Audio that a cut leaves over without anybody's missing it, in milliseconds. */
const leastUnheardMs = 20;

/** A number of things in words: "1 word", "2 words". */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function endTool(id: string, pen: Pen, shape: Shape, tone: Tone, label: string = ''): void {
  pen.mark(shape, tone, label, `tool ${id}`);
  pen.close(`tool ${id}`);
}

function endBargeIn(pen: Pen, shape: Shape, tone: Tone, label: string): void {
  pen.close('barge-in');
  pen.duck(false);
  pen.mark(shape, tone, label);
}

/**
 * A conversation as lanes of marks and bars: the events of a pipeline in, what a diagram and a table show out. It knows
 * no page and no clock; the same events always give the same timeline.
 */
export class Timeline {
  readonly #lanes: Readonly<Record<LaneId, OpenLane>>;
  readonly #rows: Row[] = [];
  readonly #turns: Mutable<Turn>[] = [];
  readonly #turnsBefore: number;
  readonly #open = new Map<string, OpenBar>();
  /** The first bar of each key: what is interrupted has several. */
  readonly #first = new Map<string, OpenBar>();
  readonly #syntheses = new Map<string, Synthesis>();

  /** @param turnsBefore - How many turns there were before the first event: turns keep their numbers. */
  constructor(events: Iterable<VoiceEvent> = [], turnsBefore = 0) {
    this.#turnsBefore = turnsBefore;
    const empty = lanes.map(({ id }) => [id, { rows: [], marks: [], bars: [], levels: [], tracks: 1 }]);
    this.#lanes = Object.fromEntries(empty) as Record<LaneId, OpenLane>;
    for (const event of events) this.push(event);
  }

  /** What the lanes hold. */
  get lanes(): Readonly<Record<LaneId, Lane>> {
    return this.#lanes;
  }

  /** Every event, in order. */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** The turns, in order. */
  get turns(): readonly Turn[] {
    return this.#turns;
  }

  /** The number of a turn; `undefined` for events of none. */
  turnNumber(turnId: string | undefined): number | undefined {
    return this.#turns.findLast(({ id }) => id === turnId)?.number;
  }

  /** The first event's time; `undefined` before any. */
  get startedAt(): number | undefined {
    return this.#rows[0]?.event.at;
  }

  /** The last event's time; `undefined` before any. */
  get endedAt(): number | undefined {
    return this.#rows.at(-1)?.event.at;
  }

  /** How long the audio is that was synthesized for a speech, in milliseconds. */
  synthesizedMs(speechId: string = ''): number {
    return this.#syntheses.get(speechId)?.ms ?? 0;
  }

  /** Adds what happened next. Events of types that are unknown (of a newer recording) are left out. */
  push(event: VoiceEvent): void {
    const laneId = (laneOf as Partial<Record<string, LaneId>>)[event.type];
    if (!laneId) return;
    const row: Row = { index: this.#rows.length, lane: laneId, event };
    this.#rows.push(row);
    this.#lanes[laneId].rows.push(row);
    this.#count(event);
    this.#turn(event);
    const draw = drawn[event.type] as Draw<VoiceEventType> | undefined;
    draw?.(event, this.#pen(row), this);
  }

  #pen(row: Row): Pen {
    const lane = this.#lanes[row.lane];
    const { at } = row.event;
    return {
      mark: (shape, tone, label = '', key = '') => {
        lane.marks.push({ at, shape, tone, label, track: this.#open.get(key)?.track ?? 0, row });
      },
      open: (key, tone, style, label = '') => {
        const taken = new Set([...this.#open.values()].filter(({ row: { lane: id } }) => id === row.lane).map(trackOf));
        let track = 0;
        while (taken.has(track)) track++;
        lane.tracks = Math.max(lane.tracks, track + 1);
        const bar: OpenBar = { from: at, tone, style, label, track, ducked: [], row };
        this.#open.set(key, bar);
        if (!this.#first.has(key)) this.#first.set(key, bar);
        lane.bars.push(bar);
      },
      close: (key) => {
        const bar = this.#open.get(key);
        if (bar) bar.to = at;
        this.#open.delete(key);
      },
      label: (key, label) => {
        const bar = this.#first.get(key);
        if (bar && label) bar.label = label;
        this.#first.delete(key);
      },
      bar: (bar) => void lane.bars.push({ ...bar, track: 0, ducked: [], row }),
      duck: (isDucked) => {
        for (const { ducked, row: own } of this.#open.values()) {
          const last = ducked.at(-1);
          if (last && last.to === undefined) last.to = at;
          if (isDucked && own.lane === 'playback') ducked.push({ from: at });
        }
      },
      cut: () => {
        for (const bar of lane.bars) if (bar.style === 'hatched' && (bar.to ?? at) > at) bar.to = at;
      },
      level: (level) => void lane.levels.push({ at, level }),
    };
  }

  #count(event: VoiceEvent): void {
    if (event.type !== 'audio.chunk') return;
    const { chunk, speechId = '' } = event;
    const known = this.#syntheses.get(speechId) ?? { ms: 0, format: undefined };
    known.format = chunk.metadata ?? known.format;
    if (known.format && isPcmLike(known.format.encoding)) known.ms += durationMs(chunk.data.length, known.format);
    this.#syntheses.set(speechId, known);
  }

  #turn(event: VoiceEvent): void {
    const { type, at, turnId } = event;
    if (type === 'turn.started' && turnId !== undefined) {
      const number = this.#turnsBefore + this.#turns.length + 1;
      this.#turns.push({ id: turnId, number, from: at, text: '' });
    }
    const turn = this.#turns.findLast(({ id }) => id === turnId);
    if (!turn) return;
    if (type === 'turn.committed') turn.text = event.text;
    if (type === 'turn.ended') Object.assign(turn, { to: at, reason: event.reason });
    if (type === 'speech.started' && event.source === 'answer') turn.soundAt ??= at;
    if (type === 'turn.metrics') turn.metrics = event;
  }
}

function trackOf({ track }: Bar): number {
  return track;
}

/** A row in words, for tables and screen readers: its time from the start in seconds, its type, and what matters. */
export function wordsOf({ event }: Row, startedAt: number): { seconds: string; type: string; text: string } {
  return { seconds: ((event.at - startedAt) / 1000).toFixed(3), type: event.type, text: summaryOf(event) };
}

import type { VoiceEvent } from '../conversation/events.ts';

/** Who speaks. */
type Speaker = 'user' | 'agent';

/** A time that something lasts. */
interface Extent {
  from: number;
  to: number;
}

/** A span to silence. */
export interface Span extends Extent {
  readonly speaker?: Speaker | undefined;
}

/** An event, and since when it was being said. */
export interface Noted {
  readonly at: number;
  readonly since: number;
  readonly event: object;
}

/** What events have in common, as far as it matters here. */
interface Told {
  readonly type?: string;
  readonly turnId?: string;
  readonly speechId?: string;
  readonly item?: { readonly role?: string; readonly turnId?: string };
}

/** Turns and speeches to remember: more than can be held back. */
const maxKept = 1_000;

const speakers: Readonly<Record<string, Speaker>> = {
  transcript: 'user',
  turn: 'user',
  user: 'user',
  preflight: 'user',
  bargeIn: 'user',
  dtmf: 'user',
  speech: 'agent',
  caption: 'agent',
  llm: 'agent',
  assistant: 'agent',
};

/**
 * Decides which events tell what a silenced span has hidden. Words are told after they were said, often after the span,
 * so what counts is when their turn or speech was.
 */
export class Silencer {
  readonly #spans: readonly Span[];
  /** When the user's part of a turn was, a speech, and the speeches of a turn. */
  readonly #extents = new Map<string, Extent>();
  /** Turns that have not ended. */
  readonly #open = new Set<string>();
  /** Since when the user has been speaking, unless a turn has taken it. */
  #speakingAt: number | undefined;
  /** A turn that joins the next one. */
  #joining: Extent | undefined;
  #speech: Extent | undefined;

  constructor(spans: readonly Span[]) {
    this.#spans = spans;
  }

  /** The clock was set, or has slept. */
  shift(leap: number): void {
    for (const extent of new Set([...this.#spans, ...this.#extents.values()])) {
      extent.from += leap;
      extent.to += leap;
    }
    if (this.#speakingAt !== undefined) this.#speakingAt += leap;
  }

  /** Takes every event, in order. */
  learn(event: VoiceEvent): void {
    const { type, at, turnId, speechId } = event;
    if (type === 'user.state' && event.state === 'speaking') this.#speakingAt = at;
    if (type === 'turn.started' && turnId !== undefined) this.#open.add(turnId);
    if (turnId !== undefined && /^(transcript|preflight)\.|^turn\.(started|committed)$/.test(type)) {
      this.#widen(`user ${turnId}`, this.sinceOf(event), at);
      if (type === 'turn.started') this.#join(turnId);
    }
    if (speechId !== undefined && /^speech\.(?!created)/.test(type)) {
      this.#speech = this.#widen(`agent ${speechId}`, at, at);
      if (turnId !== undefined) this.#widen(`agent ${turnId}`, at, at);
    }
    if (type === 'turn.ended' && turnId !== undefined) {
      this.#open.delete(turnId);
      if (event.reason === 'merged') this.#merge(turnId);
    }
    if (type === 'turn.committed') this.#speakingAt = undefined;
  }

  /** Since when what an event tells was being said, as far as it does not depend on its turn or speech. */
  sinceOf({ type, at, ...event }: VoiceEvent): number {
    const { item } = event as Told;
    if (item?.role === 'assistant') return this.#speech?.from ?? at;
    const isHeard = item?.role === 'user' || /^(transcript|preflight|bargeIn|turn)\./.test(type);
    return isHeard ? (this.#speakingAt ?? at) : at;
  }

  isSilenced({ at, since, event }: Noted): boolean {
    const { type = '', item, speechId, turnId = item?.turnId }: Told = event;
    const [topic = ''] = type.split('.');
    if (isMark(event)) return false;
    const speaker = speakers[item?.role ?? topic];
    // These have the ids of what may be interrupted.
    const isOfTurn = topic !== 'bargeIn';
    const said = isOfTurn ? this.#extents.get(`user ${turnId}`) : undefined;
    const spoken = isOfTurn && speaker !== 'user' ? this.#extents.get(`agent ${speechId ?? turnId}`) : undefined;
    return this.#spans.some((span) => {
      if (span.speaker && speaker && span.speaker !== speaker) return false;
      // The answer repeats what the user said; who silences one of both wants to keep it.
      const mayRepeat = speaker !== 'agent' || !span.speaker;
      return touches(span, { from: since, to: at }) || touches(span, spoken) || (mayRepeat && touches(span, said));
    });
  }

  #widen(id: string, from: number, to: number): Extent {
    const extent = this.#extents.get(id) ?? { from, to };
    extent.from = Math.min(extent.from, from);
    extent.to = Math.max(extent.to, to);
    this.#extents.set(id, extent);
    for (const oldest of this.#extents.keys()) {
      if (this.#extents.size <= maxKept) break;
      this.#extents.delete(oldest);
    }
    return extent;
  }

  /** Its words become a part of the turn that is being answered, or of the next. */
  #merge(turnId: string): void {
    const extent = this.#extents.get(`user ${turnId}`);
    if (!extent) return;
    if (this.#open.size === 0) this.#joining = extent;
    for (const other of this.#open) this.#widen(`user ${other}`, extent.from, extent.to);
  }

  #join(turnId: string): void {
    if (this.#joining) this.#widen(`user ${turnId}`, this.#joining.from, this.#joining.to);
    this.#joining = undefined;
  }
}

/** Whether it is one of the recording's own events, which tell nothing of the call. */
export function isMark({ type }: Told): boolean {
  return type?.startsWith('recording.') === true;
}

function touches({ from, to }: Span, extent: Extent | undefined): boolean {
  return extent !== undefined && from <= extent.to && extent.from <= to;
}

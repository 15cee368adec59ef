import type { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';

/** A play that would sound if there were audio; `hasStarted`: after a gap in it. */
interface Buffering {
  readonly phase: 'buffering';
  readonly hasStarted: boolean;
}

/** A play that sounds, and expects more audio. */
interface Playing {
  readonly phase: 'playing';
}

/** What there is sounds to its end. `isFinal`: no more audio comes; `error`: why, where the source has failed. */
interface Draining {
  readonly phase: 'draining';
  readonly hasStarted: boolean;
  readonly isFinal: boolean;
  readonly error?: VoiceError | undefined;
}

type Active = Buffering | Playing | Draining;

/** Where a play is. A paused one still takes audio: `within` is where it goes on. */
export type PlayState =
  | { readonly phase: 'idle' }
  | Active
  | { readonly phase: 'paused'; readonly within: Active }
  | { readonly phase: 'ended' };

/** What happens to a play. */
export type PlayInput =
  | { readonly type: 'begin' | 'pause' | 'resume' | 'cut' }
  /** More audio has come. */
  | { readonly type: 'audio' }
  /** Audio sounds; there is none left that could; all of it was heard. */
  | { readonly type: 'sounding' | 'dry' | 'heard' }
  /** What there is is complete; `isFinal`: and the last. */
  | { readonly type: 'drain'; readonly isFinal: boolean; readonly error?: VoiceError | undefined };

/** What follows from it: an event, something that the line does, or the end of the play. */
export type PlayEffect =
  | { readonly type: 'tell'; readonly event: PlaybackEvent['type'] }
  | { readonly type: 'line'; readonly does: 'start' | 'halt' | 'go' | 'finish' | 'cut' }
  | { readonly type: 'complete' }
  | { readonly type: 'fail'; readonly error: VoiceError };

/** The state that follows, and what is to be done, in this order. */
export type PlayStep = readonly [PlayState, ...PlayEffect[]];

type Reader<S> = (state: S, input: PlayInput) => PlayStep | undefined;
type Readers = { readonly [P in PlayState['phase']]: Reader<Extract<PlayState, { readonly phase: P }>> };

const tell = (event: PlaybackEvent['type']): PlayEffect => ({ type: 'tell', event });
const line = (does: Extract<PlayEffect, { type: 'line' }>['does']): PlayEffect => ({ type: 'line', does });
const ended: PlayState = { phase: 'ended' };

function drain(hasStarted: boolean, { isFinal, error }: PlayInput & { type: 'drain' }): PlayStep {
  return [{ phase: 'draining', hasStarted, isFinal, ...(error && { error }) }];
}

/** What every play does, wherever it is between its beginning and its end. */
function always(state: Active, { type }: PlayInput): PlayStep | undefined {
  if (type === 'cut') return [ended, line('cut'), { type: 'complete' }];
  if (type === 'pause') return [{ phase: 'paused', within: state }, line('halt'), tell('paused')];
  return undefined;
}

const readers: Readers = {
  idle: (_state, { type }) =>
    type === 'begin' ? [{ phase: 'buffering', hasStarted: false }, line('start')] : undefined,

  buffering: (state, input) => {
    if (input.type === 'drain') return drain(state.hasStarted, input);
    if (input.type !== 'sounding') return always(state, input);
    return state.hasStarted ? [{ phase: 'playing' }] : [{ phase: 'playing' }, tell('started')];
  },

  playing: (state, input) => {
    if (input.type === 'drain') return drain(true, input);
    return input.type === 'dry' ? [{ phase: 'buffering', hasStarted: true }] : always(state, input);
  },

  draining: (state, input) => {
    const { hasStarted, isFinal, error } = state;
    switch (input.type) {
      case 'audio':
        if (isFinal) return undefined;
        return [hasStarted ? { phase: 'playing' } : { phase: 'buffering', hasStarted }];
      case 'drain':
        return [{ ...state, isFinal: isFinal || input.isFinal, error: error ?? input.error }];
      case 'sounding':
        return hasStarted ? undefined : [{ ...state, hasStarted: true }, tell('started')];
      case 'heard':
        if (error) return [ended, line('finish'), { type: 'fail', error }];
        return [ended, line('finish'), ...(hasStarted ? [tell('finished')] : []), { type: 'complete' }];
      default:
        return always(state, input);
    }
  },

  paused: (state, input) => {
    const { within } = state;
    if (input.type === 'pause') return undefined;
    if (input.type === 'resume') return [within, tell('resumed'), line('go')];
    const [next, ...effects] = reducePlay(within, input);
    if (next === within) return undefined;
    const isActive = next.phase === 'buffering' || next.phase === 'playing' || next.phase === 'draining';
    return [isActive ? { phase: 'paused', within: next } : next, ...effects];
  },

  ended: () => undefined,
};

/** What becomes of a play. Inputs that mean nothing where it is leave the state as it is. */
export function reducePlay(state: PlayState, input: PlayInput): PlayStep {
  const reader = readers[state.phase] as Reader<PlayState>;
  return reader(state, input) ?? [state];
}

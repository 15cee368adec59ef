import type { VoiceError } from '../core/errors.ts';
import type { PlaybackEvent } from '../core/roles.ts';

/** Waiting for audio; `hasStarted`: after a gap. */
interface Buffering {
  readonly phase: 'buffering';
  readonly hasStarted: boolean;
}

/** Sounding, with more audio expected. */
interface Playing {
  readonly phase: 'playing';
}

/** Playing what is left. `isFinal`: no more audio follows; `error`: the source's failure, if any. */
interface Draining {
  readonly phase: 'draining';
  readonly hasStarted: boolean;
  readonly isFinal: boolean;
  readonly error?: VoiceError | undefined;
}

type Active = Buffering | Playing | Draining;

/** The state of a play. A paused one still accepts audio: `within` is the state to return to. */
export type PlayState =
  | { readonly phase: 'idle' }
  | Active
  | { readonly phase: 'paused'; readonly within: Active }
  | { readonly phase: 'ended' };

/** Inputs of a play. */
export type PlayInput =
  | { readonly type: 'begin' | 'pause' | 'resume' | 'cut' }
  /** More audio has arrived. */
  | { readonly type: 'audio' }
  /** Audio is sounding; the queue is empty; everything was heard. */
  | { readonly type: 'sounding' | 'dry' | 'heard' }
  /** What has arrived is complete; `isFinal`: and the last. */
  | { readonly type: 'drain'; readonly isFinal: boolean; readonly error?: VoiceError | undefined };

/** Effects: an event, an operation on the line, or the end of the play. */
export type PlayEffect =
  | { readonly type: 'tell'; readonly event: PlaybackEvent['type'] }
  | { readonly type: 'line'; readonly does: 'start' | 'halt' | 'go' | 'finish' | 'cut' }
  | { readonly type: 'complete' }
  | { readonly type: 'fail'; readonly error: VoiceError };

/** The next state, and its effects in order. */
export type PlayStep = readonly [PlayState, ...PlayEffect[]];

type Reader<S> = (state: S, input: PlayInput) => PlayStep | undefined;
type Readers = { readonly [P in PlayState['phase']]: Reader<Extract<PlayState, { readonly phase: P }>> };

const tell = (event: PlaybackEvent['type']): PlayEffect => ({ type: 'tell', event });
const line = (does: Extract<PlayEffect, { type: 'line' }>['does']): PlayEffect => ({ type: 'line', does });
const ended: PlayState = { phase: 'ended' };

function drain(hasStarted: boolean, { isFinal, error }: PlayInput & { type: 'drain' }): PlayStep {
  return [{ phase: 'draining', hasStarted, isFinal, ...(error && { error }) }];
}

/** Inputs handled the same in every active state. */
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

/** Folds an input into a play's state. Irrelevant inputs leave it unchanged. */
export function reducePlay(state: PlayState, input: PlayInput): PlayStep {
  const reader = readers[state.phase] as Reader<PlayState>;
  return reader(state, input) ?? [state];
}

import { encodeBase64 } from '../../core/base64.ts';
import { thetaCloseKind } from '../theta-realtime.ts';
import type { LateAgentPart } from './agent-wire.ts';
import { modelOf, outputOf, type ThetaAgentConfig } from './theta-agent-session.ts';
import { openingOf, sayOf, updateOf } from './theta-agent-settings.ts';
import {
  answered,
  askOnce,
  cut,
  interrupted,
  lost,
  problemOf,
  readers,
  start,
  turnDropped,
  turnEnded,
  turnStarted,
  typed,
  type ThetaAgentState,
} from './theta-agent-turns.ts';

/** Steps for the application's commands, and their messages. */
export interface ThetaCode {
  readonly askOnce: typeof askOnce;
  readonly interrupted: typeof interrupted;
  readonly sayOf: typeof sayOf;
  readonly turnDropped: typeof turnDropped;
  readonly turnEnded: typeof turnEnded;
  readonly turnStarted: typeof turnStarted;
  readonly typed: typeof typed;
  readonly updateOf: typeof updateOf;
}

/** OpenAI's wire for speech-to-speech, which pages load when the agent is initialized. */
export const wire: LateAgentPart<ThetaAgentConfig, ThetaAgentState> & ThetaCode = {
  ...{ askOnce, interrupted, sayOf, turnDropped, turnEnded, turnStarted, typed, updateOf },
  path: '/realtime',
  query: (config) => ({ model: modelOf(config) }),
  tools: ({ tools = [] }) => tools,
  output: outputOf,
  start: () => start,
  opensAfter: 'session.created',
  opening: ({ made }, context) => openingOf(context, made),
  readyAfter: 'session.updated',
  encode: (data) => `{"type":"input_audio_buffer.append","audio":"${encodeBase64(data)}"}`,
  read: readers,
  result: (state, { id }, { content }) => answered(state, id, content),
  cut,
  lost,
  closes(close) {
    const kind = thetaCloseKind(close);
    return kind === undefined ? undefined : problemOf(kind);
  },
};

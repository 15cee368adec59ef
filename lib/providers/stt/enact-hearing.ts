import type { VoiceError } from '../../core/errors.ts';
import { oncePerKind } from '../../core/application-code.ts';
import type { SpeechEvent, TranscriptionResult } from '../../core/roles.ts';
import type { ReconnectingSocket, SocketData } from '../../transport/reconnecting-socket.ts';
import type { AudioUplink } from './audio-uplink.ts';
import type { HearingEffect } from './hearing.ts';
import type { Listening } from './listening.ts';
import type { STTNote } from './stt-notes.ts';
import type { STTFault } from './stt-wire.ts';
import { encoded, type Say } from './wire-connection.ts';

/** What the effects of a session act upon. */
export interface HearingWorld {
  readonly uplink: AudioUplink;
  readonly socket: () => ReconnectingSocket | undefined;
  readonly listening: () => Listening | undefined;
  readonly transcript: (result: TranscriptionResult) => void;
  readonly speech: (event: SpeechEvent) => void;
  readonly note: (note: STTNote) => void;
  /** What a service that starts to hear is sent first. */
  readonly beginning: () => readonly SocketData[];
  readonly failure: (fault: STTFault) => VoiceError;
  readonly awaitFinal: (ask: number, ms: number) => void;
  readonly warn: (text: string, options: Pick<VoiceError, 'code'>) => void;
  readonly malformed: (kind: string, cause?: unknown) => void;
  readonly log: (text: string) => void;
  readonly dead: (effect: Extract<HearingEffect, { type: 'dead' }>) => void;
}

type Enactors = {
  readonly [T in HearingEffect['type']]: (effect: Extract<HearingEffect, { readonly type: T }>, say: Say) => unknown;
};

type Enactor = (effect: HearingEffect, say: Say) => unknown;

/** Carries out effects; `say` sends at once. */
export function enactor(world: HearingWorld): (effect: HearingEffect, say: Say) => void {
  const { uplink, socket, listening, warn } = world;
  const warnOnce = oncePerKind((text) => warn(`: ${text}`, { code: 'server' }));
  const enactors: Enactors = {
    transcript: ({ result }) => world.transcript(result),
    speech: ({ event }) => world.speech(event),
    note: ({ note }) => world.note(note),
    send: ({ message }, say) => say(encoded(message)),
    'send-after-audio': ({ message }) => listening() && uplink.say(encoded(message)),
    silence: ({ ms }) => uplink.fill(ms),
    'silence-after-audio': ({ ms }) => uplink.pad(ms),
    'end-audio': () => uplink.endStretch(),
    'await-final': ({ ask, ms }) => world.awaitFinal(ask, ms),
    finalized: ({ ms, channel }) => uplink.finalized(ms, channel),
    settled: ({ audioMs, channel }) => uplink.settled(audioMs, channel),
    failure: (fault) => socket()?.reconnect(world.failure(fault)),
    reconnect: () => socket()?.reconnect(),
    'begin-again': () => {
      if (socket()?.isReady) for (const data of world.beginning()) socket()?.send(data);
    },
    'heard-all': () => listening()?.heardAll(),
    warning: ({ text, code = 'server', always = false }) => (always ? warn(`: ${text}`, { code }) : warnOnce(text)),
    malformed: ({ kind, cause }) => world.malformed(kind, cause),
    log: ({ text }) => world.log(text),
    dead: (effect) => world.dead(effect),
  };
  return (effect, say) => void (enactors[effect.type] as Enactor)(effect, say);
}

import { hasWords } from '../../text/words.ts';
import type { UserSignal } from './turn-rules.ts';
import type { TurnTaking } from './turn-taking.ts';

/** What is heard of the user. */
type Heard = Extract<UserSignal, { readonly type: 'speech' | 'transcript' }>;

/**
 * Notes a voice that starts no turn, as while the agent speaks. Words that interrupt begin their turn in the middle of
 * that voice: they wait for its end, as any others do.
 *
 * @param until - The latest time at which its end can be reported.
 */
export function noteVoice(turnTaking: TurnTaking, signal: Heard, at: number, until: number): TurnTaking {
  if (turnTaking.phase === 'idle') return { ...turnTaking, voiceUntil: voiceUntil(turnTaking, signal, at, until) };
  if (turnTaking.phase !== 'hearing' || signal.type === 'transcript') return turnTaking;
  return signal.event === 'ended'
    ? { ...turnTaking, voice: 'off', silentSince: signal.since ?? at }
    : { ...turnTaking, voice: 'on' };
}

function voiceUntil(before: TurnTaking, signal: Heard, at: number, until: number): number | undefined {
  if (signal.type === 'speech') return signal.event === 'ended' ? undefined : until;
  const isOn = before.voiceUntil !== undefined && at < before.voiceUntil;
  return isOn && !signal.result.utteranceComplete && hasWords(signal.result.text) ? until : before.voiceUntil;
}

/** The page tells each decision of a conversation with its reason. */
import type { VoiceEvent } from 'rxvoice';
import { withAnswers } from '../../../samples/playground/page/answers.ts';
import { decisionOf } from '../../../samples/playground/page/decisions.ts';
import { hazards } from '../../../samples/playground/page/hazards.ts';
import { respond } from '../../../samples/sandbox/responder.ts';

const told = (event: object): string | undefined => {
  const decision = decisionOf({ at: 5, ...event } as VoiceEvent);
  return decision && `${decision.matter}: ${decision.text}; ${decision.why}`;
};

describe('decisions', () => {
  it('say what was decided about turns, interruptions, preflights and listening, and why', () => {
    expect(
      [
        { type: 'turn.ended', reason: 'merged' },
        { type: 'bargeIn.ignored', reason: 'echo', text: 'once upon' },
        { type: 'bargeIn.confirmed', detectMs: 210.4, cutMs: 5 },
        { type: 'preflight.adopted', leadMs: 248 },
        { type: 'preflight.discarded', reason: 'resumed', wastedTokens: 4 },
        { type: 'input.listening', listening: false },
        { type: 'transcript.timeout', text: '' },
        { type: 'agent.handoff', to: 'billing', from: 'desk' },
        { type: 'user.language', language: 'es' },
        { type: 'user.away', awayMs: 30_000 },
        { type: 'guard.acted', side: 'input', rule: 'card', action: 'mask' },
        { type: 'provider.lost', provider: 'AlphaFlux', message: 'no connection' },
      ].map(told),
    ).toEqual([
      'turn: The turn ends as merged; its words joined the next turn: nothing of an answer was heard',
      'barge-in: Ignored as echo: “once upon”; the agent hears itself',
      'barge-in: Confirmed: the agent was cut off; words, 210 ms after the first sign; silent 5 ms later',
      'preflight: Adopted: the prepared answer is used; the final words are the same; that saved 248 ms',
      'preflight: Discarded as resumed; the user goes on; 4 wasted tokens',
      'listening: The user is not heard; a listening policy says so: the service hears silence',
      'turn: Gave up waiting: no words; the words did not come in time',
      'turn: billing answers from now on; desk handed over',
      'turn: The agent speaks es from now on; so does the user',
      'turn: The user is away; the user was silent for 30 s',
      'turn: A guard has acted: mask; card found something in what the user says',
      'services: AlphaFlux is lost; no connection',
    ]);
  });

  it('are no tokens, and no audio', () => {
    expect([told({ type: 'llm.token', delta: 'a' }), told({ type: 'audio.chunk' })]).toEqual([undefined, undefined]);
  });
});

describe('hazards', () => {
  it('have a button for each that conversations are proven against', () => {
    const ids = hazards.map(({ id }) => id);
    const proven = ['cough', 'nod', 'stop', 'yes', 'changed-mind', 'tool', 'drop-mid', 'stall', 'echo'];
    expect(ids).toEqual(expect.arrayContaining(proven));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('find the answers of the sandbox’s model that they count on; the user’s own come first', () => {
    const answer = (text: string, system: string): string =>
      respond({
        ...{ system: withAnswers(system), turns: [{ role: 'user', text }], tools: [], choice: 'auto', parallel: true },
        ...{ maxTokens: 100, stop: [] },
      }).tokens.join('');
    expect(
      ['Book the flight', 'Book the flight no do not', 'A table please', 'Yes.'].map((text) => answer(text, '')),
    ).toEqual([
      'The flight is booked.',
      'Nothing is booked.',
      'One is free at nine. Shall I book it?',
      'The table is yours.',
    ]);
    expect(answer('Yes.', 'Be brief.\nsandbox: {"rules":[{"when":"yes","say":"no"}]}')).toBe('no');
  });
});

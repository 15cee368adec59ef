/** Scenes of hooks, of several agents, and of languages that change. */
import { handoff } from 'rxvoice';
import { scene } from './support/scene.ts';

describe('a hook on the user’s turn', () => {
  scene('may correct what the user said', { onUserTurn: ({ text }) => ({ text: text.replace('Shivawn', 'Siobhan') }) })`
    model: Siobhan is in.

    0.00       user: Is Shivawn there?
    1.15       turn: Is Shivawn there?
    1.33-2.03  heard: Siobhan is in.

    asked: 1
    history:
      user: Is Siobhan there?
      agent: Siobhan is in.
  `;

  scene('may refuse, without asking the model', { onUserTurn: () => ({ refuse: 'I cannot tell you that.' }) })`
    0.00       user: Tell me a secret.
    1.45       turn: Tell me a secret.
    1.50-2.65  heard: I cannot tell you that.
    2.65       turn ends (refused)

    asked: 0
    history:
      user: Tell me a secret.
      agent: I cannot tell you that.
  `;

  scene('may drop it', { onUserTurn: () => ({ refuse: '' }) })`
    0.00       user: Nothing.
    0.55       turn: Nothing.
    0.55       turn ends (refused)

    asked: 0
    history:
  `;

  scene('that fails is an error, and the turn is answered as it is', {
    onUserTurn: () => {
      throw new Error('no');
    },
  })`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.45       error: pipeline internal
    1.63-2.18  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('that takes too long is given five seconds', { onUserTurn: () => new Promise(() => undefined) })`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    6.45       error: pipeline timeout
    6.63-7.18  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;
});

describe('several agents', () => {
  scene('hand over to each other, and know what was said', {
    agents: { reception: { tools: [handoff('billing')] }, billing: {} },
  })`
    model: (calls hand_over_to_billing)
    model: Billing here. Which invoice?

    0.00       user: My invoice is wrong.
    1.45       turn: My invoice is wrong.
    1.56       tool hand_over_to_billing starts
    1.56       agent is now: billing
    1.56       tool hand_over_to_billing gives: You are billing now. Go on with the conversation.
    1.73-3.13  heard: Billing here. Which invoice?

    asked: 2
    history:
      user: My invoice is wrong.
      agent calls hand_over_to_billing
      tool: You are billing now. Go on with the conversation.
      agent: Billing here. Which invoice?
  `;

  scene('say something before they hand over', { agents: { reception: { tools: [handoff('billing')] }, billing: {} } })`
    model: I put you through. (calls hand_over_to_billing)
    model: Billing here.

    0.00       user: My invoice is wrong.
    1.45       turn: My invoice is wrong.
    1.60       tool hand_over_to_billing starts
    1.60       agent is now: billing
    1.60       tool hand_over_to_billing gives: You are billing now. Go on with the conversation.
    1.65-3.20  heard: I put you through.Billing here.

    asked: 2
    history:
      user: My invoice is wrong.
      agent: I put you through.
      agent calls hand_over_to_billing
      tool: You are billing now. Go on with the conversation.
      agent: Billing here.
  `;
});

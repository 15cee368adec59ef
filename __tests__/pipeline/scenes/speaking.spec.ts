/** Scenes of what the agent says of its own accord, or because the application says so. */
import { scene } from './support/scene.ts';

describe('the greeting', () => {
  scene('comes first')`
    greeting: Hello, this is the restaurant.
    model: We are open.

    0.05-1.55  heard: Hello, this is the restaurant.
    3.00       user: Are you open?
    4.15       turn: Are you open?
    4.33-4.93  heard: We are open.

    asked: 1
    history:
      agent: Hello, this is the restaurant.
      user: Are you open?
      agent: We are open.
  `;

  scene('is not deleted by one word')`
    greeting: Hello, this is the restaurant. How can I help you?

    0.05-0.80  heard: Hello, this is
    0.60       stt voice
    0.60       agent ducks
    0.80       agent pauses
    0.90       stt interim: Hello
    1.00       stt silence
    2.20       agent goes on
    2.20-3.95  heard: the restaurant. How can I help you?

    asked: 0
    history:
      agent: Hello, this is the restaurant. How can I help you?
  `;

  scene('has thresholds of its own before it is heard, too', { bargeIn: { greeting: { minWords: 5 } } })`
    greeting: This call may be recorded. How can I help you?

    0.02       stt interim: Is this the
    0.02       agent holds back
    0.60       stt final: Is this the
    0.60       agent goes on
    0.60       ignored (too-short): Is this the
    0.60-2.90  heard: This call may be recorded. How can I help you?

    asked: 0
    history:
      agent: This call may be recorded. How can I help you?
  `;

  scene('is cut by a question')`
    greeting: Hello, this is the restaurant. How can I help you?
    model: Until ten.

    0.05-0.80  heard: Hello, this is
    0.60       user: How long are you open?
    0.60       agent ducks
    0.80       agent pauses
    1.20       agent is cut off
    2.35       turn: How long are you open?
    2.52-3.02  heard: Until ten.

    asked: 1
    history:
      agent: Hello, this is—
      user: How long are you open?
      agent: Until ten.
  `;
});

describe('what the application says', () => {
  scene('waits its turn')`
    0.00       app says: First.
    0.05-0.35  heard: First.
    0.10       app says: Second.
    0.20       app says: Third.
    0.35-0.70  heard: Second.
    0.70-1.00  heard: Third.

    asked: 0
    history:
      agent: First.
      agent: Second.
      agent: Third.
  `;

  scene('goes first when it is urgent')`
    0.00       app says: First.
    0.05-0.35  heard: First.
    0.10       app says: Second.
    0.20       app says (urgent): Fire!
    0.35-0.60  heard: Fire!
    0.60-0.95  heard: Second.

    asked: 0
    history:
      agent: First.
      agent: Fire!
      agent: Second.
  `;

  scene('is not remembered if it is not to be')`
    0.00       app says (not stored): One moment.
    0.05-0.60  heard: One moment.
    2.00       app says: Here it is.
    2.05-2.60  heard: Here it is.

    asked: 0
    history:
      agent: Here it is.
  `;

  scene('is spoken at once while the agent still thinks')`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.50       app says: Anything else?
    1.55-2.25  heard: Anything else?
    2.25-2.80  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: Anything else?
      agent: It is noon.
  `;

  scene('is spoken after the answer that is heard')`
    model: It is noon in Paris.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.65-2.65  heard: It is noon in Paris.
    1.80       app says: Anything else?
    2.65-3.35  heard: Anything else?

    asked: 1
    history:
      user: What time is it?
      agent: It is noon in Paris.
      agent: Anything else?
  `;

  scene('is cut with all that waits behind it')`
    model: Fine.

    0.00       app says: One two three four five. Six seven eight nine ten.
    0.05-1.00  heard: One two three four
    0.10       app says: The end.
    0.80       user: Please wait a moment.
    0.80       agent ducks
    1.00       agent pauses
    1.40       agent is cut off
    2.25       turn: Please wait a moment.
    2.41-2.66  heard: Fine.

    asked: 1
    history:
      agent: One two three four—
      user: Please wait a moment.
      agent: Fine.
  `;

  scene('cannot be interrupted if it must be heard, and the user is answered after it')`
    model: It is on its way.

    0.00       app says (uninterruptible): Your order is placed. Thank you.
    0.05-1.65  heard: Your order is placed. Thank you.
    0.40       user: Where is it?
    1.65       turn: Where is it?
    1.85-2.70  heard: It is on its way.

    asked: 1
    history:
      agent: Your order is placed. Thank you.
      user: Where is it?
      agent: It is on its way.
  `;

  scene('cannot be interrupted, and the user is not answered if that is the choice', {
    bargeIn: { whileUninterruptible: 'discard' },
  })`
    0.00       app says (uninterruptible): Your order is placed. Thank you very much.
    0.05-2.15  heard: Your order is placed. Thank you very much.
    0.40       user: Where is it?
    1.55       ignored (uninterruptible): Where is it?

    asked: 0
    history:
      agent: Your order is placed. Thank you very much.
  `;

  scene('waits for the user to finish, and is said before the answer')`
    model: Noon.

    0.00       user: What time is it in Paris now?
    0.80       app says: We close in five minutes.
    2.35       turn: What time is it in Paris now?
    2.40-3.65  heard: We close in five minutes.
    3.65-3.90  heard: Noon.

    asked: 1
    history:
      user: What time is it in Paris now?
      agent: We close in five minutes.
      agent: Noon.
  `;

  scene('waits between two words, too, and for words that are not final yet')`
    model: Noon.

    0.00       user: What time is it?
    1.30       app says: We close soon.
    1.45       turn: What time is it?
    1.50-2.20  heard: We close soon.
    2.20-2.45  heard: Noon.

    asked: 1
    history:
      user: What time is it?
      agent: We close soon.
      agent: Noon.
  `;

  scene('waits for a cough to end')`
    0.00       user coughs
    0.10       app says: We close soon.
    0.35-1.05  heard: We close soon.
    5.30       no final came: no words either

    asked: 0
    history:
      agent: We close soon.
  `;

  scene('waits eight seconds at most for a noise without words')`
    0.00       stt voice
    1.00       app says: First.
    3.00       stt voice
    6.00       stt voice
    7.00       app says: Second.
    9.05-9.35  heard: First.
    9.35-9.70  heard: Second.
    11.00      no final came: no words either
    12.00      end

    asked: 0
    history:
      agent: First.
      agent: Second.
  `;

  scene('waits for the button to be released', { turnTaking: { strategy: 'manual' } })`
    model: Noon.

    0.00       app presses
    0.50       stt interim: What time
    0.80       app says: We close soon.
    1.00       app releases
    1.20       stt final: What time is it?
    1.20       turn: What time is it?
    1.25-1.95  heard: We close soon.
    1.95-2.20  heard: Noon.

    asked: 1
    history:
      user: What time is it?
      agent: We close soon.
      agent: Noon.
  `;

  scene('does not wait for the user if it is urgent, or must be heard')`
    model: Noon.

    0.00       user: What time is it in Paris now?
    0.40       app says (urgent, uninterruptible): Fire!
    0.45-0.70  heard: Fire!
    2.35       turn: What time is it in Paris now?
    2.51-2.76  heard: Noon.

    asked: 1
    history:
      agent: Fire!
      user: What time is it in Paris now?
      agent: Noon.
  `;

  scene('is not said after what the application cuts')`
    model: Noon.

    0.00       user: What time is it in Paris now?
    0.80       app says: We close in five minutes.
    1.00       app interrupts
    2.35       turn: What time is it in Paris now?
    2.51-2.76  heard: Noon.

    asked: 1
    history:
      user: What time is it in Paris now?
      agent: Noon.
  `;

  scene('yields to the application, even if the user cannot interrupt it')`
    0.00       app says (uninterruptible): Your order is placed. Thank you.
    0.05-0.60  heard: Your order
    0.60       app interrupts

    asked: 0
    history:
      agent: Your order—
  `;

  scene('stays what it is when interrupt() comes after words over it')`
    model: It is on its way.

    0.00       app says (uninterruptible): Your order is placed. Thank you very much.
    0.05-1.40  heard: Your order is placed. Thank
    0.20       user: Where is it?
    1.40       app interrupts
    1.40       turn: Where is it?
    1.60-2.45  heard: It is on its way.

    asked: 1
    history:
      agent: Your order is placed. Thank—
      user: Where is it?
      agent: It is on its way.
  `;

  scene('keeps all that the user said over it for one answer')`
    model: Fine.

    0.00       app says (uninterruptible): Your order is placed. Thank you very much indeed.
    0.05-2.50  heard: Your order is placed. Thank you very much indeed.
    0.20       user: Where is it?
    1.60       user: Hello?
    2.50       turn: Where is it? Hello?
    2.66-2.91  heard: Fine.

    asked: 1
    history:
      agent: Your order is placed. Thank you very much indeed.
      user: Where is it? Hello?
      agent: Fine.
  `;
});

describe('an answer that cannot be interrupted', () => {
  scene('is said to its end', { answer: { interruptible: false } })`
    model: This call is recorded. You agree.
    model: Fine.

    0.00       user: Hello.
    0.55       turn: Hello.
    0.74-2.39  heard: This call is recorded. You agree.
    1.00       user: I do not agree.
    2.45       turn: I do not agree.
    2.61-2.86  heard: Fine.

    asked: 2
    history:
      user: Hello.
      agent: This call is recorded. You agree.
      user: I do not agree.
      agent: Fine.
  `;
});

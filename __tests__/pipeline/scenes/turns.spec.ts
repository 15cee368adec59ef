/** Scenes of plain turns: whose turn it is, what joins, what is dropped. See `support/script.ts` for the notation. */
import { scene } from './support/scene.ts';

describe('a turn', () => {
  scene('is a question and its answer')`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.63-2.18  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('follows another')`
    model: It is noon.
    model: Sunny.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.63-2.18  heard: It is noon.
    4.00       user: And the weather?
    5.15       turn: And the weather?
    5.31-5.61  heard: Sunny.

    asked: 2
    history:
      user: What time is it?
      agent: It is noon.
      user: And the weather?
      agent: Sunny.
  `;

  scene('is one message with what is added before anything of the answer was heard')`
    model: It is noon.
    model: It is noon in Paris.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.50       user: In Paris.
    1.50       agent holds back
    1.80       turn ends (merged)
    1.80       agent is stopped
    2.35       turn: In Paris.
    2.55-3.55  heard: It is noon in Paris.

    asked: 2
    history:
      user: What time is it? In Paris.
      agent: It is noon in Paris.
  `;

  scene('is answered late, and whole, when the user coughs before the answer')`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.50       user coughs
    1.50       agent holds back
    2.95       agent goes on
    2.95-3.50  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('is answered late, and whole, when the user coughs while the voice is being asked')`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.60       user coughs
    1.60       agent holds back
    3.05       agent goes on
    3.05-3.60  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('is over once, however often the service says so')`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.50       stt repeats itself
    1.63-2.18  heard: It is noon.
    6.00       end

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('that is a voice without words comes to nothing')`
    0.00       user makes noise for 0.60
    5.65       no final came: no words either

    asked: 0
  `;

  scene('whose final never comes is answered all the same')`
    model: It is noon.

    0.00       stt voice
    0.30       stt interim: What time
    0.60       stt interim: What time is it
    0.70       stt silence
    5.70       no final came: What time is it
    5.70       turn: What time is it
    5.88-6.43  heard: It is noon.

    asked: 1
    history:
      user: What time is it
      agent: It is noon.
  `;

  scene('has several sentences of which the service makes one')`
    model: One moment.

    0.00       user: Good morning. I have a question. It is about my order.
    3.55       turn: Good morning. I have a question. It is about my order.
    3.72-4.27  heard: One moment.

    asked: 1
    history:
      user: Good morning. I have a question. It is about my order.
      agent: One moment.
  `;

  scene('may be typed')`
    model: It is noon.

    0.00       app sends: What time is it?
    0.00       turn: What time is it?
    0.18-0.73  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('that is typed takes the place of what the user was saying')`
    model: It is noon.

    0.00       stt voice
    0.30       stt interim: So
    0.60       app sends: What time is it?
    0.60       turn: What time is it?
    0.78-1.33  heard: It is noon.
    0.80       stt silence
    1.00       stt final: So
    8.00       end

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('that is typed cuts the answer to the one before')`
    model: One two three four five. Six seven eight nine ten.
    model: It is noon.

    0.00       app sends: Count.
    0.00       turn: Count.
    0.20-1.00  heard: One two three fo
    1.00       app sends: What time is it?
    1.00       turn ends (interrupted)
    1.00       turn: What time is it?
    1.18-1.73  heard: It is noon.

    asked: 2
    history:
      user: Count.
      agent: One two three—
      user: What time is it?
      agent: It is noon.
  `;

  scene('that is typed patiently waits until the agent and the user have finished')`
    model: One two three four five.
    model: It is noon.

    0.00       app sends: Count.
    0.00       turn: Count.
    0.20-1.40  heard: One two three four five.
    0.50       app sends (patient): What time is it?
    1.40       turn: What time is it?
    1.58-2.13  heard: It is noon.

    asked: 2
    history:
      user: Count.
      agent: One two three four five.
      user: What time is it?
      agent: It is noon.
  `;

  scene('that is typed patiently is behind what cuts the answer it waits for')`
    model: One two three four five. Six seven eight nine ten.
    model: Three.
    model: It is noon.

    0.00       app sends: Count.
    0.00       turn: Count.
    0.20-1.20  heard: One two three four f
    0.50       app sends (patient): What time is it?
    1.00       user: How many so far?
    1.00       agent ducks
    1.20       agent pauses
    1.60       turn ends (interrupted)
    1.60       agent is cut off
    2.45       turn: How many so far?
    2.61-2.91  heard: Three.
    2.91       turn: What time is it?
    3.09-3.64  heard: It is noon.

    asked: 3
    history:
      user: Count.
      agent: One two three four—
      user: How many so far?
      agent: Three.
      user: What time is it?
      agent: It is noon.
  `;
});

/** Scenes of how conversations end, and of silence. */
import { scene } from './support/scene.ts';

describe('stop()', () => {
  scene('cuts the answer at once')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.50  heard: One two three f
    1.50       app stops
    1.50       turn ends (stopped)
    1.50       conversation ends

    asked: 1
    history:
      user: Count.
      agent: One two three—
  `;

  scene('lets the agent finish when it drains')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-3.25  heard: One two three four five. Six seven eight nine ten.
    1.50       app stops (drain)
    3.25       conversation ends

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('twice stops what the first one drains')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-2.00  heard: One two three four five.
    1.50       app stops (drain)
    2.00       app stops
    2.00       turn ends (stopped)
    2.00       conversation ends

    asked: 1
    history:
      user: Count.
      agent: One two three four five.—
  `;

  scene('that drains begins nothing that waits')`
    model: One two three four five.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.95  heard: One two three four five.
    1.00       app sends (patient): What time is it?
    1.20       app stops (drain)
    1.95       conversation ends

    asked: 1
    history:
      user: Count.
      agent: One two three four five.
  `;

  scene('asks no model about what waits')`
    model: One two three four five.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.20  heard: One two t
    1.00       app sends (patient): What time is it?
    1.20       app stops
    1.20       turn ends (stopped)
    1.20       conversation ends

    asked: 1
    history:
      user: Count.
      agent: One two—
  `;

  scene('ends what the user was saying')`
    0.00       stt voice
    0.30       stt interim: What
    0.60       app stops
    0.60       turn ends (stopped)
    0.60       conversation ends

    asked: 0
  `;

  scene('that drains ends although the voice hangs')`
    model: One two three four five.
    voice: (stalls)

    0.00       user: Count.
    0.55       turn: Count.
    1.00       app stops (drain)
    11.55      error: tts timeout
    11.55      turn ends (error)
    11.55      conversation ends
    20.00      end

    asked: 1
    history:
      user: Count.
  `;

  scene('while a tool runs remembers that this came to nothing')`
    model: (calls book)
    tool: book takes 2.00, gives: booked (finish)

    0.00       user: Book a table.
    1.15       turn: Book a table.
    1.26       tool book starts
    1.50       app stops
    1.50       tool book is cancelled
    1.50       turn ends (stopped)
    1.50       conversation ends

    asked: 1
    history:
      user: Book a table.
      agent calls book
      tool: Cancelled: the conversation ended.
  `;
});

describe('silence', () => {
  scene('is told after fifteen seconds, once')`
    model: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    1.63-2.18  heard: It is noon.
    17.18      nobody speaks
    32.18      the user is away
    60.00      end

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('is not told while someone speaks')`
    greeting: Hello.
    model: Yes?

    0.05-0.35  heard: Hello.
    14.00      user: Hello?
    14.55      turn: Hello?
    14.71-14.91 heard: Yes?
    28.00      end

    asked: 1
    history:
      agent: Hello.
      user: Hello?
      agent: Yes?
  `;

  scene('goes on: the user is away')`
    greeting: Hello.

    0.05-0.35  heard: Hello.
    15.35      nobody speaks
    30.35      the user is away
    50.00      end

    asked: 0
    history:
      agent: Hello.
  `;
});

describe('start()', () => {
  scene('after stop() goes on with what was said', { does: { 'starts again': (pipeline) => void pipeline.start() } })`
    model: One two three four five.
    model: Fine.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.20  heard: One two t
    1.20       app stops
    1.20       turn ends (stopped)
    1.20       conversation ends
    2.00       app starts again
    3.00       user: Go on then.
    4.15       turn: Go on then.
    4.31-4.56  heard: Fine.

    asked: 2
    history:
      user: Count.
      agent: One two—
      user: Go on then.
      agent: Fine.
  `;
});

/** Scenes of answers that call tools. */
import { scene } from './support/scene.ts';

describe('a tool', () => {
  scene('runs, and its result is answered with')`
    model: (calls weather)
    model: It is sunny.
    tool: weather takes 1.00, gives: sunny

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.56       tool weather starts
    2.56       tool weather gives: sunny
    2.74-3.34  heard: It is sunny.

    asked: 2
    history:
      user: How is the weather?
      agent calls weather
      tool: sunny
      agent: It is sunny.
  `;

  scene('runs beside another')`
    model: (calls weather, time)
    model: Sunny at noon.
    tool: weather takes 1.00, gives: sunny
    tool: time takes 0.50, gives: noon

    0.00       user: Weather and time?
    1.15       turn: Weather and time?
    1.27       tool weather starts
    1.27       tool time starts
    1.77       tool time gives: noon
    2.27       tool weather gives: sunny
    2.45-3.15  heard: Sunny at noon.

    asked: 2
    history:
      user: Weather and time?
      agent calls weather
      agent calls time
      tool: sunny
      tool: noon
      agent: Sunny at noon.
  `;

  scene('that fails is told to the model')`
    model: (calls weather)
    model: I could not find out.
    tool: weather takes 0.50, fails: no satellite

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.56       tool weather starts
    2.06       tool weather fails: Error: no satellite.
    2.26-3.31  heard: I could not find out.

    asked: 2
    history:
      user: How is the weather?
      agent calls weather
      tool: Error: no satellite.
      agent: I could not find out.
  `;

  scene('goes on while the user adds something, which the model is told with its result')`
    model: (calls weather)
    model: Sunny here, rain in Rome.
    tool: weather takes 3.00, gives: sunny

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.56       tool weather starts
    2.00       user: And in Rome?
    2.00       agent holds back
    3.15       agent goes on
    3.15       turn: And in Rome?
    3.15       turn ends (merged)
    4.56       tool weather gives: sunny
    4.76-6.01  heard: Sunny here, rain in Rome.

    asked: 2
    history:
      user: How is the weather?
      agent calls weather
      tool: sunny
      user: And in Rome?
      agent: Sunny here, rain in Rome.
  `;

  scene('is cancelled by what the user adds if it is to be')`
    model: (calls weather)
    model: I have not looked.
    tool: weather takes 3.00, gives: sunny (abort)

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.56       tool weather starts
    2.00       user: Forget about it please.
    2.00       agent holds back
    2.30       tool weather is cancelled
    2.30       turn ends (merged)
    2.30       agent is stopped
    3.45       turn: Forget about it please.
    3.64-4.54  heard: I have not looked.

    asked: 2
    history:
      user: How is the weather?
      agent calls weather
      tool: Cancelled: the user interrupted.
      user: Forget about it please.
      agent: I have not looked.
  `;

  scene('is cancelled by "stop"')`
    model: (calls weather)
    tool: weather takes 3.00, gives: sunny

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.56       tool weather starts
    2.00       user: Stop.
    2.00       agent holds back
    2.30       tool weather is cancelled
    2.30       turn ends (interrupted)
    2.30       agent is stopped
    2.55       turn ends (cancelled)

    asked: 1
    history:
      user: How is the weather?
      agent calls weather
      tool: Cancelled: the user interrupted.
  `;

  scene('that must finish is remembered, though the user said "stop"')`
    model: (calls book)
    model: You have a table.
    tool: book takes 3.00, gives: booked (finish)

    0.00       user: Book a table.
    1.15       turn: Book a table.
    1.26       tool book starts
    2.00       user: Stop.
    2.00       agent holds back
    2.30       turn ends (interrupted)
    2.30       agent is stopped
    2.55       turn ends (cancelled)
    4.26       tool book gives: booked
    6.00       user: Did you book it?
    7.45       turn: Did you book it?
    7.64-8.49  heard: You have a table.

    asked: 2
    history:
      user: Book a table.
      agent calls book
      tool: booked
      user: Did you book it?
      agent: You have a table.
  `;

  scene('goes on while the user says "mm-hm"')`
    model: One moment. (calls weather)
    model: It is sunny.
    tool: weather takes 3.00, gives: sunny

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.58       tool weather starts
    1.63-2.17  heard: One moment.
    2.50       user: Mm-hm.
    2.50       agent ducks
    2.70       agent pauses
    2.80       agent goes on
    3.05       ignored (backchannel): Mm-hm.
    4.58       tool weather gives: sunny
    4.76-5.37  heard: It is sunny.

    asked: 2
    history:
      user: How is the weather?
      agent: One moment.
      agent calls weather
      tool: sunny
      agent: It is sunny.
  `;

  scene('that takes long lets the agent say so, once, and that is not remembered', {
    tools: [{ name: 'weather', filler: 'One moment.', execute: () => new Promise(() => undefined), timeoutMs: 2_000 }],
  })`
    model: (calls weather)
    model: It is sunny.

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.56       tool weather starts
    2.31-2.85  heard: One moment.
    3.56       tool weather fails: Error: it did not finish within 2 seconds.
    3.74-4.35  heard: It is sunny.

    asked: 2
    history:
      user: How is the weather?
      agent calls weather
      tool: Error: it did not finish within 2 seconds.
      agent: It is sunny.
  `;

  scene('and the answer after it are remembered as far as they were heard')`
    model: One moment. (calls weather)
    model: It is sunny in Paris and it rains in Rome, and it snows in Oslo.
    model: Oslo it is.
    tool: weather takes 1.00, gives: sunny

    0.00       user: Weather please.
    0.85       turn: Weather please.
    0.98       tool weather starts
    1.03-1.57  heard: One moment.
    1.98       tool weather gives: sunny
    2.23-3.70  heard: It is sunny in Paris and it r
    3.50       user: Oslo you said?
    3.50       agent ducks
    3.70       agent pauses
    4.10       turn ends (interrupted)
    4.10       agent is cut off
    4.65       turn: Oslo you said?
    4.83-5.38  heard: Oslo it is.

    asked: 3
    history:
      user: Weather please.
      agent: One moment.
      agent calls weather
      tool: sunny
      agent: It is sunny in Paris and it—
      user: Oslo you said?
      agent: Oslo it is.
  `;
});

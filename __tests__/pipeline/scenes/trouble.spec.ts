/** Scenes of services that fail in the middle of a call. */
import { scene } from './support/scene.ts';

describe('speech-to-text', () => {
  scene('that drops in mid-sentence says it all again, and the sentence is one turn')`
    model: Booked.

    0.00       stt voice
    0.30       stt interim: Book a
    0.50       stt drops
    1.50       stt returns
    1.60       stt interim: Book a table
    2.50       stt final: Book a table for two.
    2.50       turn: Book a table for two.
    2.66-3.01  heard: Booked.

    asked: 1
    history:
      user: Book a table for two.
      agent: Booked.
  `;

  scene('that drops during an answer leaves the answer alone')`
    model: One two three four five. Six seven eight nine ten.
    model: Ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-3.25  heard: One two three four five. Six seven eight nine ten.
    1.00       stt drops
    2.00       stt returns
    4.00       user: How far?
    4.85       turn: How far?
    5.01-5.21  heard: Ten.

    asked: 2
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
      user: How far?
      agent: Ten.
  `;

  scene('that is lost for good while the agent is paused lets it go on: no words will come')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.40  heard: One two three
    1.20       stt voice
    1.20       agent ducks
    1.40       agent pauses
    2.00       stt is lost
    2.00       agent goes on
    2.00-3.85  heard: four five. Six seven eight nine ten.

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('that is lost for good gives up what it was hearing')`
    model: A table, then.

    0.00       stt voice
    0.30       stt interim: Book a table
    0.60       stt is lost
    0.60       no final came: Book a table
    0.60       turn: Book a table
    0.78-1.48  heard: A table, then.

    asked: 1
    history:
      user: Book a table
      agent: A table, then.
  `;
});

describe('a model', () => {
  scene('that fails ends the turn; the next one is answered')`
    model: (fails)
    model: It is noon.

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    1.45       error: llm connection
    1.45       turn ends (error)
    4.00       user: What time is it?
    5.45       turn: What time is it?
    5.63-6.18  heard: It is noon.

    asked: 2
    history:
      user: How is the weather? What time is it?
      agent: It is noon.
  `;

  scene('that fails in the middle of its answer is remembered as far as it was heard')`
    model: One two three four five. Six (fails)
    model: It is noon.

    0.00       user: Count.
    0.55       turn: Count.
    0.55       error: llm connection
    0.60-2.00  heard: One two three four five. Six
    2.00       turn ends (error)
    6.00       user: What time is it?
    7.45       turn: What time is it?
    7.63-8.18  heard: It is noon.

    asked: 2
    history:
      user: Count.
      agent: One two three four five. Six
      user: What time is it?
      agent: It is noon.
  `;

  scene('that never begins is given ten seconds')`
    model: (stalls)
    model: It is noon.

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    11.45      error: llm timeout
    11.45      turn ends (error)
    14.00      user: What time is it?
    15.45      turn: What time is it?
    15.63-16.18 heard: It is noon.

    asked: 2
    history:
      user: How is the weather? What time is it?
      agent: It is noon.
  `;

  scene('that stops in mid-answer is given thirty seconds')`
    model: One two three four five. Six (stalls)
    model: It is noon.

    0.00       user: Count.
    0.55       turn: Count.
    0.60-1.84  heard: One two three four five.
    30.55      error: llm timeout
    30.60-30.76 heard: Six
    30.76      turn ends (error)
    40.00      user: What time is it?
    41.45      turn: What time is it?
    41.63-42.18 heard: It is noon.

    asked: 2
    history:
      user: Count.
      agent: One two three four five. Six
      user: What time is it?
      agent: It is noon.
  `;

  scene('that stalls hands over to its backup')`
    model: (stalls)
    backup: It is noon.

    0.00       user: What time is it?
    1.45       turn: What time is it?
    4.45       llm falls back
    4.63-5.18  heard: It is noon.

    asked: 2
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('that stalls is cut like any other')`
    model: (stalls)
    model: It is noon.

    0.00       user: How is the weather?
    1.45       turn: How is the weather?
    3.00       user: What time is it?
    3.00       agent holds back
    3.30       turn ends (merged)
    3.30       agent is stopped
    4.45       turn: What time is it?
    4.63-5.18  heard: It is noon.

    asked: 2
    history:
      user: How is the weather? What time is it?
      agent: It is noon.
  `;
});

describe('a voice', () => {
  scene('that gives no audio ends the turn')`
    model: It is noon.
    voice: (stalls)

    0.00       user: What time is it?
    1.45       turn: What time is it?
    12.45      error: tts timeout
    12.45      turn ends (error)
    20.00      end

    asked: 1
    history:
      user: What time is it?
  `;

  scene('that stops after its first audio ends the turn; what was heard is remembered')`
    model: One two three four five.
    voice: (stalls after 0.40)

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.15  heard: One two
    11.75      error: tts timeout
    11.75      turn ends (error)
    20.00      end

    asked: 1
    history:
      user: Count.
      agent: One two—
  `;

  scene('that gives nothing hands over to its backup')`
    model: It is noon.
    voice: (stalls)
    backup voice:

    0.00       user: What time is it?
    1.45       turn: What time is it?
    4.08       tts falls back
    4.13-4.68  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;
});

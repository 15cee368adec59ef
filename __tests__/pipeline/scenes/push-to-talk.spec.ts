/** Scenes of a button that is held while the user speaks. */
import { scene } from './support/scene.ts';

const pushToTalk = { turnTaking: { strategy: 'manual' } } as const;

describe('push-to-talk', () => {
  scene('asks for the last word, and waits for it', pushToTalk)`
    model: It is noon.

    0.00       app presses
    0.50       stt interim: What time
    1.00       app releases
    1.20       stt final: What time is it?
    1.20       turn: What time is it?
    1.38-1.93  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('loses no word that is spoken just before the release', pushToTalk)`
    model: Booked.

    0.00       app presses
    1.60       stt final: Book a table for
    2.00       app releases
    2.20       stt final: two.
    2.20       turn: Book a table for two.
    2.36-2.71  heard: Booked.

    asked: 1
    history:
      user: Book a table for two.
      agent: Booked.
  `;

  scene('joins what the service parts', pushToTalk)`
    model: Booked.

    0.00       app presses
    0.80       stt final: Book a table.
    1.60       stt final: For two.
    1.90       stt interim: Please
    2.00       app releases
    2.20       stt final: Please.
    2.20       turn: Book a table. For two. Please.
    2.36-2.71  heard: Booked.

    asked: 1
    history:
      user: Book a table. For two. Please.
      agent: Booked.
  `;

  scene('loses nothing to a key that repeats while it is held', pushToTalk)`
    model: Booked.

    0.00       app presses
    0.80       stt final: Book a table for
    1.00       app presses
    1.03       app says: One moment.
    1.06       app presses
    1.50       stt interim: two
    2.00       app releases
    2.20       stt final: two.
    2.20       turn: Book a table for two.
    2.25-2.80  heard: One moment.
    2.80-3.15  heard: Booked.

    asked: 1
    history:
      user: Book a table for two.
      agent: One moment.
      agent: Booked.
  `;

  scene('that is pressed again before the last word has come goes on with the same turn', pushToTalk)`
    model: Booked.

    0.00       app presses
    0.80       stt final: Book a table for
    1.50       stt interim: two
    2.00       app releases
    2.10       app presses
    2.20       stt final: two.
    3.00       stt interim: at nine
    3.50       app releases
    3.70       stt final: at nine.
    3.70       turn: Book a table for two. at nine.
    3.86-4.21  heard: Booked.

    asked: 1
    history:
      user: Book a table for two. at nine.
      agent: Booked.
  `;

  scene('that is pressed again keeps a word whose final never comes', pushToTalk)`
    model: Booked.

    0.00       app presses
    0.50       stt interim: A table
    1.00       app releases
    1.10       app presses
    2.00       app releases
    7.00       no final came: A table
    7.00       turn: A table
    7.16-7.51  heard: Booked.

    asked: 1
    history:
      user: A table
      agent: Booked.
  `;

  scene('interrupts the agent when the button is pressed', pushToTalk)`
    model: One two three four five. Six seven eight nine ten.
    model: Ten.

    0.00       app sends: Count.
    0.00       turn: Count.
    0.20-1.00  heard: One two three fo
    1.00       app presses
    1.00       turn ends (interrupted)
    1.60       stt interim: How far?
    1.80       app releases
    2.00       stt final: How far?
    2.00       turn: How far?
    2.16-2.36  heard: Ten.

    asked: 2
    history:
      user: Count.
      agent: One two three—
      user: How far?
      agent: Ten.
  `;

  scene('hears nobody while the button is up', pushToTalk)`
    model: One two three four five.

    0.00       app sends: Count.
    0.00       turn: Count.
    0.20-1.40  heard: One two three four five.
    0.60       stt interim: Stop that please
    0.90       stt final: Stop that please

    asked: 1
    history:
      user: Count.
      agent: One two three four five.
  `;

  scene('drops what was said when it is cancelled', pushToTalk)`
    0.00       app presses
    0.50       stt interim: What time
    1.00       app cancels
    1.00       turn ends (cancelled)
    1.20       stt final: What time is it?

    asked: 0
  `;

  scene('answers the words so far when the last one never comes', pushToTalk)`
    model: It is noon.

    0.00       app presses
    0.50       stt interim: What time is it
    1.00       app releases
    6.00       no final came: What time is it
    6.00       turn: What time is it
    6.18-6.73  heard: It is noon.

    asked: 1
    history:
      user: What time is it
      agent: It is noon.
  `;

  scene('answers the question again that the button cut and nothing followed', pushToTalk)`
    model: It is noon.
    model: It is noon.

    0.00       app sends: What time is it?
    0.00       turn: What time is it?
    0.05       app presses
    0.05       turn ends (merged)
    0.60       app cancels
    0.60       turn: What time is it?
    0.78-1.33  heard: It is noon.

    asked: 2
    history:
      user: What time is it?
      agent: It is noon.
  `;
});

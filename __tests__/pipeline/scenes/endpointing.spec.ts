/** Scenes of who decides that the user has finished, and when. */
import { scorer, silence, textScorer } from 'rxvoice/endpointing';
import { scene } from './support/scene.ts';

describe('the end of a turn', () => {
  scene('comes half a second after the voice, and once the words cannot change anymore', {
    endpointing: silence({ minMs: 500 }),
  })`
    model: Noon.

    0.00       stt voice
    0.30       stt interim: What time
    0.60       stt interim: What time is it
    0.70       stt silence
    1.70       turn: What time is it
    1.86-2.11  heard: Noon.
    8.00       end

    asked: 1
    history:
      user: What time is it
      agent: Noon.
  `;

  scene('waits for the rest of a sentence that is unfinished', { endpointing: scorer(textScorer('en')) })`
    model: Booked.

    0.00       user: I want a table and
    3.00       user: a chair.
    4.10       turn: I want a table and a chair.
    4.26-4.61  heard: Booked.

    asked: 1
    history:
      user: I want a table and a chair.
      agent: Booked.
  `;

  scene('comes after the silence that is asked for, whatever the service says', { endpointing: { minMs: 800 } })`
    model: Booked.

    0.00       user: I want a table
    1.60       user: for two.
    3.00       turn: I want a table for two.
    3.16-3.51  heard: Booked.

    asked: 1
    history:
      user: I want a table for two.
      agent: Booked.
  `;

  scene('comes, and comes again, with a user who does not stop', { endpointing: { maxTurnMs: 2_000 } })`
    model: I see.
    model: And on.

    0.00       user: this goes on and on and on and on and on
    2.00       turn: this goes on and on and
    2.10       agent holds back
    2.10       turn ends (merged)
    2.10       agent is stopped
    3.55       turn: on and on and on
    3.72-4.07  heard: And on.

    asked: 2
    history:
      user: this goes on and on and on and on and on
      agent: And on.
  `;

  scene('is expected where the words do not change anymore and a sentence ends', {
    preflight: { stableInterimMs: 300 },
  })`
    model: It is noon.

    0.00       stt voice
    0.60       stt interim: What time is it?
    0.70       stt silence
    0.90       prepares: What time is it?
    1.60       stt final: What time is it?
    1.60       turn: What time is it?
    1.60       uses what it prepared 0.70 ago
    1.65-2.20  heard: It is noon.

    asked: 1
    history:
      user: What time is it?
      agent: It is noon.
  `;
});

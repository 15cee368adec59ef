/** Scenes of answers prepared before it is certain that the user has finished. */
import { scene } from './support/scene.ts';

describe('an answer that was prepared', () => {
  scene('is used when the user said just that')`
    model: Booked for you.

    0.00       stt voice
    0.40       stt interim: Book the
    0.80       stt preflight: Book the flight
    0.80       prepares: Book the flight
    0.90       stt silence
    1.40       stt final: Book the flight.
    1.40       turn: Book the flight.
    1.40       uses what it prepared 0.60 ago
    1.45-2.20  heard: Booked for you.

    asked: 1
    history:
      user: Book the flight.
      agent: Booked for you.
  `;

  scene('is used when only marks differ, in any script')`
    model: Reservado.

    0.00       stt voice
    0.80       stt preflight: Reserva el vuelo
    0.80       prepares: Reserva el vuelo
    1.40       stt final: ¡Reserva el vuelo!
    1.40       turn: ¡Reserva el vuelo!
    1.40       uses what it prepared 0.60 ago
    1.45-1.95  heard: Reservado.

    asked: 1
    history:
      user: ¡Reserva el vuelo!
      agent: Reservado.
  `;

  scene('is dropped when the user goes on')`
    model: Booked for you.
    model: Booked for Friday.

    0.00       stt voice
    0.80       stt preflight: Book the flight
    0.80       prepares: Book the flight
    0.90       stt silence
    1.10       stt voice again
    1.10       drops what it prepared (resumed)
    1.40       stt interim: Book the flight on
    1.70       stt interim: Book the flight on Friday
    2.20       stt final: Book the flight on Friday.
    2.20       turn: Book the flight on Friday.
    2.38-3.28  heard: Booked for Friday.

    asked: 2
    history:
      user: Book the flight on Friday.
      agent: Booked for Friday.
  `;

  scene('is not used for the opposite')`
    model: Booked for you.
    model: Not booked.

    0.00       stt voice
    0.80       stt preflight: book the flight
    0.80       prepares: book the flight
    1.40       stt final: Do not book the flight.
    1.40       drops what it prepared (changed)
    1.40       turn: Do not book the flight.
    1.57-2.12  heard: Not booked.

    asked: 2
    history:
      user: Do not book the flight.
      agent: Not booked.
  `;

  scene('is dropped at once when other words come')`
    model: Booked for you.
    model: Looked at.

    0.00       stt voice
    0.80       stt preflight: Book the flight
    0.80       prepares: Book the flight
    1.10       stt interim: Look the flight up
    1.10       drops what it prepared (changed)
    1.60       stt final: Look the flight up.
    1.60       turn: Look the flight up.
    1.77-2.27  heard: Looked at.

    asked: 2
    history:
      user: Look the flight up.
      agent: Looked at.
  `;

  scene('is prepared three times at most')`
    model: A
    model: B
    model: C
    model: Done.

    0.00       stt voice
    0.40       stt preflight: I
    0.40       prepares: I
    0.80       stt preflight: I would
    0.80       drops what it prepared (changed)
    0.80       prepares: I would
    1.20       stt preflight: I would like
    1.20       drops what it prepared (changed)
    1.20       prepares: I would like
    1.60       stt preflight: I would like tea
    1.60       drops what it prepared (changed)
    2.00       stt final: I would like tea.
    2.00       turn: I would like tea.
    2.16-2.41  heard: Done.

    asked: 4
    history:
      user: I would like tea.
      agent: Done.
  `;

  scene('is dropped, and says so, when the application interrupts')`
    model: Booked for you.
    model: Booked for you.

    0.00       stt voice
    0.80       stt preflight: Book the flight
    0.80       prepares: Book the flight
    1.00       app interrupts
    1.00       drops what it prepared (cancelled)
    1.40       stt final: Book the flight.
    1.40       turn: Book the flight.
    1.58-2.33  heard: Booked for you.

    asked: 2
    history:
      user: Book the flight.
      agent: Booked for you.
  `;

  scene('is dropped, and says so, when something is typed')`
    model: Booked for you.
    model: It is noon.

    0.00       stt voice
    0.80       stt preflight: Book the flight
    0.80       prepares: Book the flight
    1.00       app sends: What time is it?
    1.00       drops what it prepared (cancelled)
    1.00       turn: What time is it?
    1.18-1.73  heard: It is noon.
    1.40       stt final: Book the flight.

    asked: 2
    history:
      user: What time is it?
      agent: It is noon.
  `;

  scene('is dropped, and says so, when the conversation stops')`
    model: Booked for you.

    0.00       stt voice
    0.80       stt preflight: Book the flight
    0.80       prepares: Book the flight
    1.00       app stops
    1.00       drops what it prepared (cancelled)
    1.00       turn ends (stopped)
    1.00       conversation ends

    asked: 1
  `;

  scene('runs no tool before it is certain')`
    model: (calls book)
    model: Booked.
    tool: book takes 0.50, gives: done

    0.00       stt voice
    0.50       stt preflight: Book the flight
    0.50       prepares: Book the flight
    1.50       stt final: Book the flight.
    1.50       turn: Book the flight.
    1.50       uses what it prepared 1.00 ago
    1.50       tool book starts
    2.00       tool book gives: done
    2.16-2.51  heard: Booked.

    asked: 2
    history:
      user: Book the flight.
      agent calls book
      tool: done
      agent: Booked.
  `;

  scene('is audible at once if its voice was prepared too', { preflight: { speak: true } })`
    model: Booked for you.

    0.00       stt voice
    0.80       stt preflight: Book it
    0.80       prepares: Book it
    1.40       stt final: Book it.
    1.40       turn: Book it.
    1.40       uses what it prepared 0.60 ago
    1.40-2.15  heard: Booked for you.

    asked: 1
    history:
      user: Book it.
      agent: Booked for you.
  `;
});

/** Scenes of users who speak while the agent does: voice pauses, words cut. */
import { scene } from './support/scene.ts';

describe('while the agent speaks', () => {
  scene('two words cut it, and are the next turn')`
    model: One two three four five. Six seven eight nine ten.
    model: Ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: How far?
    1.50       agent ducks
    1.70       agent pauses
    2.10       turn ends (interrupted)
    2.10       agent is cut off
    2.35       turn: How far?
    2.51-2.71  heard: Ten.

    asked: 2
    history:
      user: Count.
      agent: One two three four—
      user: How far?
      agent: Ten.
  `;

  scene('a cough makes it softer; it goes on where it was')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-3.25  heard: One two three four five. Six seven eight nine ten.
    1.50       stt voice
    1.50       agent ducks
    1.60       stt silence
    2.80       agent goes on

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('a longer noise pauses it; it goes on at the very sample')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user makes noise for 0.60
    1.50       agent ducks
    1.70       agent pauses
    3.30       agent goes on
    3.30-4.85  heard: five. Six seven eight nine ten.

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('endless noise holds it up for eight seconds at most')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       stt voice
    1.50       agent ducks
    1.70       agent pauses
    9.50       agent goes on
    9.50-11.05 heard: five. Six seven eight nine ten.
    20.00      end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('noise that began before its first sample does not keep it silent')`
    model: One two three four five.

    0.00       app sends: Count.
    0.00       turn: Count.
    0.10       stt voice
    0.10       agent holds back
    8.10       agent goes on
    8.10-9.30  heard: One two three four five.
    20.00      end

    asked: 1
    history:
      user: Count.
      agent: One two three four five.
  `;

  scene('one word that is not more is no interruption, and is not answered')`
    model: One two three four five. Six seven eight nine ten. One two three four five.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       stt voice
    1.50       agent ducks
    1.70       agent pauses
    1.80       stt interim: Well
    1.90       stt silence
    3.10       agent goes on
    3.10-5.90  heard: five. Six seven eight nine ten. One two three four five.

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten. One two three four five.
  `;

  scene('one word that is all of an utterance cuts it')`
    model: One two three four five. Six seven eight nine ten.
    model: Friday it is.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: Friday.
    1.50       agent ducks
    1.70       agent pauses
    2.05       turn ends (interrupted)
    2.05       agent is cut off
    2.05       turn: Friday.
    2.23-2.88  heard: Friday it is.

    asked: 2
    history:
      user: Count.
      agent: One two three four—
      user: Friday.
      agent: Friday it is.
  `;

  scene('"stop" cuts it at once, and nobody answers that')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: Stop.
    1.50       agent ducks
    1.70       agent pauses
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.05       turn ends (cancelled)

    asked: 1
    history:
      user: Count.
      agent: One two three four—
  `;

  scene('"wait" cuts it at once, and what follows is the question')`
    model: One two three four five. Six seven eight nine ten.
    model: Friday is free.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: Wait, what about Friday?
    1.50       agent ducks
    1.70       agent pauses
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.95       turn: Wait, what about Friday?
    3.13-3.88  heard: Friday is free.

    asked: 2
    history:
      user: Count.
      agent: One two three four—
      user: Wait, what about Friday?
      agent: Friday is free.
  `;

  scene('"mm-hmm" is no interruption: it goes on as soon as the word is known')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: Mm-hmm.
    1.50       agent ducks
    1.70       agent pauses
    1.80       agent goes on
    1.80-3.35  heard: five. Six seven eight nine ten.
    2.05       ignored (backchannel): Mm-hmm.

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('"yeah, right" is no interruption either')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: Yeah, right.
    1.50       agent ducks
    1.70       agent pauses
    1.80       agent goes on
    1.80-3.35  heard: five. Six seven eight nine ten.
    2.35       ignored (backchannel): Yeah, right.

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('"yeah but" is one')`
    model: One two three four five. Six seven eight nine ten.
    model: Sorry.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: Yeah but that is wrong.
    1.50       agent ducks
    1.70       agent pauses
    1.80       agent goes on
    1.80-2.10  heard: five.
    2.10       agent ducks
    2.10       turn ends (interrupted)
    2.10       agent is cut off
    3.25       turn: Yeah but that is wrong.
    3.41-3.71  heard: Sorry.

    asked: 2
    history:
      user: Count.
      agent: One two three four five.—
      user: Yeah but that is wrong.
      agent: Sorry.
  `;

  scene('words before the first syllable of the answer join the question')`
    model: One two three four five. Six seven eight nine ten.
    model: Ten nine eight.

    0.00       user: Count.
    0.55       turn: Count.
    0.60       user: Backwards.
    0.60       agent holds back
    0.90       turn ends (merged)
    0.90       agent is stopped
    1.15       turn: Backwards.
    1.33-2.08  heard: Ten nine eight.

    asked: 2
    history:
      user: Count. Backwards.
      agent: Ten nine eight.
  `;

  scene('the application may cut it')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.50  heard: One two three f
    1.50       app interrupts
    1.50       turn ends (interrupted)

    asked: 1
    history:
      user: Count.
      agent: One two three—
  `;
});

describe('with bargeIn', () => {
  scene("'immediate', the first sign cuts", { bargeIn: 'immediate' })`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.50  heard: One two three f
    1.50       user coughs
    1.50       agent ducks
    1.50       turn ends (interrupted)
    1.50       agent is cut off
    6.80       no final came: no words either

    asked: 1
    history:
      user: Count.
      agent: One two three—
  `;

  scene('false, nothing cuts', { bargeIn: false })`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-3.25  heard: One two three four five. Six seven eight nine ten.
    1.00       user: How far?
    1.85       ignored (disabled): How far?

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('that wants three words, two are too few', { bargeIn: { minWords: 3 } })`
    model: One two three four five. Six seven eight nine ten. One two three four five.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: So far?
    1.50       agent ducks
    1.70       agent pauses
    2.35       agent goes on
    2.35       ignored (too-short): So far?
    2.35-5.15  heard: five. Six seven eight nine ten. One two three four five.

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten. One two three four five.
  `;

  scene('that knows other commands, those cut', { bargeIn: { commands: (own) => [...own, 'banana'] } })`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       user: Banana!
    1.50       agent ducks
    1.70       agent pauses
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.05       turn ends (cancelled)

    asked: 1
    history:
      user: Count.
      agent: One two three four—
  `;

  scene("'immediate', an interruption without words is asked about", {
    bargeIn: 'immediate',
    onUnclear: () => 'Sorry?',
  })`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.50  heard: One two three f
    1.50       user coughs
    1.50       agent ducks
    1.50       turn ends (interrupted)
    1.50       agent is cut off
    6.80       no final came: no words either
    6.85-7.15  heard: Sorry?

    asked: 1
    history:
      user: Count.
      agent: One two three—
  `;
});

describe('around a question of the agent', () => {
  scene('"yes" just before its end is the answer')`
    model: There is one at nine. Shall I book it?
    model: Booked.

    0.00       user: A table please.
    1.15       turn: A table please.
    1.35-2.90  heard: There is one at nine. Shall I b
    2.70       user: Yes.
    2.70       agent ducks
    2.90       agent pauses
    3.00       agent goes on
    3.00-3.35  heard: ook it?
    3.35       turn: Yes.
    3.51-3.86  heard: Booked.

    asked: 2
    history:
      user: A table please.
      agent: There is one at nine. Shall I book it?
      user: Yes.
      agent: Booked.
  `;

  scene('"yes" just after it is the answer')`
    model: Shall I book it?
    model: Booked.

    0.00       user: A table please.
    1.15       turn: A table please.
    1.34-2.14  heard: Shall I book it?
    2.30       user: Yes.
    2.85       turn: Yes.
    3.01-3.36  heard: Booked.

    asked: 2
    history:
      user: A table please.
      agent: Shall I book it?
      user: Yes.
      agent: Booked.
  `;

  scene('"yes" over what follows it is the answer')`
    model: Shall I book it? There is one at nine, by the window, for two people.
    model: Booked.

    0.00       user: A table please.
    1.15       turn: A table please.
    1.34-2.40  heard: Shall I book it? Ther
    2.20       user: Yes.
    2.20       agent ducks
    2.40       agent pauses
    2.75       turn ends (interrupted)
    2.75       agent is cut off
    2.75       turn: Yes.
    2.91-3.26  heard: Booked.

    asked: 2
    history:
      user: A table please.
      agent: Shall I book it?—
      user: Yes.
      agent: Booked.
  `;

  scene('"yes" long after it only means: go on')`
    model: Shall I tell you? Well then. One two three four five. Six seven eight nine ten.

    0.00       user: Hello.
    0.55       turn: Hello.
    0.74-3.80  heard: Shall I tell you? Well then. One two three four five. Six seve
    3.60       user: Yes.
    3.60       agent ducks
    3.80       agent pauses
    3.90       agent goes on
    3.90-4.79  heard: n eight nine ten.
    4.15       ignored (backchannel): Yes.

    asked: 1
    history:
      user: Hello.
      agent: Shall I tell you? Well then. One two three four five. Six seven eight nine ten.
  `;

  scene('a whole sentence cuts as ever')`
    model: There is one at nine. Shall I book it?
    model: Ten it is.

    0.00       user: A table please.
    1.15       turn: A table please.
    1.35-2.20  heard: There is one at n
    2.00       user: No, I want ten.
    2.00       agent ducks
    2.20       agent pauses
    2.60       turn ends (interrupted)
    2.60       agent is cut off
    3.45       turn: No, I want ten.
    3.63-4.13  heard: Ten it is.

    asked: 2
    history:
      user: A table please.
      agent: There is one at—
      user: No, I want ten.
      agent: Ten it is.
  `;

  scene('"yes please" is the answer too, and need not wait')`
    model: One at nine. Shall I book it?
    model: Booked.

    0.00       user: A table.
    0.85       turn: A table.
    1.03-2.10  heard: One at nine. Shall I b
    1.90       user: Yes please.
    1.90       agent ducks
    2.10       agent pauses
    2.20       agent goes on
    2.20-2.50  heard: ook i
    2.50       agent ducks
    2.50       turn ends (interrupted)
    2.50       agent is cut off
    2.75       turn: Yes please.
    2.91-3.26  heard: Booked.

    asked: 2
    history:
      user: A table.
      agent: One at nine. Shall I book—
      user: Yes please.
      agent: Booked.
  `;

  scene('that the application asks, "yes" is the answer')`
    model: Good.

    0.00       app says: Are you still there?
    0.05-1.00  heard: Are you still there
    0.80       user: Yes.
    0.80       agent ducks
    1.00       agent pauses
    1.10       agent goes on
    1.10-1.15  heard: ?
    1.35       turn: Yes.
    1.51-1.76  heard: Good.

    asked: 1
    history:
      agent: Are you still there?
      user: Yes.
      agent: Good.
  `;

  scene('that cannot be interrupted, "yes" is the answer')`
    model: Good.

    0.00       app says (uninterruptible): Are you still there?
    0.05-1.05  heard: Are you still there?
    0.60       user: Yes.
    1.15       turn: Yes.
    1.31-1.56  heard: Good.

    asked: 1
    history:
      agent: Are you still there?
      user: Yes.
      agent: Good.
  `;
});

describe("the agent's own words, heard back", () => {
  scene('cut nothing, and are not answered')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-3.25  heard: One two three four five. Six seven eight nine ten.
    1.40       stt interim: one two
    1.70       stt interim: one two three
    2.00       stt interim: one two three four
    2.40       stt final: one two three four five
    2.40       ignored (echo): one two three four five
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('are not answered when they come after its end')`
    model: One two three four five.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.95  heard: One two three four five.
    1.90       echo: three four five
    1.90       agent ducks
    3.05       ignored (echo): three four five
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five.
  `;

  scene('cut nothing when their voice has paused the agent after a word of them')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.05  heard: One tw
    0.85       echo: One
    0.85       agent ducks
    1.05       agent pauses
    1.40       ignored (echo): One
    1.40       agent goes on
    1.40-3.60  heard: o three four five. Six seven eight nine ten.
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('cut nothing when it broke off in the second word')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.05  heard: One tw
    0.85       echo: One two
    0.85       agent ducks
    1.05       agent pauses
    1.45       agent goes on
    1.45-3.65  heard: o three four five. Six seven eight nine ten.
    1.70       ignored (echo): One two
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('cut nothing though the service is slow, and tells no times')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.05  heard: One tw
    0.85       stt voice
    0.85       agent ducks
    1.05       agent pauses
    2.40       stt interim: one
    2.60       stt silence
    3.40       stt final: one
    3.40       ignored (echo): one
    3.40       agent goes on
    3.40-5.60  heard: o three four five. Six seven eight nine ten.
    10.00      end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('cut nothing where the service tells only of words')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-3.25  heard: One two three four five. Six seven eight nine ten.
    1.40       stt interim: two
    2.40       stt final: two
    2.40       ignored (echo): two
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('are the words of a user who says them a while after they sounded')`
    model: Red, green, blue, yellow, white, black, brown and grey.
    model: Blue it is.

    0.00       user: Colours?
    0.55       turn: Colours?
    0.73-2.20  heard: Red, green, blue, yellow, whi
    2.00       user: Blue.
    2.00       agent ducks
    2.20       agent pauses
    2.55       turn ends (interrupted)
    2.55       agent is cut off
    2.55       turn: Blue.
    2.73-3.28  heard: Blue it is.

    asked: 2
    history:
      user: Colours?
      agent: Red, green, blue, yellow,—
      user: Blue.
      agent: Blue it is.
  `;

  scene('are those of such a user though each was a sentence, and the service is slow and tells no times')`
    model: Red. Green. Blue. Yellow. White. Black. Brown and grey.
    model: Blue it is.

    0.00       user: Colours?
    0.55       turn: Colours?
    0.73-2.20  heard: Red. Green. Blue. Yellow. Whi
    2.00       stt voice
    2.00       agent ducks
    2.20       agent pauses
    2.80       stt interim: blue
    2.90       stt silence
    3.80       stt final: blue
    3.80       turn ends (interrupted)
    3.80       agent is cut off
    3.80       turn: blue
    3.98-4.53  heard: Blue it is.

    asked: 2
    history:
      user: Colours?
      agent: Red. Green. Blue. Yellow.—
      user: blue
      agent: Blue it is.
  `;

  scene('do not hide what the user says')`
    model: Your table is at nine.
    model: At ten, then.

    0.00       user: When?
    0.55       turn: When?
    0.75-1.60  heard: Your table is at
    1.40       user: I said at ten please.
    1.40       agent ducks
    1.60       agent pauses
    2.00       turn ends (interrupted)
    2.00       agent is cut off
    3.15       turn: I said at ten please.
    3.33-3.98  heard: At ten, then.

    asked: 2
    history:
      user: When?
      agent: Your table is at—
      user: I said at ten please.
      agent: At ten, then.
  `;
});

describe("what the user says behind the agent's own words, in one utterance,", () => {
  scene('cuts at once if it is "stop", and nobody answers')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-2.30  heard: One two three four five. Six se
    1.40       stt interim: one two
    1.70       stt interim: one two three
    2.00       stt interim: one two three four
    2.30       stt interim: one two three four stop
    2.30       agent ducks
    2.30       turn ends (interrupted)
    2.30       agent is cut off
    2.60       stt final: One two three four, stop.
    2.60       ignored (echo): One two three four
    2.60       turn ends (cancelled)
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six—
  `;

  scene('cuts at once if it is "stop", though the agent was paused after a word, and the service tells no times')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.05  heard: One tw
    0.85       stt voice
    0.85       agent ducks
    1.05       agent pauses
    1.20       stt interim: one
    1.50       stt interim: one stop
    1.50       turn ends (interrupted)
    1.50       agent is cut off
    1.70       stt silence
    1.90       stt final: one stop
    1.90       ignored (echo): one
    1.90       turn ends (cancelled)
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One—
  `;

  scene('cuts at once if it is "stop", though the agent broke off in the second word')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.05  heard: One tw
    0.85       stt voice
    0.85       agent ducks
    1.05       agent pauses
    1.60       stt interim: one two stop
    1.60       turn ends (interrupted)
    1.60       agent is cut off
    1.70       stt silence
    1.90       stt final: one two stop
    1.90       ignored (echo): one two
    1.90       turn ends (cancelled)
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One—
  `;

  scene('cuts at once if it is "stop", and nobody answers what is still heard of them then')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-2.30  heard: One two three four five. Six se
    1.40       stt interim: one two three
    2.30       stt interim: one two three four stop
    2.30       agent ducks
    2.30       turn ends (interrupted)
    2.30       agent is cut off
    2.60       stt interim: one two three four stop five
    2.90       stt final: One two three four stop five six.
    2.90       ignored (echo): One two three four
    2.90       turn ends (cancelled)
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six—
  `;

  scene('cuts and is answered without them')`
    model: One two three four five. Six seven eight nine ten.
    model: At noon.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-2.20  heard: One two three four five. Six
    1.40       stt interim: one two
    1.70       stt interim: one two three
    2.00       stt interim: one two three when
    2.00       agent ducks
    2.20       agent pauses
    2.30       stt interim: one two three when is lunch
    2.30       turn ends (interrupted)
    2.30       agent is cut off
    2.60       stt final: One two three, when is lunch?
    2.60       ignored (echo): One two three
    2.60       turn: when is lunch?
    2.77-3.17  heard: At noon.

    asked: 2
    history:
      user: Count.
      agent: One two three four five. Six—
      user: when is lunch?
      agent: At noon.
  `;

  scene('is the answer to the question that they are')`
    model: We have two of them. Do you want the red one or the blue one?
    model: Blue it is.

    0.00       user: A coat.
    0.85       turn: A coat.
    1.05-4.10  heard: We have two of them. Do you want the red one or the blue one?
    2.70       stt interim: two of them do you
    3.30       stt interim: two of them do you want the red one
    4.20       stt interim: two of them do you want the red one or the blue one
    4.50       stt interim: two of them do you want the red one or the blue one the
    4.80       stt interim: two of them do you want the red one or the blue one the blue one
    5.10       stt final: Two of them. Do you want the red one or the blue one? The blue one.
    5.10       ignored (echo): Two of them. Do you want the red one or the blue one
    5.10       turn: The blue one.
    5.28-5.83  heard: Blue it is.

    asked: 2
    history:
      user: A coat.
      agent: We have two of them. Do you want the red one or the blue one?
      user: The blue one.
      agent: Blue it is.
  `;

  scene('is the answer if it is "yes", said before the end of the question')`
    model: One is free at nine. Shall I book it?
    model: Booked.

    0.00       user: A table.
    0.85       turn: A table.
    1.05-2.90  heard: One is free at nine. Shall I book it?
    1.90       stt interim: one is free at nine
    2.40       stt final: One is free at nine. Yes.
    2.40       ignored (echo): One is free at nine
    2.90       turn: Yes.
    3.06-3.41  heard: Booked.

    asked: 2
    history:
      user: A table.
      agent: One is free at nine. Shall I book it?
      user: Yes.
      agent: Booked.
  `;

  scene('cuts nothing if it may be one of them, misheard')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-2.20  heard: One two three four five. Six
    1.40       stt interim: one two
    1.70       stt interim: one two three
    2.00       stt interim: one two three for
    2.00       agent ducks
    2.20       agent pauses
    2.30       stt interim: one two three four five
    2.30       agent goes on
    2.30-3.35  heard: seven eight nine ten.
    2.60       stt final: One two three four hive.
    2.60       ignored (echo): One two three four hive.
    8.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four five. Six seven eight nine ten.
  `;

  scene('cuts at once if it is 「待って」', { languages: ['ja'] })`
    locale: ja-JP
    model: お荷物は月曜日の朝に届きます。ご在宅ください。

    0.00       user: いつ？
    0.85       turn: いつ？
    1.00-1.80  heard: お荷物は月曜日の朝に届きます。ご
    1.50       stt interim: お荷物は
    1.80       stt interim: お荷物は月曜日待って
    1.80       agent ducks
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.10       stt final: お荷物は月曜日、待って。
    2.10       ignored (echo): お荷物は月曜日
    2.10       turn ends (cancelled)

    asked: 1
    history:
      user: いつ？
      agent: お荷物は月曜日の朝に届きます。ご—
  `;
});

describe('while the agent thinks', () => {
  scene('"stop" ends that, and nobody answers')`
    model: (stalls)

    0.00       user: Count.
    0.55       turn: Count.
    1.20       user: Stop.
    1.20       agent holds back
    1.50       turn ends (interrupted)
    1.50       agent is stopped
    1.75       turn ends (cancelled)

    asked: 1
    history:
      user: Count.
  `;

  scene('what the user adds cuts nothing that was heard, and joins the question')`
    model: One two three four five.
    model: One two three four five.
    model: Fine.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.40  heard: One two three
    1.20       user: Again please.
    1.20       agent ducks
    1.40       agent pauses
    1.80       turn ends (interrupted)
    1.80       agent is cut off
    2.05       turn: Again please.
    2.20       user: No stop that.
    2.20       agent holds back
    2.50       turn ends (merged)
    2.50       agent is stopped
    3.35       turn: No stop that.
    3.51-3.76  heard: Fine.

    asked: 3
    history:
      user: Count.
      agent: One two three—
      user: Again please. No stop that.
      agent: Fine.
  `;
});

describe('while the agent is paused', () => {
  scene('what is typed cuts it')`
    model: One two three four five. Six seven eight nine ten.
    model: Noon.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       stt voice
    1.50       agent ducks
    1.70       agent pauses
    2.00       app sends: Time?
    2.00       turn ends (interrupted)
    2.00       turn: Time?
    2.16-2.41  heard: Noon.
    2.50       stt silence
    8.00       end

    asked: 2
    history:
      user: Count.
      agent: One two three four—
      user: Time?
      agent: Noon.
  `;

  scene('stop() ends it, and what was heard is remembered')`
    model: One two three four five. Six seven eight nine ten.

    0.00       user: Count.
    0.55       turn: Count.
    0.75-1.70  heard: One two three four
    1.50       stt voice
    1.50       agent ducks
    1.70       agent pauses
    2.00       app stops
    2.00       turn ends (stopped)
    2.00       conversation ends
    6.00       end

    asked: 1
    history:
      user: Count.
      agent: One two three four—
  `;
});

/**
 * The guides' diagrams are scenes: each is played, and drawn from what happened. `RXVOICE_DIAGRAMS=write` writes them into
 * the guides.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { NEVER } from 'rxjs';
import { afterGreeting } from 'rxvoice';
import { scorer, silence, textScorer } from 'rxvoice/endpointing';
import { wakePhrase } from 'rxvoice/operators';
import { diagram } from './support/diagram.ts';
import { play, type SceneOptions } from './support/scene.ts';
import { parseScript } from './support/script.ts';

const count = 'model: One two three four five. Six seven eight nine ten.';

/** What is played for each diagram, by its name in the guide: `<!-- diagram: cough -->`. */
const scripts: Readonly<Record<string, readonly [script: string, options?: SceneOptions]>> = {
  turn: [
    `model: It is noon.
     0.00 user: What time is it?`,
  ],
  merging: [
    `model: It is noon.
     model: It is noon there.
     0.00 user: What time is it?
     1.50 user: In Paris.`,
  ],
  'late cough': [
    `model: It is noon.
     0.00 user: What time is it?
     1.60 user coughs`,
  ],
  silence: [
    `model: It is noon.
     0.00 user: What time is it?`,
    { endpointing: silence({ minMs: 500 }) },
  ],
  preflight: [
    `model: Booked for you.
     0.00 stt voice
     0.80 stt preflight: Book it
     1.40 stt final: Book it.`,
  ],
  changed: [
    `model: Booked for you.
     model: Nothing is booked.
     0.00 stt voice
     0.80 stt preflight: Book it
     1.40 stt final: Do not book it.`,
  ],
  button: [
    `model: It is noon.
     0.00 app presses
     0.50 stt interim: What time
     1.00 app releases
     1.20 stt final: What time is it?`,
    { turnTaking: { strategy: 'manual' } },
  ],
  cough: [
    `${count}
     0.00 user: Count.
     1.50 user makes noise for 0.60`,
  ],
  words: [
    `${count}
     model: Four.
     0.00 user: Count.
     1.50 user: How far?`,
  ],
  stop: [
    `${count}
     0.00 user: Count.
     1.50 user: Stop.`,
  ],
  nod: [
    `${count}
     0.00 user: Count.
     1.50 user: Mm-hmm.`,
  ],
  question: [
    `model: One at nine. Shall I book it?
     model: Booked.
     0.00 user: A table.
     2.10 user: Yes.`,
  ],
  echo: [
    `${count}
     0.00 user: Count.
     1.70 stt interim: one two three
     2.40 stt final: one two three four five`,
  ],
  scorer: [
    `model: Booked.
     0.00 user: A table and
     2.20 user: a chair.`,
    { endpointing: scorer(textScorer('en')) },
  ],
  bounds: [
    `model: Booked.
     0.00 user: A table
     1.30 user: for two.`,
    { endpointing: { minMs: 800 } },
  ],
  dynamic: [
    `model: Ordered.
     0.00 user: A table and
     2.20 user: a sofa and
     4.40 user: a chair.`,
    { endpointing: scorer(textScorer('en'), { dynamic: true }) },
  ],
  longest: [
    `model: I see what you mean.
     model: It goes on.
     0.00 user: this goes on and on and on`,
    { endpointing: { maxTurnMs: 1_500 } },
  ],
  unclear: [
    `${count}
     0.00 user: Count.
     1.50 user coughs`,
    { bargeIn: 'immediate', onUnclear: () => 'Sorry?', turnTaking: { sttTimeoutMs: 1_000 } },
  ],
  repeated: [
    `model: It is noon.
     0.00 user: What time is it?
     3.00 stt repeats itself`,
  ],
  'no final': [
    `model: Booked.
     0.00 stt voice
     0.60 stt interim: A table
     0.90 stt interim: A table for two`,
    { turnTaking: { sttTimeoutMs: 1_000 } },
  ],
  away: [
    `model: Booked.
     0.00 stt voice
     0.60 stt interim: A table
     0.80 stt drops
     1.60 stt returns
     1.90 stt final: A table for two.`,
  ],
  wait: [
    `${count}
     model: Friday is free.
     0.00 user: Count.
     1.50 user: Wait, what about Friday?`,
  ],
  short: [
    `model: One two three four five.
     model: It is.
     0.00 user: Count.
     1.20 user: Is that all?`,
    { bargeIn: { minWords: 4 } },
  ],
  'echo and stop': [
    `${count}
     0.00 user: Count.
     1.40 stt interim: one two three
     2.20 stt interim: one two three four five stop
     2.60 stt final: one two three four five stop`,
  ],
  tool: [
    `model: (calls weather)
     model: Rain, in Rome and in Paris.
     tool: weather takes 2.50, gives: rain
     0.00 user: Rome?
     1.00 user: And Paris?`,
  ],
  noise: [
    `${count}
     0.00 user: Count.
     1.50 user makes noise for 3.00`,
    { bargeIn: { maxPauseMs: 1_500 } },
  ],
  greeting: [
    `greeting: This call is recorded. Please say your name and your number, slowly.
     model: At nine.
     0.40 user: It is me.
     2.20 user: When do you open tomorrow?`,
    { bargeIn: { greeting: { minWords: 5 } } },
  ],
  immediate: [
    `${count}
     model: Four.
     0.00 user: Count.
     1.50 user: How far?`,
    { bargeIn: 'immediate' },
  ],
  listening: [
    `greeting: This call is recorded.
     model: At nine.
     0.40 user: It is me.
     2.00 user: When do you open?`,
    { listening: afterGreeting },
  ],
  'wake phrase': [
    `model: It is noon.
     0.00 user: Where is my hat?
     2.00 user: Hey Nova, what time is it?`,
    { hearing: (heard$) => heard$.pipe(wakePhrase('hey Nova', { sleep$: NEVER })) },
  ],
  uninterruptible: [
    `model: On its way.
     0.00 app says (uninterruptible): Your order is placed. Thank you.
     0.40 user: Where is it?`,
  ],
};

const guides = ['docs/turn-taking.md', 'docs/preflight.md'];
const diagrams = /<!-- diagram: ([\w ]+) -->\n\n```text\n([\s\S]*?)\n```/g;

describe('the diagrams of the guides', () => {
  const drawn = new Set<string>();
  for (const guide of guides) {
    const text = readFileSync(guide, 'utf8');
    for (const [, name = '', picture] of text.matchAll(diagrams)) {
      drawn.add(name);
      it(`show what happens: ${name}`, async () => {
        const [source = '', options = {}] = scripts[name] ?? [];
        const script = parseScript(source);
        const actual = diagram(script.cues, await play(script, options));
        if (process.env['RXVOICE_DIAGRAMS'] === 'write') {
          const now = readFileSync(guide, 'utf8');
          const start = now.indexOf(`<!-- diagram: ${name} -->`);
          const from = now.indexOf('```text\n', start) + '```text\n'.length;
          writeFileSync(guide, `${now.slice(0, from)}${actual}${now.slice(now.indexOf('\n```', from))}`);
        } else expect(picture).toBe(actual);
      });
    }
  }

  it('are all there', () => {
    expect([...drawn].sort()).toEqual(Object.keys(scripts).sort());
  });
});

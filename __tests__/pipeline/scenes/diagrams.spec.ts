/**
 * The guides' diagrams are scenes: each is played, and drawn from what happened. `RXVOICE_DIAGRAMS=write` writes them into
 * the guides.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { silence } from 'rxvoice/endpointing';
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

import { Script } from '../../lib/conversation/answer/script.ts';

const format = { encoding: 'mulaw', sampleRate: 1_000, channels: 1 } as const;
const msPerCharacter = 25;

/** A speech of `text` whose audio is complete. */
function spoken(text: string): Script {
  const script = new Script();
  const whole = { spokenStart: 0, spokenEnd: text.length, visualStart: 0, visualEnd: text.length };
  script.beginRound();
  script.addPiece({ spoken: text, visual: text, spans: [whole] });
  script.addAudio({ data: new Uint8Array(text.length * msPerCharacter), metadata: format });
  script.endRound();
  return script;
}

describe('what was heard of a text', () => {
  it('is a prefix in whole words, wherever in the text', () => {
    const text = 'One, two (three) four. 1.5 five\n'.repeat(200);
    const script = spoken(text);
    const ends = [...text.matchAll(/[\w.]+[,.)]*/g)].map(({ index, 0: { length } }) => index + length);
    for (let at = 1; at < text.length - 40; at += 37) {
      const { length } = script.heardAt(at * msPerCharacter).text;
      expect([
        length <= at + 1,
        at - length < 10,
        length === 0 || ends.some((end) => Math.abs(end - length) <= 1),
      ]).toEqual([true, true, true]);
    }
  });

  it('is found in a text without spaces', () => {
    expect(
      spoken('\u5929\u6c14\u5f88\u597d\u3002'.repeat(1_000)).heardAt(2_500 * msPerCharacter).text.length,
    ).toBeGreaterThan(2_490);
  });

  it('is found in a huge text at once', () => {
    const script = spoken('Some words again. '.repeat(60_000));
    const before = process.cpuUsage();
    expect(script.heardAt(1_000_000 * msPerCharacter).text.length).toBeGreaterThan(999_990);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(100);
  });
});

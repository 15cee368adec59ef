/** What a scene that fails prints, and what no scene may say. */
import { assertScript, parseScript } from './support/script.ts';

describe('a scene', () => {
  it('that goes differently prints both scripts side by side', () => {
    const written = ['0.00 user: Hello?', '0.55 turn: Hello?', '0.70-1.00 heard: Yes?', 'asked: 1'];
    const went = ['0.00 user: Hello?', '0.55 turn: Hello?', '0.71-1.01 heard: Yes?', 'asked: 1'];
    expect(() => {
      assertScript(written, went);
    }).toThrow(
      [
        'as written                as it went',
        '---------------------     ---------------------',
        '0.00 user: Hello?         0.00 user: Hello?',
        '0.55 turn: Hello?         0.55 turn: Hello?',
        '0.70-1.00 heard: Yes?  |',
        '                       |  0.71-1.01 heard: Yes?',
        'asked: 1                  asked: 1',
      ].join('\n'),
    );
  });

  it('has lines that somebody says, and times', () => {
    expect(() => parseScript('0.00 user: Hello.\nheard: Yes?')).toThrow('When is "heard: Yes?"?');
    expect(() => parseScript('weather: sunny\n0.00 user: Hello.')).toThrow('What does "weather: sunny" prepare?');
  });

  it('has remarks, and as much white space as is pleasant', () => {
    const { lines, cues, endMs } = parseScript('\n  0.50       app sends (patient): Hello.   # typed\n\n  asked: 1');
    expect(lines).toEqual(['0.50 app sends (patient): Hello.', 'asked: 1']);
    expect(cues).toEqual([
      { atMs: 500, line: '0.50 app sends (patient): Hello.', who: 'app', how: 'sends (patient)', text: 'Hello.' },
    ]);
    expect(endMs).toBe(12_500);
  });
});

import { redact } from '../../lib/core/redact.ts';
import { leastMs } from '../transport/least-time.ts';

const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';

describe('a text that an error or a log line shows', () => {
  const hostile = ['-eyJ', '-eyJhbGciOi', 'eyJaaaaaaaa.', 'Bearer ', 'token= ', '?x-amz-', 'sk-', '\n'];
  for (const piece of hostile) {
    it(`is ready in time when a service makes it of ${JSON.stringify(piece)}`, () => {
      const text = piece.repeat(2 ** 20 / piece.length);
      expect(leastMs(() => redact(text, ['a-secret']), 20)).toBeLessThan(20);
    });
  }

  it('is cut', () => {
    expect(redact('word '.repeat(100_000))).toBe(`${'word '.repeat(410).slice(0, 2048)}…`);
    expect(redact('x'.repeat(2048))).toBe('x'.repeat(2048));
  });

  it('is one line, and steers no terminal: a service cannot write log entries of its own', () => {
    expect(redact('no\r\n[rxvoice] all is well\u2028\u001b[2Jgone')).toBe('no [rxvoice] all is well [2Jgone');
  });

  it('shows no part of a secret at the cut', () => {
    const secret = 'abcdefghijklmnop';
    for (let at = 2048 - secret.length - 2; at < 2052; at += 1) {
      expect(redact(`${' '.repeat(at)}${secret}`, [secret])).not.toContain('abcd');
    }
  });

  it.each([jwt, jwt.split('.').slice(0, 2).join('.'), jwt.split('.')[0]])('hides %s', (token) => {
    expect(redact(`got ${token}, sorry`)).toBe('got [redacted], sorry');
  });
});

import { finalize, of, Subject, throwError } from 'rxjs';
import { errorBody } from '../../lib/transport/http-error.ts';
import { merge } from '../../lib/stream/merge.ts';

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

describe('errorBody()', () => {
  it.each([
    ['of one byte each', 'x', 65_536],
    ['of three bytes each', '€', 21_845],
    ['of four bytes and two places each', '😀', 16_384],
  ])('reads no more than 64 KiB of characters %s, and leaves the rest', (_name, character, count) => {
    const body$ = new Subject<Uint8Array<ArrayBuffer>>();
    let [wasLeft, text] = [false, ''];
    errorBody(body$.pipe(finalize(() => (wasLeft = true)))).subscribe((whole) => (text = whole));
    const chunk = bytesOf(character.repeat(2_048));
    let read = 0;
    for (; !wasLeft && read < 1_000_000; read += chunk.length) body$.next(chunk);
    expect(wasLeft).toBe(true);
    expect(read - 65_536).toBeLessThan(chunk.length);
    expect(text.replace('\uFFFD', '')).toBe(character.repeat(count));
  });

  it('is what came before the body broke', () => {
    const body$ = merge(
      of(bytesOf('Sor'), bytesOf('ry')),
      throwError(() => new Error('reset')),
    );
    const told: string[] = [];
    errorBody(body$).subscribe((text) => told.push(text));
    expect(told).toEqual(['Sorry']);
  });
});

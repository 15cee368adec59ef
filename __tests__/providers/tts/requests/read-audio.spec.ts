import { catchError, concat, firstValueFrom, from, map, of, Subject, throwError, toArray, type Observable } from 'rxjs';
import { VoiceError } from '../../../../lib/core/errors.ts';
import { readAudio, readObject } from '../../../../lib/providers/tts/requests/read-audio.ts';
import { wordEvent } from '../../../../lib/providers/tts/words/word-event.ts';

const context = {
  error: (text: string, options: ConstructorParameters<typeof VoiceError>[1]) => new VoiceError(text, options),
};

function read(contentType: string, body: string): Promise<unknown[]> {
  const response = {
    ...{ provider: 'TestTTS', status: 200, headers: { 'content-type': contentType } },
    body$: from([...body].map((character) => new TextEncoder().encode(character))),
  };
  return firstValueFrom(readObject(response, context, (answer) => [answer, 'end']).pipe(toArray()));
}

describe('readAudio()', () => {
  const lengths = async (body$: Observable<Uint8Array<ArrayBuffer>>): Promise<readonly unknown[]> => {
    const response = { provider: 'TestTTS', status: 200, headers: { 'content-type': 'audio/pcm' }, body$ };
    const told$ = readAudio(response, context).pipe(
      map((event) => (event.type === 'audio' ? event.data.length : event.type)),
      catchError((error: unknown) => of(error)),
    );
    return firstValueFrom(told$.pipe(toArray()));
  };
  const bytes = (count: number): readonly Uint8Array<ArrayBuffer>[] =>
    Array.from({ length: count }, (_, at) => Uint8Array.of(at));

  it('joins what comes byte by byte, and passes on all of it at the end, or before an error', async () => {
    expect(await lengths(from(bytes(300)))).toEqual([128, 128, 44]);
    const lost = new Error('lost');
    expect(
      await lengths(
        concat(
          from(bytes(130)),
          throwError(() => lost),
        ),
      ),
    ).toEqual([128, 2, lost]);
  });

  it('passes on what is long enough as it came, at once', async () => {
    const piece = new Uint8Array(200);
    const body$ = new Subject<Uint8Array<ArrayBuffer>>();
    const first = firstValueFrom(
      readAudio({ provider: 'TestTTS', status: 200, headers: {}, body$ }, context) as Observable<{ data?: unknown }>,
    );
    body$.next(piece);
    expect((await first).data).toBe(piece);
  });
});

describe('readObject()', () => {
  it('reads an answer that comes in pieces', async () => {
    expect(await read('application/json; charset=utf-8', '{"a":1}')).toEqual([{ a: 1 }, 'end']);
  });

  it('takes another value for an empty object', async () => {
    for (const body of ['null', '[]', '5', '"text"']) {
      expect(await read('application/json', body)).toEqual([{}, 'end']);
    }
  });

  it('takes an answer of another kind for audio', async () => {
    expect(await read('audio/pcm', 'ab')).toEqual([{ type: 'audio', data: new Uint8Array([97, 98]) }]);
  });

  it('refuses what is not JSON', async () => {
    await expect(read('application/json', '{"a":')).rejects.toMatchObject({ code: 'protocol' });
  });
});

describe('wordEvent()', () => {
  it('trims a word', () => {
    expect(wordEvent(' Hi ', 0, 320)).toEqual([{ type: 'word', text: 'Hi', startMs: 0, endMs: 320 }]);
  });

  it('gives none for a word without letters or times', () => {
    const incomplete = [
      [' ', 0, 1],
      [5, 0, 1],
      ['Hi', undefined, 1],
      ['Hi', 0, '1'],
    ] as const;
    expect(incomplete.flatMap(([word, start, end]) => wordEvent(word, start, end))).toEqual([]);
  });
});

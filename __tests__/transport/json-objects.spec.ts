import { from, of, toArray } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import type { HttpResponse } from '../../lib/transport/http.ts';
import { jsonObjects } from '../../lib/transport/json-objects.ts';

/** What a body in these pieces gives, and how often something in it is none. */
function read(pieces: readonly string[], maxLength: number = 1000) {
  const encoder = new TextEncoder();
  const response: HttpResponse = {
    ...{ provider: 'TestTTS', status: 200, headers: {} },
    body$: from(pieces.map((piece) => encoder.encode(piece))),
  };
  const outcome: { objects?: unknown[]; error?: VoiceError; garbage: number } = { garbage: 0 };
  of(response)
    .pipe(jsonObjects({ maxLength, onGarbage: () => outcome.garbage++ }), toArray())
    .subscribe({
      next: (objects) => (outcome.objects = objects),
      error: (error: unknown) => (outcome.error = VoiceError.from(error)),
    });
  return outcome;
}

describe('jsonObjects', () => {
  const events = 'data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n';

  it('reads the object in each event, whatever the pieces', () => {
    for (let at = 0; at < events.length; at++) {
      expect(read([events.slice(0, at), events.slice(at)])).toEqual({ objects: [{ a: 1 }, { b: 2 }], garbage: 0 });
    }
    expect(read(Array.from(events)).objects).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it('reads an answer that is one object', () => {
    const text = '{"error":{"code":"é"}}';
    expect(read([text]).objects).toEqual([{ error: { code: 'é' } }]);
    expect(read(['', ...Array.from(text)]).objects).toEqual([{ error: { code: 'é' } }]);
  });

  it('reads JSON after blanks and a byte order mark, and the objects of an array', () => {
    const error = { error: { code: 'full' } };
    for (const text of [
      ' \r\n{"error":{"code":"full"}}',
      '\ufeff{"error":{"code":"full"}}',
      '[{"error":{"code":"full"}}]',
    ]) {
      expect(read([text])).toEqual({ objects: [error], garbage: 0 });
      expect(read(Array.from(text)).objects).toEqual([error]);
    }
    expect(read(['\n\n', events]).objects).toEqual([{ a: 1 }, { b: 2 }]);
    expect(read(['[1,{"a":1}]'])).toEqual({ objects: [{ a: 1 }], garbage: 1 });
    expect(read([' \n']).objects).toEqual([]);
  });

  it('tells of events that are none, and continues', () => {
    const { objects, garbage } = read(['data: null\n\ndata: [1]\n\ndata: {\n\ndata: "x"\n\ndata: {"a":1}\n\n']);
    expect([objects, garbage]).toEqual([[{ a: 1 }], 4]);
  });

  it('gives none for an empty answer', () => expect(read([]).objects).toEqual([]));

  it('fails on an object that is broken, and on what is too long', () => {
    expect(read(['{"a":']).error?.code).toBe('protocol');
    expect(read([`{"a":"${'x'.repeat(1000)}"}`]).error?.code).toBe('overflow');
    expect(read(['data: {"a":"', 'x'.repeat(1000), '"}\n\n']).error?.code).toBe('overflow');
  });
});

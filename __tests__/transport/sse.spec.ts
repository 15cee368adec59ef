import { from, Subject, tap, type Observable } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { isServerSentEvents, mediaType } from '../../lib/transport/media-type.ts';
import { sse, type ServerSentEvent } from '../../lib/transport/sse.ts';

const provider = 'TestLLM';
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Outcome {
  readonly events: readonly ServerSentEvent[];
  readonly end: VoiceError | 'complete' | undefined;
}

function read(bytes$: Observable<Uint8Array>, maxLength?: number): Outcome {
  const events: ServerSentEvent[] = [];
  let end: Outcome['end'];
  bytes$.pipe(sse(maxLength === undefined ? { provider } : { provider, maxLength })).subscribe({
    next: (event) => events.push(event),
    error: (error: unknown) => (end = VoiceError.from(error)),
    complete: () => (end = 'complete'),
  });
  return { events, end };
}

const message = (data: string): ServerSentEvent => ({ event: 'message', data });

interface Fixture {
  readonly name: string;
  /** With line feeds. */
  readonly text: string;
  readonly events: readonly ServerSentEvent[];
}

const chunk = (delta: string): string => `{"id":"c1","choices":[{"index":0,"delta":${delta},"finish_reason":null}]}`;

const fixtures: readonly Fixture[] = [
  {
    name: 'chat completions with a comment between',
    text: `data: ${chunk('{"role":"assistant","content":""}')}\n\n: keep-alive comment\n\ndata: ${chunk('{"content":"Grüß 👋"}')}\n\ndata: [DONE]\n\n`,
    events: [
      message(chunk('{"role":"assistant","content":""}')),
      message(chunk('{"content":"Grüß 👋"}')),
      message('[DONE]'),
    ],
  },
  {
    name: 'named events',
    text: 'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\nevent: ping\ndata: {}\n\ndata: plain\n\n',
    events: [
      { event: 'content_block_delta', data: '{"type":"content_block_delta"}' },
      { event: 'ping', data: '{}' },
      message('plain'),
    ],
  },
  { name: 'a byte order mark', text: '\uFEFFdata: first\n\n', events: [message('first')] },
  { name: 'no space after the colon', text: 'data:a\n\ndata:  b\n\n', events: [message('a'), message(' b')] },
  { name: 'several lines of data', text: 'data: a\ndata\ndata: b\n\n', events: [message('a\n\nb')] },
  {
    name: 'separators that are none (U+2028, U+2029, U+0085)',
    text: 'data: a\u2028b\u2029c\u0085d\n\n',
    events: [message('a\u2028b\u2029c\u0085d')],
  },
  {
    name: 'fields that do not matter',
    text: 'id: 7\nretry: 10\nretry: x\nunknown: y\n:\nlonely\ndata: z\n\n',
    events: [message('z')],
  },
  { name: 'events without data', text: 'event: ping\n\n\n\ndata: a\n\n', events: [message('a')] },
  { name: 'a last event without its blank line', text: 'data: a\n\ndata: b\n', events: [message('a'), message('b')] },
  {
    name: 'a last line without its end',
    text: 'data: a\n\nevent: e\ndata: b',
    events: [message('a'), { event: 'e', data: 'b' }],
  },
  { name: 'nothing', text: '', events: [] },
  { name: 'comments alone', text: ': a\n\n: b\n\n', events: [] },
];

describe('sse', () => {
  for (const { name, text, events } of fixtures) {
    for (const [ending, newline] of Object.entries({ LF: '\n', CRLF: '\r\n', CR: '\r' })) {
      it(`gives the same events wherever the body is split: ${name}, ${ending}`, () => {
        const bytes = encode(text.replaceAll('\n', newline));
        expect(read(from([bytes]))).toEqual({ events, end: 'complete' });

        const whole = JSON.stringify({ events, end: 'complete' });
        const differing: number[][] = [];
        const check = (...cuts: number[]): void => {
          const pieces = [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length));
          if (JSON.stringify(read(from(pieces))) !== whole) differing.push(cuts);
        };
        const all = Array.from(bytes, (_byte, at) => at);
        check(...all);
        for (const cut of [...all, bytes.length]) check(cut);
        if (bytes.length < 80) for (const first of all) for (const second of all.slice(first)) check(first, second);
        expect(differing).toEqual([]);
      });
    }
  }

  it('gives an event as soon as its blank line is there', () => {
    const bytes$ = new Subject<Uint8Array>();
    const events: ServerSentEvent[] = [];
    bytes$.pipe(sse({ provider })).subscribe((event) => events.push(event));
    bytes$.next(encode('data: a\n'));
    expect(events).toEqual([]);
    bytes$.next(encode('\n'));
    expect(events).toEqual([message('a')]);
  });

  it('fails on a line without end at a mebibyte, and lets go of the body', () => {
    const bytes$ = new Subject<Uint8Array>();
    let failure: VoiceError | undefined;
    bytes$.pipe(sse({ provider })).subscribe({ error: (error: unknown) => (failure = VoiceError.from(error)) });
    const piece = encode(`data: ${'x'.repeat(65_530)}`);
    for (let sent = 0; sent < 16; sent++) bytes$.next(piece);
    expect(failure).toBeUndefined();
    bytes$.next(encode('x'));
    expect(failure).toMatchObject({ code: 'overflow', provider });
    expect(bytes$.observed).toBe(false);
  });

  it('fails on an event of endless lines too', () => {
    const lines = Array.from({ length: 11 }, () => encode('data: 123456789\n'));
    expect(read(from(lines), 100).end).toMatchObject({ code: 'overflow' });
    expect(read(from(lines.slice(0, 9)), 100).end).toBe('complete');
  });

  it('reads no further once it has failed, even of a body that is all there', () => {
    let pieces = 0;
    const body$ = from(Array.from({ length: 10 }, () => encode('data: 123456789\n')));
    expect(read(body$.pipe(tap(() => (pieces += 1))), 50).end).toMatchObject({ code: 'overflow' });
    expect(pieces).toBe(6);
  });

  it('takes any number of short events', () => {
    const events = Array.from({ length: 1_000 }, () => encode('data: 123456789\n\n'));
    expect(read(from(events), 100).events).toHaveLength(1_000);
  });

  it('hands on an error of the body after the events before it', () => {
    const bytes$ = new Subject<Uint8Array>();
    const seen: unknown[] = [];
    bytes$
      .pipe(sse({ provider }))
      .subscribe({ next: ({ data }) => seen.push(data), error: (error: unknown) => seen.push(error) });
    bytes$.next(encode('data: a\n\ndata: b\n'));
    bytes$.error(new Error('lost'));
    expect(seen).toEqual(['a', new Error('lost')]);
  });

  it('stops in the middle of a piece when it is unsubscribed there', () => {
    const bytes$ = new Subject<Uint8Array>();
    const seen: string[] = [];
    const subscription = bytes$.pipe(sse({ provider })).subscribe(({ data }) => {
      seen.push(data);
      subscription.unsubscribe();
    });
    bytes$.next(encode('data: a\n\ndata: b\n\n'));
    expect(seen).toEqual(['a']);
    expect(bytes$.observed).toBe(false);
  });

  it('knows an event stream by its type', () => {
    expect(isServerSentEvents({ 'content-type': 'Text/Event-Stream; charset=utf-8' })).toBe(true);
    expect(isServerSentEvents({ 'content-type': 'text/html' })).toBe(false);
    expect(isServerSentEvents({})).toBe(false);
    expect(mediaType({ 'content-type': ' application/json ;x=y' })).toBe('application/json');
    expect(mediaType({})).toBe('');
  });
});

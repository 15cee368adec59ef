import { readFileSync } from 'node:fs';
import { asyncScheduler } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { BufferInput, type VoiceEvent } from 'rxvoice';
import { concatBytes, int16View } from 'rxvoice/audio';
import { payloadOf } from '../../../samples/playground/page/details.ts';
import { Caller, callerFormat } from '../../../samples/playground/page/caller.ts';
import { EventLog } from '../../../samples/playground/page/event-log.ts';
import { firstFrom, spotAt } from '../../../samples/playground/page/lanes-painter.ts';
import { playRecording } from '../../../samples/playground/page/recorder.ts';
import { Viewport } from '../../../samples/playground/page/viewport.ts';
import { gapIn } from '../../../samples/marbles/gap.ts';
import { steps } from '../../../samples/marbles/waterfall.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { conversation } from './conversations.ts';

describe('Viewport', () => {
  it('keeps the clock near its right edge until it is paused, with room for the latest words', () => {
    const viewport = new Viewport();
    viewport.advance(100_000);
    const { from, to, spanMs } = viewport;
    const room = (to - 100_000) / spanMs;
    expect(room).toBeGreaterThan(0.15);
    expect(room).toBeLessThan(0.2);
    viewport.pause();
    viewport.advance(200_000);
    expect(viewport.from).toBe(from);
  });

  it('stands still at its left edge until what has happened fills it', () => {
    const viewport = new Viewport();
    const shares = [0, 5_000, 9_000, 60_000].map((ms) => {
      viewport.advance(100_000 + ms, 100_000);
      return (viewport.from - 100_000) / viewport.spanMs;
    });
    const [first = NaN, second, third, last] = shares;
    expect(first).toBeCloseTo(-0.03, 9);
    expect([second, third]).toEqual([first, first]);
    expect(last).toBeCloseTo(5 - 0.84, 9);
  });

  it('zooms about a time that stays where it is', () => {
    const viewport = new Viewport();
    viewport.fit(0, 10_000);
    const share = (): number => (2_000 - viewport.from) / viewport.spanMs;
    const before = share();
    viewport.zoom(0.5, 2_000);
    expect(share()).toBeCloseTo(before, 9);
    for (let times = 0; times < 50; times++) viewport.zoom(0.5, 2_000);
    expect(viewport.spanMs).toBe(500);
  });

  it('shows a stretch as a whole, and a moment with little movement', () => {
    const viewport = new Viewport();
    viewport.fit(5_000, 65_000);
    expect(viewport.from).toBeLessThan(5_000);
    expect(viewport.to).toBeGreaterThan(65_000);
    const { from } = viewport;
    viewport.reveal(30_000);
    expect(viewport.from).toBe(from);
    viewport.reveal(100_000);
    expect(viewport.to).toBeGreaterThan(100_000);
    expect(viewport.follows).toBe(false);
  });

  for (const [span, most, tick] of [
    [10_000, 10, 1_000],
    [12_000, 10, 2_000],
    [60_000, 10, 10_000],
    [700, 5, 200],
  ] as const) {
    it(`has lines ${tick} ms apart where ${most} fit into ${span} ms`, () => {
      const viewport = new Viewport();
      viewport.zoom(span / viewport.spanMs);
      expect(viewport.tickMs(most)).toBe(tick);
    });
  }
});

describe('Where a pointer is', () => {
  it('finds the first entry from a time on', () => {
    const entries = [1, 3, 3, 7].map((at) => ({ at }));
    expect([0, 1, 2, 3, 4, 7, 8].map((at) => firstFrom(entries, at))).toEqual([0, 0, 1, 1, 3, 3, 4]);
  });

  it('prefers a mark to the bar behind it, and says nothing of what is too far', () => {
    const [bar, mark] = [0, 1].map(
      (index) => ({ index, lane: 'turns', event: { type: 'session.ready', at: 0 } }) as const,
    );
    if (!bar || !mark) throw new Error('no rows');
    const spots = [
      { x: 0, y: 20, width: 200, row: bar },
      { x: 94, y: 20, width: 12, row: mark },
    ];
    expect(spotAt(spots, 99, 22, 9)).toBe(mark);
    expect(spotAt(spots, 30, 22, 9)).toBe(bar);
    expect(spotAt(spots, 30, 60, 9)).toBeUndefined();
  });
});

describe('The caller', () => {
  it('sends an open line in real time, on which everything is said', () => {
    new TestScheduler(() => undefined).run(({ flush }) => {
      const input = new BufferInput(callerFormat);
      const sent: Uint8Array<ArrayBuffer>[] = [];
      input.push = (audio) => void sent.push(new Uint8Array(audio as Uint8Array<ArrayBuffer>));
      const caller = new Caller(input, () => asyncScheduler.now());
      caller.connect();
      asyncScheduler.schedule(() => caller.say('hello'), 100);
      asyncScheduler.schedule(() => caller.say('you'), 200);
      asyncScheduler.schedule(() => caller.hangUp(), 2_001);
      flush();
      const samples = int16View(concatBytes(...sent));
      expect(samples).toHaveLength(2 * callerFormat.sampleRate);
      expect(decodeSamples(samples, callerFormat.sampleRate).text).toBe('helloyou');
    });
  });
});

describe('The log', () => {
  it('drops the oldest when it has too much audio, and keeps its timeline true', () => {
    const log = new EventLog({ events: 100, audioBytes: 8_000 });
    const data = new Uint8Array(1_000);
    for (let at = 0; at < 12; at++) log.push({ type: 'audio.input', at, chunk: { data } });
    expect(log.events.length).toBeLessThan(9);
    expect(log.events.at(-1)?.at).toBe(11);
    expect(log.timeline.lanes.audio.rows).toHaveLength(log.events.length);
  });
});

describe('A recording that is played', () => {
  it('comes as far apart as it was, from now on', () => {
    const events = conversation();
    new TestScheduler(() => undefined).run(({ flush }) => {
      const played: VoiceEvent[] = [];
      const arrived: number[] = [];
      const now = (): number => asyncScheduler.now();
      asyncScheduler.schedule(() => {
        playRecording(events, now).subscribe((event) => {
          played.push(event);
          arrived.push(now());
        });
      }, 5_000);
      flush();
      expect(played.map(({ at }) => at - 5_000)).toEqual(events.map(({ at }) => at));
      expect(arrived).toEqual(played.map(({ at }) => at));
    });
  });
});

describe('The payload of an event', () => {
  it('shows audio by its length and of an error nothing that may hold a credential', () => {
    const cause = { request: { headers: { authorization: 'Token secret' } } };
    const error = { type: 'error', at: 1, code: 'server', message: 'no', recoverable: true, cause } as const;
    expect(JSON.parse(payloadOf(error))).toEqual({ code: 'server', message: 'no', recoverable: true });
    const chunk = { type: 'audio.chunk', at: 1, speechId: 's', chunk: { data: new Uint8Array(40) } } as const;
    expect(JSON.parse(payloadOf(chunk))).toEqual({ chunk: { data: '40 bytes' } });
  });
});

describe('The text of a bar', () => {
  for (const [what, marks, width, expected] of [
    ['begins at the bar without marks', [], 60, { left: 107, room: 188 }],
    ['stands after a mark that would cross it', [120], 60, { left: 127, room: 168 }],
    ['stands after a mark at the very beginning', [102], 60, { left: 109, room: 186 }],
    ['stands before a mark that leaves it room', [220], 60, { left: 107, room: 106 }],
    ['is shortened in the widest gap where none has room', [150, 160, 240], 200, { left: 167, room: 66 }],
    ['heeds no mark of another bar', [40, 340], 60, { left: 107, room: 188 }],
  ] as const) {
    it(what, () => expect(gapIn(100, 300, marks, width)).toEqual(expected));
  }
});

it('Each part of a latency has a colour of its own', () => {
  const tones = steps.map(({ tone }) => tone);
  expect(new Set(tones).size).toBe(tones.length);
  // The legend and the bars below the conversation take theirs from the stylesheet.
  const style = readFileSync('samples/playground/page/style.css', 'utf8');
  for (const tone of tones) expect(style).toContain(`.swatch.${tone},\n.track .${tone} {`);
});

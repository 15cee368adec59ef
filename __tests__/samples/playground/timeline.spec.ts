import { runInNewContext } from 'node:vm';
import type { VoiceEvent } from 'rxvoice';
import { application, user, voiceTest } from 'rxvoice/testing';
import { laneOf, lanes, summaryOf } from '../../../samples/marbles/lanes.ts';
import { marbleSpec } from '../../../samples/marbles/notation.ts';
import { darkPalette, lightPalette } from '../../../samples/marbles/palette.ts';
import { marbleDiagram } from '../../../samples/marbles/svg.ts';
import { steps } from '../../../samples/marbles/waterfall.ts';
import { Timeline, wordsOf } from '../../../samples/marbles/timeline.ts';
import { waterfallOf } from '../../../samples/marbles/waterfall.ts';
import {
  readRecording,
  RecordingError,
  rerunRecording,
  writeRecording,
} from '../../../samples/playground/page/recorder.ts';
import { conversation, ofType } from './conversations.ts';

const events = conversation();
const timeline = new Timeline(events);
const count = (text: string, part: string): number => text.split(part).length - 1;

describe('Timeline', () => {
  it('puts every event into one row of one lane, in order', () => {
    expect(timeline.rows.map(({ event }) => event)).toEqual(events);
    expect(timeline.rows.map(({ index }) => index)).toEqual(events.map((_, index) => index));
    for (const { id } of lanes) {
      expect(timeline.lanes[id].rows.map(({ event }) => event)).toEqual(
        events.filter(({ type }) => laneOf[type] === id),
      );
    }
  });

  it('draws interim results hollow, finals filled, preflights as diamonds', () => {
    const shapes = timeline.lanes.transcripts.marks.map(({ shape, row }) => [row.event.type, shape]);
    expect(shapes).toEqual(
      timeline.lanes.transcripts.rows.map(({ event: { type } }) => [
        type,
        type === 'transcript.interim' ? 'ring' : type === 'transcript.preflight' ? 'diamond' : 'dot',
      ]),
    );
    expect(new Set(shapes.map(([, shape]) => shape)).size).toBe(3);
  });

  it('has a tick for each token, and a cross where the model was cancelled', () => {
    const { marks } = timeline.lanes.generation;
    const of = (shape: string, type: string): number =>
      marks.filter((mark) => mark.shape === shape && mark.row.event.type === type).length;
    expect(of('tick', 'llm.token')).toBe(ofType(events, 'llm.token').length);
    expect(of('tick', 'llm.token')).toBeGreaterThan(20);
    const aborted = voiceTest({
      llm: { answer: () => 'one two three four five six seven eight nine ten', tokenMs: 300 },
      steps: { 0: user.final('count'), 1_500: application.does('interrupt') },
    });
    expect(ofType(aborted.events, 'llm.aborted')).toHaveLength(1);
    const crosses = new Timeline(aborted.events).lanes.generation.marks.filter(({ shape }) => shape === 'cross');
    expect(crosses.map(({ label }) => label)).toEqual(['cancelled']);
  });

  it('shows what was heard as bars, pauses left out, and hatched what never was', () => {
    const { bars } = timeline.lanes.playback;
    const [ended] = ofType(events, 'speech.ended');
    if (!ended?.interrupted) throw new Error('the story was not interrupted');
    const hatched = bars.filter(({ style }) => style === 'hatched');
    expect(hatched).toHaveLength(1);
    expect(hatched[0]?.from).toBe(ended.at);
    const heardMs = bars
      .filter(({ style, row }) => style === 'solid' && row.event.speechId === ended.speechId)
      .reduce((sum, { from, to = 0 }) => sum + to - from, 0);
    expect(Math.abs(heardMs - ended.playedMs)).toBeLessThan(25);
    const madeMs = timeline.synthesizedMs(ended.speechId);
    expect(hatched[0]?.label).toBe(`never heard: ${((madeMs - ended.playedMs) / 1000).toFixed(1)} s`);
    expect(bars[0]?.label).toBe(ended.heardText.trim());
  });

  it('lets nothing that was never heard lie over what is heard next', () => {
    const { bars } = timeline.lanes.playback;
    const next = bars.find(
      ({ row }) => row.event.type === 'speech.started' && row.event.speechId !== bars[0]?.row.event.speechId,
    );
    const hatched = bars.find(({ style }) => style === 'hatched');
    expect(hatched?.to).toBeLessThanOrEqual(next?.from ?? 0);
  });

  it('has a band for each turn, with its words, its end and its latency', () => {
    expect(timeline.turns.map(({ number, text, reason }) => [number, text, reason])).toEqual([
      [1, 'tell me a story', 'interrupted'],
      [2, 'stop that please', 'completed'],
      [3, 'thank you', 'completed'],
    ]);
    const started = ofType(events, 'turn.started').map(({ at }) => at);
    expect(timeline.turns.map(({ from }) => from)).toEqual(started);
    for (const { metrics = {} } of timeline.turns) {
      const steps = waterfallOf(metrics);
      const last = steps.at(-1);
      expect(steps.length).toBeGreaterThan(2);
      expect((last?.from ?? 0) + (last?.ms ?? 0)).toBeCloseTo(metrics.total ?? -1, 6);
    }
  });

  it('closes the bar of a state where the next begins, and leaves the last open', () => {
    const bars = timeline.lanes.turns.bars;
    expect(bars.map(({ label }) => label)).toEqual(
      ofType(events, 'agent.state')
        .map(({ state }) => state)
        .filter((state) => state !== 'idle'),
    );
    bars.slice(1).forEach(({ from }, index) => expect(bars[index]?.to).toBe(from));
  });

  it('says of an event when it was and what matters', () => {
    const row = timeline.lanes.transcripts.rows.at(0);
    if (!row) throw new Error('no row');
    expect(wordsOf(row, timeline.startedAt ?? 0)).toEqual({
      seconds: '0.300',
      type: 'transcript.interim',
      text: '“tell”',
    });
    for (const event of events) expect(summaryOf(event)).not.toContain('undefined');
  });

  it('leaves out what it does not know', () => {
    expect(new Timeline(readRecording('{"type":"future.event","at":1}')).rows).toEqual([]);
  });
});

describe('What the diagram shows of', () => {
  const call = (id: string): { id: string; name: string; args: object; argsText: string } => ({
    ...{ id, name: 'get_weather', args: {}, argsText: '{}' },
  });
  const drawn = (...told: readonly object[]): Timeline => new Timeline(told as readonly VoiceEvent[]);

  it('a preflight is a bar as long as it was ahead, and what it saved', () => {
    const { bars, marks } = timeline.lanes.preflight;
    const [started] = ofType(events, 'preflight.started');
    const [adopted] = ofType(events, 'preflight.adopted');
    expect(bars[0]).toMatchObject({ from: started?.at, to: adopted?.at });
    expect((bars[0]?.to ?? 0) - (bars[0]?.from ?? 0)).toBe(adopted?.leadMs);
    expect(marks[0]?.label).toBe(`saved ${adopted?.leadMs} ms`);
    const wasted = drawn(
      { type: 'preflight.started', at: 1, text: 'a' },
      { type: 'preflight.discarded', at: 5, reason: 'resumed', wastedTokens: 1 },
    );
    expect(wasted.lanes.preflight.marks.map(({ label }) => label)).toEqual(['resumed: 1 wasted token']);
  });

  it('tools that run at once stand one below the other, their results too', () => {
    const { bars, marks, tracks } = drawn(
      { type: 'tool.call', at: 0, call: call('a') },
      { type: 'tool.call', at: 1, call: call('b') },
      { type: 'tool.result', at: 5, call: call('a'), content: '', durationMs: 5 },
      { type: 'tool.call', at: 6, call: call('c') },
      { type: 'tool.result', at: 7, call: call('b'), content: '', durationMs: 6 },
      { type: 'tool.result', at: 9, call: call('c'), content: '', durationMs: 3 },
    ).lanes.tools;
    expect(tracks).toBe(2);
    expect(bars.map(({ track, from, to }) => [track, from, to])).toEqual([
      [0, 0, 5],
      [1, 1, 7],
      [0, 6, 9],
    ]);
    expect(marks.map(({ track }) => track)).toEqual([0, 1, 0]);
  });

  it('a cough is ducked, paused, resumed', () => {
    const { lanes: drawnLanes } = drawn(
      { type: 'speech.started', at: 0, speechId: 's', source: 'answer' },
      { type: 'bargeIn.suspected', at: 10 },
      { type: 'speech.paused', at: 20, speechId: 's', positionMs: 20 },
      { type: 'bargeIn.paused', at: 20 },
      { type: 'speech.resumed', at: 50, speechId: 's', positionMs: 20 },
      { type: 'bargeIn.resumed', at: 50 },
    );
    const confirmed = drawn({ type: 'bargeIn.confirmed', at: 60, detectMs: 468, cutMs: 30 }).lanes.bargeIn;
    expect(confirmed.marks.map(({ label }) => label)).toEqual(['cut off after 468 ms']);
    expect(drawnLanes.bargeIn.bars.map(({ label, from, to }) => [label, from, to])).toEqual([
      ['ducked', 10, 20],
      ['paused', 20, 50],
    ]);
    expect(drawnLanes.playback.bars.map(({ from, to, ducked }) => [from, to, ducked])).toEqual([
      [0, 20, [{ from: 10 }]],
      [50, undefined, []],
    ]);
  });

  it('a turn’s latency ends where its answer is heard', () => {
    const [first] = timeline.turns;
    const [started] = ofType(events, 'speech.started');
    expect(first?.soundAt).toBe(started?.at);
  });

  it('turns keep their numbers when the oldest were dropped', () => {
    const [, second] = ofType(events, 'turn.started');
    const later = events.slice(events.findIndex((event) => event === second));
    expect(new Timeline(later, 1).turns.map(({ number }) => number)).toEqual([2, 3]);
    expect(timeline.turnNumber(second?.turnId)).toBe(2);
  });
});

describe('A recording', () => {
  it('gives the same timeline after export and import', async () => {
    const lines = await writeRecording(events);
    expect(lines).toHaveLength(events.length);
    const read = new Timeline(readRecording(lines.join('')));
    for (const { id } of lanes) {
      const plain = ({ marks, bars, levels }: (typeof timeline.lanes)[typeof id]): unknown =>
        [marks, bars, levels].map((each) => each.map((entry) => ({ ...entry, row: undefined })));
      expect(plain(read.lanes[id])).toEqual(plain(timeline.lanes[id]));
    }
    expect(read.turns).toEqual(timeline.turns);
  });

  it('runs again in virtual time to the same turns', async () => {
    const again = new Timeline(rerunRecording((await writeRecording(events)).join('')));
    expect(again.turns.map(({ text, reason }) => [text, reason])).toEqual(
      timeline.turns.map(({ text, reason }) => [text, reason]),
    );
  });

  for (const [what, text] of [
    ['no JSON', 'hello'],
    ['JSON that is no event', '{"type":"agent.state"}'],
    ['null', 'null'],
    ['a time that is none', '{"type":"agent.state","at":null}'],
    ['nothing', ''],
  ] as const) {
    it(`is refused with what to do when it is ${what}`, () => {
      expect(() => readRecording(text)).toThrow(RecordingError);
    });
  }
});

describe('The diagram as SVG', () => {
  const svg = marbleDiagram(timeline);

  it('has a mark for each mark, a box for each bar and band', () => {
    const shown = lanes.map(({ id }) => timeline.lanes[id]);
    const marks = shown.flatMap((lane) => lane.marks).length;
    const bars = shown.flatMap((lane) => lane.bars).length;
    expect(count(svg, '<g>')).toBe(marks);
    expect(count(svg, '<rect')).toBe(bars + timeline.turns.length + 1);
    expect(count(svg, 'class="label">turn ')).toBe(timeline.turns.length);
  });

  for (const pixelsPerMs of [0.01, 0.03, 0.06]) {
    it(`has no words over other words of its lane, at ${pixelsPerMs} pixels a millisecond`, () => {
      const text = marbleDiagram(timeline, { pixelsPerMs });
      const texts = [...text.matchAll(/<text x="([\d.]+)" y="([\d.]+)" class="(?:label|inside)">([^<]+)</g)];
      const words = texts.map(([, x, y = '', said = '']) => ({ from: Number(x), y, said }));
      const over = words.filter(({ from, y, said }) =>
        words.some((other) => other.y === y && other.from > from && other.from < from + 5 * said.length),
      );
      expect(words.length).toBeGreaterThan(10);
      expect(over).toEqual([]);
    });
  }

  it('says what the colours of a turn’s latency are', () => {
    expect(svg).toMatch(/class="lane">latency<.*class="time">endpointing</);
    for (const { title, tone } of steps) {
      expect(svg).toMatch(new RegExp(`class="${tone}"/><text [^>]*class="time">${title}<`));
    }
  });

  it('leaves lanes out that hold nothing', () => {
    expect(svg).not.toContain('>errors<');
    expect(marbleDiagram(timeline, { hideEmpty: false })).toContain('>errors<');
  });

  it('is light or dark as who shows it, and has no markup of what was said', () => {
    const said = voiceTest({ steps: { 0: user.final('<script>alert("&")</script>') } });
    const text = marbleDiagram(new Timeline(said.events));
    expect(text).not.toContain('<script');
    const [light, dark] = text.split('@media(prefers-color-scheme:dark)');
    expect(light).toContain(`.paper{fill:${lightPalette.paper}}`);
    expect(dark).toContain(`.paper{fill:${darkPalette.paper}}`);
    // Every colour is a class's: one that is written into a mark would stay as it is in the dark.
    expect(text.slice(text.indexOf('</style>'))).not.toMatch(/#[\da-f]{6}/);
  });

  it('has an axis of time, and a legend of its shapes', () => {
    const times = [...svg.matchAll(/class="time"[^>]*>([\d.]+) s</g)].map(([, seconds]) => Number(seconds));
    const lengthMs = (timeline.endedAt ?? 0) - (timeline.startedAt ?? 0);
    expect(times[0]).toBe(0);
    expect(times.length).toBeGreaterThan(5);
    expect(new Set(times.slice(1).map((time, index) => time - (times[index] ?? 0))).size).toBe(1);
    expect((times.at(-1) ?? 0) * 1000).toBeLessThanOrEqual(lengthMs);
    for (const says of ['interim', 'final, done', 'token, audio', 'never heard', 'ducked']) {
      expect(svg).toContain(`>${says}</text>`);
    }
  });
});

describe('Copied as marbles', () => {
  const spec = marbleSpec(timeline);

  it('shows the lanes as RxJS writes them, with a key', () => {
    expect(spec).toContain('// transcripts  ');
    expect(spec).toMatch(/^\/\/ barge-in {5}-+\(?[a-zA-Z]/m);
    expect(spec).toMatch(/^\/\/ {3}[a-z] {2}transcript\.final “tell me a story”$/m);
    for (const line of spec.split('\n').filter((each) => each.startsWith('//')))
      expect(line).not.toContain('undefined');
  });

  it('is a spec that passes', () => {
    const tests: (() => void)[] = [];
    const body = spec.slice(spec.indexOf('\n') + 1);
    runInNewContext(body, {
      application,
      user,
      voiceTest,
      expect,
      it: (_: string, test: () => void) => tests.push(test),
    });
    expect(tests).toHaveLength(1);
    // The skeleton's model is the default one, which echoes: the turns that it tells of are the recorded ones still.
    expect(spec).toContain("expect(ended).toEqual(['interrupted', 'completed', 'completed']);");
    expect(spec).toContain("30000: application.send('thank you'),");
  });

  it('quotes what was said', () => {
    const said = voiceTest({ steps: { 0: user.final(`it's "quoted" \\ here`) }, untilMs: 20_000 });
    const text = marbleSpec(new Timeline(said.events));
    expect(text).toContain(`user.final("it's \\"quoted\\" \\\\ here")`);
  });
});

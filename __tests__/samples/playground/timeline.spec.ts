import { runInNewContext } from 'node:vm';
import { application, user, voiceTest } from 'rxvoice/testing';
import { laneOf, lanes, summaryOf } from '../../../samples/marbles/lanes.ts';
import { marbleSpec } from '../../../samples/marbles/notation.ts';
import { darkPalette } from '../../../samples/marbles/palette.ts';
import { marbleDiagram } from '../../../samples/marbles/svg.ts';
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

  it('has a tick for each token, and a cross where the model was switched away', () => {
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
    expect(crosses.map(({ label }) => label)).toEqual(['switched away']);
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

  it('leaves lanes out that hold nothing', () => {
    expect(svg).not.toContain('>errors<');
    expect(marbleDiagram(timeline, { hideEmpty: false })).toContain('>errors<');
  });

  it('takes a palette, and no markup of what was said', () => {
    const said = voiceTest({ steps: { 0: user.final('<script>alert("&")</script>') } });
    const text = marbleDiagram(new Timeline(said.events), { palette: darkPalette });
    expect(text).not.toContain('<script');
    expect(text).toContain(darkPalette.paper);
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

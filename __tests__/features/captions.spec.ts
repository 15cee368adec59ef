/** Subtitles that show what nobody said yet, run over their lines, or cannot be read by a player. */
import { concat, delay, of } from 'rxjs';
import { captions, srt, webVtt, type CaptionCue, type CaptionOptions, type TranscribedWord } from 'rxvoice';
import { FakeSTT } from 'rxvoice/testing';
import { call, over, type Call } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';

function listen({ pipeline }: Call, options?: CaptionOptions): CaptionCue[] {
  const cues: CaptionCue[] = [];
  captions(pipeline, options).subscribe((cue) => cues.push(cue));
  return cues;
}
const complete = (cues: readonly CaptionCue[]): string[] =>
  cues.filter(({ isComplete }) => isComplete).map(({ lines }) => lines.join(' / '));

/** Times of words are those of the service's audio, which may have begun at another time. */
const spoken: readonly TranscribedWord[] = [
  { text: 'A', startMs: 60_000, endMs: 60_200 },
  { text: 'table', startMs: 60_300, endMs: 61_000 },
  { text: 'for', startMs: 61_500, endMs: 62_000 },
  { text: 'two', startMs: 62_000, endMs: 62_500 },
];

describe('captions()', () => {
  it('grows a line word by word, as the words are heard, and keeps it when it is full', async () => {
    const rig = await call();
    const cues = listen(rig, { lineLength: 12, maxLines: 2 });
    rig.pipeline.say('One two three four five six seven eight.');
    await rig.scheduler.advance(900);
    expect(cues.map(({ lines }) => lines)).toEqual([['One'], ['One two'], ['One two', 'three']]);
    expect(complete(cues)).toEqual([]);
    await rig.scheduler.advance(5_000);
    expect(complete(cues)).toEqual(['One two / three four', 'five six / seven eight.']);
    const [first, second] = cues.filter(({ isComplete }) => isComplete);
    expect([first?.startMs, second?.startMs]).toEqual([0, 1_900]);
    expect(first?.endMs).toBeLessThanOrEqual(second?.startMs ?? 0);
    const [ended] = ofType(rig.events, 'speech.ended');
    expect(second?.words.map(({ range }) => ended?.text.slice(...range))).toEqual(['five', 'six', 'seven', 'eight.']);
    expect(second).toMatchObject({ speaker: 'agent', speechId: ended?.speechId });
    await over(rig);
  });

  it('ends where the agent is cut off: nothing unheard is shown, and no word lasts longer than it sounded', async () => {
    const rig = await call();
    const cues = listen(rig);
    rig.pipeline.say('One two three extraordinarily four five.');
    await rig.scheduler.advance(1_600);
    rig.pipeline.interrupt();
    await rig.scheduler.advance(5_000);
    expect(complete(cues)).toEqual(['One two three extraordinarily']);
    const [ended] = ofType(rig.events, 'speech.ended');
    expect(cues.at(-1)?.endMs).toBe(ended?.at);
    await over(rig);
  });

  it('stands while the agent is paused, and begins anew when it goes on much later', async () => {
    const rig = await call();
    const cues = listen(rig);
    rig.pipeline.say('One two three four five six.');
    await rig.scheduler.advance(500);
    rig.stt.hearVoice('started');
    await rig.scheduler.advance(4_500);
    const paused = cues.length;
    expect(cues.at(-1)?.lines).toEqual(['One two']);
    rig.stt.hearVoice('ended');
    await rig.scheduler.advance(6_000);
    expect(cues.length).toBeGreaterThan(paused);
    expect(complete(cues)).toEqual(['One two', 'three four five six.']);
    await over(rig);
  });

  it('begins a new cue for another speech, and after a pause at the end of a sentence', async () => {
    const rig = await call();
    const cues = listen(rig);
    rig.pipeline.say('Yes.');
    await rig.scheduler.advance(2_000);
    rig.pipeline.say(
      concat(of('It is late in the evening. And '), of('that was all.').pipe(delay(4_500, rig.scheduler))),
    );
    await rig.scheduler.advance(15_000);
    expect(complete(cues)).toEqual(['Yes.', 'It is late in the evening.', 'And that was all.']);
    expect(new Set(cues.map(({ id }) => id))).toEqual(new Set(['agent-1', 'agent-2', 'agent-3']));
    await over(rig);
  });

  it("shows the user's words too, if asked: what may change is replaced, what is long has cues of its own", async () => {
    const rig = await call({ llm: { answer: () => 'Sure.' } });
    const cues = listen(rig, { user: true, lineLength: 12, maxLines: 1 });
    const silent = listen(rig);
    await rig.scheduler.advance(1_000);
    rig.stt.hearWords(FakeSTT.result('book a', 'interim'));
    await rig.scheduler.advance(1_000);
    rig.stt.hearWords(FakeSTT.result('book a table for two', 'interim'));
    await rig.scheduler.advance(1_000);
    rig.stt.hearWords(FakeSTT.result('Book a table for you.', 'final'));
    await rig.scheduler.advance(5_000);
    const shown = cues.map(({ id, lines, isComplete }) => `${id} ${lines.join(' / ')}${isComplete ? '' : ' …'}`);
    expect(shown).toEqual([
      'user-1 book a …',
      'user-1 for two …',
      'user-1 Book a table',
      'user-2 for you.',
      'agent-1 Sure. …',
      'agent-1 Sure.',
    ]);
    expect([cues[2]?.startMs, cues[3]?.endMs]).toEqual([1_000, 3_000]);
    expect(silent.every(({ speaker }) => speaker === 'agent')).toBe(true);
    await over(rig);
  });

  it('breaks lines in a script without spaces, where characters are twice as wide', async () => {
    const rig = await call({ locale: 'ja-JP' });
    const cues = listen(rig, { lineLength: 12, maxLines: 1, user: true });
    rig.pipeline.say('今日はとても良い天気ですね。');
    await rig.scheduler.advance(5_000);
    rig.stt.hearWords(FakeSTT.result('明日は雨が降るでしょう。', 'final'));
    await rig.scheduler.advance(5_000);
    const said = complete(cues);
    expect(said.slice(0, 6)).toEqual(['今日はとても', '良い天気です', 'ね。', '明日は雨が', '降るで', 'しょう。']);
    await over(rig);
  });

  it('counts from the beginning of the session, or from where it is told', async () => {
    const rig = await call();
    await rig.scheduler.advance(4_000);
    const cues = listen(rig);
    const later = listen(rig, { startAt: 3_000 });
    rig.pipeline.say('Yes.');
    await rig.scheduler.advance(2_000);
    expect(cues[0]?.startMs).toBe(4_000);
    expect(later[0]?.startMs).toBe(1_000);
    await over(rig);
  });

  it('counts each session from its own beginning, whatever happened before it', async () => {
    const rig = await call();
    const kept = listen(rig);
    const stop = async (): Promise<void> => {
      const stopped = rig.pipeline.stop();
      await rig.scheduler.advance(1_000);
      await stopped;
    };
    await stop();
    const between = listen(rig);
    rig.pipeline.mute();
    rig.pipeline.unmute();
    await rig.scheduler.advance(60_000);
    const started = rig.pipeline.start();
    await rig.scheduler.advance(500);
    await started;
    rig.pipeline.say('Yes.');
    await rig.scheduler.advance(2_000);
    expect([kept[0]?.startMs, between[0]?.startMs]).toEqual([500, 500]);
    await stop();
    await over(rig);
  });

  it.each<[string, readonly TranscribedWord[] | undefined, boolean, number]>([
    ['when they began to speak', undefined, true, 1_000],
    ['by the length of the words, where nobody says when they spoke', spoken, false, 1_500],
    ['by what began first', spoken.toSpliced(0, 1), true, 1_000],
    ['when they were heard, where nothing else is known', undefined, false, 4_000],
  ])("begins the user's final words %s", async (_, words, hasVoice, startMs) => {
    const rig = await call({ llm: { answer: () => 'Sure.' } });
    const cues = listen(rig, { user: true });
    await rig.scheduler.advance(1_000);
    if (hasVoice) rig.stt.hearVoice('started');
    await rig.scheduler.advance(2_500);
    if (hasVoice) rig.stt.hearVoice('ended');
    await rig.scheduler.advance(500);
    const result = FakeSTT.result('A table for two', 'final');
    rig.stt.hearWords({ ...result, ...(words && { metadata: { words } }) });
    await rig.scheduler.advance(0);
    expect(cues[0]).toMatchObject({ speaker: 'user', startMs, endMs: 4_000 });
    await over(rig);
  });
});

describe('webVtt() and srt()', () => {
  it('write what players read: escaped, in order, each cue once', async () => {
    const rig = await call();
    let vtt = '';
    let sub = '';
    captions(rig.pipeline, { user: true })
      .pipe(webVtt({ names: { agent: 'A&B' } }))
      .subscribe((text) => (vtt += text));
    captions(rig.pipeline)
      .pipe(srt({ names: { agent: 'Nova' } }))
      .subscribe((text) => (sub += text));
    expect(vtt).toBe('WEBVTT\n\n');
    await rig.scheduler.advance(3_599_000);
    rig.pipeline.say('R&D wins.');
    await rig.scheduler.advance(3_000);
    rig.stt.hearWords(FakeSTT.result('a<b', 'final'));
    await rig.scheduler.advance(0);
    expect(vtt).toMatch(/^WEBVTT\n\n1\n00:59:59\.000 --> 00:59:59\.900\n<v A&amp;B>R&amp;D wins\.\n\n/);
    expect(vtt).toMatch(/\n2\n01:00:02\.000 --> 01:00:02\.001\na&lt;b\n\n$/);
    expect(sub).toBe('1\n00:59:59,000 --> 00:59:59,900\nNova: R&D wins.\n\n');
    await over(rig);
  });

  it('write the last cue when the pipeline is disposed in the middle of it', async () => {
    const rig = await call();
    let vtt = '';
    let isComplete = false;
    captions(rig.pipeline)
      .pipe(webVtt())
      .subscribe({ next: (text) => (vtt += text), complete: () => (isComplete = true) });
    rig.pipeline.say('One two three four.');
    await rig.scheduler.advance(500);
    await over(rig);
    expect(vtt).toMatch(/--> .*\nOne two\n\n$/);
    expect(isComplete).toBe(true);
  });

  it.each(['hangs up', 'is disposed'])('write what the caller was saying when the call %s', async (how) => {
    const rig = await call();
    let vtt = '';
    captions(rig.pipeline, { user: true })
      .pipe(webVtt())
      .subscribe((text) => (vtt += text));
    await rig.scheduler.advance(1_000);
    rig.stt.hearWords(FakeSTT.result('I would', 'interim'));
    await rig.scheduler.advance(1_000);
    rig.stt.hearWords(FakeSTT.result('I would like a', 'interim'));
    await rig.scheduler.advance(500);
    let atClose = '';
    rig.pipeline.on('session.closed', () => (atClose = vtt));
    if (how === 'hangs up') await rig.pipeline.stop();
    await rig.scheduler.advance(500);
    await over(rig);
    expect(atClose).toBe(vtt);
    expect(vtt).toBe('WEBVTT\n\n1\n00:00:01.000 --> 00:00:02.000\nI would like a\n\n');
  });

  it('write nothing of a turn that was cancelled before its words were final', async () => {
    const rig = await call({ turnTaking: { strategy: 'manual' } });
    let vtt = '';
    captions(rig.pipeline, { user: true })
      .pipe(webVtt())
      .subscribe((text) => (vtt += text));
    rig.pipeline.beginTurn();
    rig.stt.hearWords(FakeSTT.result('never mind', 'interim'));
    await rig.scheduler.advance(500);
    rig.pipeline.cancelTurn();
    await rig.scheduler.advance(500);
    await over(rig);
    expect(vtt).toBe('WEBVTT\n\n');
  });
});

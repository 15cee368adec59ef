import { filter, firstValueFrom, lastValueFrom, map, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { Pipeline, type AudioChunk, type SpokenWord } from 'rxvoice';
import { int16View } from 'rxvoice/audio';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, ttsContract, user, voiceTest } from 'rxvoice/testing';
import { MorseTTS } from './morse-tts.ts';

/** Dots and dashes of audio with the default dot of 60 ms: 960 samples. */
function marksOf(chunks: readonly AudioChunk[]): string {
  const samples = chunks.flatMap(({ data }) => [...int16View(data)]);
  const units = Array.from({ length: samples.length / 960 }, (_, unit) =>
    samples.slice(unit * 960, (unit + 1) * 960).some((sample) => sample !== 0) ? '#' : ' ',
  );
  return units.join('').replaceAll('###', '-').replaceAll('#', '.').trim();
}

// What every voice has to do: the rules of the role.
for (const { name, run } of ttsContract(() => new MorseTTS(), { hear: marksOf })) it(name, run);

it('says words as they come, and says when each of them sounds', async () => {
  const tts = new MorseTTS();
  const words: SpokenWord[] = [];
  tts.words$.subscribe((word) => words.push(word));
  const chunks = await lastValueFrom(tts.speak(['SOS, ', 'ok']).pipe(toArray()));
  expect(marksOf(chunks)).toBe('. . .   - - -   . . .       - - -   - . -');
  expect(new Set(chunks.map(({ utteranceId }) => utteranceId)).size).toBe(1);
  await tts.dispose();
  expect(words).toMatchObject([
    { text: 'SOS,', startMs: 0, endMs: 2_040 },
    { text: 'ok', startMs: 2_040, endMs: 3_840 },
  ]);
});

it('is cold: nothing is asked for before somebody listens, and nothing after the answer is cut off', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run((marbles) => {
    const { cold, expectObservable, expectSubscriptions } = marbles;
    const text$ = cold('    -a--b----c-|', { a: 'e', b: 't', c: 'e' });
    const listens = '  --^-------!';
    const heard = '    ---a--b----';
    const asked = '    --^-------!';
    const spoken$ = new MorseTTS().speak(text$).pipe(map(({ data }) => data.length));
    // A dot and a dash of 60 ms, and the pause of 7 units after each word, 2 bytes a sample.
    expectObservable(spoken$, listens).toBe(heard, { a: 8 * 1_920, b: 10 * 1_920 });
    expectSubscriptions(text$.subscriptions).toBe(asked);
  });
});

it('survives a subscriber that throws, and reports it', async () => {
  const tts = new MorseTTS();
  tts.audio$.subscribe(() => {
    throw new Error('mine');
  });
  const error = firstValueFrom(tts.errors$);
  expect(marksOf(await lastValueFrom(tts.speak(['e']).pipe(toArray())))).toBe('.');
  expect((await error).message).toContain('mine');
  await tts.dispose();
});

it('refuses a dot that nobody can hear', () => {
  expect(() => new MorseTTS({ unitMs: 0 })).toThrow('MorseTTS: unitMs must be a number from 20 to 500');
});

it('speaks in a pipeline', async () => {
  const stt = new FakeSTT();
  const output = new FakeOutput();
  const llm = new FakeLLM({ answer: () => 'e t' });
  const agent = new Pipeline({ providers: [new FakeInput(), stt, llm, new MorseTTS(), output] });
  await agent.start();
  const ended = firstValueFrom(agent.events$.pipe(filter((event) => event.type === 'speech.ended')));
  stt.hearWords(FakeSTT.result('hello', 'final'));
  expect(await ended).toMatchObject({ heardText: 'e t', interrupted: false });
  expect(marksOf(output.heard)).toBe('.       -');
  await agent.dispose();
});

it('is remembered as far as it was heard', () => {
  const { history } = voiceTest({
    llm: { answer: () => 'one two three four' },
    wrapTTS: () => new MorseTTS(),
    // "one" takes 1,800 ms, "two" 2,160: the user says no in the middle of "three".
    steps: { 0: user.final('count'), 4_500: user.starts, 4_600: user.final('no, stop counting') },
    untilMs: 30_000,
  });
  expect(history.messages()[1]).toEqual({ role: 'assistant', content: 'one two' });
});

import { concat, finalize, from, map, NEVER, of, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, LLMEvent } from 'rxvoice';
import {
  application,
  FakeLLM,
  textAudioFormat,
  user,
  voiceTest,
  type FakeOutput,
  type VoiceTestOptions,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const stages = [
  'bargeIn.suspected',
  'bargeIn.paused',
  'bargeIn.confirmed',
  'bargeIn.resumed',
  'bargeIn.ignored',
] as const;
const story = 'One two three four five. Six seven eight nine ten.';

/** The user asks at 0; the story is audible from 200 on, 50 ms a character, to 2,690. */
const telling = (
  steps: VoiceTestOptions['steps'],
  options: Partial<VoiceTestOptions> = {},
): ReturnType<typeof voiceTest> =>
  voiceTest({
    llm: { answer: (_, request) => (request === 1 ? story : 'Fine.') },
    steps: { 0: user.final('tell me'), ...steps },
    untilMs: 20_000,
    ...options,
  });

describe('barge-in', () => {
  it('pauses before it cuts, and remembers what was heard (F41)', () => {
    const { events, history, llm, tts, heardText } = telling({
      1_000: user.starts,
      1_600: user.interim('stop'),
      1_700: user.interim('stop it'),
      2_200: user.final('stop it please'),
    });
    expect(timeline(events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '1600 bargeIn.confirmed 600',
    ]);
    expect(history.messages()).toEqual([
      { role: 'user', content: 'tell me' },
      { role: 'assistant', content: 'One two three four' },
      { role: 'user', content: 'stop it please' },
      { role: 'assistant', content: 'Fine.' },
    ]);
    expect(heardText.startsWith('One two three four')).toBe(true);
    expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
    expect(tts.cancelled).toBe(0);
    expect(timeline(events, 'turn.ended')[0]).toBe('1600 turn.ended interrupted');
  });

  it('is confirmed by two words, without waiting for more voice', () => {
    const { events } = telling({ 1_000: user.starts, 1_100: user.interim('hold on') });
    expect(timeline(events, ...stages)).toEqual(['1000 bargeIn.suspected', '1100 bargeIn.confirmed 100']);
  });

  it('remembers no more than was heard of a voice whose audio is compressed', () => {
    const metadata = { encoding: 'mp3', sampleRate: 24_000, channels: 1 } as const;
    const run = (steps: VoiceTestOptions['steps']): VoiceTestResult =>
      voiceTest({
        steps,
        llm: { answer: () => story },
        tts: { words: false },
        wrapTTS: (tts) => ({
          name: tts.name,
          speak: (text$) => tts.speak(text$).pipe(map((chunk) => ({ ...chunk, metadata }))),
        }),
        wrapOutput: (output) => {
          const decoded = (audio$: ObservableInput<AudioChunk>): Observable<AudioChunk> =>
            from(audio$).pipe(map((chunk) => ({ ...chunk, metadata: textAudioFormat })));
          const play: FakeOutput['play'] = output.play.bind(output);
          return Object.assign(output, { play: (audio$: ObservableInput<AudioChunk>) => play(decoded(audio$)) });
        },
        untilMs: 60_000,
      });
    const cut = run({ 0: user.final('tell me'), 1_600: application.does('interrupt') });
    expect(cut.heardText).toMatch(/^One two three four/);
    expect(cut.history.items[1]).toMatchObject({ heard: 'One two', interrupted: true, estimated: true });
    // A speech that was heard to its end tells how fast the voice is.
    const learnt = run({
      0: user.final('tell me'),
      20_000: user.final('again'),
      21_600: application.does('interrupt'),
    });
    expect(learnt.history.items[1]).toMatchObject({ heard: story, interrupted: false, estimated: false });
    expect(learnt.history.items[3]).toMatchObject({ heard: 'One two three four five. Six', estimated: true });
    expect(learnt.heardText).toBe(`${story}One two three four five. Six`);
  });

  it('resumes at the sample after a false alarm, and repeats nothing (F42)', () => {
    const { events, heardText, history } = telling({ 1_000: user.starts, 1_300: user.falls });
    expect(timeline(events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '2500 bargeIn.resumed',
    ]);
    expect(heardText).toBe(story);
    expect(history.messages().at(-1)).toEqual({ role: 'assistant', content: story });
    expect(timeline(events, 'speech.paused', 'speech.resumed')).toEqual(['1200 speech.paused', '2500 speech.resumed']);
    const [paused, resumed] = [ofType(events, 'speech.paused')[0], ofType(events, 'speech.resumed')[0]];
    expect(paused?.positionMs).toBe(resumed?.positionMs);
  });

  it('does not pause for a short sound', () => {
    const { events, heardText } = telling({ 1_000: user.starts, 1_100: user.falls });
    expect(timeline(events, ...stages)).toEqual(['1000 bargeIn.suspected', '2300 bargeIn.resumed']);
    expect(heardText).toBe(story);
  });

  it('is driven by words alone if the service does not report speech', () => {
    const { events } = telling(
      { 1_000: user.interim('but'), 1_400: user.interim('but not that one') },
      { reportsSpeechEnd: false },
    );
    expect(timeline(events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '1400 bargeIn.confirmed 400',
    ]);
  });

  it('is not confirmed by a voice that nobody says has ended', () => {
    const { events, heardText } = telling({ 1_000: user.starts }, { reportsSpeechEnd: false });
    expect(timeline(events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '3000 bargeIn.resumed',
    ]);
    expect(heardText).toBe(story);
  });

  it('ignores one word that was no interruption', () => {
    const { events, history } = telling({ 1_000: user.interim('uh'), 1_100: user.final('uh') });
    expect(timeline(events, ...stages)).toEqual(['1100 bargeIn.ignored backchannel: uh']);
    expect(history.messages()).toHaveLength(2);
  });

  it('before the first token joins the message, and leaves no trace', () => {
    const { history, llm } = telling({ 50: user.interim('about'), 400: user.final('about cats') });
    expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['aborted', 'completed']);
    expect(history.messages()).toEqual([
      { role: 'user', content: 'tell me about cats' },
      { role: 'assistant', content: 'Fine.' },
    ]);
  });

  it('before the first audio joins the message, and leaves no trace (F40)', () => {
    const { history, events } = telling({ 180: user.interim('about'), 400: user.final('about cats') });
    expect(timeline(events, 'turn.ended')[0]).toBe('180 turn.ended merged');
    expect(history.messages()[0]).toEqual({ role: 'user', content: 'tell me about cats' });
    expect(ofType(events, 'speech.ended')[0]).toMatchObject({ heardText: '', interrupted: true });
  });

  it('at the last frame keeps the whole answer', () => {
    const { history, events } = telling({ 2_690: [user.interim('thank you')], 3_000: user.final('thank you') });
    expect(ofType(events, 'speech.ended')[0]?.interrupted).toBe(true);
    expect(history.messages()[1]?.content).toBe('One two three four five. Six seven eight nine');
  });

  it('delays the answer for a cough, and never deletes it (F42)', () => {
    const { events, heardText, llm } = telling({ 50: user.starts, 300: user.falls });
    expect(llm.requests).toHaveLength(1);
    expect(timeline(events, ...stages, 'speech.started')).toEqual([
      '50 bargeIn.suspected',
      '250 bargeIn.paused',
      '1500 bargeIn.resumed',
      '1500 speech.started',
    ]);
    expect(heardText).toBe(story);
  });

  it('answers after all when words before the answer came to nothing', () => {
    const { events, llm, history } = telling({ 50: user.interim('eh'), 100: user.final('') });
    expect(timeline(events, 'turn.ended', 'transcript.timeout')[0]).toBe('50 turn.ended merged');
    expect(llm.requests.at(-1)).toMatchObject({ outcome: 'completed' });
    expect(history.messages()[0]?.content).toMatch(/^tell me/);
    expect(history.messages()).toHaveLength(2);
  });

  it('immediate: cuts at the first sign', () => {
    const { events } = telling({ 1_000: user.starts }, { bargeIn: 'immediate' });
    expect(timeline(events, ...stages)).toEqual(['1000 bargeIn.suspected', '1000 bargeIn.confirmed 0']);
  });

  it('silences the output first, then the voice, and then the model', () => {
    const ended: string[] = [];
    const noting = <T>(what: string, source$: ObservableInput<T>): Observable<T> =>
      from(source$).pipe(finalize(() => ended.push(what)));
    telling(
      { 1_000: user.starts },
      {
        bargeIn: 'immediate',
        llm: { answer: () => noting('model', concat(of<LLMEvent>({ type: 'token', text: story }), NEVER)) },
        wrapTTS: (tts) => ({ name: tts.name, speak: (text$) => noting('voice', tts.speak(text$)) }),
        wrapOutput: (output) => {
          const play: FakeOutput['play'] = output.play.bind(output);
          return Object.assign(output, {
            play: (audio$: ObservableInput<AudioChunk>) => noting('output', play(audio$)),
          });
        },
        untilMs: 1_500,
      },
    );
    expect(ended).toEqual(['output', 'voice', 'model']);
  });

  it('false: never cuts', () => {
    const { events, heardText } = telling(
      { 1_000: user.starts, 1_500: user.interim('stop it now'), 2_000: user.final('stop it now') },
      { bargeIn: false },
    );
    expect(timeline(events, ...stages)).toEqual(['2000 bargeIn.ignored disabled: stop it now']);
    expect(heardText).toBe(story);
  });

  it('false: words join the message as long as nothing of the answer was heard, however long a voice lasts', () => {
    const slow = { firstTokenMs: 1_000 };
    const asked = (options: VoiceTestOptions): (string | undefined)[] =>
      voiceTest({ bargeIn: false, llm: slow, untilMs: 9_000, ...options }).llm.requests.map(
        ({ messages }) => messages.at(-1)?.content,
      );
    const pizza = user.final('I want a pizza');
    const both = 'I want a pizza with olives';
    expect(asked({ steps: { 0: pizza, 500: user.final('with olives') } })).toEqual(['I want a pizza', both]);
    const voiced = { 900: user.starts, 1_500: user.interim('with'), 2_000: user.final('with olives') };
    expect(asked({ steps: { 0: pizza, ...voiced } })).toEqual(['I want a pizza', both]);
    expect(asked({ steps: { 0: pizza, 1_500: user.final('with olives') } })).toEqual(['I want a pizza']);
  });

  it('false: a cough before the answer delays it, and nothing cuts what the application says', () => {
    const cough = { 900: user.starts, 1_300: user.falls };
    const delayed = voiceTest({
      bargeIn: false,
      llm: { answer: () => story, firstTokenMs: 1_000 },
      steps: { 0: user.final('go'), ...cough },
    });
    expect(timeline(delayed.events, 'speech.started')).toEqual(['1900 speech.started']);
    expect(delayed.heardText).toBe(story);
    const says = voiceTest({
      bargeIn: false,
      tts: { latencyMs: 1_000 },
      greeting: 'Hello!',
      steps: { 500: user.final('one two three') },
      untilMs: 9_000,
    });
    expect(timeline(says.events, ...stages)).toEqual(['500 bargeIn.ignored disabled: one two three']);
    expect(says.heardText).toBe('Hello!');
  });

  it('discards what is said during something uninterruptible, by option', () => {
    const { events, llm } = voiceTest({
      bargeIn: { whileUninterruptible: 'discard' },
      steps: { 0: application.say('This call is recorded.', { interruptible: false }), 500: user.final('no way man') },
      untilMs: 5_000,
    });
    expect(timeline(events, ...stages)).toEqual(['500 bargeIn.ignored uninterruptible: no way man']);
    expect(llm.requests).toEqual([]);
  });

  it('queues what is said during something uninterruptible', () => {
    const { events, history } = voiceTest({
      steps: { 0: application.say('This call is recorded.', { interruptible: false }), 500: user.final('no way man') },
      untilMs: 10_000,
    });
    expect(timeline(events, 'speech.ended', 'turn.committed')).toEqual([
      '1150 speech.ended This call is recorded.',
      '1150 turn.committed no way man',
      expect.stringContaining('speech.ended You said no way man.'),
    ]);
    expect(history.messages().map(({ role }) => role)).toEqual(['assistant', 'user', 'assistant']);
  });

  it('takes other thresholds in the greeting', () => {
    const { events } = voiceTest({
      greeting: 'Welcome to the long greeting of this house.',
      bargeIn: { greeting: { minWords: 4 } },
      steps: { 500: user.interim('hi there'), 700: user.interim('hi there my friend') },
      untilMs: 5_000,
    });
    expect(timeline(events, 'bargeIn.confirmed')).toEqual(['700 bargeIn.confirmed 200']);
  });

  it('sends no audio of a speech after its interruption was confirmed', () => {
    const { events } = telling(
      { 400: user.interim('no no'), 900: user.final('no no') },
      {
        llm: { answer: (_, request) => (request === 1 ? story.repeat(5) : 'Fine.') },
      },
    );
    const [confirmed] = ofType(events, 'bargeIn.confirmed');
    const late = ofType(events, 'audio.chunk').filter(
      ({ at, speechId }) => at >= (confirmed?.at ?? 0) && speechId === confirmed?.speechId,
    );
    expect(confirmed?.speechId).toBeDefined();
    expect(late).toEqual([]);
  });

  it('by text cuts too, unless it is told to wait', () => {
    const cut = telling({ 1_000: application.send('stop') });
    const waits = telling({ 1_000: application.send('and then?', { interrupt: false }) });
    expect(timeline(cut.events, 'turn.ended')[0]).toBe('1000 turn.ended interrupted');
    expect(timeline(waits.events, 'turn.ended')[0]).toMatch(/completed$/);
    expect(waits.history.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });

  it('is what the application can do as well', () => {
    const { events, llm } = telling({ 150: application.does('interrupt') });
    expect(timeline(events, 'turn.ended')).toEqual(['150 turn.ended interrupted']);
    expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['aborted']);
    expect(llm).toBeInstanceOf(FakeLLM);
  });
});

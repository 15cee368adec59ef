/**
 * What callers suffered: each hazard is a test with its name.
 *
 * A caller asks at 0; the story is audible from 200 on, 50 ms a character, to 2,690. Whoever speaks is heard by a
 * service that tells when voices start and end, and what was said.
 */
import { from, map, timer, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioMetadata, LLMEvent, Message, Tool } from 'rxvoice';
import {
  application,
  textAudioFormat,
  user,
  voiceTest,
  type FakeOutput,
  type VoiceStep,
  type VoiceTestOptions,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const story = 'One two three four five. Six seven eight nine ten.';
const stages = [
  ...(['bargeIn.suspected', 'bargeIn.paused', 'bargeIn.confirmed', 'bargeIn.resumed', 'bargeIn.ignored'] as const),
];

/** The caller asks at 0, and does this while the agent answers. */
function telling(
  steps: VoiceTestOptions['steps'],
  { answer = story, ...options }: Partial<VoiceTestOptions> & { readonly answer?: string } = {},
): VoiceTestResult {
  return voiceTest({
    llm: { answer: (_, request) => (request === 1 ? answer : 'Fine.') },
    steps: { 0: user.final('tell me'), ...steps },
    untilMs: 30_000,
    ...options,
  });
}

/** Someone says something: voice, words so far, all of it; each word takes 300 ms. */
function says(at: number, text: string): Record<number, readonly VoiceStep[]> {
  const words = text.split(' ');
  const interims = words.map((_, index): [number, VoiceStep[]] => [
    at + 300 * (index + 1),
    [user.interim(words.slice(0, index + 1).join(' '))],
  ]);
  const end = at + 300 * words.length;
  return {
    ...Object.fromEntries(interims),
    [at]: [user.starts],
    [end + 50]: [user.falls],
    [end + 250]: [user.final(text)],
  };
}

const committed = ({ events }: VoiceTestResult): string[] => ofType(events, 'turn.committed').map(({ text }) => text);

describe('"Stop." alone', () => {
  it('cuts at once, and is answered by nobody', () => {
    const result = telling(says(1_000, 'Stop.'));
    expect(timeline(result.events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '1300 bargeIn.confirmed 300',
    ]);
    expect(result.llm.requests).toHaveLength(1);
    expect(result.heardText).toBe('One two three four f');
    expect(committed(result)).toEqual(['tell me']);
    expect(result.history.messages()).toHaveLength(2);
    expect(timeline(result.events, 'agent.state').at(-2)).toBe('1300 agent.state listening');
    expect(timeline(result.events, 'turn.ended')).toEqual(['1300 turn.ended interrupted', '1550 turn.ended cancelled']);
  });

  it.each(['Stop.', 'Wait!', 'hold on', 'Okay, stop. Stop!', 'STOPP'])('cuts as a mere final: "%s"', (text) => {
    const result = telling({ 1_000: user.final(text) });
    expect(timeline(result.events, ...stages).at(-1)).toBe('1000 bargeIn.confirmed 0');
    expect(result.llm.requests).toHaveLength(1);
    expect(timeline(result.events, 'turn.ended').at(-1)).toBe('1000 turn.ended cancelled');
  });

  it('is the beginning of what follows it', () => {
    const result = telling(says(1_000, 'Wait what about Friday'));
    expect(timeline(result.events, 'bargeIn.confirmed')).toEqual(['1300 bargeIn.confirmed 300']);
    expect(committed(result)).toEqual(['tell me', 'Wait what about Friday']);
  });

  it('stops the answer that is being prepared, and what it should answer', () => {
    const result = telling({ 50: user.interim('Stop'), 100: user.final('Stop.') });
    expect(result.llm.requests.map(({ outcome }) => outcome)).toEqual(['aborted']);
    expect(result.heardText).toBe('');
  });

  it('is a message like any other while the agent is silent', () => {
    expect(committed(voiceTest({ steps: { 0: user.final('Stop.') }, untilMs: 5_000 }))).toEqual(['Stop.']);
  });

  it('needs no answer prepared', () => {
    const result = telling({ 1_000: user.interim('Stop'), 1_100: user.preflight('Stop.'), 1_300: user.final('Stop.') });
    expect(result.llm.requests).toHaveLength(1);
  });

  it('is what the application says it is', () => {
    const options = { bargeIn: { commands: (own: readonly string[]) => [...own.slice(1), 'banana'] } };
    expect(timeline(telling({ 1_000: user.interim('Banana!') }, options).events, 'bargeIn.confirmed')).toHaveLength(1);
    expect(timeline(telling({ 1_000: user.interim('Stop') }, options).events, 'bargeIn.confirmed')).toEqual([]);
    const german = { bargeIn: { commands: ['Halt'], backchannels: ['Genau'] } };
    expect(timeline(telling({ 1_000: user.interim('halt') }, german).events, 'bargeIn.confirmed')).toHaveLength(1);
    expect(timeline(telling({ 1_000: user.final('genau') }, german).events, 'bargeIn.ignored')).toHaveLength(1);
  });
});

describe('"Mm-hmm" and "uh-huh"', () => {
  it.each(['Mm-hmm.', 'Uh-huh.', 'Yeah.', 'Okay.', 'Right.'])('"%s" cuts nothing, and is no question', (text) => {
    const result = telling(says(1_000, text));
    expect(timeline(result.events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '1300 bargeIn.resumed',
      `1550 bargeIn.ignored backchannel: ${text}`,
    ]);
    expect(result.llm.requests).toHaveLength(1);
    expect(result.heardText).toBe(story);
  });

  it('"Yeah" tears no hole of 1.75 s: the agent resumes with the word', () => {
    const { events } = telling(says(1_000, 'Yeah'));
    expect(timeline(events, 'speech.ended').at(-1)).toBe(`2800 speech.ended ${story}`);
  });

  it('"Yeah" said in time tears no hole at all', () => {
    const { events } = telling({ 1_000: user.starts, 1_150: user.interim('Yeah'), 1_400: user.final('Yeah.') });
    expect(timeline(events, 'speech.ended').at(-1)).toBe(`2700 speech.ended ${story}`);
  });

  it('"Yeah, but" is an interruption', () => {
    const result = telling(says(1_000, 'Yeah but why'));
    expect(timeline(result.events, 'bargeIn.confirmed')).toEqual([expect.stringMatching(/^1600 /)]);
    expect(committed(result)).toEqual(['tell me', 'Yeah but why']);
  });

  it('"No" is none of them: one word cuts once it is all', () => {
    const result = telling(says(1_000, 'No.'));
    expect(timeline(result.events, 'bargeIn.confirmed')).toEqual([expect.stringMatching(/^1550 /)]);
    expect(committed(result)).toEqual(['tell me', 'No.']);
  });
});

describe('"Yes" said over the end of the agent\'s question', () => {
  const question = 'We have a table at eight. Shall I book it?';
  /** It ends 200 + 42 × 50 = 2,300 ms after the caller asked. */
  const end = 2_300;

  it.each([1_400, 1_000, 600, 400, 300, 250, 200, 150, 100, 50, 10, 0])('%d ms before it is the answer', (before) => {
    const result = telling({ [end - before]: user.final('Yes.') }, { answer: question });
    expect(committed(result)).toEqual(['tell me', 'Yes.']);
    const [, at = 0] = ofType(result.events, 'turn.committed').map((event) => event.at);
    expect(at).toBeGreaterThanOrEqual(Math.min(end, end - before));
    expect(at).toBeLessThanOrEqual(end + 50);
    expect(result.history.messages()[1]).toEqual({ role: 'assistant', content: question });
    expect(timeline(result.events, 'bargeIn.ignored')).toEqual([]);
  });

  it.each([300, 200, 150])('with its voice heard %d ms before the end, too', (before) => {
    const result = telling(says(end - before, 'Yes.'), { answer: question });
    expect(committed(result)).toEqual(['tell me', 'Yes.']);
    expect(result.heardText.startsWith(question)).toBe(true);
  });

  it('waits for the end of a question in the middle', () => {
    // "… it?" ends at 2,300, and the agent goes on to 4,900.
    const answer = `${question} There is one at nine too, on the terrace by the sea.`;
    const result = telling({ [end - 200]: user.final('Yes.') }, { answer });
    expect(ofType(result.events, 'turn.committed').map(({ at, text }) => [at, text])).toEqual([
      [0, 'tell me'],
      [end + 260, 'Yes.'],
    ]);
    expect(result.history.messages()[1]?.content).toMatch(/^We have a table at eight\. Shall I book it\?/);
    expect(result.history.messages()[1]?.content).not.toMatch(/nine/);
  });

  it('cuts what follows the question within a second', () => {
    const answer = `${question} There is one at nine too, on the terrace by the sea.`;
    expect(committed(telling({ [end + 900]: user.final('Yes.') }, { answer }))).toEqual(['tell me', 'Yes.']);
    expect(committed(telling({ [end + 1_100]: user.final('Yes.') }, { answer }))).toEqual(['tell me']);
    expect(committed(telling({ [end - 1_600]: user.final('Yes.') }, { answer }))).toEqual(['tell me']);
  });

  it('is one to a question that is not the last speech', () => {
    const result = telling(
      { [end - 300]: [user.final('Yes.'), application.say('By the way, we close at ten tonight, as always.')] },
      { answer: question },
    );
    expect(committed(result)).toEqual(['tell me', 'Yes.']);
  });

  it('"cancel" is an answer to a question, not only a command', () => {
    const result = telling(
      { [end - 500]: user.final('Cancel.') },
      { answer: 'We have a table at eight. Book or cancel?' },
    );
    expect(committed(result)).toEqual(['tell me', 'Cancel.']);
  });

  it('said twice is one answer', () => {
    const users = ({ history }: VoiceTestResult): string[] =>
      history.messages().flatMap(({ role, content }) => (role === 'user' ? [content] : []));
    const twice = { [end - 700]: user.final('Yes.'), [end - 200]: user.final('Right.') };
    expect(users(telling(twice, { answer: question }))).toEqual(['tell me', 'Yes. Right.']);
  });

  it('is a nod at the end of anything else', () => {
    const result = telling({ 2_500: user.final('Yes.') });
    expect(committed(result)).toEqual(['tell me']);
    expect(timeline(result.events, 'bargeIn.ignored')).toEqual(['2500 bargeIn.ignored backchannel: Yes.']);
  });

  it('is the answer where nobody knows how fast the voice speaks', () => {
    const as = (metadata: AudioMetadata) => (audio$: ObservableInput<AudioChunk>) =>
      from(audio$).pipe(map((chunk) => ({ ...chunk, metadata })));
    const compressed = as({ encoding: 'mp3', sampleRate: 24_000, channels: 1 });
    // It ends after 1,640 ms, where slower voices have not yet begun to ask.
    const result = telling(
      { 1_600: user.final('Yes.') },
      {
        answer: 'We have a table at eight on Friday evening. Shall I book it for you now?',
        tts: { words: false, msPerCharacter: 20 },
        wrapTTS: (tts) => ({ name: tts.name, speak: (text$) => compressed(tts.speak(text$)) }),
        wrapOutput: (output) => {
          const play: FakeOutput['play'] = output.play.bind(output);
          return Object.assign(output, {
            play: (audio$: ObservableInput<AudioChunk>) => play(as(textAudioFormat)(audio$)),
          });
        },
      },
    );
    expect(committed(result)).toEqual(['tell me', 'Yes.']);
  });

  it('in Arabic or Japanese is one, too', () => {
    const bargeIn = { commands: [], backchannels: ['はい', 'نعم'] };
    for (const [answer, yes] of [
      ['ご予約してもよろしいですか？', 'はい。'],
      ['ご予約してもよろしいですか。', 'はい。'],
      ['هل أحجز لك طاولة؟', 'نعم'],
    ] as const) {
      expect(committed(telling({ 700: user.final(yes) }, { answer, bargeIn }))).toEqual(['tell me', yes]);
    }
  });
});

describe('what was too short within the last 1,500 ms of an answer', () => {
  const bargeIn = { minWords: 3 };

  it('is answered after it', () => {
    const result = telling({ 1_500: user.final('Not Friday.') }, { bargeIn });
    expect(committed(result)).toEqual(['tell me', 'Not Friday.']);
    expect(result.heardText.startsWith(story)).toBe(true);
  });

  it('is not, when it was said before', () => {
    const result = telling({ 1_000: user.final('Not Friday.') }, { bargeIn });
    expect(committed(result)).toEqual(['tell me']);
  });

  it('is not, when something else was said since', () => {
    const result = telling({ 1_500: user.final('Not Friday.'), 1_600: application.send('Saturday') }, { bargeIn });
    expect(committed(result)).toEqual(['tell me', 'Saturday']);
  });
});

describe('a threshold that is undefined', () => {
  it('is the default: words still cut the answer off', () => {
    const bargeIn = { minWords: undefined } as object;
    const result = telling({ 1_000: user.final('Not on Friday') }, { bargeIn });
    expect(committed(result)).toEqual(['tell me', 'Not on Friday']);
    expect(ofType(result.events, 'bargeIn.confirmed')).toHaveLength(1);
  });
});

describe('noise', () => {
  it('of 600 ms without a word deletes no answer', () => {
    const result = telling({ 1_000: user.starts, 1_600: user.falls });
    expect(timeline(result.events, ...stages)).toEqual([
      '1000 bargeIn.suspected',
      '1200 bargeIn.paused',
      '2800 bargeIn.resumed',
    ]);
    expect(result.heardText).toBe(story);
    expect(result.history.messages().at(-1)).toEqual({ role: 'assistant', content: story });
  });

  it('without end withholds no answer for ever', () => {
    const { events, heardText } = telling({ 1_000: user.starts });
    expect(timeline(events, 'speech.paused', 'speech.resumed')).toEqual(['1200 speech.paused', '9000 speech.resumed']);
    expect(heardText).toBe(story);
  });

  it('without end does not pause it again and again', () => {
    const again = Object.fromEntries([2, 4, 6, 8, 9.5, 11].map((s) => [s * 1_000, user.resumes]));
    const { events, heardText } = telling({ 1_000: user.starts, ...again });
    expect(timeline(events, 'speech.paused', 'speech.resumed')).toEqual(['1200 speech.paused', '9000 speech.resumed']);
    expect(heardText).toBe(story);
  });

  it('that began before its first sample withholds no answer for ever', () => {
    for (const at of [50, 100, 150]) {
      const { heardText, events } = telling({ [at]: user.starts });
      expect(timeline(events, 'speech.started')).toEqual([`${at + 8_000} speech.started`]);
      expect(heardText).toBe(story);
    }
    const { heardText } = voiceTest({
      llm: { answer: () => story },
      steps: { 0: user.starts, 100: application.send('tell me') },
      untilMs: 30_000,
    });
    expect(heardText).toBe(story);
  });

  it('whose end nobody tells is over two seconds after its last sign', () => {
    const { events, heardText } = telling({ 1_000: user.starts }, { reportsSpeechEnd: false });
    expect(timeline(events, 'speech.paused', 'speech.resumed')).toEqual(['1200 speech.paused', '3000 speech.resumed']);
    expect(heardText).toBe(story);
  });
});

describe("a greeting's own thresholds", () => {
  const greeting = 'Welcome to the house of long greetings.';
  const bargeIn = { greeting: { minWords: 4 } };

  it.each([10, 60, 300])('hold at %d ms: one word does not delete it', (at) => {
    const { heardText, llm } = voiceTest({ greeting, bargeIn, steps: { [at]: user.final('Hello?') }, untilMs: 9_000 });
    expect(heardText).toBe(greeting);
    expect(llm.requests).toEqual([]);
  });

  it.each([10, 60, 300])('let four words cut it at %d ms', (at) => {
    const { heardText, history } = voiceTest({
      ...{ greeting, bargeIn, untilMs: 9_000 },
      steps: { [at]: user.final('Please connect me now') },
    });
    expect(heardText).not.toContain('Welcome to');
    expect(history.messages().at(-1)).toEqual({ role: 'assistant', content: 'You said Please connect me now.' });
  });
});

describe("the agent's own words, heard back,", () => {
  const answer = 'Your parcel will arrive on Monday between nine and eleven in the morning. Please be at home.';
  /** The echo begins 400 ms after its voice; its words take another 500 ms to be understood. */
  const echoes = {
    600: [user.starts],
    700: [user.interim('Your')],
    1_100: [user.interim('Your parcel')],
    1_500: [user.interim('Your parcel will')],
    1_900: [user.interim('Your parcel will arrive on')],
    2_500: [user.falls, user.final('Your parcel will arrive on Monday')],
  };

  it('cut nothing, and are answered by nobody', () => {
    const result = telling(echoes, { answer });
    expect(result.heardText).toBe(answer);
    expect(committed(result)).toEqual(['tell me']);
    expect(timeline(result.events, 'bargeIn.confirmed', 'bargeIn.ignored')).toEqual([
      '2500 bargeIn.ignored echo: Your parcel will arrive on Monday',
    ]);
  });

  it('end the pause that their voice began', () => {
    const { events } = telling(
      {
        ...{ 1_500: user.starts, 1_800: user.interim('arrive'), 2_000: user.interim('arrive on') },
        2_400: [user.falls, user.final('arrive on Monday')],
      },
      { answer },
    );
    expect(timeline(events, ...stages)).toEqual([
      '1500 bargeIn.suspected',
      '1700 bargeIn.paused',
      '2000 bargeIn.resumed',
      '2400 bargeIn.ignored echo: arrive on Monday',
    ]);
  });

  it('are an echo though their voice has paused the agent after a word', () => {
    const result = telling(
      { 400: user.starts, 900: user.interim('Congratulations'), 1_200: [user.falls, user.final('Congratulations')] },
      { answer: 'Congratulations! Your parcel has arrived.', tts: { msPerCharacter: 25 } },
    );
    expect(committed(result)).toEqual(['tell me']);
    expect(result.heardText).toBe('Congratulations! Your parcel has arrived.');
  });

  it('of one word are not answered', () => {
    expect(committed(telling({ 450: user.final('Fine.') }, { answer: 'Fine.' }))).toEqual(['tell me']);
  });

  it('are not answered when they come after the end', () => {
    const result = telling({ 5_000: user.final('Please be at home.') }, { answer });
    expect(ofType(result.events, 'speech.ended')[0]?.at).toBeLessThan(5_000);
    expect(committed(result)).toEqual(['tell me']);
  });

  it('are recognized though some of them were misheard', () => {
    const result = telling({ 2_700: user.final('your parcel will arrive on Monday between wine') }, { answer });
    expect(committed(result)).toEqual(['tell me']);
  });

  it('are an interruption once the caller joins in', () => {
    const result = telling(
      { ...echoes, 2_500: user.final('Your parcel no no I will not be there then sorry') },
      { answer },
    );
    expect(committed(result)).toEqual(['tell me', 'Your parcel no no I will not be there then sorry']);
  });

  it('are an answer when they answer a question: "the blue one"', () => {
    const result = telling(
      { 2_350: user.final('The blue one.') },
      { answer: 'Do you want the red one or the blue one?' },
    );
    expect(committed(result)).toEqual(['tell me', 'The blue one.']);
  });

  it('are no echo when the caller repeats them later', () => {
    const result = telling({ 7_000: user.final('On Monday between nine and eleven?') }, { answer });
    expect(committed(result)).toEqual(['tell me', 'On Monday between nine and eleven?']);
  });

  it('are never looked for while a button is held: the caller may repeat them', () => {
    const result = voiceTest({
      llm: { answer: () => answer },
      turnTaking: { strategy: 'manual' },
      steps: {
        0: application.send('tell me'),
        2_000: application.does('begin'),
        2_300: user.final('Your parcel will arrive on Monday'),
        2_400: application.does('commit'),
      },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['tell me', 'Your parcel will arrive on Monday']);
  });

  it('count where the application wants no guard', () => {
    expect(committed(telling(echoes, { answer, bargeIn: { echoGuard: false } }))).toHaveLength(2);
  });
});

describe('what is said over something uninterruptible', () => {
  const notice = application.say('This call may be recorded for training.', { interruptible: false });

  it('is answered after it', () => {
    const result = voiceTest({ steps: { 0: notice, 500: user.final('I do not want that') }, untilMs: 9_000 });
    expect(committed(result)).toEqual(['I do not want that']);
    expect(result.heardText).toMatch(/^This call may be recorded for training\./);
  });

  it('is not, if it is a backchannel', () => {
    const result = voiceTest({ steps: { 0: notice, ...says(400, 'Mm-hm.') }, untilMs: 9_000 });
    expect(committed(result)).toEqual([]);
    expect(timeline(result.events, 'bargeIn.ignored', 'transcript.timeout')).toEqual([
      '950 bargeIn.ignored backchannel: Mm-hm.',
    ]);
  });

  it('is, if it answers a question', () => {
    const consent = application.say('Do you agree to the recording?', { interruptible: false });
    const result = voiceTest({ steps: { 0: consent, 1_200: user.final('Yes.') }, untilMs: 9_000 });
    expect(committed(result)).toEqual(['Yes.']);
  });
});

describe("words during a tool's run", () => {
  const call: LLMEvent = { type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' };
  const told = ['tool.call', 'tool.result', 'tool.cancelled', 'turn.committed', 'turn.ended'] as const;

  /** The tool runs from 110 to 3,110. */
  function looking(
    steps: VoiceTestOptions['steps'],
    tool: Partial<Tool> = {},
    options: Partial<VoiceTestOptions> = {},
  ): VoiceTestResult & { readonly runs: number } {
    let runs = 0;
    const execute = (): unknown => {
      runs++;
      return timer(3_000);
    };
    const answer = (messages: readonly Message[]): string | readonly LLMEvent[] =>
      messages.length > 1 ? 'Here it is.' : [call, { type: 'done', finishReason: 'tool-calls' }];
    const result = voiceTest({
      ...{ llm: { answer }, tools: [{ name: 'look', execute, ...tool }], untilMs: 20_000 },
      ...{ steps: { 0: user.final('look it up'), ...steps }, ...options },
    });
    return { ...result, runs };
  }

  it.each([undefined, 'finish'] as const)(
    'join the next round, and the tool goes on (onInterrupt: %s)',
    (onInterrupt) => {
      const { events, llm, history, heardText, runs } = looking(
        says(1_000, 'for two people'),
        onInterrupt ? { onInterrupt } : {},
      );
      expect(timeline(events, ...told)).toEqual([
        '0 turn.committed look it up',
        '110 tool.call look',
        '2150 turn.committed for two people',
        '2150 turn.ended merged',
        '3110 tool.result 0',
        expect.stringContaining('turn.ended completed'),
      ]);
      expect(runs).toBe(1);
      expect(llm.requests.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
      expect(llm.requests[1]?.messages.map(({ role, content }) => [role, content])).toEqual([
        ['user', 'look it up'],
        ['assistant', ''],
        ['tool', '0'],
        ['user', 'for two people'],
      ]);
      expect(heardText).toBe('Here it is.');
      expect(history.messages().at(-1)).toEqual({ role: 'assistant', content: 'Here it is.' });
    },
  );

  it('abort it where the tool says so', () => {
    const { events } = looking(says(1_000, 'for two people'), { onInterrupt: 'abort' });
    expect(timeline(events, 'tool.cancelled', 'tool.result')).toEqual(['1300 tool.cancelled look']);
  });

  it('abort it with a command', () => {
    const { events, llm } = looking(says(1_000, 'Stop.'));
    expect(timeline(events, 'tool.cancelled', 'turn.ended')).toEqual([
      '1300 tool.cancelled look',
      '1300 turn.ended interrupted',
      '1550 turn.ended cancelled',
    ]);
    expect(llm.requests).toHaveLength(1);
  });

  it('pause what is said meanwhile, and delete none of it', () => {
    const filler = 'One moment please, I am looking into that.';
    const { events, heardText } = looking(says(1_200, 'for two'), { filler });
    expect(timeline(events, 'speech.paused', 'speech.resumed', 'bargeIn.confirmed')).toEqual([
      '1400 speech.paused',
      '2050 speech.resumed',
    ]);
    expect(heardText).toBe(`${filler}Here it is.`);
  });

  it('begun then and finished later belong to the message, too', () => {
    const { llm, history } = looking(says(2_700, 'for two people'));
    expect(llm.requests.at(-1)?.messages.at(-1)).toEqual({ role: 'user', content: 'for two people' });
    expect(history.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
  });

  it('are no words if they are a nod', () => {
    const { events, llm } = looking(says(1_000, 'Okay.'));
    expect(timeline(events, 'bargeIn.ignored')).toEqual(['1550 bargeIn.ignored backchannel: Okay.']);
    expect(llm.requests).toHaveLength(2);
  });

  it('are a turn of their own where a hook is to see it', () => {
    const { events } = looking(says(1_000, 'for two people'), {}, { onUserTurn: () => undefined });
    expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['completed', 'completed']);
  });

  it('are not lost when the answer is cut off', () => {
    const { history } = looking({ ...says(1_000, 'for two people'), 2_500: application.does('interrupt') });
    expect(history.messages().map(({ content }) => content)).toEqual([
      ...['look it up', '', 'Cancelled: the user interrupted.', 'for two people'],
    ]);
  });
});

describe('bargeIn.cutMs', () => {
  /** An output whose device holds 40 ms that it cannot take back. */
  const held = (output: FakeOutput): FakeOutput => Object.defineProperty(output, 'tailMs', { value: 40 });

  it('is measured at the output: to the last sample that sounds', () => {
    const { events } = telling({ 1_000: user.final('no no') }, { wrapOutput: held });
    expect(ofType(events, 'bargeIn.confirmed')).toMatchObject([{ cutMs: 40 }]);
    expect(ofType(events, 'turn.metrics')[0]).toMatchObject({ bargeInDetect: 0, bargeInCut: 40 });
  });

  it('is that of what the application said, too', () => {
    const { events } = voiceTest({
      ...{ steps: { 0: application.say(story), 1_000: user.final('no no') }, untilMs: 9_000 },
      wrapOutput: held,
    });
    expect(ofType(events, 'bargeIn.confirmed')).toMatchObject([{ cutMs: 40 }]);
  });

  it('is nothing where nothing was heard', () => {
    const { events } = telling({ 100: user.final('no no') }, { wrapOutput: held });
    expect(ofType(events, 'bargeIn.confirmed')).toMatchObject([{ cutMs: 0 }]);
  });
});

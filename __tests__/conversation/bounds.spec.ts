import {
  concat,
  from,
  ignoreElements,
  interval,
  map,
  merge,
  NEVER,
  Observable,
  of,
  tap,
  type ObservableInput,
} from 'rxjs';
import type { AudioChunk, AudioMetadata, LLMEvent, PlaybackEvent, SpokenWord, Tool } from 'rxvoice';
import { Script } from '../../lib/conversation/answer/script.ts';
import { user, voiceTest, type FakeTTS } from 'rxvoice/testing';
import { ofType } from '../pipeline/support/timeline.ts';

const steps = { 0: user.final('do it') };

describe('a model without measure', () => {
  it('that never stops answering is stopped, and the turn says what to do', () => {
    const page: LLMEvent = { type: 'token', text: `${'word '.repeat(2_000)}. ` };
    let taken = 0;
    const answer$ = from(Array.from({ length: 300 }, () => page)).pipe(tap(() => taken++));
    const { events } = voiceTest({ llm: { answer: () => concat(answer$, NEVER) }, steps, untilMs: 5_000 });
    expect(taken).toBeLessThan(30);
    expect(ofType(events, 'error')).toMatchObject([
      { role: 'llm', code: 'overflow', message: expect.stringContaining('maxTokens') as string },
    ]);
  });

  it('that calls 3,000 tools at once has none of them run, and the turn says so', () => {
    let ran = 0;
    const tool: Tool = { name: 'count', execute: () => ran++ };
    const calls = Array.from({ length: 3_000 }, (_, index): LLMEvent => {
      return { type: 'tool-call', id: String(index), name: 'count', args: {}, argsText: '{}' };
    });
    const answer = (): LLMEvent[] => [...calls, { type: 'done', finishReason: 'tool-calls' }];
    const { events } = voiceTest({ llm: { answer }, tools: [tool], steps, untilMs: 5_000 });
    expect(ran).toBe(0);
    expect(ofType(events, 'error')).toMatchObject([{ role: 'llm', code: 'overflow' }]);
    expect(ofType(events, 'turn.ended')).toMatchObject([{ reason: 'error' }]);
  });

  it('is sent the beginning of a tool’s error of 10 MB', () => {
    const tool: Tool = {
      name: 'breaks',
      execute: () => {
        throw new Error('x'.repeat(10_000_000));
      },
    };
    const { llm } = voiceTest({
      llm: {
        answer: (messages) =>
          messages.at(-1)?.role === 'tool'
            ? 'Sorry.'
            : [
                { type: 'tool-call', id: '1', name: 'breaks', args: {}, argsText: '{}' },
                { type: 'done', finishReason: 'tool-calls' },
              ],
      },
      tools: [tool],
      steps,
    });
    const result = llm.requests[1]?.messages.at(-1)?.content ?? '';
    expect(result).toMatch(/^Error: x+… \(shortened\)$/);
    expect(result.length).toBeLessThan(17_000);
  });
});

describe('a speech-to-text service without measure', () => {
  it('that sends a megabyte in one result, even while the agent speaks, is heard at its beginning, and told so', () => {
    const huge = user.final('word '.repeat(200_000));
    const { events, history } = voiceTest({ steps: { 0: huge, 1_000: huge }, llm: { answer: () => 'Yes.' } });
    const lengths = history.items.flatMap((item) => (item.role === 'user' ? [item.text.length] : []));
    expect(lengths.map((length) => length <= 65_536)).toEqual([true, true]);
    expect(ofType(events, 'error')).toMatchObject([{ role: 'stt', code: 'overflow', recoverable: true }]);
    expect(ofType(events, 'turn.ended').length).toBe(2);
  });
});

describe('a voice without measure', () => {
  const textOf = { 0: user.final('one'), 90_000: user.final('two') };
  const linear16 = { encoding: 'linear16', sampleRate: 8_000, channels: 1 } as const;
  const mp3 = { encoding: 'mp3', sampleRate: 24_000, channels: 1 } as const;
  let listeners = 0;

  /** Sends audio to its first text for as long as anybody listens, a second of it every second. */
  const endless = (metadata: AudioMetadata, bytes: number) => (tts: FakeTTS) => {
    let texts = 0;
    const chunk = { data: new Uint8Array(bytes), metadata };
    const speak = (text$: ObservableInput<string>): Observable<AudioChunk> => {
      if (texts++ > 0) return tts.speak(text$);
      const read$ = (text$ as Observable<string>).pipe(ignoreElements());
      return new Observable((subscriber) => {
        listeners++;
        subscriber.add(() => listeners--);
        return merge(read$, interval(1_000).pipe(map(() => chunk))).subscribe(subscriber);
      });
    };
    return { name: 'FakeTTS', speak };
  };

  /** Takes any format, and all audio as it comes. */
  const anything = {
    ...{ name: 'Output', positionMs: 0, pause: () => undefined, resume: () => undefined },
    play: (audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> =>
      concat(
        of<PlaybackEvent>({ type: 'started', positionMs: 0 }),
        from(audio$).pipe(ignoreElements()),
        of<PlaybackEvent>({ type: 'finished', positionMs: 1_000 }),
      ),
  };

  // The 8 characters of "You: one" are 24 s at the very most.
  it.each<[string, AudioMetadata, number, string]>([
    ['speech that goes on for ever', linear16, 16_000, '85000'],
    ['a compressed file without end', mp3, 40_000, '85000'],
    ['ten minutes at once', linear16, 16_000 * 600, '1000'],
  ])('%s is cut off with an error, and the conversation goes on', (_, metadata, bytes, at) => {
    const { events } = voiceTest({
      llm: { answer: (messages) => `You: ${messages.at(-1)?.content}` },
      steps: textOf,
      wrapTTS: endless(metadata, bytes),
      wrapOutput: (fake) => (metadata === mp3 ? anything : fake),
      untilMs: 120_000,
    });
    expect(listeners).toBe(0);
    const [error, ...others] = ofType(events, 'error');
    expect(error).toMatchObject({ role: 'tts', code: 'overflow', provider: 'FakeTTS', recoverable: true });
    expect([String(error?.at), others]).toEqual([at, []]);
    expect(error?.message).toMatch(/^FakeTTS: more than \d+ s of audio came for 8 characters: it was cut off$/);
    expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['error', 'completed']);
  });

  it('that may play what it likes is heard as long as it does', () => {
    const { events } = voiceTest({
      ...{ steps: { 0: user.final('one') }, wrapTTS: endless(linear16, 16_000), untilMs: 300_000 },
      timeouts: { ttsOverrunMs: Infinity },
    });
    expect([ofType(events, 'error'), ofType(events, 'turn.ended').map(({ at }) => at)]).toEqual([[], [300_000]]);
  });

  it('that times words which nobody wrote has few of them kept', () => {
    const script = new Script();
    script.beginRound();
    const span = { spokenStart: 0, spokenEnd: 9, visualStart: 0, visualEnd: 9 };
    script.addPiece({ spoken: 'Good day.', visual: 'Good day.', spans: [span] });
    let read = 0;
    const word = (text: string): SpokenWord => ({
      ...{ startMs: 0, endMs: 1, utteranceId: undefined as never },
      get text() {
        read++;
        return text;
      },
    });
    for (let at = 0; at < 2_000; at++) script.addWord(word('x'.repeat(1_000)));
    read = 0;
    script.addAudio({ data: new Uint8Array(320), metadata: { encoding: 'linear16', sampleRate: 16_000, channels: 1 } });
    script.heardAt(5);
    expect(read).toBeLessThan(10);
  });
});

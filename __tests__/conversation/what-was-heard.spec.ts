/**
 * The model is told what the user has heard, and never more: not what a slow voice had still to say, nor what was never
 * synthesized.
 */
import { concatMap, delay, from, map, of, Subject, tap } from 'rxjs';
import type { LLMEvent, SpokenWord } from 'rxvoice';
import {
  application,
  textAudioFormat,
  user,
  voiceTest,
  type VoiceTestOptions,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { ofType } from '../pipeline/support/timeline.ts';

const story = 'One two three four five. Six seven eight nine ten. Eleven twelve thirteen fourteen fifteen.';
const chinese = '今天天气很好我们去公园散步吧。明天下雨所以我们在家里看书和喝茶。';
const call: LLMEvent = { type: 'tool-call', id: 'c', name: 'look', args: {}, argsText: '{}' };
const token = (text: string): LLMEvent => ({ type: 'token', text });
const done: LLMEvent = { type: 'done', finishReason: 'stop' };

const test = (options: Partial<VoiceTestOptions>): VoiceTestResult =>
  voiceTest({ llm: { answer: () => story }, steps: { 0: user.final('tell me') }, untilMs: 60_000, ...options });
const remembered = ({ history }: VoiceTestResult): (string | undefined)[] =>
  history.items.filter(({ role }) => role === 'assistant').map((item) => ('heard' in item ? item.heard : undefined));

describe('what was heard', () => {
  it('is no character more than sounded, without word times and at 150 ms a character', () => {
    for (let at = 400; at < 12_000; at += 370) {
      const result = test({
        tts: { words: false, msPerCharacter: 150 },
        steps: { 0: user.final('tell me'), [at]: application.does('interrupt') },
      });
      const [heard = ''] = remembered(result);
      expect(result.heardText.startsWith(heard)).toBe(true);
    }
  });

  it('is no more than sounded in a script with a syllable or more a character', () => {
    for (let at = 400; at < 9_000; at += 370) {
      const result = test({
        llm: { answer: () => chinese },
        tts: { words: false, msPerCharacter: 280 },
        steps: { 0: user.final('tell me'), [at]: application.does('interrupt') },
      });
      const [heard = ''] = remembered(result);
      expect(result.heardText.startsWith(heard)).toBe(true);
    }
  });

  it('is no more than sounded of a slow voice that sends its audio bit by bit', () => {
    const bytes = 16 * 100;
    const wrapTTS: VoiceTestOptions['wrapTTS'] = (tts) => ({
      name: tts.name,
      speak: (text$) =>
        tts.speak(text$).pipe(
          concatMap(({ data, ...chunk }) =>
            Array.from({ length: Math.ceil(data.byteLength / bytes) }, (_, index) => ({
              ...chunk,
              data: data.slice(index * bytes, (index + 1) * bytes),
            })),
          ),
          concatMap((chunk) => of(chunk).pipe(delay(80))),
        ),
    });
    for (const [text, msPerCharacter] of [
      [story, 150],
      [chinese, 280],
    ] as const) {
      for (let at = 400; at < 5_000; at += 370) {
        const result = test({
          llm: { answer: () => text },
          tts: { words: false, msPerCharacter },
          wrapTTS,
          steps: { 0: user.final('tell me'), [at]: application.does('interrupt') },
        });
        const [heard = ''] = remembered(result);
        expect(result.heardText.startsWith(heard)).toBe(true);
      }
    }
  });

  it('is nothing of a round without audio', () => {
    const result = test({
      tools: [{ name: 'look', execute: () => 'seen' }],
      llm: {
        answer: (messages) =>
          messages.at(-1)?.role === 'tool' ? [token('It is here.'), done] : [token('Let me look.'), call, done],
      },
      wrapTTS: (tts) => {
        let rounds = 0;
        return {
          name: tts.name,
          words$: tts.words$,
          speak: (text$) => (++rounds === 1 ? tts.speak(text$) : from(text$).pipe(concatMap(() => []))),
        };
      },
    });
    expect(result.heardText).toBe('Let me look.');
    expect(remembered(result).filter(Boolean)).toEqual(['Let me look.']);
    expect(ofType(result.events, 'speech.ended')[0]?.heardText).toBe('Let me look.');
  });

  it('is no more than a voice said that ended early', () => {
    for (const words of [true, false]) {
      const result = test({
        tts: { words },
        wrapTTS: (tts) => ({
          name: tts.name,
          words$: tts.words$,
          speak: (text$) => {
            let pieces = 0;
            return tts.speak(from(text$).pipe(concatMap((text) => (++pieces === 1 ? [text] : []))));
          },
        }),
      });
      const said = 'One two three four five.';
      expect(result.heardText.trim()).toBe(said);
      const [heard = ''] = remembered(result);
      expect(said.startsWith(heard.trim())).toBe(true);
      if (words) expect(heard.trim()).toBe(said);
    }
  });

  it('counts word times that come with the request', () => {
    const text = 'One two three four.';
    const words$ = new Subject<SpokenWord>();
    const times: readonly (readonly [string, number, number])[] = [
      ...([
        ['One', 0, 100],
        ['two', 100, 200],
        ['three', 200, 300],
        ['four.', 1_900, 2_000],
      ] as const),
    ];
    for (const first of [user.final('tell me'), application.say(text)]) {
      const result = test({
        llm: { answer: () => text },
        steps: { 0: first, 1_000: application.does('interrupt') },
        wrapTTS: ({ name }) => ({
          name,
          words$,
          speak: (text$) =>
            from(text$).pipe(
              tap(() => {
                for (const [word, startMs, endMs] of times)
                  words$.next({ text: word, startMs, endMs, utteranceId: 'u' });
              }),
              map(() => ({ data: new Uint8Array(2_000 * 16), metadata: textAudioFormat, utteranceId: 'u' })),
            ),
        }),
      });
      expect(remembered(result)).toEqual(['One two three']);
    }
  });
});

describe('the time to the first audio', () => {
  it('is the voice’s own: a hold counts as the output’s', () => {
    const { events } = test({ steps: { 0: user.final('tell me'), 100: user.starts, 150: user.falls } });
    const [started] = ofType(events, 'speech.started');
    expect(started?.at).toBeGreaterThan(1_000);
    const [{ ttsFirstAudio, outputLead = 0, total } = {}] = ofType(events, 'turn.metrics');
    expect(ttsFirstAudio).toBe(50);
    expect(outputLead).toBeGreaterThan(1_000);
    expect(total).toBe(started?.at);
  });
});

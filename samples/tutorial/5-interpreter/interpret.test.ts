import { concatMap, from, map, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { LLMProvider, TranscriptionResult, TTSProvider } from 'rxvoice';
import { interpret } from './interpret.ts';

const said = (text: string, isFinal = true): TranscriptionResult => ({
  ...{ text, isFinal, utteranceComplete: isFinal, isPreflight: false },
});
/** i: words that may still change; a, b: whole utterances. */
const results = { i: said('guten', false), a: said('Guten Tag.'), b: said('Wie geht es?') };

/** A model that answers with the picture of each message. */
function modelOf(answers: Readonly<Record<string, Observable<string>>>): Pick<LLMProvider, 'generate'> {
  return {
    generate: (messages) => {
      const answer$ = answers[messages.at(-1)?.content ?? ''] ?? from([]);
      return answer$.pipe(map((text) => ({ type: 'token', text }) as const));
    },
  };
}

/** A voice that says each text as a picture; a chunk is known by its `utteranceId`. */
function voiceOf(picture$: Observable<string>): Pick<TTSProvider, 'speak'> {
  return {
    speak: (text$) =>
      from(text$).pipe(
        concatMap((text) => picture$.pipe(map((part) => ({ data: new Uint8Array(), utteranceId: text + part })))),
      ),
  };
}

/** Compares pictures in virtual time. */
function marbles(test: Parameters<TestScheduler['run']>[0]): void {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);
}

const heardAs = { 1: 'Hello. 1', 2: 'Hello. 2', 3: 'How are you? 1', 4: 'How are you? 2' };

it('says one utterance after the other, each to its end', () => {
  marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
    const results$ = hot('-i-a---b------------|', results);
    const hello$ = cold('    --(x|)                ', { x: 'Hello. ' });
    const howAreYou$ = cold('      --(x|)          ', { x: 'How are you? ' });
    const voice$ = cold('      -1-2|               ');
    const heard = '       ------1-2---3-4-----|';
    const asksFirst = '   ---^-!';
    const asksSecond = '  ---------^-!';
    const llm = modelOf({ 'Guten Tag.': hello$, 'Wie geht es?': howAreYou$ });
    const spoken$ = results$.pipe(interpret({ llm, tts: voiceOf(voice$), language: 'English' }));
    expectObservable(spoken$.pipe(map(({ utteranceId }) => utteranceId))).toBe(heard, heardAs);
    expectSubscriptions(hello$.subscriptions).toBe(asksFirst);
    expectSubscriptions(howAreYou$.subscriptions).toBe(asksSecond);
  });
});

it('hush: cuts the voice off, and goes on with what was said meanwhile', () => {
  marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
    const results$ = hot('-i-a-b--------------|', results);
    const hush$ = hot('   -------h------------');
    const hello$ = cold('    --(x|)                ', { x: 'Hello. ' });
    const howAreYou$ = cold('      --(x|)          ', { x: 'How are you? ' });
    const voice$ = cold('      -1-2|               ');
    const heard = '       ------1---3-4-------|';
    const speaksFirst = ' -----^-!';
    const speaksSecond = '---------^---!';
    const llm = modelOf({ 'Guten Tag.': hello$, 'Wie geht es?': howAreYou$ });
    const spoken$ = results$.pipe(interpret({ llm, tts: voiceOf(voice$), language: 'English', hush$ }));
    expectObservable(spoken$.pipe(map(({ utteranceId }) => utteranceId))).toBe(heard, heardAs);
    expectSubscriptions(voice$.subscriptions).toBe([speaksFirst, speaksSecond]);
  });
});

it('hush: aborts a request that has no words yet, in the same moment', () => {
  marbles(({ hot, cold, expectObservable, expectSubscriptions }) => {
    const results$ = hot('-i-a------|', results);
    const hush$ = hot('   ----h-----');
    const hello$ = cold('    --(x|)', { x: 'Hello. ' });
    const heard = '       ----------|';
    const asks = '        ---^!';
    const options = { llm: modelOf({ 'Guten Tag.': hello$ }), tts: voiceOf(cold('-1|')), language: 'English', hush$ };
    expectObservable(results$.pipe(interpret(options))).toBe(heard);
    expectSubscriptions(hello$.subscriptions).toBe(asks);
  });
});

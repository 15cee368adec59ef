/** An utterance that seems over while it goes on, so that another service takes over in its middle; or one that never ends. */
import fc from 'fast-check';
import type { SpeechEvent, TranscriptionResult } from 'rxvoice';
import { afterResult, afterVoice, silent, type Hearing } from '../../../lib/providers/stt/fallback-stt.ts';

const resultOf = (text: string, utteranceComplete: boolean): TranscriptionResult => ({
  ...{ text, isFinal: utteranceComplete, utteranceComplete, isPreflight: false },
});
type Heard = SpeechEvent | TranscriptionResult;
const isVoice = (heard: Heard): heard is SpeechEvent => 'type' in heard;
const heard: fc.Arbitrary<Heard> = fc.oneof(
  fc.constantFrom('started' as const, 'ended' as const, 'resumed' as const).map((type) => ({ type })),
  fc.tuple(fc.constantFrom('', ' ', 'well'), fc.boolean()).map((values) => resultOf(...values)),
);

describe('whatever a service hears', () => {
  it('the utterance goes on from its first voice or word to its end', () => {
    fc.assert(
      fc.property(fc.array(heard, { maxLength: 12, size: 'max' }), fc.boolean(), (all, isFinalizing) => {
        const hearing = all.reduce<Hearing>(
          (before, each) => (isVoice(each) ? afterVoice(before, each) : afterResult(before, each)),
          { ...silent, isFinalizing },
        );
        const end = all.findLastIndex((each) => !isVoice(each) && each.utteranceComplete);
        const since = all.slice(end + 1);
        const hasWords = since.some((each) => !isVoice(each) && each.text.trim() !== '');
        const voice = since.filter(isVoice).at(-1);
        const isOpen = hasWords || (voice !== undefined && voice.type !== 'ended');
        expect(hearing).toEqual({ isOpen, hasWords, isFinalizing });
      }),
      { numRuns: 1_000 },
    );
  });
});

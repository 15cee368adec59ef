/**
 * A service whose words come two seconds after the voice: an agent that resumes after 1.2 s of silence talks over its
 * caller each time, and is cut in mid-word when the words come.
 */
import { user, voiceTest, type VoiceStep, type VoiceTestOptions } from 'rxvoice/testing';
import { timeline } from '../pipeline/support/timeline.ts';

const story = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.';
const stages = ['bargeIn.paused', 'bargeIn.confirmed', 'bargeIn.resumed'] as const;

/** The caller asks at 0, and interrupts with a voice from `at` on, for half a second. */
function interrupted(at: number, { steps, ...options }: Partial<VoiceTestOptions> = {}): readonly string[] {
  const voice = { [at + 260]: user.voice(at), [at + 750]: user.silence(at + 500) };
  const { events } = voiceTest({
    ...{ vad: true, llm: { answer: () => story }, untilMs: 60_000 },
    ...options,
    steps: { 0: user.final('tell me'), ...voice, ...steps },
  });
  return timeline(events, ...stages).filter((line) => Number(line.split(' ')[0]) >= at);
}

describe('the agent resumes when no words came within the lag of the service', () => {
  it('of which nothing is known: after 1,200 ms of silence', () => {
    expect(interrupted(1_000)).toEqual(['1260 bargeIn.paused', '2700 bargeIn.resumed']);
  });

  it('that was learnt in this conversation', () => {
    const steps: Record<number, VoiceStep> = {};
    for (const at of [0, 10_000, 20_000]) {
      steps[at + 60] = user.voice(at);
      steps[at + 750] = user.silence(at + 500);
      steps[at + 3_000] = user.final('tell me');
    }
    const learnt = { steps: { ...steps, 0: [] } };
    // From 1,000 half of the way to 2,500, each time.
    expect(interrupted(24_000, learnt)).toEqual(['24260 bargeIn.paused', '26812.5 bargeIn.resumed']);
    const late = { steps: { ...learnt.steps, 26_500: user.final('no, the other') } };
    expect(interrupted(24_000, late)).toEqual(['24260 bargeIn.paused', '26500 bargeIn.confirmed 2500']);
  });

  it('but after the pause that the application set, if that is longer', () => {
    expect(interrupted(1_000, { bargeIn: { resumeAfterMs: 3_000 } }).at(-1)).toBe('4500 bargeIn.resumed');
  });
});

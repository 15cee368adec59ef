import { user, voiceTest, type VoiceTestOptions } from '../../lib/testing/voice-test.ts';

const steps = { 100: user.final('hello') };

describe('voiceTest()', () => {
  it('refuses an option that it does not have: the test would try something else', () => {
    const misspelt = { steps, bargein: false } as VoiceTestOptions;
    expect(() => voiceTest(misspelt)).toThrow('voiceTest: there is no option bargein, only systemPrompt, greeting, ');
  });

  it('takes the options of a conversation beside its own', () => {
    const { events, history } = voiceTest({
      ...{ steps, untilMs: 5_000, locale: 'de', vad: false, stt: { name: 'HouseSTT' } },
      hearing: (result$) => result$,
    });
    expect(events.length).toBeGreaterThan(0);
    expect(history.items[0]).toMatchObject({ role: 'user', text: 'hello' });
  });
});

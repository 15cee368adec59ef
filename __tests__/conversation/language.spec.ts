/** Callers speak the language that they like, and change it. Who follows must not be misled by a single word. */
import type { TranscriptionResult } from 'rxvoice';
import { application, FakeSTT, FakeTTS, user, voiceTest, type VoiceStep, type VoiceTestOptions } from 'rxvoice/testing';
import { timeline } from '../pipeline/support/timeline.ts';

const said = (text: string, language: string, kind: 'final' | 'preflight' = 'final'): VoiceStep => {
  const result: TranscriptionResult = { ...FakeSTT.result(text, kind), metadata: { language } };
  return { user: result };
};
const told = ['user.language'] as const;

/** What the user says while the agent speaks: whether it was ignored, and why. */
const ignored = (locale: string, words: string, extra: Partial<VoiceTestOptions> = {}): unknown[] => {
  const { events } = voiceTest({
    llm: { answer: () => 'Eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf.' },
    locale,
    steps: { 0: said('bitte zähle bis zwölf', locale), 2_000: user.starts, 2_300: said(words, locale) },
    ...extra,
  });
  return events.flatMap((event) => (event.type === 'bargeIn.ignored' ? [event.reason] : []));
};

describe('the phrases of a voiceTest', () => {
  it.each([
    ['de', 'genau'],
    ['es', 'claro'],
    ['fr', "d'accord"],
    ['it', 'va bene'],
    ['pt', 'claro'],
    ['ja', 'はい'],
    ['zh', '好的'],
    ['hi', 'हाँ'],
    ['ar', 'نعم'],
    ['en', 'right'],
  ])('are those of its locale: in %s, "%s" interrupts nobody', (locale, nod) => {
    expect(ignored(locale, nod)).toEqual(['backchannel']);
  });

  it('are not those of another language', () => {
    expect(ignored('de', 'sounds good')).toEqual([]);
    expect(ignored('en', 'genau')).toEqual([]);
  });

  it('follow a locale that is updated, and the language that the user speaks', () => {
    const german = { steps: { 0: user.final('count to twelve'), 1_000: application.updates({ locale: 'de' }) } };
    const nod = { 2_000: user.starts, 2_300: said('genau', 'de') };
    expect(ignored('en', '', { steps: { ...german.steps, ...nod } })).toEqual(['backchannel']);
    const followed = { 0: said('bitte zähle bis zwölf', 'de'), ...nod };
    expect(ignored('en', '', { followLanguage: true, steps: followed })).toEqual(['backchannel']);
  });
});

describe('followLanguage', () => {
  const text = 'Wir treffen uns alle dort am 12. Mai um acht Uhr in der Frühe.';
  const asked = { llm: { answer: () => text }, locale: 'en', followLanguage: true };

  it('takes the language of what the user says for the sentences of its answer, and tells so', () => {
    const { events, tts } = voiceTest({ ...asked, steps: { 0: said('wann treffen wir uns', 'de') } });
    expect(timeline(events, ...told)).toEqual(['0 user.language de']);
    const { tts: german } = voiceTest({ ...asked, locale: 'de', steps: { 0: user.final('wann') } });
    expect(tts.pieces).toEqual(german.pieces);
    const { tts: english } = voiceTest({ ...asked, steps: { 0: said('when do we meet', 'en') } });
    expect(tts.pieces).not.toEqual(english.pieces);
  });

  it('is off by default', () => {
    const { events } = voiceTest({ steps: { 0: said('wann treffen wir uns', 'de') } });
    expect(timeline(events, ...told)).toEqual([]);
  });

  it('hears no language in a single word, in names of several, and in what is none', () => {
    const steps = {
      0: said('okay', 'de'),
      5_000: said('hello to you', 'multi'),
      10_000: said('hello to you', 'not a language'),
      15_000: said('hello to you', ''),
    };
    expect(timeline(voiceTest({ ...asked, steps }).events, ...told)).toEqual([]);
  });

  it('keeps a more exact locale of the same language', () => {
    const { events } = voiceTest({ ...asked, locale: 'en-GB', steps: { 0: said('hello to you', 'en') } });
    expect(timeline(events, ...told)).toEqual([]);
  });

  it('speaks with the voice for the language, or for the language wherever it is spoken', () => {
    const [es, pt] = [new FakeTTS(), new FakeTTS()];
    const { tts } = voiceTest({
      ...{ followLanguage: true, voices: { es, 'pt-BR': pt }, llm: { answer: () => 'Bueno.' } },
      steps: {
        0: said('hello to you', 'en'),
        5_000: said('buenos días amigo', 'es-MX'),
        10_000: said('bom dia amigo', 'pt-BR'),
        15_000: said('bom dia amigo', 'pt-PT'),
      },
    });
    expect([tts.pieces.length, es.pieces.length, pt.pieces.length]).toEqual([2, 1, 1]);
  });

  it('prefers the voices of the agent that answers', () => {
    const [mine, house] = [new FakeTTS(), new FakeTTS()];
    voiceTest({
      ...{ followLanguage: true, voices: { es: house }, agents: { one: { voices: { es: mine } } } },
      steps: { 0: said('buenos días amigo', 'es') },
    });
    expect([mine.pieces.length, house.pieces.length]).toEqual([1, 0]);
  });

  it('discards an answer that was prepared in another language', () => {
    const { events } = voiceTest({
      ...asked,
      steps: { 0: said('good morning', 'en', 'preflight'), 300: said('good morning', 'de') },
    });
    expect(timeline(events, 'preflight.discarded', 'preflight.adopted')).toEqual(['300 preflight.discarded changed']);
  });

  it('gives way to a locale of the application, until the user is heard speaking another', () => {
    const { events, tts } = voiceTest({
      ...asked,
      steps: {
        0: said('wann treffen wir uns', 'de'),
        10_000: application.updates({ locale: 'en' }),
        10_001: user.final('okay'),
        20_000: said('und wann genau', 'de'),
      },
    });
    expect(timeline(events, ...told)).toEqual(['0 user.language de', '20000 user.language de']);
    expect(tts.pieces.slice(0, 1)).not.toEqual(tts.pieces.slice(1, 2));
  });

  it('ends with an update', () => {
    const { events } = voiceTest({
      ...asked,
      steps: { 0: application.updates({ followLanguage: undefined }), 100: said('wann treffen wir uns', 'de') },
    });
    expect(timeline(events, ...told)).toEqual([]);
  });
});

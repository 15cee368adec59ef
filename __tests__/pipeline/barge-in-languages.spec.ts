/** Barge-in through a whole Pipeline, in the caller's language: the locale is all that an application sets. */
import { loadPhrases, Pipeline, type PipelineOptions, type VoiceEvent } from 'rxvoice';
import { audioToText, FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { TestClock, until } from '../transport/test-clock.ts';
import { ofType, timeline } from './support/timeline.ts';

const story = 'One two three four five. Six seven eight nine ten.';

/** A caller who is told the story, from 200 ms on, and says something after one second. */
async function hears(said: string, options: Partial<PipelineOptions>, ...changes: readonly string[]) {
  const scheduler = new TestClock();
  const [input, stt, output] = [new FakeInput(), new FakeSTT(), new FakeOutput({ scheduler })];
  const llm = new FakeLLM({ answer: () => story, scheduler });
  const providers = [input, stt, llm, new FakeTTS({ scheduler }), output];
  const pipeline = new Pipeline({ providers, scheduler, ...options });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  for (const locale of changes) pipeline.update({ locale });
  // The phrases come with the first word of that language.
  for (const locale of changes) await loadPhrases(locale);
  await scheduler.advance(0);
  pipeline.send('tell me');
  await scheduler.advance(1_000);
  stt.hearWords(FakeSTT.result(said, 'interim'));
  await scheduler.advance(100);
  stt.hearWords(FakeSTT.result(said, 'final'));
  await scheduler.advance(9_000);
  await until(() => ofType(events, 'turn.ended').length > 0);
  await pipeline.dispose();
  return { events, llm, heard: audioToText(output.heard) };
}

describe.each([
  ['ar-EG', 'توقف', 'نعم'],
  ['de-DE', 'Stopp!', 'Genau.'],
  ['en-US', 'Hold on!', 'Mm-hm.'],
  ['es-ES', '¡Espera!', 'Ajá.'],
  ['fr-FR', 'Arrêtez !', "D'accord."],
  ['hi-IN', 'रुकिए', 'अच्छा'],
  ['it-IT', 'Basta!', 'Va bene.'],
  ['ja-JP', '待ってください', 'うん、うん'],
  ['pt-BR', 'Espera aí!', 'Tá bom.'],
  ['zh-CN', '等一下', '嗯'],
])('with locale: %s', (locale, command, nod) => {
  it(`"${command}" cuts at once, and nobody answers it`, async () => {
    const { events, llm } = await hears(command, { locale });
    expect(timeline(events, 'bargeIn.confirmed')).toEqual(['1000 bargeIn.confirmed 0']);
    expect(llm.requests).toHaveLength(1);
  });

  it(`"${nod}" cuts nothing`, async () => {
    const { events, llm, heard } = await hears(nod, { locale });
    expect(timeline(events, 'bargeIn.confirmed', 'bargeIn.ignored')).toEqual([
      `1100 bargeIn.ignored backchannel: ${nod}`,
    ]);
    expect(llm.requests).toHaveLength(1);
    expect(heard).toBe(story);
  });
});

describe('the language', () => {
  it('follows update()', async () => {
    const { events } = await hears('Genau.', { locale: 'fr' }, 'de');
    expect(timeline(events, 'bargeIn.ignored')).toEqual(['1100 bargeIn.ignored backchannel: Genau.']);
    const back = await hears('Right.', { locale: 'fr' }, 'en');
    expect(timeline(back.events, 'bargeIn.ignored')).toEqual(['1100 bargeIn.ignored backchannel: Right.']);
  });

  it('is the last one chosen, although the phrases of another come later', async () => {
    const { events } = await hears('Right.', { locale: 'en' }, 'de', 'en');
    expect(timeline(events, 'bargeIn.ignored')).toEqual(['1100 bargeIn.ignored backchannel: Right.']);
  });

  it('is English without a locale, and for a language without phrases', async () => {
    for (const options of [{}, { locale: 'sv-SE' }]) {
      const { events } = await hears('Right.', options);
      expect(timeline(events, 'bargeIn.ignored')).toHaveLength(1);
    }
    const { events } = await hears('Genau.', {});
    expect(timeline(events, 'bargeIn.confirmed')).toEqual(['1100 bargeIn.confirmed 100']);
  });

  it('has the phrases that the application adds', async () => {
    const { events } = await hears('Feierabend!', {
      ...{ locale: 'de', bargeIn: { commands: (own: readonly string[]) => [...own, 'Feierabend'] } },
    });
    expect(timeline(events, 'bargeIn.confirmed')).toEqual(['1000 bargeIn.confirmed 0']);
  });
});

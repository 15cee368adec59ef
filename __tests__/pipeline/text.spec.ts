/** Answers that are silence because nothing in them can be read aloud, or that are remembered as they were never written. */
import { markdown, pronunciations, spokenForms } from 'rxvoice';
import { audioToText } from 'rxvoice/testing';
import { call, over, type Call } from './support/call.ts';
import { ofType } from './support/timeline.ts';

/** What sounded. */
const heard = ({ output }: Call): string => audioToText(output.heard, 100);

describe('text', () => {
  it('of nothing but code is announced, in the language of the conversation, and remembered as written', async () => {
    for (const [locale, notice] of [
      ['en', 'Here is some code.'],
      ['fr-CA', 'Voici le code.'],
    ] as const) {
      const code = '```js\nconst answer = 42;\n```';
      const rig = await call({ locale, llm: { answer: () => code } });
      rig.pipeline.send('Show me.');
      await rig.scheduler.advance(10_000);
      expect(heard(rig)).toBe(notice);
      expect(rig.pipeline.history.items.at(-1)).toMatchObject({ role: 'assistant', heard: code });
      await over(rig);
    }
  });

  it('passes the transforms in their order, and is told as it is written', async () => {
    const rig = await call({ text: [markdown(), pronunciations({ SQL: 'sequel' })] });
    rig.pipeline.say('Learn **SQL** now.');
    await rig.scheduler.advance(10_000);
    expect(heard(rig)).toBe('Learn sequel now.');
    expect(ofType(rig.events, 'speech.ended')[0]).toMatchObject({ heardText: 'Learn **SQL** now.' });
    rig.pipeline.update({ text: [] });
    rig.pipeline.say('Learn **SQL** now.');
    await rig.scheduler.advance(10_000);
    expect(heard(rig)).toContain('Learn **SQL** now.');
    await over(rig);
  });

  it('has its numbers in words, unless the voice reads them itself', async () => {
    const forms = spokenForms('en-US');
    await forms.load();
    for (const [normalizesText, said] of [
      [false, 'It is five kilometers.'],
      [true, 'It is 5 km.'],
    ] as const) {
      const rig = await call({ text: [markdown(), forms], normalizesText });
      rig.pipeline.say('It is 5 km.');
      await rig.scheduler.advance(10_000);
      expect(heard(rig)).toBe(said);
      expect(ofType(rig.events, 'speech.ended')[0]).toMatchObject({ heardText: 'It is 5 km.' });
      await over(rig);
    }
  });

  it('is spoken by halves of words, and remembered by whole ones', async () => {
    const rig = await call({ text: [markdown(), pronunciations({ SQL: 'structured query language' })] });
    const said = rig.pipeline.say('Learn SQL now.');
    await rig.scheduler.advance(1_600);
    said.interrupt();
    expect((await said.done).heardText.trim()).toBe('Learn');
    await over(rig);
  });

  it('without punctuation is spoken before it is all there', async () => {
    const words = Array.from({ length: 60 }, () => 'again ');
    const rig = await call({ llm: { answer: () => words.join(''), tokenMs: 100 } });
    rig.pipeline.send('Go on.');
    await rig.scheduler.advance(4_000);
    expect(heard(rig)).toMatch(/^again again/);
    await over(rig);
  });
});

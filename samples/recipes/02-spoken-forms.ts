/** Money, dates and units as words, in the language of the conversation; the history keeps what is written. */
import { markdown, Pipeline, spokenForms } from 'rxvoice';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  await using pipeline = new Pipeline({
    providers: kit.providers(),
    locale: 'en-US',
    text: [markdown(), spokenForms(['en-US', 'de-DE'])],
  });
  await pipeline.start();

  const show = async (text: string): Promise<void> => {
    const before = kit.heard().length;
    const { heardText } = await pipeline.say(text).done;
    kit.print(`heard: ${kit.heard().slice(before).trim()}`);
    kit.print(`written: ${heardText.trim()}`);
  };
  await show('The train leaves at **3:45 pm** and costs $42.50.');
  pipeline.update({ locale: 'de-DE' });
  await show('Der Zug fährt um 15:45 Uhr.');
  await pipeline.stop();
}

/** What is said: Markdown stays on the screen, names are spoken right, and code alone is announced. */
import { markdown, Pipeline, pronunciations } from 'rxvoice';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  await using pipeline = new Pipeline({
    providers: kit.providers(),
    text: [markdown(), pronunciations({ SQL: 'sequel', nginx: 'engine x' })],
  });
  await pipeline.start();

  const show = async (text: string): Promise<void> => {
    const before = kit.heard().length;
    const { heardText } = await pipeline.say(text).done;
    kit.print(`written: ${JSON.stringify(heardText)}`);
    kit.print(`heard: ${kit.heard().slice(before).trim()}`);
  };
  await show('Use **SQL** behind [nginx](https://nginx.org).');
  await show('```ts\nconst answer = 42;\n```');
  await pipeline.stop();
}

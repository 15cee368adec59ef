/** What must not be said is neither heard nor remembered, and what the model need not know never reaches it. */
import { blocklist, guard, markdown, personalData, Pipeline } from 'rxvoice';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  await using pipeline = new Pipeline({
    providers: kit.providers(),
    text: [
      markdown(),
      guard({ rules: [personalData()], sides: ['input', 'output'], replacement: 'that number' }),
      guard({ rules: [blocklist(['darn'])], action: 'cut', say: 'Let us stay polite.' }),
    ],
  });
  // What was done, not what was said.
  pipeline.on('guard.acted', ({ side, rule, action }) => kit.print(`${side}, ${rule}: ${action}`));
  await pipeline.start();

  // The model repeats what it is told.
  for (const text of ['Say my card is 4111 1111 1111 1111', 'Say it is fine. Oh darn it']) {
    const { heardText } = await pipeline.send(text).done;
    kit.print(`heard: ${heardText}`);
  }
  for (const { role, content } of pipeline.history.messages()) kit.print(`${role}: ${content}`);
  await pipeline.stop();
}

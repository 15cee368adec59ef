/** A caller who is cut off, and calls again: another pipeline goes on where the first was heard, and sums up what is old. */
import { firstValueFrom, skip } from 'rxjs';
import { MemoryHistory, Pipeline, remember, summarize } from 'rxvoice';
import { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  // A SqliteHistory outlives the process, an IndexedDbHistory the page.
  const store = new MemoryHistory();
  const conversation = 'caller-4711';

  const first = new Pipeline({ providers: kit.providers() });
  const kept = await remember(first, { store, conversation });
  await first.start();
  first.send('say one two three four five six');
  await firstValueFrom(first.captions$.pipe(skip(2)));
  await kept.saved();
  // Whatever becomes of this process: what was heard is kept already.
  const [, cut] = store.load(conversation);
  kit.print(`kept: ${cut?.role === 'assistant' ? cut.heard : 'nothing'}`);
  await first.dispose();

  using again = new Kit(kit.sandbox, kit.print);
  const llm = again.llm();
  await using second = new Pipeline({ providers: [again.input, again.stt(), llm, again.tts(), again.output] });
  const memory = await remember(second, { store, conversation });
  kit.print(`resumed: ${memory.resumed.length} items`);
  summarize(second.history, { llm, maxTurns: 2, keepTurns: 1 }).subscribe((summary) => kit.print(summary.type));
  await second.start();
  await second.say('Where were we?').done;
  second.send('say goodbye');
  await kit.next(second, 'history.truncated');
  for (const { role, content } of second.history.messages()) kit.print(`${role}: ${content}`);
}

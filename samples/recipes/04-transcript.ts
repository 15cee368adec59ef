/** A chat of what is said: lines that grow while somebody speaks, and what an interrupted agent was not heard to say. */
import { firstValueFrom, skip } from 'rxjs';
import { Pipeline, transcript } from 'rxvoice';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  await using pipeline = new Pipeline({ providers: kit.providers() });

  // All lines come at every change; a page would render them.
  transcript(pipeline).subscribe((lines) => {
    const { speaker, text, unheard, isFinal } = lines.at(-1) ?? {};
    if (speaker) kit.print(`${speaker}: ${text}${isFinal ? '.' : '…'}`);
    if (unheard) kit.print(`not heard:${unheard}`);
  });

  await pipeline.start();
  kit.pickUp();
  kit.say('Say the line is clear');
  await kit.next(pipeline, 'turn.ended');

  const counting = pipeline.say('one two three four five six');
  await firstValueFrom(pipeline.captions$.pipe(skip(2)));
  pipeline.interrupt();
  await counting.done;
  await pipeline.stop();
}

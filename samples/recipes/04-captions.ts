/** Subtitles of both sides: on the screen word by word, as they are heard, and in a WebVTT file. */
import { captions, Pipeline, webVtt } from 'rxvoice';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  await using pipeline = new Pipeline({ providers: kit.providers() });

  // Each word as it begins to sound; a cue comes again with every word.
  captions(pipeline, { lineLength: 20 }).subscribe(({ lines, isComplete }) => {
    if (!isComplete) kit.print(`screen: ${lines.join(' | ')}`);
  });
  // Only what will not change anymore.
  let file = '';
  captions(pipeline, { lineLength: 20, user: true })
    .pipe(webVtt({ names: { agent: 'Nova', user: 'Caller' } }))
    .subscribe((text) => (file += text));

  await pipeline.start();
  kit.pickUp();
  kit.say('Say the line is clear');
  await kit.next(pipeline, 'turn.ended');
  await pipeline.stop();
  kit.print(file);
}

/** A greeting that is ready before the call, and phrases that are synthesized, and paid for, once. */
import { cachedVoice, MemoryPhrases, Pipeline } from 'rxvoice';
import { sentJson } from '../sandbox/records.ts';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  // FilePhrases outlive the process, IndexedDbPhrases the page.
  const tts = cachedVoice(kit.tts(), { store: new MemoryPhrases() });
  const providers = [kit.input, kit.stt(), kit.llm(), tts, kit.output];
  await using pipeline = new Pipeline({ providers, greeting: 'hello' });
  await pipeline.initialize();
  await tts.prepare(['hello', 'one moment']);
  kit.print(`asked: ${asked(kit)}`);

  const greeted = kit.next(pipeline, 'speech.ended');
  await pipeline.start();
  await greeted;
  await pipeline.say('one moment').done;
  await pipeline.say('goodbye').done;
  kit.print(`heard: ${kit.heard()}`);
  kit.print(`asked: ${asked(kit)}`);
}

/** What the service was asked to speak. */
function asked({ sandbox }: Kit): string {
  const sent = sandbox.records().filter(({ service }) => service === 'alpha-tts');
  const texts = sent.flatMap(sentJson).map((message) => (message as { readonly text?: string }).text?.trim());
  return texts.filter(Boolean).join(', ');
}

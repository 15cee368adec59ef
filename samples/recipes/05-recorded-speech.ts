/** A recorded notice in place of the voice: it waits its turn, can be interrupted, and is remembered as heard. */
import { Pipeline, Recording } from 'rxvoice';
import { encodeWav, int16Bytes } from 'rxvoice/audio';
import { encodeText } from '../sandbox/modem.ts';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  // A file on disk, or the body of a response, would do as well.
  const samples = int16Bytes(encodeText('calls are recorded', 16_000));
  const notice = new Recording(encodeWav(samples, { encoding: 'linear16', sampleRate: 16_000, channels: 1 }));

  await using pipeline = new Pipeline({ providers: kit.providers() });
  await pipeline.start();
  kit.pickUp();

  // The text is what the recording says: for the history, the captions and the model.
  const { heardText } = await pipeline.say('calls are recorded', { tts: notice }).done;
  await pipeline.say('hello').done;
  kit.print(`remembered: ${heardText}`);
  kit.print(`heard: ${kit.heard()}`);
  for (const { provider, characters = 0 } of await usageOf(kit, pipeline)) {
    if (characters > 0) kit.print(`billed: ${characters} characters of ${provider}`);
  }
}

async function usageOf(kit: Kit, pipeline: Pipeline) {
  const [{ usage }] = await Promise.all([kit.next(pipeline, 'session.closed'), pipeline.stop()]);
  return usage;
}

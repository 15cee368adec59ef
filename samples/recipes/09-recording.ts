/** A call that is recorded once the caller agrees: both sides, without the PIN, and the events beside it. */
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { collectDigits, Pipeline, record, type DigitOptions } from 'rxvoice';
import { int16View } from 'rxvoice/audio';
import { decodeSamples } from '../sandbox/modem.ts';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  const { phone, caller } = await kit.ring();
  await using pipeline = new Pipeline({ providers: [phone, kit.stt(), kit.llm(), kit.tts()] });
  const ask = async (question: string, options: DigitOptions): Promise<string> => {
    const prompt = pipeline.say(question, { store: false });
    const { digits } = await firstValueFrom(collectDigits(phone, { ...options, prompt }));
    return digits;
  };

  const recording = record(pipeline, { consent: async () => (await ask('Record? Press one.', { max: 1 })) === '1' });
  // A file would do as well: recording.wav$.subscribe((bytes) => file.write(bytes));
  const file = lastValueFrom(recording.wav$.pipe(toArray()));
  const lines = lastValueFrom(recording.lines$.pipe(toArray()));
  await pipeline.start();
  await kit.next(pipeline, 'speech.started');
  caller.press('1');
  await kit.next(pipeline, 'speech.ended');

  caller.pause(200);
  caller.say('Say it is me');
  await kit.next(pipeline, 'turn.ended');
  const pin = ask('PIN?', { max: 4, secret: true });
  caller.say('4711');
  await kit.next(pipeline, 'speech.ended');
  for (const digit of '4711') caller.press(digit);
  kit.print(`PIN: ${'*'.repeat((await pin).length)}`);
  await pipeline.stop({ drain: true });

  kit.print(`caller: ${heard(await file, 0)}`);
  kit.print(`agent: ${heard(await file, 1)}`);
  for (const line of await lines) kit.print(`event: ${(JSON.parse(line) as { readonly type: string }).type}`);
}

/** What is in one channel of a WAV file. */
function heard(pieces: readonly Uint8Array[], channel: number): string {
  const samples = int16View(Uint8Array.from(Buffer.concat(pieces).subarray(44)));
  const one = samples.filter((_, at) => at % 2 === channel);
  return decodeSamples(one, 8_000).utterances.join(' / ');
}

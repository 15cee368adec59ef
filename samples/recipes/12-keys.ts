/** A menu by keys: any key cuts the question, and a PIN is known to nobody but the code that asks for it. */
import { firstValueFrom } from 'rxjs';
import { collectDigits, Pipeline, type DigitOptions } from 'rxvoice';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  const { phone, caller } = await kit.ring();
  await using pipeline = new Pipeline({ providers: [phone, kit.stt(), kit.llm(), kit.tts()] });
  pipeline.on('dtmf.digit', ({ digit }) => kit.print(`event: ${digit}`));
  await pipeline.start();

  const ask = async (question: string, options: DigitOptions): Promise<string> => {
    const prompt = pipeline.say(question, { store: false });
    const { digits } = await firstValueFrom(collectDigits(phone, { ...options, prompt }));
    return digits;
  };
  const menu = async (): Promise<string> => {
    switch (await ask('For opening hours press one, for your account press two.', { max: 1 })) {
      case '1':
        return 'We are open from nine to five.';
      case '2':
        return (await ask('Your PIN, please.', { max: 4, secret: true })) === '4711' ? 'Welcome back.' : 'Wrong PIN.';
      default:
        return 'Nothing chosen.';
    }
  };

  const said = menu();
  await caller.until(({ playedMs }) => playedMs > 500);
  caller.press('2');
  await kit.next(pipeline, 'speech.started');
  for (const digit of '4711') caller.press(digit);
  const { heardText } = await pipeline.say(await said).done;
  kit.print(`heard: ${heardText}`);
}

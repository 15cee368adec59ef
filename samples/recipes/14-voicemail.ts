/** An agent that calls people: it talks to a human, leaves a message after the beep, and finds its way through a menu. */
import { firstValueFrom } from 'rxjs';
import { answeredBy, leaveMessage, Pipeline, pressKeys } from 'rxvoice';
import type { PhoneCaller } from '../sandbox/phone-caller.ts';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  const greetings: readonly ((other: PhoneCaller) => void)[] = [
    (other) => other.say('Hello?'),
    (other) => {
      other.say('Leave a message after the tone.');
      other.pause(600);
      other.beep();
    },
    (other) => other.say('For sales, press 1. For support, press 2.'),
  ];
  for (const greet of greetings) await callSomebody(kit, greet);
}

async function callSomebody(kit: Kit, greet: (other: PhoneCaller) => void): Promise<void> {
  const { phone, caller: other } = await kit.ring();
  await using pipeline: Pipeline = new Pipeline({
    providers: [phone, kit.stt(), kit.llm(), kit.tts()],
    timeouts: { hookMs: 25_000 },
    // What a machine says is not answered, nor is anything before it is clear who speaks.
    onUserTurn: async () => ((await answered).by === 'human' ? undefined : { refuse: '' }),
  });
  const answered = firstValueFrom(answeredBy(pipeline, phone));
  await pipeline.start();
  greet(other);

  const { by, reason, text } = await answered;
  kit.print(`${by}, by ${reason}: ${text}`);
  switch (by) {
    case 'machine': {
      const message = 'Your car is ready.';
      const hangUp = (): void => phone.hangUp();
      const { after } = await firstValueFrom(
        leaveMessage(pipeline, phone, message, { answered: await answered, hangUp }),
      );
      kit.print(`left after: ${after}`);
      break;
    }
    case 'menu':
      await pressKeys(pipeline, '2').done;
      kit.print('pressed 2');
      break;
    default:
      await kit.next(pipeline, 'speech.ended');
  }
  kit.print(`heard: ${other.heard().text}`);
}

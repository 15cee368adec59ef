/** Many conversations in one process: a full house refuses, and before a deployment it is drained. */
import { sessions, VoiceError, type PhoneStreamA } from 'rxvoice';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  const calls = sessions({
    maxSessions: 2,
    idleMs: 60_000,
    config: { greeting: 'hello' },
    create: (phone: PhoneStreamA, scope) => {
      scope.add(() => kit.print('closed what was its own'));
      return { providers: [phone, kit.stt(), kit.llm(), kit.tts()] };
    },
  });
  calls.events$.subscribe((event) => {
    if (event.type === 'refused') kit.print(`refused: ${event.reason}`);
    else kit.print(`${event.session?.id} ${event.type}${event.type === 'closed' ? `: ${event.reason}` : ''}`);
  });

  const callers = await Promise.all([kit.ring(), kit.ring(), kit.ring()]);
  for (const { phone } of callers) {
    try {
      calls.open(phone);
    } catch (error) {
      // A server would answer 503, so that its balancer asks another one.
      kit.print(VoiceError.is(error) ? error.code : 'unknown');
      phone.hangUp();
    }
  }
  const [first, second] = callers;
  await first.caller.until((caller) => caller.heard().text.includes('hello'));
  await first.caller.hangUp();
  // The other one's agent says what it is saying, and is ended.
  await calls.drain({ patienceMs: 500 });
  kit.print(`heard: ${second.caller.heard().text.trim()}`);
  kit.print(`left: ${calls.all.length}, ${calls.refusal}`);
}

/** From ring to goodbye: a person is called with a summary while the agent stays, and the agent hangs up itself. */
import { lastValueFrom } from 'rxjs';
import { callStates, defineTool, hangUpTool, Pipeline, PhoneStreamACalls, warmTransfer } from 'rxvoice';
import { PhoneRest } from '../sandbox/phone-rest.ts';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  await using platform = await PhoneRest.open();
  const { accountSid, authToken, endpoint } = platform;
  const calls = new PhoneStreamACalls({ accountSid, authToken, endpoint });
  const { phone, caller } = await kit.ring();
  platform.receive(caller.callSid, 'in-progress');

  const transfer = defineTool({
    name: 'transfer_to_person',
    description: 'Calls a person, who takes over.',
    execute: () => {
      const numbers = { to: '+442071838750', from: '+447700900000' };
      const summary = 'A caller who wants to know more.';
      // The agent goes on until the person has answered, and if nobody does.
      warmTransfer(calls, { call: caller.callSid, ...numbers, summary, everyMs: 20 }).subscribe((state) =>
        kit.print(`person: ${Object.values(state).join(', ')}`),
      );
      return 'calling';
    },
  });
  const hangUp = hangUpTool({
    pipeline: () => pipeline,
    hangUp: () => calls.end(caller.callSid),
    result: 'goodbye',
  });
  const providers = [phone, kit.stt(), kit.llm(), kit.tts()];
  await using pipeline: Pipeline = new Pipeline({ providers, tools: [transfer, hangUp] });
  await pipeline.start();

  await pipeline.send('Transfer me').done;
  for (const { id, instructions } of platform.calls.values()) {
    if (instructions.length > 0) platform.become(id, 'busy');
  }
  pipeline.send('Hang up');
  const end = await lastValueFrom(callStates(calls, caller.callSid, { everyMs: 20 }));
  kit.print(`heard: ${caller.heard().text}`);
  kit.print(`call: ${Object.values(end).join(', ')}`);
}

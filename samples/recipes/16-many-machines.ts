/** Calls of any machine, seen and reached from another: a live list, events, a command; and a broker that is away. */
import { connect } from '@nats-io/transport-node';
import { filter, firstValueFrom } from 'rxjs';
import { Pipeline, publish } from 'rxvoice';
import { natsBoard, natsSink, type BoardCall } from 'rxvoice/nats';
import { NatsServer } from '../phone/nats-server.ts';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  await using broker = await NatsServer.start();
  const patience = { servers: broker.url, maxReconnectAttempts: -1, reconnectTimeWait: 200 };
  const [machine, office] = await Promise.all([connect(patience), connect(patience)]);

  // Where the calls are.
  const { phone, caller } = await kit.ring();
  const pipeline = new Pipeline({ providers: [phone, kit.stt(), kit.llm(), kit.tts()], greeting: 'hello' });
  const publication = publish(pipeline, natsSink(machine), {
    ...{ callId: 'call-1', details: { machine: 'voice-3' }, hangUp: () => phone.hangUp() },
  });
  await pipeline.start();

  // Where the operators are.
  const board = natsBoard(office);
  const said = (text: string): Promise<readonly BoardCall[]> =>
    firstValueFrom(board.calls$.pipe(filter(([call]) => call?.said?.text === text)));
  const [call] = await said('hello');
  kit.print(`live: ${call?.callId} on ${call?.details['machine']}`);
  const reply = await board.command('call-1', { type: 'say', text: 'one moment' });
  kit.print(`said: ${reply.ok ? 'yes' : reply.message}`);
  await said('one moment');

  await broker.kill();
  await pipeline.say('nobody sees this yet').done;
  await broker.run();
  await said('nobody sees this yet');
  kit.print(`heard: ${caller.heard().text}`);

  await board.command('call-1', { type: 'hangUp' });
  await pipeline.dispose();
  await publication.done;
  await firstValueFrom(board.calls$.pipe(filter((calls) => calls.length === 0)));
  kit.print('the list is empty');
  await Promise.all([machine.close(), office.close()]);
}

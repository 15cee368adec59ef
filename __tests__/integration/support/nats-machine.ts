/** A process with a call that talks for ever, published to NATS: `nats-machine.ts URL NAME`. */
import { connect } from '@nats-io/transport-node';
import { filter } from 'rxjs';
import { Pipeline, publish } from 'rxvoice';
import { natsSink } from 'rxvoice/nats';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';

const [url = '', name = ''] = process.argv.slice(2);
const nats = connect({ servers: url, maxReconnectAttempts: -1, waitOnFirstConnect: true, reconnectTimeWait: 200 });
const sink = natsSink(nats, { expiryMs: 3_000 });
const providers = [
  new FakeInput(),
  new FakeSTT(),
  new FakeLLM(),
  new FakeTTS({ msPerCharacter: 30 }),
  new FakeOutput(),
];
const pipeline = new Pipeline({ providers });
let said = 0;
const next = (): void => void pipeline.say(`sentence ${(said += 1)}`);
pipeline.speech$.pipe(filter(({ type }) => type === 'speech.ended')).subscribe(() => {
  process.stdout.write(`said ${said}\n`);
  next();
});
publish(pipeline, sink, { callId: name, details: { machine: name } });
await pipeline.start();
next();

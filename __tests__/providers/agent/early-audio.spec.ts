/** Audio that comes before `initialize()`, which loads what sends it. */
import { AlphaAgent } from '../../../lib/providers/agent/alpha-agent.ts';
import { settle } from '../../transport/test-clock.ts';
import { agentRig } from './agent-rig.ts';

/** A second of linear16 at 16 kHz. */
const second = (kind: number): Uint8Array<ArrayBuffer> => new Uint8Array(32_000).fill(kind);

async function heard(seconds: number) {
  const { agent, errors, say } = agentRig(AlphaAgent, {});
  let droppedMs = 0;
  agent.droppedMs$.subscribe((ms) => (droppedMs += ms));
  for (let at = 1; at <= seconds; at++) agent.sendAudio({ data: second(at) });
  await agent.initialize();
  const connected = agent.connect();
  await settle();
  agent.sockets.last.accept();
  say({ type: 'Welcome' }, { type: 'SettingsApplied' });
  await connected;
  const sent = agent.sockets.last.bytes.filter((_byte, at) => at % 32_000 === 0);
  await agent.dispose();
  return { sent, droppedMs, problems: errors.map(({ code, message }) => `${code}: ${message}`) };
}

describe('audio before initialize()', () => {
  it('is kept as a copy: a caller may use its buffer again', async () => {
    const { agent, say } = agentRig(AlphaAgent, {});
    const buffer = Buffer.from([1, 2]);
    agent.sendAudio({ data: buffer });
    buffer.fill(9);
    await agent.initialize();
    const connected = agent.connect();
    agent.sendAudio({ data: buffer });
    buffer.fill(7);
    await settle();
    agent.sockets.last.accept();
    say({ type: 'Welcome' }, { type: 'SettingsApplied' });
    await connected;
    expect(agent.sockets.last.bytes).toEqual([1, 2, 9, 9]);
    await agent.dispose();
  });

  it('is sent in order once the service is ready', async () => {
    expect(await heard(3)).toEqual({ sent: [1, 2, 3], droppedMs: 0, problems: [] });
  });

  it('is kept up to 60 s; the oldest is dropped, and that is told once', async () => {
    const { sent, droppedMs, problems } = await heard(63);
    expect([sent.length, sent[0], sent.at(-1), droppedMs]).toEqual([60, 4, 63, 3000]);
    expect(problems).toEqual([
      'overflow: AlphaAgent: more than 60 s of audio before initialize(): the oldest is dropped',
    ]);
  });
});

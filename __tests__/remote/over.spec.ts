/** A page whose conversation is over: what it goes on saying of it, and that it cannot be begun again. */
import { BufferInput, transcript, type TranscriptLine, type VoiceEvent } from 'rxvoice';
import { RemotePipeline } from 'rxvoice/remote';
import { ListenerSpeaker } from '../../samples/sandbox/remote-ends.ts';
import { FakePhoneSocket } from '../conformance/phone.ts';
import { until } from '../transport/test-clock.ts';

interface Page {
  readonly remote: RemotePipeline;
  readonly events: VoiceEvent[];
  readonly sockets: FakePhoneSocket[];
  /** The server tells of events. */
  readonly tell: (...events: readonly object[]) => void;
}

const welcome = {
  ...{ type: 'welcome', version: 1, session: 'a'.repeat(32), token: 'b'.repeat(64), resumed: false, rate: 24_000 },
  ...{ mic: 0, commands: 0, resumeMs: 30_000, missed: 0 },
};

/** A page in a conversation. */
async function begin(): Promise<Page> {
  const sockets: FakePhoneSocket[] = [];
  const events: VoiceEvent[] = [];
  const remote = new RemotePipeline({
    ...{ url: 'ws://server', microphone: new BufferInput({ sampleRate: 16_000 }), speaker: new ListenerSpeaker() },
    openSocket: () => {
      const socket = new FakePhoneSocket();
      sockets.push(socket);
      return socket;
    },
  });
  remote.events$.subscribe((event) => events.push(event));
  const started = remote.start();
  await until(() => sockets.length === 1);
  const [socket] = sockets;
  socket?.open();
  socket?.say(JSON.stringify(welcome));
  await started;
  let seq = 0;
  const tell: Page['tell'] = (...told) => {
    for (const event of told) socket?.say(JSON.stringify({ type: 'event', seq: (seq += 1), event }));
  };
  return { remote, events, sockets, tell };
}

const listening = { type: 'agent.state', at: 1, state: 'listening', previous: 'idle' };
const closed = { type: 'session.closed', at: 4, usage: [] };
const count = (events: readonly VoiceEvent[], type: VoiceEvent['type']): number =>
  events.filter((event) => event.type === type).length;

describe('RemotePipeline, once over', () => {
  it('keeps no fact and no open line of a conversation that the page ended', async () => {
    const { remote, events, tell } = await begin();
    let lines: readonly TranscriptLine[] = [];
    transcript(remote).subscribe((all) => (lines = all));
    tell(
      listening,
      { type: 'user.state', at: 2, state: 'speaking' },
      { type: 'transcript.interim', at: 3, text: 'I would li', stablePrefix: '', result: {} },
    );
    expect(lines.map(({ text }) => text)).toEqual(['I would li']);
    await remote.stop();
    expect(lines).toEqual([]);
    const replayed: string[] = [];
    remote.state$.subscribe((event) => replayed.push(event.type));
    expect(replayed).toEqual(['agent.state', 'session.closed']);
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['agent.state', 'session.closed']);
    await remote.dispose();
    expect(count(events, 'session.closed')).toBe(1);
  });

  it('tells the end once, if the server tells it', async () => {
    const { remote, events, tell } = await begin();
    tell(listening, { ...listening, state: 'idle', previous: 'listening' }, closed);
    tell({ type: 'error', at: 5, code: 'internal', message: 'late', recoverable: true });
    await remote.dispose();
    expect(count(events, 'session.closed')).toBe(1);
  });

  it('starts no more once disposed', async () => {
    const { remote, sockets } = await begin();
    await remote.dispose();
    await expect(remote.start()).rejects.toMatchObject({ code: 'not_ready' });
    expect([remote.state, sockets.length]).toEqual(['idle', 1]);
  });
});

// Slow: a broker that is away for ten seconds, and machines that are gone for as long as the list keeps a call.
/** One machine dies: the others notice nothing, and it is seen. The broker dies: nobody's call notices, and it is told. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@nats-io/transport-node';
import { BehaviorSubject, filter, firstValueFrom, map, ReplaySubject, scan, Subscription } from 'rxjs';
import { collectDigits, Pipeline, publish } from 'rxvoice';
import { natsBoard, natsSink, type BoardCall, type BoardEvent, type CallBoard } from 'rxvoice/nats';
import { NatsServer } from '../../samples/phone/nats-server.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { Kit } from '../../samples/recipes/kit.ts';
import { startSandbox } from '../../samples/sandbox/index.ts';
import { describeNats } from './support/nats.ts';

type Connection = Awaited<ReturnType<typeof connect>>;

/** A process with a call of its own. */
class Machine implements AsyncDisposable {
  readonly process: ChildProcess;
  said = 0;

  constructor(url: string, name: string) {
    const program = ['--import', 'tsx', '--conditions=rxvoice-source', '__tests__/integration/support/nats-machine.ts'];
    const env = { ...process.env, NODE_OPTIONS: '' };
    this.process = spawn(process.execPath, [...program, url, name], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.process.stdout?.on('data', (data) => (this.said += String(data).split('\n').length - 1));
  }

  async kill(): Promise<void> {
    if (this.process.signalCode !== null || this.process.exitCode !== null) return;
    const gone = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

describeNats('calls of many machines over NATS', () => {
  const connections: Connection[] = [];
  let watching: Subscription;
  beforeEach(() => {
    watching = new Subscription();
  });
  const dial = async (url: string, more: object = {}): Promise<Connection> => {
    const nats = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 200, ...more });
    connections.push(nats);
    return nats;
  };
  afterEach(async () => {
    watching.unsubscribe();
    await Promise.all(connections.splice(0).map((nats) => nats.close()));
  });
  const shown = (board: CallBoard, isSo: (calls: readonly BoardCall[]) => boolean): Promise<readonly BoardCall[]> =>
    firstValueFrom(board.calls$.pipe(filter(isSo)));

  it('shows a killed machine as lost, and loses nothing of the others, nor of ten seconds without the broker', async () => {
    await using server = await NatsServer.start();
    await using one = new Machine(server.url, 'one');
    await using two = new Machine(server.url, 'two');
    await using three = new Machine(server.url, 'three');
    const board = natsBoard(await dial(server.url), { showLostMs: 20_000 });
    const states$ = new ReplaySubject<string>(1);
    const events: BoardEvent[] = [];
    watching.add(
      board.calls$
        .pipe(
          map((calls) =>
            calls
              .map(({ callId, state }) => `${callId} ${state}`)
              .sort()
              .join(),
          ),
        )
        .subscribe(states$),
    );
    watching.add(board.events({ since: 'start' }).subscribe((event) => events.push(event)));
    const become = (wanted: string): Promise<string> => firstValueFrom(states$.pipe(filter((now) => now === wanted)));
    await become('one live,three live,two live');

    const killedAt = performance.now();
    await three.kill();
    await become('one live,three lost,two live');
    // The list keeps a call for 3 s; the board looks four times a second.
    expect(performance.now() - killedAt).toBeLessThan(4_000);
    expect(await board.command('three', { type: 'interrupt' })).toEqual({
      ...{ ok: false, message: 'there is no such call, or its machine is gone' },
    });
    expect(await board.command('one', { type: 'interrupt' })).toEqual({ ok: true });

    const before = [one.said, two.said];
    await server.kill();
    await sleep(10_000);
    const after = [one.said, two.said];
    after.forEach((said, index) => expect(said - (before[index] ?? 0)).toBeGreaterThan(10));
    expect(await firstValueFrom(states$)).toBe('one live,three lost,two live');
    await server.run();
    for (const [index, name] of ['one', 'two'].entries()) {
      const last = (): number =>
        events.filter(({ callId, event }) => callId === name && event.type === 'speech.ended').length;
      while (last() < (after[index] ?? 0)) await sleep(50);
      const seqs = events.filter(({ callId }) => callId === name).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, at) => at + 1));
    }
    expect(await board.command('two', { type: 'say', text: 'still here' })).toEqual({ ok: true });
  }, 90_000);

  it('tells events at once again when the broker is back, and goes on telling them', async () => {
    await using server = await NatsServer.start();
    await using machine = new Machine(server.url, 'one');
    const said$ = new BehaviorSubject(0);
    const ended$ = natsBoard(await dial(server.url))
      .events({ callId: 'one' })
      .pipe(filter(({ event }) => event.type === 'speech.ended'));
    watching.add(ended$.pipe(scan((said) => said + 1, 0)).subscribe(said$));
    const told = (count: number): Promise<number> => firstValueFrom(said$.pipe(filter((said) => said >= count)));
    await told(2);
    await server.kill();
    await server.run();
    // A consumer that has missed the outage would be silent for 40 s.
    await told(said$.value + 20);
    expect(machine.said).toBeGreaterThan(20);
  }, 30_000);

  it('keeps secret keys from the wire, and sends audio while somebody listens', async () => {
    await using server = await NatsServer.start();
    await using sandbox = await startSandbox();
    using kit = new Kit(sandbox, () => undefined);
    const nats = await dial(server.url);
    const wire: string[] = [];
    nats.subscribe('rxvoice.calls.>', {
      callback: (_error, message) => void wire.push(`${message.subject} ${message.string()}`),
    });
    const { phone, caller } = await kit.ring();
    await using pipeline = new Pipeline({ providers: [phone, kit.stt(), kit.llm(), kit.tts()], greeting: 'Good day.' });
    const audio = { caller: phone.audio$, agent: phone.heard$ };
    const publication = publish(pipeline, natsSink(nats), { callId: 'c1', audio });
    const board = natsBoard(nats);
    await pipeline.start();
    const digits = firstValueFrom(collectDigits(phone, { max: 4, secret: true }));
    for (const key of '4711') caller.press(key);
    expect((await digits).digits).toBe('4711');
    caller.press('9');
    await shown(board, ([call]) => call?.said?.text === 'Good day.');
    expect(wire.filter((line) => line.includes('.audio.'))).toEqual([]);
    const sides = new Set<string>();
    const heard$ = board
      .audio('c1')
      .pipe(filter(({ side, chunk }) => sides.add(side).size === 2 && chunk.data.length > 0));
    const heard = firstValueFrom(heard$);
    expect(await board.command('c1', { type: 'say', text: 'one two three' })).toEqual({ ok: true });
    expect((await heard).chunk.metadata).toMatchObject({ encoding: 'linear16', sampleRate: 16_000 });
    await pipeline.dispose();
    await publication.done;
    await shown(board, (calls) => calls.length === 0);
    expect(wire.some((line) => line.includes('.events.session.closed '))).toBe(true);
    expect(wire.filter((line) => line.includes('.events.dtmf.digit ')).join()).not.toMatch(/"digit":"[471]"/);
  }, 60_000);

  it("lets those watch who may not command, by the server's own permissions", async () => {
    await using server = await NatsServer.start(`
      authorization {
        users = [
          { user: machine, password: m }
          { user: viewer, password: v, permissions: {
              publish: { deny: ["rxvoice.calls.*.commands", "rxvoice.calls.*.listen", "rxvoice.calls.*.events.>"] } } }
        ]
      }
    `);
    const machine = await dial(server.url, { user: 'machine', pass: 'm' });
    const viewer = await dial(server.url, { user: 'viewer', pass: 'v' });
    await using pipeline = new Pipeline({
      providers: [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()],
    });
    publish(pipeline, natsSink(machine), { callId: 'c1', lingerMs: 0 });
    await pipeline.start();
    const board = natsBoard(viewer, { commandMs: 1_000 });
    expect(await shown(board, ([call]) => call !== undefined)).toMatchObject([{ callId: 'c1', state: 'live' }]);
    expect(await board.command('c1', { type: 'hangUp' })).toMatchObject({ ok: false });
    expect(pipeline.state).toBe('running');
    expect(await natsBoard(machine).command('c1', { type: 'interrupt' })).toEqual({ ok: true });
  }, 60_000);
});

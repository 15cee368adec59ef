import { firstValueFrom, Subject } from 'rxjs';
import { BetaSTT, type BetaSTTConfig } from '../../../lib/providers/stt/beta-stt.ts';
import { DeltaSTT, type DeltaSTTConfig } from '../../../lib/providers/stt/delta-stt.ts';
import { KappaSTT, type KappaSTTConfig } from '../../../lib/providers/stt/kappa-stt.ts';
import { LambdaSTT, type LambdaSTTConfig } from '../../../lib/providers/stt/lambda-stt.ts';
import { record, settle, tape } from './stt-fixture.ts';
import { stageFor } from './stt-stage.ts';

const beta = stageFor((config: BetaSTTConfig) => new BetaSTT(config), { type: 'Begin', id: 'session-1' });
const delta = stageFor((config: DeltaSTTConfig) => new DeltaSTT(config));
const kappa = stageFor((config: KappaSTTConfig) => new KappaSTT({ region: 'westeurope', ...config }));
const lambda = stageFor((config: LambdaSTTConfig) => new LambdaSTT(config));

const turn = { type: 'Turn', turn_order: 0, end_of_turn: false, turn_is_formatted: true, transcript: 'hi', words: [] };

describe('the id that a service knows a session by', () => {
  it('is on results and errors, and each connection has its own', async () => {
    const { stt, say, results, errors, clock } = await beta.live();
    say({ ...turn, words: [{ text: 'hi', start: 0, end: 100, word_is_final: false }] });
    expect(results[0]?.metadata?.requestId).toBe('session-1');
    stt.sockets.last.say('garbage');
    expect(errors.map(({ requestId }) => requestId)).toEqual(['session-1']);

    stt.sockets.last.drop(1006, '');
    await clock.advance(1_000);
    stt.sockets.last.accept();
    say({ type: 'Begin', id: 'session-2' });
    say({ ...turn, words: [{ text: 'hi', start: 0, end: 100, word_is_final: false }] });
    expect(results.at(-1)?.metadata?.requestId).toBe('session-2');
  });

  it('is not that of the connection before, while another is opened', async () => {
    const { stt, errors, clock } = await beta.live({ reconnect: { jitter: 'none' } });
    stt.sockets.last.drop(1006, '');
    await clock.advance(1_000);
    for (let minute = 0; minute < 2; minute++) stt.sendAudio({ data: tape(40_000) });
    expect(errors.find(({ code }) => code === 'overflow')?.requestId).toBeUndefined();
  });

  it('of an error alone is on that error', async () => {
    const { say, errors } = await delta.live();
    say({ tokens: [], error_code: 400, error_message: 'Invalid model specified.', request_id: '3d37a3bd' });
    expect(errors.map(({ requestId }) => requestId)).toEqual(['3d37a3bd']);
  });

  it('of Azure is the one that the connection was asked for with', async () => {
    const { stt, errors } = await kappa.live();
    stt.sockets.last.drop(1007, '');
    await settle();
    const id = new URL(stt.sockets.last.request.url).searchParams.get('X-ConnectionId');
    expect(id).toMatch(/^[\dA-F]{32}$/);
    expect(errors.at(-1)?.requestId).toBe(id);
  });

  it('is not that of a connection that was given up, whose credential comes late', async () => {
    const late = new Subject<string>();
    const keys = [() => firstValueFrom(late), () => Promise.resolve('key-2')];
    const { stt } = kappa.made({ apiKey: () => keys.shift()?.() ?? Promise.reject(new Error('no more')) });
    const { errors } = record(stt);
    await stt.initialize();
    void stt.connect().catch(() => undefined);
    await settle();
    await stt.disconnect();
    void stt.connect();
    await settle();
    stt.sockets.last.accept();
    late.next('key-1');
    await settle();
    stt.sockets.last.drop(1007, '');
    await settle();
    const id = new URL(stt.sockets.last.request.url).searchParams.get('X-ConnectionId');
    expect(errors.at(-1)?.requestId).toBe(id);
  });

  it('of AWS is the one that the application has given', async () => {
    const sessionId = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
    const { stt, errors } = await lambda.live({ proxyUrl: 'https://app.example/lambda', sessionId });
    stt.sockets.last.say('garbage');
    expect(errors.at(-1)?.requestId).toBe(sessionId);
  });

  for (const id of [undefined, null, 5, '', {}, 'x'.repeat(129)]) {
    it(`F11: ${JSON.stringify({ id }).slice(0, 20)} is none`, async () => {
      const { say, errors } = await delta.live();
      say({ tokens: [], error_code: 400, error_message: 'no', request_id: id });
      expect(errors.map(({ requestId }) => requestId)).toEqual([undefined]);
    });
  }
});

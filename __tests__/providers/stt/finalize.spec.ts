import { AlphaFlux } from '../../../lib/providers/stt/alpha-flux.ts';
import { AlphaSTT } from '../../../lib/providers/stt/alpha-stt.ts';
import { BetaSTT } from '../../../lib/providers/stt/beta-stt.ts';
import { DeltaSTT } from '../../../lib/providers/stt/delta-stt.ts';
import { EpsilonSTT } from '../../../lib/providers/stt/epsilon-stt.ts';
import { EtaSTT } from '../../../lib/providers/stt/eta-stt.ts';
import { GammaSTT } from '../../../lib/providers/stt/gamma-stt.ts';
import { KappaSTT } from '../../../lib/providers/stt/kappa-stt.ts';
import { LambdaSTT } from '../../../lib/providers/stt/lambda-stt.ts';
import type { StreamingSTT, StreamingSTTConfig } from '../../../lib/providers/stt/streaming-stt.ts';
import { ThetaRealtimeSTT } from '../../../lib/providers/stt/theta-realtime-stt.ts';
import { ZetaSTT } from '../../../lib/providers/stt/zeta-stt.ts';
import { until } from '../../transport/http-fixture.ts';
import { clocked, faked, record, tape } from './stt-fixture.ts';

type Stt = StreamingSTT<StreamingSTTConfig>;
type Message = Record<string, unknown>;

const greetings: Readonly<Record<string, Message>> = {
  AlphaFlux: { type: 'Connected' },
  BetaSTT: { type: 'Begin', id: 'a' },
  EtaSTT: { type: 'connected', id: 'a' },
  GammaSTT: { message_type: 'session_started', session_id: 'a' },
  ThetaRealtimeSTT: { type: 'session.updated' },
  ZetaSTT: { message: 'RecognitionStarted' },
};

/** Every service that is asked by a message, or by silence. */
const providers: Readonly<Record<string, (config: StreamingSTTConfig) => Stt>> = {
  AlphaFlux: (config) => new AlphaFlux(config),
  AlphaSTT: (config) => new AlphaSTT(config),
  BetaSTT: (config) => new BetaSTT(config),
  DeltaSTT: (config) => new DeltaSTT(config),
  EtaSTT: (config) => new EtaSTT(config),
  GammaSTT: (config) => new GammaSTT(config),
  ThetaRealtimeSTT: (config) => new ThetaRealtimeSTT({ ...config, turnDetection: null }),
  ZetaSTT: (config) => new ZetaSTT(config),
};

/** The address of a session, for a service that is asked for one first. */
const session = (): Promise<Response> =>
  Promise.resolve(
    new Response(JSON.stringify({ id: 'a', url: 'wss://live.example/v2/live?token=a' }), { status: 201 }),
  );

const credentials = { accessKeyId: 'AKIA1', secretAccessKey: 'secret' };

/** Those whose messages are binary, or whose session is asked for by HTTP. */
const others: typeof providers = {
  EpsilonSTT: (config) => new EpsilonSTT({ ...config, fetch: session }),
  KappaSTT: (config) => new KappaSTT({ ...config, region: 'westeurope' }),
  LambdaSTT: ({ apiKey: _, ...config }) => new LambdaSTT({ ...config, region: 'us-east-1', credentials }),
};

/** A provider whose service accepts, greets, and then says nothing on its own. */
async function begun(name: string) {
  const { clock, config } = clocked();
  const create = { ...providers, ...others }[name];
  if (!create) throw new Error(name);
  const stt = faked(create({ ...config, catchUpSpeed: false, silenceTimeoutMs: false }));
  const kept = record(stt);
  await stt.initialize();
  const opened = stt.connect();
  opened.catch(() => undefined);
  await until(() => stt.sockets.all.length === 1);
  const accept = (): void => {
    stt.sockets.last.accept();
    const greeting = greetings[name];
    if (greeting) stt.sockets.last.say(greeting);
  };
  const end = async (): Promise<void> => {
    const disposed = stt.dispose();
    await clock.advance(200);
    await disposed;
  };
  return { clock, stt, ...kept, accept, end };
}

const empty = '. ';

describe('finalize(): one result always comes', () => {
  for (const name of [...Object.keys(providers), ...Object.keys(others)]) {
    it(`${name}: at once where nothing is pending, and the service is not asked`, async () => {
      const { stt, clock, accept, log, end } = await begun(name);
      accept();
      stt.sendAudio({ data: new Uint8Array(32_000) });
      const before = stt.sockets.last.sent.length;
      stt.finalize();
      expect([log.splice(0), stt.sockets.last.sent.length]).toEqual([[empty], before]);
      await clock.advance(6_000);
      expect(log).toEqual([]);
      await end();
    });

    it(`${name}: within 3 s where the service does not answer, and once`, async () => {
      const { stt, clock, accept, log, end } = await begun(name);
      accept();
      stt.sendAudio({ data: tape(1_000) });
      stt.finalize();
      expect(log).toEqual([]);
      await clock.advance(3_000);
      expect(log.splice(0)).toEqual([empty]);
      await clock.advance(6_000);
      expect(log).toEqual([]);
      await end();
    });
  }

  for (const name of Object.keys(providers)) {
    it(`${name}: while connecting, it is asked after the audio, and again after a loss`, async () => {
      const { stt, clock, accept, log, end } = await begun(name);
      stt.sendAudio({ data: tape(1_000) });
      stt.finalize();
      const silent = new Uint8Array(1_000 * 32).join();
      const asks = (): boolean[] =>
        stt.sockets.last.sent
          .slice(-30)
          .map((data) =>
            typeof data === 'string' ? !/append|audio_base_64":"[^"]/.test(data) : silent.startsWith(data.join()),
          );
      accept();
      const [first] = [asks()];
      expect([first.at(-1), first.at(-5), log]).toEqual([true, false, []]);
      stt.sockets.last.drop(1011);
      await clock.advance(250);
      accept();
      expect([asks().at(-1), asks().at(-5), log]).toEqual([true, false, []]);
      await end();
    });
  }

  it('AlphaSTT: words without an answer become final, and a late answer does not say them again', async () => {
    const { stt, clock, accept, log, end } = await begun('AlphaSTT');
    accept();
    stt.sendAudio({ data: tape(1_000) });
    const results = (how: Message): Message => ({
      ...{ type: 'Results', start: 0, duration: 1, ...how },
      channel: { alternatives: [{ transcript: 'one two' }] },
    });
    stt.sockets.last.say(results({ is_final: false }));
    stt.finalize();
    await clock.advance(2_000);
    stt.sockets.last.say(results({ is_final: true, speech_final: true }));
    expect(log).toEqual(['started', '~ one two', 'ended', '. one two']);
    await end();
  });
});

describe('AlphaSTT: a late UtteranceEnd', () => {
  const said = (transcript: string, start: number, how: Message = {}): Message => ({
    ...{ type: 'Results', start, duration: 1, is_final: false, ...how },
    channel: { alternatives: [{ transcript, words: [{ word: transcript, start, end: start + 0.5 }] }] },
  });

  it('does not finalize the next utterance, whose first interim came before it', async () => {
    const { stt, accept, log, end } = await begun('AlphaSTT');
    accept();
    stt.sendAudio({ data: tape(6_000) });
    const { last } = stt.sockets;
    last.say(said('one', 0, { is_final: true, speech_final: true }));
    last.say(said('two', 3));
    log.length = 0;
    last.say({ type: 'UtteranceEnd', last_word_end: 0.5 });
    expect([log, last.texts]).toEqual([[], []]);
    await end();
  });

  it('completes the segments before it, and leaves the interim result to the next utterance', async () => {
    const { stt, accept, log, results, end } = await begun('AlphaSTT');
    accept();
    stt.sendAudio({ data: tape(6_000) });
    const { last } = stt.sockets;
    last.say(said('one', 0, { is_final: true }));
    last.say(said('two', 3));
    last.say({ type: 'UtteranceEnd', last_word_end: 0.5 });
    last.say(said('two', 3, { is_final: true, speech_final: true }));
    expect(log.slice(-5)).toEqual(['. one', 'started', '~ two', 'ended', '. two']);
    expect(new Set(results.slice(-2).map(({ utteranceId }) => utteranceId)).size).toBe(1);
    await end();
  });
});

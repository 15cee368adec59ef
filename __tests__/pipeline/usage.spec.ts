/** What a call costs: what each service was asked for, as it comes, and all of it at the end. */
import { of, ReplaySubject, type Subject } from 'rxjs';
import { handoff, summarize, VoiceError, type ConnectionEvent, type LLMEvent, type VoiceEvent } from 'rxvoice';
import { FakeSTT, FakeTTS, textAudioFormat } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { call, over, type Call } from './support/call.ts';
import { ofType } from './support/timeline.ts';

/** A tenth of a second of what the microphone hears. */
const frame = { data: new Uint8Array(textAudioFormat.sampleRate / 5), metadata: textAudioFormat };

/** One with a connection, which keeps audio while it is lost, and drops what is too much. */
class RemoteSTT extends FakeSTT {
  readonly connection$: Subject<ConnectionEvent> = new ReplaySubject<ConnectionEvent>(1);

  lose(ms: number): void {
    this.dropped(ms);
  }
}

const answer = (text: string, usage: object): LLMEvent[] => [
  { type: 'token', text },
  { type: 'done', finishReason: 'stop', usage },
];
const seconds = ({ events }: Call): (number | undefined)[] =>
  ofType(events, 'usage')
    .filter(({ role }) => role === 'stt')
    .map((event) => event.seconds);
const closed = ({ events }: Call): VoiceEvent<'session.closed'>['usage'] =>
  ofType(events, 'session.closed').at(-1)?.usage ?? [];

async function stop({ pipeline, scheduler }: Call): Promise<void> {
  const stopped = pipeline.stop();
  await scheduler.advance(5_000);
  await stopped;
}

describe('usage', () => {
  it('tells the seconds that speech-to-text heard, with each turn and at the end', async () => {
    const rig = await call();
    for (let count = 0; count < 12; count++) rig.input.push(frame);
    rig.stt.hearWords(FakeSTT.result('hello', 'final'));
    expect(seconds(rig)).toEqual([]);
    await rig.scheduler.advance(5_000);
    expect(seconds(rig)).toEqual([1.2]);
    const types = rig.events.map(({ type }) => type);
    expect(types.lastIndexOf('usage')).toBe(types.indexOf('turn.metrics') + 1);
    // A muted microphone sends silence, which is heard as well.
    rig.pipeline.mute();
    for (let count = 0; count < 3; count++) rig.input.push(frame);
    await stop(rig);
    expect(seconds(rig)).toEqual([1.2, 0.3]);
    expect(closed(rig)).toContainEqual({ role: 'stt', provider: 'FakeSTT', seconds: 1.5 });
    await over(rig);
  });

  it('adds up for the session: tokens, cached and reasoning ones among them, characters and seconds', async () => {
    const usages = [
      { inputTokens: 100, outputTokens: 20, totalTokens: 120, cachedTokens: 64 },
      { inputTokens: 150, outputTokens: 30, totalTokens: 180, cachedTokens: 128, reasoningTokens: 12 },
    ];
    const rig = await call({ llm: { answer: (_, request) => answer('Fine.', usages[request - 1] ?? {}) } });
    for (const text of ['one', 'two']) {
      rig.input.push(frame);
      rig.stt.hearWords(FakeSTT.result(text, 'final'));
      await rig.scheduler.advance(5_000);
    }
    rig.pipeline.say('Good bye.');
    await rig.scheduler.advance(5_000);
    await stop(rig);
    expect(closed(rig)).toEqual([
      {
        ...{ role: 'llm', provider: 'FakeLLM' },
        tokens: { inputTokens: 250, outputTokens: 50, totalTokens: 300, cachedTokens: 192, reasoningTokens: 12 },
      },
      { role: 'tts', provider: 'FakeTTS', characters: 5 + 5 + 9 },
      { role: 'stt', provider: 'FakeSTT', seconds: 0.2 },
    ]);
    await over(rig);
  });

  it('names each voice that speaks in one answer', async () => {
    const scheduler = new TestClock();
    const other = Object.assign(new FakeTTS({ scheduler }), { name: 'OtherTTS' });
    const handed = (_: unknown, request: number): string | LLMEvent[] =>
      request > 1
        ? 'Billing here.'
        : [
            { type: 'token', text: 'One moment.' },
            { type: 'tool-call', id: '1', name: 'hand_over_to_billing', argsText: '{}', args: {} },
            { type: 'done', finishReason: 'tool-calls' },
          ];
    const agents = { reception: { tools: [handoff('billing')] }, billing: { tts: other, tools: [] } };
    const rig = await call({ scheduler, agents, llm: { answer: handed } });
    rig.stt.hearWords(FakeSTT.result('my invoice', 'final'));
    await rig.scheduler.advance(10_000);
    await stop(rig);
    expect(closed(rig).filter(({ role }) => role === 'tts')).toEqual([
      { role: 'tts', provider: 'FakeTTS', characters: 11 },
      { role: 'tts', provider: 'OtherTTS', characters: 13 },
    ]);
    await over(rig);
  });

  it('has the tokens of an answer that was prepared in vain', async () => {
    const tokens = { inputTokens: 7, outputTokens: 2, totalTokens: 9 };
    const rig = await call({ llm: { answer: () => answer('Fine.', tokens) } });
    rig.stt.hearWords(FakeSTT.result('book the table', 'preflight'));
    await rig.scheduler.advance(500);
    expect(ofType(rig.events, 'usage')).toEqual([]);
    rig.stt.hearWords(FakeSTT.result('do not book the table', 'final'));
    await rig.scheduler.advance(5_000);
    expect(ofType(rig.events, 'usage').flatMap((event) => event.tokens ?? [])).toEqual([tokens, tokens]);
    await stop(rig);
    expect(closed(rig)).toContainEqual({
      ...{ role: 'llm', provider: 'FakeLLM' },
      tokens: { inputTokens: 14, outputTokens: 4, totalTokens: 18 },
    });
    await over(rig);
  });

  it('has the tokens of a summary, also of one that was empty', async () => {
    const usages = [{ totalTokens: 40 }, { totalTokens: 30 }];
    const texts = ['', 'They said hello.'];
    const summarizer = {
      name: 'OtherLLM',
      generate: () => of(...answer(texts.shift() ?? '', usages.shift() ?? {})),
    };
    const rig = await call({ llm: { answer: () => answer('Fine.', { totalTokens: 9 }) } });
    const told: string[] = [];
    const options = { llm: summarizer, maxTurns: 2, keepTurns: 1, scheduler: rig.scheduler };
    const summaries = summarize(rig.pipeline.history, options).subscribe(({ type }) => told.push(type));
    for (let turn = 1; turn <= 4; turn++) {
      rig.pipeline.send('hello');
      await rig.scheduler.advance(5_000);
    }
    await stop(rig);
    summaries.unsubscribe();
    expect(told).toEqual(['failed', 'summarized']);
    const ofOther = ofType(rig.events, 'usage').filter(({ provider }) => provider === 'OtherLLM');
    expect(ofOther).toMatchObject([
      { role: 'llm', tokens: { totalTokens: 40 } },
      { role: 'llm', tokens: { totalTokens: 30 } },
    ]);
    expect(closed(rig)).toContainEqual({ role: 'llm', provider: 'OtherLLM', tokens: { totalTokens: 70 } });
    await over(rig);
  });

  it('names the service of a chain that hears the user', async () => {
    const names = { current: 'FirstSTT' };
    const rig = await call();
    Object.defineProperty(rig.stt, 'name', { get: () => names.current });
    rig.input.push(frame);
    rig.stt.hearWords(FakeSTT.result('one', 'final'));
    await rig.scheduler.advance(5_000);
    names.current = 'SecondSTT';
    rig.input.push(frame);
    await stop(rig);
    const heard = closed(rig).filter(({ role }) => role === 'stt');
    expect(heard.map(({ provider, seconds: said }) => [provider, said])).toEqual([
      ['FirstSTT', 0.1],
      ['SecondSTT', 0.1],
    ]);
    await over(rig);
  });

  it('counts no audio that never left: dropped while speech-to-text was away, or still kept for it at the end', async () => {
    const push = (count: number): void => {
      for (let left = count; left > 0; left--) rig.input.push(frame);
    };
    const away: ConnectionEvent = { type: 'reconnecting', attempt: 1, delayMs: 250 };
    const scheduler = new TestClock();
    const stt = new RemoteSTT({ scheduler });
    const { connection$ } = stt;
    const rig = await call({ scheduler, stt });
    // Audio waits for the first connection, too.
    connection$.next({ type: 'connecting' });
    push(2);
    connection$.next({ type: 'connected' });
    push(3);
    connection$.next(away);
    push(8);
    connection$.next({ ...away, attempt: 2 });
    stt.lose(600);
    rig.pipeline.send('hello');
    await rig.scheduler.advance(5_000);
    expect(seconds(rig)).toEqual([0.5]);
    connection$.next({ type: 'connected' });
    push(1);
    rig.pipeline.send('hello');
    await rig.scheduler.advance(5_000);
    expect(seconds(rig)).toEqual([0.5, 0.3]);
    connection$.next(away);
    push(5);
    await stop(rig);
    expect(closed(rig)).toContainEqual({ role: 'stt', provider: 'FakeSTT', seconds: 0.8 });
    await over(rig);
  });

  it('counts no audio for a service that could not be reached', async () => {
    const scheduler = new TestClock();
    const stt = new RemoteSTT({ scheduler });
    const { connection$ } = stt;
    const rig = await call({ scheduler, stt });
    connection$.next({ type: 'connecting' });
    rig.input.push(frame);
    connection$.next({ type: 'lost', error: new VoiceError('no', { code: 'connection' }) });
    await stop(rig);
    expect(closed(rig)).toEqual([]);
    await over(rig);
  });

  it('begins anew with each session', async () => {
    const rig = await call();
    rig.input.push(frame);
    await stop(rig);
    const started = rig.pipeline.start();
    await rig.scheduler.advance(0);
    await started;
    rig.input.push(frame);
    await stop(rig);
    expect(closed(rig)).toEqual([{ role: 'stt', provider: 'FakeSTT', seconds: 0.1 }]);
    await over(rig);
  });
});

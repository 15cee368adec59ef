/** Messages that begin in the greeting, are cut off by it, wait for ever, or leave a line open. */
import {
  leaveMessage,
  pressKeys,
  pressKeysTool,
  type Answered,
  type LeaveMessageOptions,
  type LeftMessage,
} from 'rxvoice';
import { int16Bytes, keyTones } from 'rxvoice/audio';
import { FakeSTT } from 'rxvoice/testing';
import { call, over, type Call, type CallOptions } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';
import { timersDue } from '../transport/test-clock.ts';

const metadata = { encoding: 'linear16', sampleRate: 8000, channels: 1 } as const;
/** Five seconds of the fake voice. */
const message = 'This is the garage: your bicycle is ready to collect.';
const saidMs = message.length * 100;

function beep(rig: Call): void {
  const samples = Int16Array.from({ length: 3_200 }, (_, n) => (n < 2_400 ? 9_000 * Math.sin(0.7854 * n) : 0));
  rig.input.push({ data: int16Bytes(samples), metadata });
}

interface Leaving extends Call {
  readonly left: (LeftMessage | 'hung up' | 'complete')[];
  readonly stop: () => void;
}

/** Somebody talks for a while. */
async function talk({ stt, scheduler }: Call, seconds: number): Promise<void> {
  stt.hearVoice('started');
  for (let second = 1; second <= seconds; second++) {
    stt.hearWords(FakeSTT.result('please hold '.repeat(second).trim(), 'interim'));
    await scheduler.advance(1_000);
  }
}

async function leave(options: LeaveMessageOptions = {}, config: CallOptions = {}): Promise<Leaving> {
  // Nothing that a machine says is answered.
  const rig = await call({ onUserTurn: () => ({ refuse: '' }), ...config });
  const left: Leaving['left'] = [];
  const given: LeaveMessageOptions = { scheduler: rig.scheduler, hangUp: () => void left.push('hung up'), ...options };
  const leaving = leaveMessage(rig.pipeline, rig.input, message, given).subscribe({
    next: (each) => left.push(each),
    complete: () => left.push('complete'),
  });
  return { ...rig, left, stop: () => leaving.unsubscribe() };
}

const whole = { isLeft: true, heardText: message } as const;
const answered: Answered = { by: 'machine', reason: 'beep', text: '', greetingMs: 4_000 };

describe('leaveMessage()', () => {
  it('speaks after the beep, although the service still hears the greeting, and hangs up after the last word', async () => {
    const rig = await leave();
    await talk(rig, 9);
    beep(rig);
    await rig.scheduler.advance(saidMs - 100);
    expect(rig.left).toEqual([]);
    await rig.scheduler.advance(200);
    expect(rig.left).toEqual(['hung up', { ...whole, after: 'beep' }, 'complete']);
    await over(rig);
  });

  it('speaks at once when the beep is over already', async () => {
    const rig = await leave({ answered });
    await rig.scheduler.advance(saidMs + 100);
    expect(rig.left).toEqual(['hung up', { ...whole, after: 'beep' }, 'complete']);
    await over(rig);
  });

  it('does not speak over a greeting that had begun before, where the service sends no interim words', async () => {
    const rig = await call({ onUserTurn: () => ({ refuse: '' }) });
    rig.stt.hearVoice('started');
    await rig.scheduler.advance(1_000);
    const leaving = leaveMessage(rig.pipeline, rig.input, message, { scheduler: rig.scheduler }).subscribe();
    await rig.scheduler.advance(4_000);
    expect(ofType(rig.events, 'speech.created')).toEqual([]);
    rig.stt.hearVoice('ended');
    await rig.scheduler.advance(3_500);
    expect(ofType(rig.events, 'speech.created')).toHaveLength(1);
    leaving.unsubscribe();
    await over(rig);
  });

  it('speaks after a silence where no beep comes', async () => {
    const rig = await leave({ answered: { ...answered, reason: 'words' } });
    await talk(rig, 10);
    rig.stt.hearWords(FakeSTT.result('leave a message', 'final'));
    rig.stt.hearVoice('ended');
    await rig.scheduler.advance(2_900);
    expect(ofType(rig.events, 'speech.created')).toEqual([]);
    await rig.scheduler.advance(200 + saidMs);
    expect(rig.left).toEqual(['hung up', { ...whole, after: 'silence' }, 'complete']);
    await over(rig);
  });

  it('says it anew when the beep comes only then', async () => {
    const rig = await leave();
    await rig.scheduler.advance(5_000);
    beep(rig);
    await rig.scheduler.advance(saidMs + 100);
    expect(rig.left).toEqual(['hung up', { ...whole, after: 'beep' }, 'complete']);
    expect(ofType(rig.events, 'speech.ended').map(({ interrupted }) => interrupted)).toEqual([true, false]);
    await over(rig);
  });

  it.each(['throws', 'rejects'] as const)('F60: names a hangUp that %s: the message is left', async (how) => {
    const unhandled: unknown[] = [];
    const note = (cause: unknown): unknown => unhandled.push(cause);
    process.on('unhandledRejection', note);
    const hangUp = (): unknown => {
      if (how === 'rejects') return Promise.reject(new Error('no line'));
      throw new Error('no line');
    };
    const rig = await leave({ answered, hangUp });
    await rig.scheduler.advance(saidMs + 100);
    await timersDue();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    expect(rig.left).toEqual([{ ...whole, after: 'beep' }, 'complete']);
    expect(ofType(rig.events, 'error')).toMatchObject([
      { code: 'internal', message: 'hangUp of leaveMessage() threw: no line' },
    ]);
    await over(rig);
  });

  it('does not begin anew for a second beep', async () => {
    const rig = await leave({ answered });
    await rig.scheduler.advance(2_000);
    beep(rig);
    await rig.scheduler.advance(saidMs);
    expect(ofType(rig.events, 'speech.ended')).toMatchObject([{ interrupted: false }]);
    await over(rig);
  });

  it('is not cut off by a voice', async () => {
    const rig = await leave({ answered });
    await rig.scheduler.advance(1_000);
    rig.stt.hearVoice('started');
    rig.stt.hearWords(FakeSTT.result('stop it please', 'final'));
    await rig.scheduler.advance(saidMs);
    expect(rig.left).toContainEqual({ ...whole, after: 'beep' });
    await over(rig);
  });

  it('speaks in the end to somebody who never stops', async () => {
    const rig = await leave({ timeoutMs: 20_000 });
    await talk(rig, 20 + saidMs / 1_000 + 1);
    expect(rig.left).toContainEqual({ ...whole, after: 'timeout' });
    await over(rig);
  });

  it.each([
    ['before it', 0, 'ended', ''],
    ['during it', 5_000, 'silence', 'This is the'],
  ] as const)('tells that the call has ended %s', async (_, ms, after, heardText) => {
    const rig = await leave();
    await rig.scheduler.advance(ms);
    void rig.pipeline.stop();
    await rig.scheduler.advance(100);
    expect(rig.left).toMatchObject([{ isLeft: false, after }, 'complete']);
    expect(rig.left[0]).toHaveProperty('heardText', expect.stringContaining(heardText));
    await over(rig);
  });

  it('falls silent when it is not wanted any more', async () => {
    const rig = await leave({ answered });
    await rig.scheduler.advance(2_000);
    rig.stop();
    await rig.scheduler.advance(1_000);
    expect(ofType(rig.events, 'speech.ended')).toMatchObject([{ interrupted: true }]);
    expect(rig.left).toEqual([]);
    await over(rig);
  });
});

describe('pressKeys()', () => {
  it('plays the tones of the keys, and remembers nothing', async () => {
    const rig = await call();
    const pressed = pressKeys(rig.pipeline, '42#', { sampleRate: 24_000 });
    await rig.scheduler.advance(1_000);
    expect(await pressed.done).toMatchObject({ interrupted: false });
    const chunks = ofType(rig.events, 'audio.chunk').flatMap(({ chunk }) => [...chunk.data]);
    expect(chunks).toEqual([...int16Bytes(keyTones('42#', { sampleRate: 24_000 }))]);
    expect(rig.pipeline.history.items).toEqual([]);
    await over(rig);
  });

  it('refuses what is no key', async () => {
    const rig = await call();
    expect(() => pressKeys(rig.pipeline, '1x')).toThrow('keyTones: "x" is not a key on a phone');
    await over(rig);
  });
});

describe('pressKeysTool()', () => {
  it('presses what the model chooses, and tells it to listen', async () => {
    const pressed: string[] = [];
    const tool = pressKeysTool({ press: (keys) => pressed.push(keys) });
    const rig = await call({
      tools: [tool],
      llm: {
        answer: (messages) =>
          messages.at(-1)?.role === 'tool'
            ? [{ type: 'done', finishReason: 'stop' }]
            : [
                { type: 'tool-call', id: 'a', name: 'press_keys', args: { keys: '2' }, argsText: '{"keys":"2"}' },
                { type: 'done', finishReason: 'tool-calls' },
              ],
      },
    });
    rig.stt.hearWords(FakeSTT.result('for sales press two', 'final'));
    await rig.scheduler.advance(3_000);
    expect(pressed).toEqual(['2']);
    expect(ofType(rig.events, 'tool.result')).toMatchObject([
      { content: expect.stringMatching(/^Pressed 2\. Say nothing/) as unknown },
    ]);
    await over(rig);
  });

  it.each(['', 'abc', '1;2'])('never presses "%s"', async (keys) => {
    const pressed: string[] = [];
    const rig = await call({
      tools: [pressKeysTool({ press: (each) => pressed.push(each) })],
      llm: {
        answer: (messages) =>
          messages.at(-1)?.role === 'tool'
            ? [{ type: 'done', finishReason: 'stop' }]
            : [
                { type: 'tool-call', id: 'a', name: 'press_keys', args: { keys }, argsText: JSON.stringify({ keys }) },
                { type: 'done', finishReason: 'tool-calls' },
              ],
      },
    });
    rig.stt.hearWords(FakeSTT.result('for sales press two', 'final'));
    await rig.scheduler.advance(3_000);
    expect(pressed).toEqual([]);
    expect(ofType(rig.events, 'tool.error')).toHaveLength(1);
    await over(rig);
  });
});

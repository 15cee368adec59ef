/** Words that a silenced span has hidden stand in the events beside the recording, or others are missing there. */
import { startWith, Subject } from 'rxjs';
import { Pipeline, record, type CallRecording, type RecordOptions } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, VirtualClock } from 'rxvoice/testing';

interface Line {
  readonly ms: number;
  readonly type: string;
  readonly text?: string;
  readonly silenced?: boolean;
}

class Call {
  readonly scheduler = new VirtualClock();
  readonly stt = new FakeSTT({ scheduler: this.scheduler });
  readonly pipeline: Pipeline;
  readonly recording: CallRecording;
  lines: Line[] = [];

  constructor(options: Partial<RecordOptions> = {}) {
    const { scheduler, stt } = this;
    const others = [new FakeInput({ scheduler }), new FakeOutput({ scheduler }), new FakeLLM({ scheduler })];
    this.pipeline = new Pipeline({ providers: [...others, stt, new FakeTTS({ scheduler })], scheduler });
    this.recording = record(this.pipeline, { consent: true, ...options });
  }

  async begin(): Promise<void> {
    this.lines = [];
    this.recording.lines$.subscribe((line) => this.lines.push(JSON.parse(line) as Line));
    await this.scheduler.run(this.pipeline.start());
    await this.pass(1_000);
  }

  pass(ms: number): Promise<unknown> {
    return this.scheduler.pass(ms);
  }

  interim(text: string): void {
    this.stt.hearWords(FakeSTT.result(text, 'interim'));
  }

  final(text: string): void {
    this.stt.hearWords(FakeSTT.result(text, 'final'));
  }

  async end(): Promise<void> {
    await this.pass(15_000);
    await this.scheduler.run(this.pipeline.dispose());
  }

  /** The words of events, or whether they are silenced. */
  told(...types: string[]): unknown[] {
    return this.lines.filter(({ type }) => types.includes(type)).map(({ text, silenced }) => silenced ?? text);
  }

  get all(): string {
    return JSON.stringify(this.lines);
  }
}

const words = ['transcript.final', 'turn.committed', 'speech.ended'];

describe('redact()', () => {
  it('has no words of the span that are told, or repeated, after it', async () => {
    const events = [...words, 'llm.token', 'llm.completed', 'history.added'] as RecordOptions['events'] & object;
    const call = new Call({ events });
    await call.begin();
    const end = call.recording.redact();
    call.stt.hearVoice('started');
    call.interim('my card is 4711');
    await call.pass(2_000);
    end();
    await call.pass(300);
    call.final('my card is 4711');
    await call.pass(6_000);
    call.final('thank you');
    await call.end();
    expect(call.told(...words)).toEqual([true, true, true, 'thank you', 'thank you', 'You said thank you.']);
    expect(call.all).not.toContain('4711');
    expect(call.all).not.toContain('card');
  });

  it('has no words of a service that tells only whole utterances', async () => {
    const call = new Call();
    await call.begin();
    const end = call.recording.redact();
    call.stt.hearVoice('started');
    await call.pass(1_000);
    end();
    await call.pass(500);
    call.final('my card is 4711');
    await call.end();
    expect(call.told(...words)).toEqual([true, true, true]);
  });

  it('has no words of a turn that becomes a part of the next', async () => {
    const call = new Call();
    await call.begin();
    const end = call.recording.redact();
    call.interim('my card is 4711');
    await call.pass(500);
    call.final('my card is 4711');
    await call.pass(50);
    end();
    await call.pass(50);
    call.stt.hearVoice('started');
    call.interim('and that is all');
    await call.pass(300);
    call.final('and that is all');
    await call.end();
    expect(call.lines.filter(({ type }) => type === 'turn.ended')).toHaveLength(2);
    expect(call.all).not.toContain('4711');
  });

  it('has no words of something short that came during a speech', async () => {
    const call = new Call({ events: ['bargeIn.ignored'] });
    await call.begin();
    call.pipeline.say('A speech that goes on for quite a while, so that there is time.');
    await call.pass(1_000);
    const end = call.recording.redact();
    call.stt.hearVoice('started');
    call.interim('yeah');
    await call.pass(100);
    end();
    await call.pass(300);
    call.final('yeah');
    await call.end();
    expect(call.told('bargeIn.ignored')).toEqual([true]);
  });

  it('has no words of a speech that began in the span and ended after it, or the other way round', async () => {
    const call = new Call({ events: ['speech.ended', 'history.added'] });
    await call.begin();
    const end = call.recording.redact();
    call.pipeline.say('your secret is 0815 and nothing else matters');
    await call.pass(1_500);
    end();
    await call.pass(5_000);
    call.pipeline.say('another secret is 0816 and nothing else matters');
    await call.pass(300);
    call.recording.redact({ to: call.scheduler.now() + 100, speaker: 'agent' });
    await call.pass(5_000);
    call.pipeline.say('Goodbye.');
    await call.end();
    expect(call.told('speech.ended')).toEqual([true, true, 'Goodbye.']);
    expect(call.all).not.toContain('secret');
  });

  it.each([
    ['user', [true, true, 'hello there', 'You said 4711.']],
    ['agent', ['4711', '4711', true, 'You said 4711.']],
  ] as const)('keeps the words of the other when it silences the %s', async (speaker, expected) => {
    const call = new Call();
    await call.begin();
    call.pipeline.say('hello there');
    await call.pass(300);
    const end = call.recording.redact({ speaker });
    await call.pass(3_000);
    if (speaker === 'agent') end();
    await call.pass(10);
    call.interim('4711');
    await call.pass(100);
    end();
    call.final('4711');
    await call.end();
    const [hello, ...answer] = call.told('speech.ended');
    expect([...call.told('transcript.final', 'turn.committed'), hello, ...answer]).toEqual(expected);
  });

  it('moves with a clock that is set back', async () => {
    const call = new Call({ holdMs: 10_000 });
    await call.pass(3_600_000);
    await call.begin();
    const end = call.recording.redact();
    call.interim('4711');
    await call.pass(500);
    end();
    await call.pass(300);
    call.final('4711');
    await call.pass(3_000);
    const now = call.scheduler.now.bind(call.scheduler);
    call.scheduler.now = () => now() - 60_000;
    await call.pass(8_000);
    call.final('hello');
    await call.end();
    expect(call.told('transcript.final', 'turn.committed')).toEqual([true, true, 'hello', 'hello']);
  });

  it('ends with the session, and never silences what the recording says of itself', async () => {
    const call = new Call();
    await call.begin();
    call.recording.redact();
    await call.pass(1_000);
    await call.scheduler.run(call.pipeline.stop());
    expect(call.lines.map(({ type, silenced }) => [type, silenced])).toEqual([
      ['recording.started', undefined],
      ['recording.ended', undefined],
    ]);
    await call.begin();
    call.final('the next session');
    await call.end();
    expect(call.told('transcript.final')).toEqual(['the next session']);
  });

  it('lasts when nobody reads the recording for a while', async () => {
    const call = new Call();
    const reading = call.recording.lines$.subscribe();
    await call.begin();
    call.recording.redact();
    reading.unsubscribe();
    await call.pass(1_000);
    call.final('4711');
    await call.end();
    expect(call.told('transcript.final')).toEqual([true]);
  });
});

describe('consent', () => {
  it('has its beginning in the events, however soon it is withdrawn', async () => {
    const consent$ = new Subject<boolean>();
    const call = new Call({ consent: consent$.pipe(startWith(true)) });
    await call.begin();
    call.final('4711');
    consent$.next(false);
    await call.pass(500);
    consent$.next(true);
    await call.pass(500);
    consent$.next(false);
    await call.end();
    expect(call.lines.map(({ ms, type }) => [ms, type])).toEqual([
      [0, 'recording.started'],
      [1_000, 'recording.paused'],
      [1_500, 'recording.resumed'],
      [2_000, 'recording.paused'],
      [17_000, 'recording.ended'],
    ]);
  });
});

/** Slow: meetings are heard at the speed of speech, over real sockets. */
import { filter, firstValueFrom } from 'rxjs';
import { AlphaFlux, AlphaTTS, MeetingInputD, NullOutput, NuLLM, Pipeline } from 'rxvoice';
import { concatBytes, int16View } from 'rxvoice/audio';
import type { AudioChunk, MeetingInputDConfig } from 'rxvoice';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { Meeting, type MeetingOptions } from '../../samples/sandbox/meeting.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';

const app = { clientId: 'sandbox-client', clientSecret: 'sandbox-key' };
const wordsIn = (chunks: readonly AudioChunk[], sampleRate = 16000): string =>
  decodeSamples(int16View(concatBytes(...chunks.map(({ data }) => data))), sampleRate).text;

describe('MeetingInputD in a meeting', () => {
  let meeting: Meeting;
  let input: MeetingInputD;
  const heard: AudioChunk[] = [];
  afterEach(async () => {
    await input.dispose();
    await meeting.close();
    heard.length = 0;
  });
  async function join(config: Partial<MeetingInputDConfig> = {}, options: MeetingOptions = {}): Promise<void> {
    meeting = await Meeting.open(options);
    input = new MeetingInputD({ ...app, ...config });
    input.audio$.subscribe((chunk) => heard.push(chunk));
    await input.initialize();
    await input.start();
    await input.connect(meeting.target);
    await meeting.until(({ isSending }) => isSending);
  }

  for (const [sampleRate, sendRateMs] of [
    [8000, 20],
    [16000, 100],
    [32000, 40],
    [48000, 20],
  ] as const) {
    it(`hears every word at ${sampleRate} Hz in messages of ${sendRateMs} ms, and answers keep-alives`, async () => {
      await join({ sampleRate, sendRateMs }, { keepAliveMs: 200 });
      meeting.say(7, 'Ann', 'Good morning everybody.');
      await meeting.until(({ isSpeaking, nowMs }) => !isSpeaking && nowMs > 2000);
      await input.disconnect();
      expect(wordsIn(heard, sampleRate)).toBe('Good morning everybody.');
      expect([meeting.warnings, meeting.received(13).length > 4, meeting.received(21).length]).toEqual([[], true, 1]);
    });
  }

  it('tells two people who speak at once apart, and mixes them', async () => {
    await join({ dataOpt: 'per-participant' });
    const voices = new Map<string, AudioChunk[]>();
    input.onSpeakerAudio(({ userName = '', chunk }) => voices.set(userName, [...(voices.get(userName) ?? []), chunk]));
    meeting.say(7, 'Ann', 'I say yes.');
    meeting.say(8, 'Bob', 'And I say no.');
    const silence = (): Promise<AudioChunk> =>
      firstValueFrom(input.audio$.pipe(filter(({ data }) => data.every((byte) => byte === 0))));
    await meeting.until(({ isSpeaking }) => !isSpeaking);
    await silence();
    meeting.say(7, 'Ann', 'Well then.');
    await meeting.until(({ isSpeaking }) => !isSpeaking);
    await silence();
    expect([...voices].map(([name, chunks]) => [name, wordsIn(chunks)])).toEqual([
      ['Ann', 'I say yes.Well then.'],
      ['Bob', 'And I say no.'],
    ]);
    expect(wordsIn(heard)).toMatch(/Well then\.$/);
    expect(meeting.warnings).toEqual([]);
  });

  for (const kind of ['media', 'signaling'] as const) {
    it(`goes on when the ${kind} socket is lost`, async () => {
      await join();
      meeting.say(7, 'Ann', 'Before.');
      await meeting.until(({ isSpeaking }) => !isSpeaking);
      meeting.drop(kind);
      await meeting.until(({ isSending }) => !isSending);
      await meeting.until(({ isSending }) => isSending);
      meeting.say(7, 'Ann', 'After.');
      await meeting.until(({ isSpeaking }) => !isSpeaking);
      await input.disconnect();
      expect(wordsIn(heard)).toBe('Before.After.');
      expect(meeting.warnings).toEqual([]);
    });
  }

  it('retries while an older connection is still there', async () => {
    meeting = await Meeting.open();
    meeting.refuseWith = { msgType: 4, status: 16, times: 2 };
    input = new MeetingInputD(app);
    await input.initialize();
    await input.connect(meeting.target);
    expect(meeting.received(3)).toHaveLength(3);
  });

  for (const [what, change, code] of [
    ['the wrong secret', { clientSecret: 'wrong-secret' }, 'unauthorized'],
    ['another app', { clientId: 'another' }, 'unauthorized'],
  ] as const) {
    it(`fails at once with ${what}`, async () => {
      meeting = await Meeting.open();
      input = new MeetingInputD({ ...app, ...change });
      await input.initialize();
      await expect(input.connect(meeting.target)).rejects.toMatchObject({ code, recoverable: false });
      expect(meeting.received(1)).toHaveLength(1);
    });
  }

  describe('and a pipeline', () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await startSandbox();
    });
    afterAll(() => sandbox.close());

    it('takes the meeting down, and stops with it', async () => {
      meeting = await Meeting.open();
      input = new MeetingInputD({ ...app, dataOpt: 'per-participant' });
      const alpha = { apiKey: 'sandbox-key', endpoint: sandbox.endpoints.alpha };
      const output = new NullOutput();
      await using pipeline = new Pipeline({
        providers: [
          input,
          new AlphaFlux({ ...alpha, options: { eotThreshold: 0.6 } }),
          new NuLLM({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.nu }),
          new AlphaTTS(alpha),
          output,
        ],
      });
      await pipeline.start();
      await input.connect(meeting.target);
      await meeting.until(({ isSending }) => isSending);
      const final = firstValueFrom(pipeline.transcripts$.pipe(filter(({ type }) => type === 'transcript.final')));
      meeting.say(7, 'Ann', 'hello');
      expect(await final).toMatchObject({ text: expect.stringMatching(/^hello\W?$/i) as string });
      const ended = firstValueFrom(pipeline.call$.pipe(filter(({ type }) => type === 'call.ended')));
      const closed = firstValueFrom(pipeline.state$.pipe(filter(({ type }) => type === 'session.closed')));
      meeting.state(4, 6);
      await Promise.all([ended, closed]);
      expect(meeting.warnings).toEqual([]);
    });
  });
});

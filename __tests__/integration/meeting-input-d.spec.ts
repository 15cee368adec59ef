/** Slow: meetings are heard at the speed of speech, over real sockets. */
import { filter, firstValueFrom } from 'rxjs';
import { AlphaFlux, AlphaTTS, MeetingInputD, NullOutput, NuLLM, Pipeline, readMeetingInputDWebhook } from 'rxvoice';
import { concatBytes, int16View } from 'rxvoice/audio';
import type { AudioChunk, MeetingInputDConfig } from 'rxvoice';
import type { MeetingTranscript } from 'rxvoice/zoom';
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

  for (const product of ['meeting', 'webinar', 'session', 'engagement'] as const) {
    it(`hears and reads every word, and whose it is, from a webhook on: ${product}`, async () => {
      meeting = await Meeting.open({ product });
      const webhook = await readMeetingInputDWebhook({ secretToken: 'sandbox-token', ...meeting.webhook() });
      if (webhook?.type !== 'started') throw new Error(`the webhook is ${webhook?.type}`);
      input = new MeetingInputD({ ...app, dataOpt: 'per-participant', transcript: true });
      const read: MeetingTranscript[] = [];
      const speakers = new Map<string, AudioChunk[]>();
      input.onTranscript((piece) => read.push(piece));
      input.onSpeakerAudio(({ userId, chunk }) => speakers.set(userId, [...(speakers.get(userId) ?? []), chunk]));
      await input.initialize();
      await input.connect(webhook.target);
      await meeting.until(({ isSending, isTranscribing }) => isSending && isTranscribing);
      const both = firstValueFrom(input.transcript$.pipe(filter(() => read.length === 2)));
      meeting.say(7, 'Ann', 'Shall we begin?');
      meeting.say(8, 'Bob', 'Yes, and be quick about it.');
      await both;
      const [ann, bob] = product === 'engagement' ? ['channel-7', 'channel-8'] : ['7', '8'];
      const names = product === 'engagement' ? [{}, {}] : [{ userName: 'Ann' }, { userName: 'Bob' }];
      expect(read).toMatchObject([
        { userId: ann, ...names[0], text: 'Shall we begin?', language: 'en' },
        { userId: bob, ...names[1], text: 'Yes, and be quick about it.', language: 'en' },
      ]);
      expect(read.every(({ startMs = 0, endMs = 0 }) => startMs >= 1_738_392_033_000 && endMs > startMs)).toBe(true);
      await meeting.until(({ isSpeaking }) => !isSpeaking);
      meeting.state(4, 6);
      await firstValueFrom(input.callEnded$);
      expect([...speakers].map(([userId, chunks]) => [userId, wordsIn(chunks)])).toEqual([
        [ann, 'Shall we begin?'],
        [bob, 'Yes, and be quick about it.'],
      ]);
      expect(meeting.warnings).toEqual([]);
      const stopped = { secretToken: 'sandbox-token', ...meeting.webhook('rtms_stopped') };
      expect(await readMeetingInputDWebhook(stopped)).toMatchObject({ type: 'stopped', stopReason: 6 });
    });
  }

  it('goes on with the transcript when its socket is lost, and without one where the app may not have it', async () => {
    await join({ transcript: true, transcriptLanguage: 'en-GB' });
    const read = (words: string): Promise<unknown> =>
      firstValueFrom(input.transcript$.pipe(filter(({ text }) => text === words)));
    await meeting.until(({ isTranscribing }) => isTranscribing);
    meeting.drop('transcript');
    await meeting.until(({ isTranscribing }) => !isTranscribing);
    await meeting.until(({ isTranscribing }) => isTranscribing);
    const again = read('Again.');
    meeting.say(7, 'Ann', 'Again.');
    await again;
    expect(meeting.warnings).toEqual([]);
    await input.dispose();
    await meeting.close();
    heard.length = 0;

    const errors: string[] = [];
    meeting = await Meeting.open({ hasTranscript: false });
    input = new MeetingInputD({ ...app, transcript: true });
    input.audio$.subscribe((chunk) => heard.push(chunk));
    input.errors$.subscribe(({ code, recoverable }) => errors.push(`${code} ${recoverable}`));
    await input.initialize();
    await input.start();
    await input.connect(meeting.target);
    await meeting.until(({ isSending }) => isSending);
    meeting.say(7, 'Ann', 'Only heard.');
    await meeting.until(({ isSpeaking }) => !isSpeaking);
    await input.disconnect();
    expect([wordsIn(heard), errors, meeting.warnings]).toEqual(['Only heard.', ['forbidden true'], []]);
  });

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

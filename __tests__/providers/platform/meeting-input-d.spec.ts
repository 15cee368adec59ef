import { inspect } from 'node:util';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import type { VoiceError } from '../../../lib/core/errors.ts';
import type { ConnectionEvent } from '../../../lib/core/roles.ts';
import {
  MeetingInputD,
  type MeetingInputDConfig,
  type MeetingTarget,
} from '../../../lib/providers/platform/meeting-input-d.ts';
import type { MeetingEnd, SpeakerAudio } from '../../../lib/providers/platform/meeting-input.ts';
import type { ReconnectingSocketOptions } from '../../../lib/transport/reconnecting-socket.ts';
import { FakeSockets, type FakeSocket } from '../../transport/fake-sockets.ts';
import { TestClock, until } from '../../transport/test-clock.ts';

const target = {
  meetingUuid: '4444AAAiAAAAAiAiAiiAii==',
  rtmsStreamId: '609340fb2a7946909659956c8aa9250c',
  serverUrl: 'wss://rtms.example.com/signaling',
};
const ids = { meeting_uuid: target.meetingUuid, rtms_stream_id: target.rtmsStreamId };
const signature = '1011dcda2e3e07934ad953c61ae6cfba2ac81f11fc64953dc9929e2c2b8eaf33';
const app = { clientId: 'clientA1', clientSecret: 'secretB2' };

class Faked extends MeetingInputD {
  readonly sockets: FakeSockets = new FakeSockets();

  protected override socketOptions(): Pick<ReconnectingSocketOptions, 'openSocket'> {
    return { openSocket: this.sockets.open };
  }
}

const json = (socket: FakeSocket | undefined): Record<string, unknown>[] =>
  (socket?.texts ?? []).map((text) => JSON.parse(text) as Record<string, unknown>);
const media = 'wss://m.example.com/audio';
const accepted = {
  msg_type: 2,
  protocol_version: 1,
  sequence: 0,
  status_code: 0,
  media_server: { server_urls: { audio: media } },
};
const ready = { msg_type: 4, protocol_version: 1, status_code: 0, reason: '', sequence: 0 };
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const packet = (kind: number, ms = 20): Uint8Array<ArrayBuffer> => new Uint8Array(ms * 32).fill(kind);
const audio = (bytes: Uint8Array, timestamp: number, more: object = { user_id: 0 }): Record<string, unknown> => ({
  msg_type: 14,
  content: { ...more, data: base64(bytes), length: bytes.length, timestamp },
});

/** A provider on a virtual clock; `join()` plays the platform's part up to the first audio. */
async function listening(config: Partial<MeetingInputDConfig> = {}) {
  const clock = new TestClock();
  const input = new Faked({ ...app, scheduler: clock, ...config });
  const [heard, spoken, errors, ends, events]: [AudioChunk[], SpeakerAudio[], VoiceError[], MeetingEnd[], string[]] = [
    ...([[], [], [], [], []] as [AudioChunk[], SpeakerAudio[], VoiceError[], MeetingEnd[], string[]]),
  ];
  input.audio$.subscribe((chunk) => heard.push(chunk));
  input.errors$.subscribe((error) => errors.push(error));
  input.connection$.subscribe(({ type }: ConnectionEvent) => events.push(type));
  input.onSpeakerAudio((speech) => spoken.push(speech));
  input.onCallEnded((end) => ends.push(end));
  await input.initialize();
  await input.start();
  const socket = (index: number): FakeSocket => {
    const found = input.sockets.all.at(index);
    if (!found) throw new Error(`there is no socket ${index}`);
    return found;
  };
  const signal = async (index = 0): Promise<FakeSocket> => {
    socket(index).accept();
    socket(index).say(accepted);
    await clock.advance(0);
    return socket(index);
  };
  const flow = async (index = 1): Promise<FakeSocket> => {
    socket(index).accept();
    socket(index).say(ready);
    await clock.advance(0);
    return socket(index);
  };
  const join = async (
    more: Partial<MeetingTarget> = {},
  ): Promise<{ connected: Promise<void>; signaling: FakeSocket; stream: FakeSocket }> => {
    const connected = input.connect({ ...target, ...more });
    await until(() => input.sockets.all.length > 0);
    const signaling = await signal();
    return { connected, signaling, stream: await flow() };
  };
  const leave = async (): Promise<void> => {
    const gone = input.dispose();
    await clock.advance(2000);
    await gone;
  };
  return { leave, ...{ clock, input, heard, spoken, errors, ends, events, socket, signal, flow, join } };
}
const fails = (promise: Promise<unknown>): Promise<VoiceError> =>
  promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => error as VoiceError,
  );

describe('MeetingInputD', () => {
  it('shakes hands on both sockets as the platform wants it, and asks for audio', async () => {
    const { join, socket, leave } = await listening();
    const { connected, signaling, stream } = await join();
    await connected;
    expect([signaling.request.url.toString(), stream.request.url.toString()]).toEqual([target.serverUrl, media]);
    expect(json(signaling)).toEqual([
      { msg_type: 1, protocol_version: 1, sequence: 1, ...ids, signature, buffer_data: false },
      { msg_type: 5, events: [2, 3, 4].map((event_type) => ({ event_type, subscribe: true })) },
      { msg_type: 7, rtms_stream_id: target.rtmsStreamId },
    ]);
    expect(json(stream)).toEqual([
      {
        ...{ msg_type: 3, protocol_version: 1, sequence: 0, ...ids, signature },
        ...{ media_type: 1, payload_encryption: false },
        media_params: {
          audio: { content_type: 2, sample_rate: 1, channel: 1, codec: 1, data_opt: 1, send_rate: 20 },
        },
      },
    ]);
    expect([socket(0).request.headers, socket(0).request.protocols]).toEqual([undefined, undefined]);
    await leave();
  });

  it('names the session of a video app in both handshakes', async () => {
    const { join, leave } = await listening();
    const { connected, signaling, stream } = await join({ sessionId: target.meetingUuid });
    await connected;
    expect(json(signaling)[0]).toEqual({
      ...{ msg_type: 1, protocol_version: 1, sequence: 1, ...ids, signature, buffer_data: false },
      session_id: target.meetingUuid,
    });
    expect(json(stream)[0]).toMatchObject({ ...ids, signature, session_id: target.meetingUuid });
    await leave();
  });

  it('names an engagement in both handshakes, and no meeting', async () => {
    const { join, leave } = await listening();
    const { connected, signaling, stream } = await join({ engagementId: target.meetingUuid });
    await connected;
    for (const socket of [signaling, stream]) {
      expect(json(socket)[0]).toMatchObject({ engagement_id: target.meetingUuid, signature });
      expect(json(socket)[0]).not.toHaveProperty('meeting_uuid');
    }
    await leave();
  });

  it('goes through a whole session of the platform, message by message', async () => {
    const { input, clock, join, heard, ends } = await listening({ sendRateMs: 100 });
    const states: string[] = [];
    input.onStreamState((state) => states.push(state));
    const { connected, signaling, stream } = await join();
    await connected;
    signaling.say({ msg_type: 6, event: { event_type: 1, timestamp: 1738392033599 } });
    signaling.say({ msg_type: 8, state: 1, reason: 0, timestamp: 1738392033600 });
    stream.say(audio(packet(9, 100), 1738392033699));
    stream.say({ msg_type: 12, timestamp: 1738392043600 });
    signaling.say({ msg_type: 12, timestamp: 1738392043601 });
    const gone = input.disconnect();
    await clock.advance(0);
    const { rtmsStreamId: rtms_stream_id } = target;
    signaling.say({ msg_type: 22, rtms_stream_id, status_code: 0, reason: 'OK', timestamp: 1738392053600 });
    await gone;
    expect(json(signaling)).toEqual([
      { msg_type: 1, protocol_version: 1, sequence: 1, ...ids, signature, buffer_data: false },
      { msg_type: 5, events: [2, 3, 4].map((event_type) => ({ event_type, subscribe: true })) },
      { msg_type: 7, rtms_stream_id },
      { msg_type: 13, timestamp: 1738392043601 },
      { msg_type: 21, rtms_stream_id },
    ]);
    expect(json(stream).map(({ msg_type }) => msg_type)).toEqual([3, 13]);
    expect(json(stream)[1]).toEqual({ msg_type: 13, timestamp: 1738392043600 });
    expect(heard.map(({ data, timestamp }) => [data.length, timestamp])).toEqual([[3200, 0]]);
    expect([states, ends]).toEqual([['active'], [{ reason: 'left' }]]);
    await clock.advance(2000);
    expect([input.sockets.live, clock.pending]).toEqual([0, 0]);
  });

  it('fails at once where the platform does not know the signature and hangs up', async () => {
    const { input, clock, socket, ends } = await listening({ clientSecret: 'wrong' });
    const failed = fails(input.connect(target));
    await until(() => input.sockets.all.length > 0);
    socket(0).accept();
    socket(0).say({ msg_type: 2, protocol_version: 1, sequence: 0, status_code: 3, reason: 'invalid signature' });
    socket(0).drop(1000);
    expect(await failed).toMatchObject({ code: 'unauthorized', status: 3, recoverable: false });
    await clock.advance(60_000);
    expect([input.sockets.all.length, ends, clock.pending]).toEqual([1, [{ reason: 'lost' }], 0]);
  });

  for (const [sampleRate, code] of [
    [8000, 0],
    [16000, 1],
    [32000, 2],
    [48000, 3],
  ] as const) {
    it(`asks for ${sampleRate} Hz, of each participant, and what was buffered`, async () => {
      const config = { sampleRate, dataOpt: 'per-participant', sendRateMs: 100, bufferData: true } as const;
      const { input, join, leave } = await listening(config);
      const { signaling, stream } = await join();
      expect(json(stream)[0]?.['media_params']).toEqual({
        audio: { content_type: 2, sample_rate: code, channel: 1, codec: 1, data_opt: 2, send_rate: 100 },
      });
      expect(json(signaling)[0]?.['buffer_data']).toBe(true);
      expect(input.getMetadata()).toEqual({ encoding: 'linear16', sampleRate, channels: 1, bitDepth: 16 });
      await leave();
    });
  }

  for (const config of [
    { clientId: '' },
    { clientSecret: '' },
    { sampleRate: 44100 },
    { sampleRate: '16000' },
    { dataOpt: 'both' },
    { sendRateMs: 30 },
    { sendRateMs: 1020 },
    { bufferData: 'yes' },
    { transcript: 'yes' },
    { transcriptLanguage: 'en' },
    { transcript: true, transcriptLanguage: 'la' },
  ]) {
    it(`refuses ${JSON.stringify(config)}`, async () => {
      const input = new MeetingInputD({ ...app, ...config } as MeetingInputDConfig);
      await expect(input.initialize()).rejects.toMatchObject({ code: 'configuration' });
    });
  }

  it('needs initialize() first', async () => {
    expect(await fails(new MeetingInputD(app).connect(target))).toMatchObject({ code: 'not_ready' });
  });

  for (const [what, serverUrl, code] of [
    ['no address', 'rtms', 'configuration'],
    ['an address in the clear', 'ws://rtms.example.com/signaling', 'configuration'],
  ] as const) {
    it(`refuses ${what} from a webhook`, async () => {
      const { input } = await listening();
      expect(await fails(input.connect({ ...target, serverUrl }))).toMatchObject({ code });
      expect(input.sockets.all).toEqual([]);
    });
  }

  it('F48: signs nothing for an audio address in the clear, except on this machine', async () => {
    const { input, socket, clock, errors, ends, leave } = await listening();
    const audio = 'ws://m.example.com/audio';
    const failed = fails(input.connect(target));
    await until(() => input.sockets.all.length > 0);
    socket(0).accept();
    socket(0).say({ ...accepted, media_server: { server_urls: { audio } } });
    await clock.advance(0);
    expect(await failed).toMatchObject({ code: 'configuration' });
    expect([input.sockets.all.length, ends.map(({ reason }) => reason)]).toEqual([1, ['lost']]);
    expect(errors[0]?.message).toContain('unencrypted to m.example.com');
    input.connect(target).catch(() => undefined);
    await until(() => input.sockets.all.length > 1);
    socket(1).accept();
    socket(1).say({ ...accepted, media_server: { server_urls: { audio: 'ws://127.0.0.1:8080/audio' } } });
    await clock.advance(0);
    expect(input.sockets.all).toHaveLength(3);
    await leave();
  });

  it('F48: goes on without a transcript whose address is in the clear', async () => {
    const { input, flow, socket, clock, errors, ends, leave } = await listening({ transcript: true });
    const connected = input.connect(target);
    await until(() => input.sockets.all.length > 0);
    socket(0).accept();
    const urls = { audio: media, transcript: 'ws://m.example.com/transcript' };
    socket(0).say({ ...accepted, media_server: { server_urls: urls } });
    await clock.advance(0);
    await flow();
    await connected;
    expect(input.sockets.all).toHaveLength(2);
    expect(errors).toMatchObject([{ code: 'configuration', recoverable: true }]);
    expect(errors[0]?.message).toContain('the meeting goes on without its transcript');
    expect(ends).toEqual([]);
    await leave();
  });

  it('follows a stream after all that it was told of too early, or with a wrong address', async () => {
    const clock = new TestClock();
    const input = new Faked({ ...app, scheduler: clock });
    await fails(input.connect(target));
    await input.initialize();
    await fails(input.connect({ ...target, serverUrl: 'rtms' }));
    const connected = input.connect(target).catch(() => undefined);
    await until(() => input.sockets.all.length === 1);
    await input.dispose();
    await connected;
  });

  it('takes the first of several addresses, and audio from the address for all where there is no other', async () => {
    const { input, socket, clock, leave } = await listening();
    input.connect({ ...target, serverUrl: 'wss://a.example.com/s, wss://b.example.com/s' }).catch(() => undefined);
    await until(() => input.sockets.all.length > 0);
    socket(0).accept();
    socket(0).say({ ...accepted, media_server: { server_urls: { video: 'wss://v', all: 'wss://all.example.com/x' } } });
    await clock.advance(0);
    expect(input.sockets.all.map(({ request }) => request.url.toString())).toEqual([
      'wss://a.example.com/s',
      'wss://all.example.com/x',
    ]);
    await leave();
  });

  it('delivers mixed audio as it arrives, on its own clock', async () => {
    const { input, join, heard, leave } = await listening();
    const { stream } = await join();
    stream.say(audio(packet(1), 1_738_392_033_600));
    stream.say(audio(packet(2), 1_738_392_033_620));
    stream.say({ msg_type: 14, content: base64(packet(3)) });
    stream.say(audio(packet(4), 1_738_392_035_000));
    const metadata = input.getMetadata();
    expect(heard).toEqual(
      [0, 20, 40, 1400].map((timestamp, index) => ({ data: Buffer.from(packet(index + 1)), metadata, timestamp })),
    );
    await leave();
  });

  it('fills gaps with silence when it is asked to', async () => {
    const { join, heard, leave } = await listening({ fillGaps: true });
    const { stream } = await join();
    stream.say(audio(packet(1), 1000));
    stream.say(audio(packet(2), 1520));
    expect(heard.map(({ data, timestamp }) => [data[0], data.length / 32, timestamp])).toEqual([
      [1, 20, 0],
      [0, 500, 20],
      [2, 20, 520],
    ]);
    await leave();
  });

  it('gives each participant apart, by stream and callback, and all of them mixed for one listener', async () => {
    const { clock, input, join, heard, spoken, leave } = await listening({ dataOpt: 'per-participant' });
    const streamed: string[] = [];
    input.speakerAudio$.subscribe(({ userId }) => streamed.push(userId));
    const { stream } = await join();
    const ann = { user_id: 16778240, user_name: 'Ann' };
    const bob = { user_id: '16778241' };
    for (let at = 0; at < 60; at += 20) {
      stream.say(audio(packet(1), 1000 + at, ann));
      if (at === 20) stream.say(audio(packet(2), 1000 + at, bob));
      await clock.advance(20);
    }
    await clock.advance(400);
    expect(spoken.map(({ userId, userName, chunk }) => [userId, userName, chunk.data[0], chunk.timestamp])).toEqual([
      ['16778240', 'Ann', 1, 0],
      ['16778240', 'Ann', 1, 20],
      ['16778241', undefined, 2, 20],
      ['16778240', 'Ann', 1, 40],
    ]);
    expect(streamed).toHaveLength(4);
    expect(heard.slice(0, 4).map(({ data }) => data[0])).toEqual([3, 1, 1, 0]);
    await leave();
    expect(clock.pending).toBe(0);
  });

  it('reads what the platform transcribed, and whose it is', async () => {
    const { input, flow, socket, errors, leave } = await listening({
      transcript: true,
      transcriptLanguage: 'zh-TW',
    });
    const read: unknown[] = [];
    input.onTranscript((piece) => read.push(piece));
    const transcript = 'wss://m.example.com/transcript';
    const connected = input.connect(target);
    await until(() => input.sockets.all.length > 0);
    socket(0).accept();
    socket(0).say({ ...accepted, media_server: { server_urls: { audio: media, transcript } } });
    await until(() => input.sockets.all.length > 2);
    await flow(1);
    await connected;
    const words = await flow(2);
    expect(words.request.url.toString()).toBe(transcript);
    expect(json(words)).toEqual([
      {
        ...{ msg_type: 3, protocol_version: 1, sequence: 0, ...ids, signature },
        ...{ media_type: 8, payload_encryption: false },
        media_params: { transcript: { content_type: 5, src_language: 5, enable_lid: false } },
      },
    ]);
    const speaker = { user_id: 5, user_name: 'Ada' };
    const times = { start_time: 1_738_392_033_000, end_time: 1_738_392_034_000, timestamp: 1_738_392_034_100 };
    const late = { start_time: 1_738_392_035_000_000, end_time: 1_738_392_036_500_000 };
    for (const content of [
      { ...speaker, ...times, language: 9, data: ' Hi. ' },
      { ...speaker, ...late, language: 4, data: 'Again.' },
      { channel_id: 'c-1', language: 99, data: 'Hm.' },
      { ...speaker, data: ' ' },
      { ...speaker, data: 5 },
      'x',
    ]) {
      words.say({ msg_type: 17, content });
    }
    const ada = { userId: '5', userName: 'Ada' };
    expect(read).toEqual([
      { ...ada, text: 'Hi.', language: 'en', startMs: 1_738_392_033_000, endMs: 1_738_392_034_000 },
      { ...ada, text: 'Again.', language: 'zh-Hans', startMs: 1_738_392_035_000, endMs: 1_738_392_036_500 },
      { userId: 'c-1', text: 'Hm.' },
    ]);
    expect(errors).toMatchObject([{ message: expect.stringContaining('a transcript without text') as string }]);
    await leave();
  });

  it('goes on without a transcript that the platform refuses, and says so', async () => {
    const { input, flow, socket, heard, errors, ends, leave } = await listening({ transcript: true });
    const connected = input.connect(target);
    await until(() => input.sockets.all.length > 0);
    socket(0).accept();
    const urls = { audio: media, transcript: 'wss://m.example.com/transcript' };
    socket(0).say({ ...accepted, media_server: { server_urls: urls } });
    await until(() => input.sockets.all.length > 2);
    const stream = await flow(1);
    await connected;
    socket(2).accept();
    socket(2).say({ msg_type: 4, status_code: 20, reason: 'rate' });
    stream.say(audio(packet(1), 1000));
    expect(errors).toMatchObject([{ code: 'configuration', recoverable: true, status: 20 }]);
    expect(errors[0]?.message).toContain('the meeting goes on without its transcript');
    expect([heard.length, ends, socket(0).closeCode]).toEqual([1, [], undefined]);
    await leave();
  });

  it('tells who speaks, and the state of the stream', async () => {
    const { input, join, leave } = await listening();
    const { signaling } = await join();
    const [speakers, states]: [unknown[], string[]] = [[], []];
    input.onActiveSpeaker((speaker) => speakers.push(speaker));
    input.onStreamState((state) => states.push(state));
    const event = { event_type: 2, timestamp: 1, user_id: 22334455, user_name: 'John Smith' };
    signaling.say({ msg_type: 6, event });
    for (const state of [1, 2, 5, 6, 99]) signaling.say({ msg_type: 8, state, reason: 0 });
    for (const state of [2, 3, 4, 'x']) signaling.say({ msg_type: 9, state, stop_reason: 0 });
    expect(speakers).toEqual([{ userId: '22334455', userName: 'John Smith' }]);
    expect(states).toEqual(['active', 'interrupted', 'paused', 'resumed', 'active', 'paused', 'resumed']);
    await leave();
  });

  it('tells who joins and leaves', async () => {
    const { input, join, leave } = await listening();
    const { signaling } = await join();
    const people: unknown[] = [];
    input.people$.subscribe((person) => people.push(person));
    const participants = [{ user_id: 5, user_name: 'Ada' }, { user_id: '6' }, { user_name: 'nobody' }, 'x'];
    signaling.say({ msg_type: 6, event: { event_type: 3, timestamp: 1, participants } });
    signaling.say({ msg_type: 6, event: { event_type: 4, timestamp: 2, participants: [{ user_id: 5 }] } });
    for (const odd of [{}, { participants: 5 }]) signaling.say({ msg_type: 6, event: { event_type: 3, ...odd } });
    expect(people).toEqual([
      { type: 'joined', userId: '5', userName: 'Ada' },
      { type: 'joined', userId: '6' },
      { type: 'left', userId: '5' },
    ]);
    await leave();
  });

  it('answers keep-alives on the socket that asked, with the same timestamp', async () => {
    const { join, leave } = await listening();
    const { signaling, stream } = await join();
    stream.say({ msg_type: 12, timestamp: 1727384349123 });
    signaling.say({ msg_type: 12, timestamp: 7 });
    expect([json(stream).at(-1), json(signaling).at(-1)]).toEqual([
      { msg_type: 13, timestamp: 1727384349123 },
      { msg_type: 13, timestamp: 7 },
    ]);
    await leave();
  });

  describe('when the platform refuses', () => {
    for (const [status, code, isFinal] of [
      [1, 'configuration', true],
      [2, 'not_found', true],
      [3, 'unauthorized', true],
      [4, 'configuration', true],
      [9, 'forbidden', true],
      [18, 'configuration', true],
      [8, 'rate_limited', false],
      [45, 'server', false],
    ] as const) {
      it(`the signaling handshake with ${status}, it ${isFinal ? 'fails for good' : 'retries'}`, async () => {
        const { input, socket, clock, errors, leave } = await listening();
        const connected = input.connect(target);
        connected.catch(() => undefined);
        const failed = isFinal ? fails(connected) : undefined;
        await until(() => input.sockets.all.length > 0);
        socket(0).accept();
        socket(0).say({ msg_type: 2, status_code: status, reason: 'with words of its own' });
        await clock.advance(300);
        expect(input.sockets.all).toHaveLength(isFinal ? 1 : 2);
        if (isFinal) expect(await failed).toMatchObject({ code, status, recoverable: false });
        expect(inspect([errors, await failed], { depth: 9 })).not.toMatch(/secretB2|1011dcda|of its own/);
        await leave();
        await connected.catch(() => undefined);
        expect(clock.pending).toBe(0);
      });
    }

    it('the media handshake, it fails for good and closes the signaling socket', async () => {
      const { input, socket, clock, signal, ends, leave } = await listening();
      const failed = fails(input.connect(target));
      await until(() => input.sockets.all.length > 0);
      await signal();
      socket(1).accept();
      socket(1).say({ msg_type: 4, status_code: 20, reason: 'rate' });
      await clock.advance(2000);
      expect(await failed).toMatchObject({ code: 'configuration', status: 20 });
      expect([ends, socket(0).closeCode]).toEqual([[{ reason: 'lost' }], 1000]);
      await leave();
    });

    it('to name an address for audio, it says which scopes are missing', async () => {
      const { input, socket, clock } = await listening();
      const failed = fails(input.connect(target));
      await until(() => input.sockets.all.length > 0);
      socket(0).accept();
      socket(0).say({ ...accepted, media_server: { server_urls: { transcript: 'wss://t' } } });
      await clock.advance(0);
      expect(await failed).toMatchObject({ code: 'forbidden', message: expect.stringContaining('scopes') as string });
    });
  });

  describe('when a connection is lost', () => {
    it('media alone comes back with a handshake of its own', async () => {
      const { input, clock, join, flow, socket, heard, events, leave } = await listening();
      const { signaling, stream } = await join();
      stream.say(audio(packet(1), 1000));
      stream.drop();
      await clock.advance(300);
      const again = await flow(2);
      again.say(audio(packet(2), 1400));
      expect(json(again)[0]).toMatchObject({ msg_type: 3, signature });
      expect(json(signaling).filter(({ msg_type }) => msg_type === 7)).toHaveLength(2);
      expect([input.sockets.all.length, socket(0).terminated, events]).toEqual([3, false, ['connecting', 'connected']]);
      expect(heard.map(({ data, timestamp }) => [data[0], timestamp])).toEqual([
        [1, 0],
        [2, 400],
      ]);
      await leave();
    });

    it('signaling does everything anew', async () => {
      const { clock, join, signal, flow, events, ends, leave } = await listening();
      const { signaling, stream } = await join();
      signaling.drop(1006);
      await clock.advance(300);
      const again = await signal(2);
      await flow(3);
      expect(json(again).map(({ msg_type }) => msg_type)).toEqual([1, 5, 7]);
      expect([stream.terminated, events]).toEqual([true, ['connecting', 'connected', 'reconnecting', 'connected']]);
      expect(ends).toEqual([]);
      await leave();
    });

    it('the platform that says so is asked anew', async () => {
      const { input, clock, join, ends, leave } = await listening();
      const { signaling } = await join();
      signaling.say({ msg_type: 6, event: { event_type: 7, timestamp: 1 } });
      await clock.advance(0);
      expect(input.sockets.all).toHaveLength(3);
      signaling.say({ msg_type: 8, state: 4, reason: 12, timestamp: 1 });
      await clock.advance(300);
      expect([input.sockets.all.length, ends]).toEqual([4, []]);
      await leave();
    });

    it('a platform that is silent on both sockets counts as lost', async () => {
      const { input, clock, join, leave } = await listening();
      await join();
      await clock.advance(65_000);
      expect(input.sockets.all.length).toBeGreaterThan(2);
      await leave();
      expect(clock.pending).toBe(0);
    });

    it('for good, it ends and reports it', async () => {
      const { input, join, clock, ends, errors, events } = await listening({ reconnect: false });
      const { connected, signaling } = await join();
      await connected;
      signaling.drop(1006);
      await clock.advance(2000);
      expect([ends, events.at(-1), errors.map(({ code }) => code)]).toEqual([
        [{ reason: 'lost' }],
        'lost',
        ['connection'],
      ]);
      expect([input.sockets.live, clock.pending]).toEqual([0, 0]);
    });
  });

  describe('ends', () => {
    for (const [how, message, detail] of [
      ['with the meeting', { msg_type: 8, state: 4, reason: 6 }, 'the meeting ended'],
      ['with the session', { msg_type: 9, state: 5, stop_reason: 1 }, 'stopped by the host'],
      [
        'with the session, in the words of its table',
        { msg_type: 9, state: 5, reason: 23 },
        'stopped by an administrator',
      ],
      ['when it is revoked', { msg_type: 8, state: 4, reason: 8 }, 'revoked: delete what was recorded'],
      ['for a reason of the future', { msg_type: 8, state: 4, reason: 77 }, 'stopped (77)'],
    ] as const) {
      it(`${how}: audio$ completes, both sockets are closed, and the next stream can be followed`, async () => {
        const { input, clock, join, ends, leave } = await listening();
        let completed = 0;
        input.audio$.subscribe({ complete: () => completed++ });
        const { signaling, stream } = await join();
        signaling.say({ ...message, timestamp: 1 });
        await clock.advance(1500);
        expect([ends, completed, signaling.closeCode, stream.closeCode]).toEqual([
          [{ reason: 'ended', detail }],
          1,
          1000,
          1000,
        ]);
        expect([input.sockets.live, clock.pending]).toEqual([0, 0]);
        const next = input.connect({ ...target, rtmsStreamId: 'another' }).catch(() => undefined);
        await until(() => input.sockets.all.length > 2);
        await leave();
        await next;
      });
    }

    it('by disconnect(): tells the platform, waits for its confirmation, closes media first', async () => {
      const { input, clock, join, ends } = await listening();
      const { signaling, stream } = await join();
      const gone = input.disconnect();
      await clock.advance(100);
      expect(json(signaling).at(-1)).toEqual({ msg_type: 21, rtms_stream_id: target.rtmsStreamId });
      expect([signaling.closeCode, stream.closeCode]).toEqual([undefined, undefined]);
      signaling.say({ msg_type: 22, rtms_stream_id: target.rtmsStreamId, status_code: 0, reason: 'OK' });
      await gone;
      await clock.advance(0);
      expect([signaling.closeCode, stream.closeCode, ends]).toEqual([1000, 1000, [{ reason: 'left' }]]);
      await clock.advance(1500);
      expect([input.sockets.live, clock.pending]).toEqual([0, 0]);
    });

    it('by disconnect(), though the platform says nothing or hangs up first', async () => {
      for (const drops of [false, true]) {
        const { input, clock, join, ends } = await listening();
        const { signaling, stream } = await join();
        const gone = input.disconnect();
        if (drops) {
          stream.drop(1000);
          signaling.drop(1000);
        }
        await clock.advance(600);
        await gone;
        await clock.advance(1500);
        expect([ends, input.sockets.all.length, input.sockets.live, clock.pending]).toEqual([
          [{ reason: 'left' }],
          2,
          0,
          0,
        ]);
      }
    });

    it('by dispose() in every state', async () => {
      for (const state of ['idle', 'connecting', 'shaking hands', 'listening'] as const) {
        const { input, clock, join, signal } = await listening();
        const connected =
          state === 'idle'
            ? Promise.resolve()
            : state === 'listening'
              ? (await join()).connected
              : input.connect(target);
        connected.catch(() => undefined);
        if (state === 'shaking hands') {
          await until(() => input.sockets.all.length > 0);
          await signal();
        }
        const disposed = input.dispose();
        await clock.advance(600);
        await disposed;
        await connected.catch((error: unknown) => expect(error).toMatchObject({ code: expect.any(String) as string }));
        await clock.advance(1500);
        expect([state, input.sockets.live, clock.pending]).toEqual([state, 0, 0]);
      }
    });
  });

  it('shares one connection when a webhook comes twice, and refuses another stream', async () => {
    const { input, join, leave } = await listening();
    const { connected } = await join();
    await Promise.all([connected, input.connect(target)]);
    expect(await fails(input.connect({ ...target, rtmsStreamId: 'another' }))).toMatchObject({ code: 'not_ready' });
    expect(input.sockets.all).toHaveLength(2);
    await leave();
  });

  it('shows its secret and signature to nobody (F50)', async () => {
    const { input, join, leave } = await listening();
    await join();
    expect(inspect(input, { depth: 9, showHidden: true }) + JSON.stringify(input)).not.toMatch(/secretB2/);
    await leave();
  });

  it('finds nothing to break in 20,000 mutated messages', async () => {
    const { input, clock, join, heard, spoken } = await listening({ dataOpt: 'per-participant' });
    await join();
    let seed = 20_261_121;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const strange = [null, 0, -1, 1e308, '', 'x', '%%%', [], {}, true, '__proto__', { length: -1 }, [[]], '\u0000'];
    const mutate = (value: unknown, depth: number): unknown => {
      if (random(6) === 0 || depth > 4) return strange[random(strange.length)];
      if (typeof value !== 'object' || value === null) return value;
      const entries = Object.entries(value).filter(() => random(8) > 0);
      return Object.fromEntries(
        entries.map(([key, each]) => [
          random(12) ? key : 'constructor',
          random(3) ? (each as unknown) : mutate(each, depth + 1),
        ]),
      );
    };
    const seeds: unknown[] = [accepted, ready, audio(packet(1), 5, { user_id: 5, user_name: 'A' })];
    seeds.push({ msg_type: 6, event: { event_type: 2, user_id: 5 } }, { msg_type: 12, timestamp: 5 });
    seeds.push({ msg_type: 8, state: 1, reason: 0 }, { msg_type: 9, state: 2, stop_reason: 0 });
    let uncaught = 0;
    for (let turn = 0; turn < 20_000; turn++) {
      const text = JSON.stringify(mutate(seeds[random(seeds.length)], 0)) as string | undefined;
      const cut = random(10) ? (text ?? '') : (text ?? '').slice(0, random((text ?? '').length + 1));
      try {
        for (const socket of input.sockets.all.slice(-2)) socket.say(random(5) ? cut : new TextEncoder().encode(cut));
      } catch {
        uncaught++;
      }
      if (turn % 1000 === 0) await clock.advance(1000);
    }
    expect(uncaught).toBe(0);
    expect([...heard, ...spoken.map(({ chunk }) => chunk)].every(({ data }) => data.length % 2 === 0)).toBe(true);
    const disposed = input.dispose();
    await clock.advance(2000);
    await disposed;
    expect(clock.pending).toBe(0);
  });
});

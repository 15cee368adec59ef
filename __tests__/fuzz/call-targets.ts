/** Targets whose inputs are whole sessions, one message a line. */
import type { Observable } from 'rxjs';
import type { AudioChunk } from '../../lib/audio/types.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import { asObject, asObjects } from '../../lib/core/guard.ts';
import { parseJsonObject } from '../../lib/core/parse-json.ts';
import type { Logger } from '../../lib/core/logger.ts';
import { AlphaAgent } from '../../lib/providers/agent/alpha-agent.ts';
import { GammaAgent } from '../../lib/providers/agent/gamma-agent.ts';
import { OmicronAgent } from '../../lib/providers/agent/omicron-agent.ts';
import { ThetaAgent } from '../../lib/providers/agent/theta-agent.ts';
import { MeetingInputD } from '../../lib/providers/platform/meeting-input-d.ts';
import { MeetingPeopleE, sessionStatuses } from '../../lib/providers/platform/meeting-people-e.ts';
import { readStatsWanted, statsSections } from '../../lib/providers/platform/meeting-peer-e.ts';
import { PhoneSocketB } from '../../lib/providers/platform/phone-socket-b.ts';
import { PhoneStreamA } from '../../lib/providers/platform/phone-stream-a.ts';
import type { ReconnectingSocketOptions } from '../../lib/transport/reconnecting-socket.ts';
import { FakePhoneSocket } from '../conformance/phone.ts';
import { FakeSockets } from '../transport/fake-sockets.ts';
import { settle, TestClock, until } from '../transport/test-clock.ts';
import { assert, textOf, type Bytes, type Target } from './promises.ts';

class FakedMeeting extends MeetingInputD {
  readonly sockets: FakeSockets = new FakeSockets({ pings: false });

  protected override socketOptions(): Pick<ReconnectingSocketOptions, 'openSocket'> {
    return { openSocket: this.sockets.open };
  }
}

class FakedAlphaAgent extends AlphaAgent {
  readonly sockets: FakeSockets = new FakeSockets({ pings: false });

  protected override sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    return { ...super.sessionOptions(), openSocket: this.sockets.open };
  }
}

class FakedGammaAgent extends GammaAgent {
  readonly sockets: FakeSockets = new FakeSockets({ pings: false });

  protected override sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    return { ...super.sessionOptions(), openSocket: this.sockets.open };
  }
}

class FakedOmicronAgent extends OmicronAgent {
  readonly sockets: FakeSockets = new FakeSockets({ pings: false });

  protected override sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    return { ...super.sessionOptions(), openSocket: this.sockets.open };
  }
}

class FakedThetaAgent extends ThetaAgent {
  readonly sockets: FakeSockets = new FakeSockets({ pings: false });

  protected override sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    return { ...super.sessionOptions(), openSocket: this.sockets.open };
  }
}

const linesOf = (bytes: Bytes): string[] => textOf(bytes).split('\n');

/** A line as a peer sends it: text that begins like JSON as text, anything else as bytes. */
const frameOf = (line: string): string | Bytes => (line.startsWith('{') ? line : new TextEncoder().encode(line));

/** Everything that a stream tells, to be looked at in the end: what a subscriber throws is caught. */
function listTo<T>(values$: Observable<T>): readonly T[] {
  const values: T[] = [];
  values$.subscribe((value) => values.push(value));
  return values;
}

function assertAudio(chunks: readonly AudioChunk[]): void {
  for (const { data, metadata, timestamp = 0 } of chunks) {
    assert(data.length > 0 && (metadata?.encoding !== 'linear16' || data.length % 2 === 0), 'audio is whole samples');
    assert(timestamp >= 0 && Number.isFinite(timestamp), 'audio has a time');
  }
}

function assertExpected(errors: readonly VoiceError[]): void {
  for (const error of errors) {
    if (error.code === 'internal') throw new Error(`broken: ${error.message}`, { cause: error.cause });
  }
}

/** The end of something that may fail, with a VoiceError. */
async function attempted(doing: Promise<unknown>): Promise<void> {
  try {
    await doing;
  } catch (error) {
    if (!VoiceError.is(error)) throw error;
  }
}

async function phoned(create: (scheduler: TestClock) => PhoneStreamA | PhoneSocketB, bytes: Bytes): Promise<void> {
  const clock = new TestClock();
  const phone = create(clock);
  const socket = new FakePhoneSocket();
  const [errors, heard, keys] = [listTo(phone.errors$), listTo(phone.audio$), listTo(phone.dtmf$)];
  await phone.initialize();
  await phone.start();
  phone.attach(socket);
  phone.enqueue({ data: new Uint8Array(3200), metadata: { encoding: 'linear16', sampleRate: 8000, channels: 1 } });
  for (const line of linesOf(bytes)) socket.say(frameOf(line));
  assert(
    socket.sent.every((sent) => typeof sent !== 'string' || parseJsonObject(sent) !== undefined),
    'every text is JSON',
  );
  assert(
    socket.closes.every((code) => code === 1000 || code === 1008 || code === 1009),
    'a call ends for a reason',
  );
  await phone.dispose();
  assertExpected(errors);
  assertAudio(heard);
  assert(
    keys.every((key) => /^[0-9*#A-D]$/.test(key)),
    'a key is one of the keypad',
  );
}

/** A whole session with an agent's service. */
async function conversed(
  create: (
    scheduler: TestClock,
    logger: Logger,
  ) => FakedAlphaAgent | FakedGammaAgent | FakedOmicronAgent | FakedThetaAgent,
  bytes: Bytes,
): Promise<void> {
  const clock = new TestClock();
  const thrown: unknown[] = [];
  const ignore = (): void => undefined;
  // What reading a message throws is logged.
  const debug = (_text: string, cause?: unknown): void => {
    if (cause instanceof Error) thrown.push(cause);
  };
  const logger: Logger = { debug, info: ignore, warn: ignore, error: ignore, scope: () => logger };
  const agent = create(clock, logger);
  const [errors, heard] = [listTo(agent.errors$), listTo(agent.audio$)];
  const [texts, calls] = [listTo(agent.conversation$), listTo(agent.functionCalls$)];
  const [latencies, usages] = [listTo(agent.latency$), listTo(agent.usage$)];
  await agent.initialize();
  const connected = attempted(agent.connect());
  await until(() => agent.sockets.all.length > 0);
  const socket = agent.sockets.last;
  socket.accept();
  for (const line of linesOf(bytes)) socket.say(frameOf(line));
  await clock.advance(100);
  const disposed = agent.dispose();
  await settle();
  for (const each of agent.sockets.all) each.drop(1000);
  await clock.advance(20_000);
  await Promise.all([connected, disposed]);
  assert(thrown.length === 0, `no message is too strange to read: ${String(thrown[0])}`);
  assertExpected(errors);
  assert(
    heard.every(({ data }) => data.length > 0) && texts.every(({ text }) => text.trim() !== ''),
    'nothing is empty',
  );
  assert(
    calls.every(({ id, name }) => id !== '' && name !== ''),
    'a call has an id and a name',
  );
  assert(
    [...latencies, ...usages].every((each) => Object.values(each).every(Number.isFinite)),
    'a latency is a number, and so is usage',
  );
}

export const callTargets: Readonly<Record<string, Target>> = {
  phoneStreamA: (bytes) => phoned((scheduler) => new PhoneStreamA({ scheduler, maxBytesPerSecond: Infinity }), bytes),

  phoneSocketB: (bytes) =>
    phoned((scheduler) => new PhoneSocketB({ scheduler, maxBytesPerSecond: Infinity, notify: true }), bytes),

  /** A line that begins with `M` is for the socket with the audio. */
  meetingStreamD: async (bytes) => {
    const clock = new TestClock();
    const meeting = new FakedMeeting({ clientId: 'c', clientSecret: 'secret', scheduler: clock, fillGaps: true });
    const [errors, heard] = [listTo(meeting.errors$), listTo(meeting.audio$)];
    const speakers = listTo(meeting.activeSpeaker$);
    await meeting.initialize();
    await meeting.start();
    const target = { meetingUuid: 'm', rtmsStreamId: 's', serverUrl: 'wss://rtms.example.com/signaling' };
    const connected = attempted(meeting.connect(target));
    const { all } = meeting.sockets;
    await until(() => all.length > 0);
    let accepted = 0;
    for (const line of linesOf(bytes)) {
      for (; accepted < all.length; accepted++) all[accepted]?.accept();
      if (line.startsWith('M')) all[1]?.say(frameOf(line.slice(1)));
      else all[0]?.say(frameOf(line));
    }
    await clock.advance(1_000);
    const disposed = meeting.dispose();
    await clock.advance(2_000);
    await Promise.all([connected, disposed]);
    assert(clock.pending === 0, 'nothing is left running');
    assertExpected(errors);
    assertAudio(heard);
    assert(
      speakers.every(({ userId }) => typeof userId === 'string' && userId !== ''),
      'a speaker has an id',
    );
  },

  meetingPeopleE: (bytes) => {
    const people = new MeetingPeopleE();
    const reports = [{ id: 'T', type: 'transport', selectedCandidatePairId: 'CP' }];
    for (const line of linesOf(bytes)) {
      const message = parseJsonObject(line);
      if (!message) continue;
      people.participants(message);
      people.entries(message);
      assert(
        sessionStatuses(message).every(({ reason }) => typeof reason === 'string'),
        'an end has a reason',
      );
      for (const { configuration } of asObjects(message['resources'])) {
        const wanted = readStatsWanted(asObject(configuration) ?? {});
        assert(wanted.intervalSeconds >= 0 && wanted.intervalSeconds <= 3600, 'uploads have an interval');
        statsSections(reports, wanted);
      }
    }
    const speaker = people.speaker([{ source: 13579, audioLevel: 0.5 }]);
    assert(typeof (speaker?.userId ?? '') === 'string', 'a speaker has an id');
  },

  alphaAgent: (bytes) =>
    conversed((scheduler, logger) => new FakedAlphaAgent({ apiKey: 'a-key', scheduler }, logger), bytes),

  gammaAgent: (bytes) =>
    conversed((scheduler, logger) => new FakedGammaAgent({ agentId: 'a', apiKey: 'a-key', scheduler }, logger), bytes),

  omicronAgent: (bytes) =>
    conversed((scheduler, logger) => new FakedOmicronAgent({ apiKey: 'a-key', scheduler }, logger), bytes),

  thetaAgent: (bytes) =>
    conversed((scheduler, logger) => new FakedThetaAgent({ apiKey: 'a-key', scheduler }, logger), bytes),
};

import { parseMicAudio, parsePageMessage } from '../../../lib/providers/platform/page-messages.ts';
import { parsePlayAudio, parseServerMessage } from '../../../lib/remote/server-messages.ts';
import {
  encodeAudioMessage,
  encodePageWire,
  type PageMessage,
  type ServerMessage,
} from '../../../lib/transport/page-wire.ts';

const id = '0123456789abcdef0123456789abcdef';
const token = id + id;
const hello: PageMessage = { type: 'hello', rate: 16_000, received: 0, heard: 0, seen: 0 };
const welcome: ServerMessage = {
  ...{ type: 'welcome', session: id, token, resumed: false, rate: 24_000, mic: 0, resumeMs: 30_000, missed: 0 },
};

/** What is no message on either side. */
const nonsense = [
  ...['', 'x', 'null', '5', '"x"', '[]', '{', '{}', '{"type":7}', '{"type":"__proto__"}', '{"type":"constructor"}'],
  '{"__proto__":{"type":"bye"}}',
];

describe("a page's messages", () => {
  const messages: readonly PageMessage[] = [
    hello,
    { ...hello, session: id, token, play: 3, received: 48_000, heard: 24_000, seen: 7 },
    { type: 'heard', play: 3, at: 2400, tailMs: 20 },
    { type: 'ping', seen: 9 },
    { type: 'send', text: 'hello' },
    { type: 'interrupt' },
    { type: 'send', text: 'hello', seq: 7 },
    { type: 'interrupt', seq: 8 },
    { type: 'beginTurn' },
    { type: 'commitTurn' },
    { type: 'cancelTurn' },
    { type: 'bye' },
  ];
  it.each(messages.map((message) => [message.type, message] as const))(
    '%s is read as it was written',
    (_type, message) => {
      expect(parsePageMessage(encodePageWire(message))).toEqual(message);
    },
  );

  it.each([
    ...nonsense,
    JSON.stringify(hello),
    JSON.stringify({ ...hello, version: 2 }),
    JSON.stringify({ ...hello, version: 1, rate: 44_100 }),
    '{"type":"heard","play":1}',
    '{"type":"heard","play":-1,"at":0}',
    '{"type":"heard","play":1.5,"at":0}',
    '{"type":"heard","play":1,"at":4294967296}',
    '{"type":"send"}',
    '{"type":"send","text":7}',
    JSON.stringify({ type: 'send', text: 'x'.repeat(10_001) }),
    '{"type":"update"}',
    '{"type":"say","text":"x"}',
  ])('%j is none', (text) => {
    expect(parsePageMessage(text)).toBeUndefined();
  });

  it('believes no device that sounds on for minutes', () => {
    expect(parsePageMessage('{"type":"heard","play":1,"at":1,"tailMs":1e9}')).toMatchObject({ tailMs: 2000 });
    expect(parsePageMessage('{"type":"heard","play":1,"at":1,"tailMs":-5}')).toMatchObject({ tailMs: 0 });
  });

  it('audio has a position, and whole samples', () => {
    const data = new Uint8Array([1, 2, 3, 4]);
    expect(parseMicAudio(encodeAudioMessage([70_000], data))).toEqual({ at: 70_000, data });
    for (const length of [0, 2, 3, 5]) expect(parseMicAudio(new Uint8Array(length))).toBeUndefined();
  });
});

describe("a server's messages", () => {
  const event = { type: 'llm.token', at: 5, delta: 'Hi', turnId: 'turn-1' };
  const messages: readonly ServerMessage<object>[] = [
    welcome,
    { type: 'play', id: 1, from: 480, paused: true, volume: 0.2 },
    { type: 'end', id: 1, at: 960 },
    { type: 'pause', id: 1 },
    { type: 'resume', id: 1 },
    { type: 'cut', id: 1 },
    { type: 'volume', value: 0.5 },
    { type: 'pong', mic: 320 },
    { type: 'pong', mic: 320, commands: 4 },
    { ...welcome, commands: 4 },
    { type: 'event', seq: 1, event },
  ];
  it.each(messages.map((message) => [message.type, message] as const))(
    '%s is read as it was written',
    (_type, message) => {
      expect(parseServerMessage(encodePageWire(message))).toEqual(message);
    },
  );

  it.each([
    ...nonsense,
    JSON.stringify(welcome),
    JSON.stringify({ ...welcome, version: 1, token: 'short' }),
    JSON.stringify({ ...welcome, version: 1, rate: 1 }),
    '{"type":"play","id":1}',
    '{"type":"end","id":1,"at":"5"}',
    '{"type":"cut"}',
    '{"type":"event","seq":1}',
    '{"type":"event","seq":1,"event":[]}',
    '{"type":"event","seq":1,"event":{"type":"llm.token","at":5}}',
    '{"type":"event","seq":1,"event":{"type":"llm.token","at":"5","delta":"x"}}',
    '{"type":"event","seq":1,"event":{"type":"llm.token","at":5,"delta":7}}',
    '{"type":"event","seq":1,"event":{"type":"llm.token","at":5,"delta":"x","turnId":7}}',
    '{"type":"event","seq":1,"event":{"type":"constructor","at":5}}',
    '{"type":"event","seq":1,"event":{"type":"audio.chunk","at":5,"chunk":{}}}',
    '{"type":"event","seq":1,"event":{"type":"transcript.interim","at":5,"text":"x","stablePrefix":"","result":[]}}',
  ])('%j is none', (text) => {
    expect(parseServerMessage(text)).toBeUndefined();
  });

  it('volumes stay between silence and full', () => {
    expect(parseServerMessage('{"type":"volume","value":9}')).toEqual({ type: 'volume', value: 1 });
    expect(parseServerMessage('{"type":"volume","value":"x"}')).toEqual({ type: 'volume', value: 1 });
  });

  it('audio has a play and a position, and whole samples', () => {
    const data = new Uint8Array([1, 2]);
    expect(parsePlayAudio(encodeAudioMessage([7, 480], data))).toEqual({ play: 7, at: 480, data });
    for (const length of [0, 4, 6, 9]) expect(parsePlayAudio(new Uint8Array(length))).toBeUndefined();
  });
});

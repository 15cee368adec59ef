/** Slow: each fault is tried on a real server, and tried again after a real wait. */
/** What the vendors of voices on sockets document of their refusals: of an upgrade, and of a connection that stood. */
import { lastValueFrom, of, toArray } from 'rxjs';
import { AlphaTTS } from '../../../lib/providers/tts/alpha-tts.ts';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { GammaTTS } from '../../../lib/providers/tts/gamma-tts.ts';
import { PiTTS } from '../../../lib/providers/tts/pi-tts.ts';
import type { RemoteTTS } from '../../../lib/providers/tts/remote-tts.ts';
import { failureOf, listenTo } from './fixture.ts';
import { serveVoice, until, type Connection, type SocketService } from './servers.ts';

type Message = Readonly<Record<string, unknown>>;

interface Subject {
  readonly create: (config: TTSConfig) => RemoteTTS<TTSConfig>;
  /** The service, as short as can be: 100 ms of audio, and its end. */
  readonly answer: (connection: Connection, message: Message) => void;
  /** Whether a message asks for audio. */
  readonly asks: (message: Message) => boolean;
  readonly upgrades: readonly (readonly [status: number, body: object, code: string, recoverable?: boolean])[];
  /** Closes in the middle of an utterance, after which another connection goes on. */
  readonly losses: readonly (readonly [close: number, reason: string])[];
  /** Closes that no other connection would mend. */
  readonly ends: readonly (readonly [close: number, reason: string, code: string])[];
  /** What an idle connection is ended with. */
  readonly idle: { readonly says?: object; readonly close: number; readonly reason: string };
}

const base64 = (bytes: number): string => Buffer.alloc(bytes).toString('base64');
const network: Subject['losses'] = [
  [1006, ''],
  [1011, ''],
  [1012, ''],
];

const subjects: Readonly<Record<string, Subject>> = {
  AlphaTTS: {
    create: (config) => new AlphaTTS(config),
    asks: ({ type }) => type === 'Flush',
    answer: (connection, { type }) => {
      if (type !== 'Flush') return;
      connection.sendBytes(new Uint8Array(4800));
      connection.send({ type: 'Flushed', sequence_id: 0 });
    },
    upgrades: [
      [
        ...([400, { err_code: 'INVALID_QUERY_PARAMETER', err_msg: 'Unsupported audio format: mp3' }] as const),
        'configuration',
      ],
      [400, { err_code: 'Bad Request', err_msg: 'Bad Request: No such model/version combination found.' }, 'not_found'],
      [402, { err_code: 'PAYMENT_REQUIRED', err_msg: 'No credits.' }, 'quota'],
      [403, { err_code: 'FORBIDDEN', err_msg: 'No access to the model.' }, 'forbidden'],
      [429, { err_code: 'TOO_MANY_REQUESTS', err_msg: 'Too many connections.' }, 'rate_limited', true],
      [500, {}, 'server', true],
    ],
    losses: [...network, [1011, 'NET-0000'], [1011, 'NET-0001'], [1011, 'NET-0002'], [1011, 'NET-0003']],
    ends: [
      [1003, 'MESSAGE-0000 not a text message', 'protocol'],
      [1008, 'DATA-0000 unknown command', 'protocol'],
      [1008, 'DATA-0001 too many characters', 'rate_limited'],
      [1009, 'BIG-0000 message too large', 'configuration'],
      [1009, 'BIG-0001 text too long', 'configuration'],
    ],
    idle: { close: 1011, reason: 'NET-0001' },
  },
  GammaTTS: {
    create: (config) => new GammaTTS({ voiceId: '21m00Tcm4TlvDq8ikWAM', ...config }),
    asks: ({ flush }) => flush === true,
    answer: (connection, { context_id: contextId, flush, close_context: isEnd }) => {
      if (flush) connection.send({ audio: base64(3200), contextId });
      if (isEnd) connection.send({ isFinal: true, contextId });
    },
    upgrades: [
      [400, { detail: { status: 'invalid_output_format', message: 'No such format.' } }, 'configuration'],
      [401, { detail: { status: 'invalid_api_key', message: 'Invalid API key' } }, 'unauthorized'],
      [403, { detail: { status: 'forbidden', message: 'Not for you.' } }, 'forbidden'],
      [401, { detail: { status: 'quota_exceeded', message: 'No credits.' } }, 'quota'],
      [429, { detail: { status: 'too_many_concurrent_requests', message: 'Busy.' } }, 'rate_limited', true],
    ],
    losses: [...network, [1009, '']],
    ends: [
      [1008, 'invalid_input_message', 'protocol'],
      [1008, 'quota_exceeded', 'quota'],
    ],
    idle: {
      says: {
        message:
          'Have not received a new text input within the timeout of 20 seconds. Streaming input terminated. ' +
          'Please make sure to send "" as the last input.',
        ...{ error: 'input_timeout_exceeded', code: 1008 },
      },
      ...{ close: 1008, reason: '' },
    },
  },
  PiTTS: {
    create: (config) => new PiTTS({ voiceId: '694f9389-aac1-45b6-b726-9d9369183238', ...config }),
    asks: ({ transcript }) => transcript !== '',
    answer: (connection, { context_id, transcript, continue: hasMore }) => {
      const common = { context_id, done: false, status_code: 206 };
      if (transcript) connection.send({ type: 'chunk', ...common, data: base64(4800), step_time: 92.1 });
      if (hasMore === false) connection.send({ type: 'done', ...common, done: true, status_code: 200 });
    },
    upgrades: [
      [402, { error_code: 'payment_required', title: 'No credits', message: 'm' }, 'quota'],
      [403, { error_code: 'forbidden', title: 'Forbidden', message: 'm' }, 'forbidden'],
      [429, { error_code: 'too_many_sockets', title: 'Busy', message: 'm' }, 'rate_limited', true],
    ],
    losses: network,
    ends: [],
    idle: { close: 1000, reason: '' },
  },
};

for (const [name, { create, answer, asks, upgrades, losses, ends, idle }] of Object.entries(subjects)) {
  describe(`${name}: what its service refuses`, () => {
    let service: SocketService;
    let tts: RemoteTTS<TTSConfig>;
    afterEach(async () => {
      await Promise.all([tts.dispose(), service.close()]);
    });

    async function start(
      onMessage: (connection: Connection, message: Message) => void = answer,
      refuse?: Parameters<typeof serveVoice>[1],
    ): Promise<ReturnType<typeof listenTo>> {
      service = await serveVoice((connection, message) => onMessage(connection, message as Message), refuse);
      tts = create({ apiKey: 'canary-key', endpoint: service.endpoint });
      const heard = listenTo(tts);
      await tts.initialize();
      return heard;
    }
    const spokenMs = async (): Promise<number> => {
      const chunks = await lastValueFrom(tts.speak(of('Hi.')).pipe(toArray()));
      const { sampleRate = NaN } = chunks[0]?.metadata ?? {};
      return (chunks.reduce((sum, { data }) => sum + data.length, 0) / 2 / sampleRate) * 1000;
    };

    for (const [status, body, code, recoverable = false] of upgrades) {
      it(`understands an upgrade refused with ${status} ${JSON.stringify(body)}`, async () => {
        await start(answer, () => [status, body]);
        const error = await failureOf(spokenMs());
        expect([error.code, error.status, error.provider]).toEqual([code, status, name]);
        // One attempt at a time where it would be in vain: that of initialize(), and that of the utterance.
        expect(service.refused.length > 2).toBe(recoverable);
      });
    }

    for (const [close, reason] of losses) {
      it(`goes on after ${close} ${reason}`, async () => {
        let isLost = false;
        const heard = await start((connection, message) => {
          if (isLost || !asks(message)) answer(connection, message);
          else if (close === 1006) connection.drop();
          else connection.close(close, reason);
          isLost ||= asks(message);
        });
        expect([await spokenMs(), service.connections.length, heard.errors]).toEqual([100, 2, []]);
      });
    }

    for (const [close, reason, code] of ends) {
      it(`does not try again after ${close} ${reason}`, async () => {
        await start((connection) => connection.close(close, reason));
        const error = await failureOf(spokenMs());
        expect([error.code, service.connections.length]).toEqual([code, 1]);
      });
    }

    it(`takes ${idle.close} of an idle connection for no error, and opens another with the next utterance`, async () => {
      const heard = await start();
      expect(await spokenMs()).toBe(100);
      if (idle.says) service.last.send(idle.says);
      service.last.close(idle.close, idle.reason);
      const [first] = service.connections;
      await until(() => first?.closeCode !== undefined);
      expect([await spokenMs(), service.connections.length, heard.errors]).toEqual([100, 2, []]);
    });
  });
}

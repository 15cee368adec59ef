import type { AudioMetadata } from '../../../lib/audio/types.ts';
import type { StreamingSTT, StreamingSTTConfig } from '../../../lib/providers/stt/streaming-stt.ts';
import { clocked, connected, faked, mono16k, record, tape, type FakeSockets } from './stt-fixture.ts';
import { json, replay, type Written } from './transcript.ts';

type Message = Record<string, unknown>;

/** How the tests of one provider set it up: what makes it, and what its service greets a connection with. */
export function stageFor<C extends StreamingSTTConfig, T extends StreamingSTT<StreamingSTTConfig>>(
  create: (config: C) => T,
  greeting?: Message,
) {
  /** A provider whose service is the test's, before anything else. */
  const made = (config: C = {} as C, sockets?: FakeSockets) => {
    const { clock, config: base } = clocked();
    return { clock, stt: faked(create({ ...base, ...config }), sockets) };
  };
  return {
    made,

    /** A provider whose service has greeted it, and has been sent a second of audio. */
    live: async (
      config: C = {} as C,
      options: { greeting?: Message; sockets?: FakeSockets; audioMs?: number } = {},
    ) => {
      const { clock, stt } = made(config, options.sockets);
      await connected(stt, options.greeting ?? greeting);
      stt.sendAudio({ data: tape(options.audioMs ?? 1_000) });
      const say = (...messages: readonly Message[]): void => {
        for (const message of messages) stt.sockets.last.say(message);
      };
      const texts = (): unknown[] => stt.sockets.last.texts.map((text): unknown => JSON.parse(text));
      return { clock, stt, say, texts, ...record(stt) };
    },

    /** What a connection is asked for with the key `k`, and the first message that it is sent. */
    asked: async (config: C = {} as C, metadata: AudioMetadata = mono16k) => {
      const { clock, stt } = made({ apiKey: 'k', ...config });
      stt.configureAudio(metadata);
      await connected(stt, greeting);
      const disposed = stt.dispose();
      await clock.advance(200);
      await disposed;
      const { request, texts } = stt.sockets.last;
      const url = new URL(request.url);
      return {
        request,
        url,
        query: Object.fromEntries(url.searchParams),
        first: json.expected(texts[0] ?? '{}') as Message,
      };
    },

    /** Replays a session as the vendor's reference writes it; see {@link replay}. */
    played: async (script: string, config: C = {} as C, written: Written = json) => {
      const { clock, stt } = made({ catchUpSpeed: false, ...config });
      const kept = record(stt);
      await replay({ clock, stt, ...kept, written }, script);
      return kept;
    },
  };
}

/** What each status means in place of an upgrade. */
const refusals: Readonly<Record<number, string>> = {
  400: 'lost configuration',
  401: 'lost unauthorized',
  403: 'lost forbidden',
  429: 'reconnecting rate_limited',
  500: 'reconnecting server',
};

/** Tests of one provider's refused upgrades. */
export function refusesUpgrades(played: (script: string) => Promise<unknown>): void {
  for (const [status, event] of Object.entries(refusals)) {
    it(`an upgrade that is refused with ${status}: ${event}`, async () => {
      await played(String.raw`
        A: connect
        C: GET …
        S: ${status}
        = ${event}
      `);
    });
  }
}

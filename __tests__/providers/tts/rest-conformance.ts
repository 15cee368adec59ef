import type { ServerResponse } from 'node:http';
import { from, lastValueFrom, of, Subject, toArray } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { createLogger, type Logger } from '../../../lib/core/logger.ts';
import type { RequestTTSConfig } from '../../../lib/providers/tts/requests/request-wire.ts';
import type { RemoteVoice } from '../../../lib/providers/tts/voice-service.ts';
import { TestClock } from '../../transport/test-clock.ts';
import { bytesOf, failureOf, listenTo } from './fixture.ts';
import { serveHttp, until, type HttpService, type Received } from './servers.ts';

export const key = 'canary-key-0123456789';

/** A voice by requests. */
interface RequestVoice extends RemoteVoice {
  synthesize(text: string, options?: { readonly signal?: AbortSignal }): Promise<Blob>;
}

/** What is different from one provider by requests to the next. */
export interface RestSubject {
  readonly name: string;
  /** A provider that asks for raw linear16. */
  readonly create: (config: RequestTTSConfig, logger?: Logger) => RequestVoice;
  readonly path: string;
  /** The text of a request. */
  readonly textOf: (request: Received) => string;
  /** The vendor's own refusals. */
  readonly refusals: readonly {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body: string;
    readonly code: string;
    readonly recoverable?: boolean;
  }[];
  /** Requests at once of one utterance. */
  readonly inFlight: number;
  /** The credential of a request, one of a factory's or not; `undefined` where there is none. Default: the bearer token. */
  readonly credentialOf?: (request: Received, ofFactory: boolean) => string | undefined;
  /** What a configuration without a credential is asked for. Default: `set apiKey`. */
  readonly missing?: string;
  /** How the service wraps audio. Default: it does not. */
  readonly wrap?: {
    readonly contentType: string;
    /** A part of an answer that has more than one; absent where the whole comes at once. */
    readonly part?: (audio: Buffer) => string;
    /** The last part, or the whole. */
    readonly whole: (audio: Buffer) => string;
  };
}

/** A provider asks again after a second at most, and waits for any answer for five. */
const longestRetryMs = 4_000;

/** Samples that tell their text: its length times 100, of its first character. */
const audioOf = (text: string): Buffer => Buffer.alloc(text.length * 100, text.charCodeAt(0));

/** The bearer token of a request. */
const bearerOf = ({ headers }: Received): string | undefined => /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1];

type Answer = (response: ServerResponse, request: Received, count: number) => void | Promise<void>;

/** What every text-to-speech provider by requests must do on a real connection. */
export function describeRestTTS(subject: RestSubject): void {
  const { credentialOf = bearerOf, missing = 'set apiKey', wrap } = subject;
  /** An answer with all of its audio, and one that is still under way. */
  const whole = (audio: Buffer): string | Buffer => wrap?.whole(audio) ?? audio;
  const part = (audio: Buffer): string | Buffer => wrap?.part?.(audio) ?? audio;
  const isStreamed = !wrap || wrap.part !== undefined;

  describe(`${subject.name} as a provider by requests`, () => {
    let service: HttpService | undefined;
    let tts: RequestVoice | undefined;

    const say: Answer = (response, request) => {
      open(response).end(whole(audioOf(subject.textOf(request))));
    };
    const open = (response: ServerResponse): ServerResponse =>
      wrap ? response.setHeader('Content-Type', wrap.contentType) : response;
    async function start(answer: Answer = say, config: RequestTTSConfig = {}, logger?: Logger) {
      service = await serveHttp(answer);
      const { apiKey = key } = config;
      const proxy =
        config.proxyUrl === undefined ? { apiKey } : { proxyUrl: `${service.endpoint}${String(config.proxyUrl)}` };
      tts = subject.create({ endpoint: service.endpoint, ...config, ...proxy }, logger);
      const heard = listenTo(tts);
      await tts.initialize();
      const provider = tts;
      const speak = (...text: string[]): Promise<AudioChunk[]> =>
        lastValueFrom(provider.speak(from(text)).pipe(toArray()));
      return { service, tts: provider, heard, speak };
    }

    /** The same on a clock on which the waits between attempts take no time. */
    async function startWithoutWaits(answer: Answer, config: RequestTTSConfig = {}) {
      const scheduler = new TestClock(Date.now());
      const { tts, speak, ...started } = await start(answer, { ...config, scheduler });
      const soon = async <T>(work: Promise<T>): Promise<T> => {
        let isOver = false;
        const over = (): void => void (isOver = true);
        work.then(over, over);
        await scheduler.passUntil(() => isOver, longestRetryMs);
        return work;
      };
      return {
        ...started,
        speak: (...text: string[]): Promise<AudioChunk[]> => soon(speak(...text)),
        synthesize: (text: string): Promise<Blob> => soon(tts.synthesize(text)),
      };
    }

    afterEach(async () => {
      await tts?.dispose();
      await service?.close();
      tts = undefined;
      service = undefined;
    });

    it('asks its one path by POST, with the credential', async () => {
      const { service, speak } = await start();
      await speak('Hello there.');
      const [request] = service.requests;
      expect([request?.method, request?.url, request && credentialOf(request, false)]).toEqual([
        ...['POST', subject.path, key],
      ]);
    });

    it('asks a factory for a fresh credential with each request', async () => {
      let calls = 0;
      const { service, tts } = await start(say, { apiKey: () => Promise.resolve(`fresh-${++calls}`) });
      await tts.synthesize('One.');
      await tts.synthesize('Two.');
      expect(service.requests.map((request) => credentialOf(request, true))).toEqual(['fresh-1', 'fresh-2']);
    });

    it('sends no credential in proxy mode, to the proxy’s path', async () => {
      const { service, speak } = await start(say, { proxyUrl: '/api/voice' });
      await speak('Hi.');
      const { url, headers } = service.first;
      expect([url, headers.authorization, credentialOf(service.first, false)]).toEqual([
        ...[`/api/voice${subject.path}`, undefined, undefined],
      ]);
    });

    it('needs a credential, an address that can be used, and never sends a credential unencrypted', async () => {
      const failure = async (config: RequestTTSConfig): Promise<string> =>
        (await failureOf(subject.create(config).initialize())).message;
      expect(await failure({ endpoint: 'https://voice.example' })).toContain(missing);
      expect(await failure({ apiKey: key, endpoint: 'voice.example' })).toContain('must be an https:// URL');
      expect(await failure({ apiKey: key, endpoint: 'http://voice.example' })).toContain('unencrypted');
    });

    const silences = { 'an empty body': '', 'no audio in it': whole(Buffer.alloc(0)) };
    for (const [what, body] of Object.entries(silences)) {
      it(`asks once more after an answer with ${what}, and speaks`, async () => {
        const { service, speak, heard } = await startWithoutWaits((response, request, count) => {
          if (count === 1) open(response).end(body);
          else void say(response, request, count);
        });
        await speak('Hello there.');
        expect(Buffer.from(heard.bytes())).toEqual(audioOf(subject.textOf(service.first)));
        expect(service.requests).toHaveLength(2);
      });

      it(`fails when answers have ${what}: silence is no speech`, async () => {
        const { service, speak, synthesize } = await startWithoutWaits((response) => void open(response).end(body));
        const code = 'protocol';
        await expect(failureOf(speak('Hello there.'))).resolves.toMatchObject({ code });
        expect(service.requests).toHaveLength(2);
        expect(await failureOf(synthesize('Hello.'))).toMatchObject({ code });
      });
    }

    if (isStreamed) {
      it('lets the first audio through while the answer is still under way', async () => {
        const { tts, heard } = await start(async (response) => {
          open(response).write(part(Buffer.alloc(1000, 1)));
          await until(() => heard.chunks.length > 0);
          response.end(whole(Buffer.alloc(500, 1)));
        });
        await lastValueFrom(tts.speak(of('Hi.')));
        expect(heard.bytes().length).toBe(1500);
      });
    }

    it('gives the same whole samples whatever the pieces of the answer (F29)', async () => {
      for (const size of [1, 3, 7, 161, 299]) {
        const { speak } = await start(async (response, request) => {
          const bytes = Buffer.from(whole(audioOf(subject.textOf(request))));
          open(response);
          for (let at = 0; at < bytes.length; at += size) {
            response.write(bytes.subarray(at, at + size));
            await new Promise((resolve) => setImmediate(resolve));
          }
          response.end();
        });
        const chunks = await speak('Hi.');
        expect(bytesOf(chunks)).toEqual([...audioOf('Hi.')]);
        for (const { data } of chunks) expect(data.length % 2).toBe(0);
        await tts?.dispose();
        await service?.close();
      }
    });

    it('keeps the order of sentences when a later one is answered first', async () => {
      const { service, speak } = await start(async (response, request, count) => {
        if (count === 1 && subject.inFlight > 1) await until(() => service.requests.length > 1);
        await say(response, request, count);
      });
      const chunks = await speak('aaa.', 'bbb.', 'ccc.');
      expect(bytesOf(chunks)).toEqual(['aaa.', 'bbb.', 'ccc.'].flatMap((text) => [...audioOf(text)]));
      expect(service.peak).toBe(subject.inFlight);
    });

    it('never mixes utterances that are spoken at the same time (F62)', async () => {
      const { speak } = await start();
      const [first, second] = await Promise.all([speak('aaa.', 'aa.'), speak('bbb.', 'bb.')]);
      expect(bytesOf(first)).toEqual(['aaa.', 'aa.'].flatMap((text) => [...audioOf(text)]));
      expect(bytesOf(second)).toEqual(['bbb.', 'bb.'].flatMap((text) => [...audioOf(text)]));
    });

    it('aborts its requests at the service when it is unsubscribed, and lets nothing late through (F31)', async () => {
      const { service, tts, heard } = await start((response) => {
        open(response).write(part(Buffer.alloc(1000, 1)));
      });
      const subscription = tts.speak(of('aaa.', 'bbb.')).subscribe();
      await until(() => (isStreamed ? heard.chunks : service.requests).length > 0);
      const before = heard.chunks.length;
      subscription.unsubscribe();
      await until(() => service.requests.every(({ aborted }) => aborted()));
      expect(heard.chunks.length).toBe(before);
    });

    it('begins to ask while the text still comes', async () => {
      const { service, tts, heard } = await start();
      const text$ = new Subject<string>();
      const done = lastValueFrom(tts.speak(text$).pipe(toArray()));
      text$.next('One.');
      await until(() => heard.words.length > 0);
      text$.next('Two.');
      text$.complete();
      await done;
      expect(service.requests.map(subject.textOf)).toEqual(['One.', 'Two.']);
    });

    it('estimates words, marked as such', async () => {
      const { speak, heard } = await start();
      await speak('Hi there.', 'Bye.');
      expect(heard.words.map(({ text, estimated }) => [text, estimated])).toEqual([
        ['Hi', true],
        ['there.', true],
        ['Bye.', true],
      ]);
    });

    for (const { status, headers = {}, body, code, recoverable = false } of subject.refusals) {
      it(`understands ${status} ${body}`, async () => {
        const { synthesize, service } = await startWithoutWaits((response) => {
          response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);
        });
        const error = await failureOf(synthesize('Hi.'));
        expect([error.code, error.status, error.recoverable, error.provider]).toEqual([
          code,
          status,
          recoverable,
          subject.name,
        ]);
        expect(service.requests.length).toBe(recoverable ? 3 : 1);
      });
    }

    it('waits as long as the service asks, and is answered then (F18)', async () => {
      const scheduler = new TestClock(Date.now());
      const busyOnce: Answer = async (response, request, count) => {
        if (count === 1) response.writeHead(429, { 'Retry-After': '7' }).end('{}');
        else await say(response, request, count);
      };
      const { speak } = await start(busyOnce, { scheduler });
      const spoken = speak('Hi.');
      await until(() => scheduler.isDueIn(7_000));
      await scheduler.advance(6_999);
      expect(scheduler.isDueIn(1)).toBe(true);
      await scheduler.advance(1);
      expect(bytesOf(await spoken)).toEqual([...audioOf('Hi.')]);
    });

    it('does not follow a redirect (F47)', async () => {
      const { service, tts } = await start((response) => {
        response.writeHead(307, { Location: 'https://elsewhere.example/' }).end();
      });
      const error = await failureOf(tts.synthesize('Hi.'));
      expect([error.code, service.requests.length]).toEqual(['configuration', 1]);
      expect(error.message).toContain('elsewhere.example');
    });

    it('does not take a web page for audio (F24)', async () => {
      const { speak, heard } = await start((response) => {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>sign in</html>');
      });
      expect((await failureOf(speak('Hi.'))).code).toBe('protocol');
      expect(heard.chunks).toEqual([]);
    });

    it('fails when the connection breaks in the middle of the audio, and does not speak it twice', async () => {
      const { service, speak, heard } = await startWithoutWaits((response) => {
        open(response).write(part(Buffer.alloc(1000, 1)), () => response.destroy());
      });
      expect((await failureOf(speak('Hi.'))).code).toBe('connection');
      // Of an answer that comes whole nothing was heard: it is tried again.
      expect([service.requests.length, heard.bytes().length]).toEqual(isStreamed ? [1, 1000] : [3, 0]);
    });

    it('fails when nothing more comes in the middle of the audio', async () => {
      const stall: Answer = (response) => void open(response).write(part(Buffer.alloc(1000, 1)));
      const { speak } = await startWithoutWaits(stall, { idleTimeoutMs: 50 });
      expect((await failureOf(speak('Hi.'))).code).toBe('timeout');
    });

    it('tries once more when no answer comes, then says so (F27)', async () => {
      const { service, speak } = await start(() => undefined, { firstAudioTimeoutMs: 50 });
      expect((await failureOf(speak('Hi.'))).code).toBe('timeout');
      expect(service.requests.length).toBe(2);
    });

    it('names the provider when the service cannot be reached', async () => {
      const { service, synthesize } = await startWithoutWaits(say);
      await service.close();
      const error = await failureOf(synthesize('Hi.'));
      expect([error.code, error.provider]).toEqual(['connection', subject.name]);
    });

    it('never shows its credential, nor what was said, in an error or above the level debug (F50, F51)', async () => {
      const lines: string[] = [];
      const debugLines: string[] = [];
      const write = (...parts: unknown[]): void => void lines.push(parts.map(String).join(' '));
      const debug = (...parts: unknown[]): void => void debugLines.push(parts.map(String).join(' '));
      const logger = createLogger({ debug, info: write, warn: write, error: write }, { level: 'debug' });
      const { tts, heard } = await start(
        (response, request) => {
          const body = { message: `Incorrect API key provided: ${key}. You said: my secret sentence.` };
          response
            .writeHead(401, { 'Content-Type': 'application/json' })
            .end(JSON.stringify({ ...body, error: body, at: request.url }));
        },
        {},
        logger,
      );
      const error = await failureOf(tts.synthesize('my secret sentence.'));
      const shown = JSON.stringify([error, error.message, error.stack, lines, heard.errors]);
      expect(shown).not.toContain('secret');
      expect(shown + debugLines.join() + String(error.cause)).not.toContain(key);
    });

    it('leaves nothing behind dispose(): requests are aborted, connections closed', async () => {
      const { service, tts } = await start(() => undefined);
      const failed = Promise.all([failureOf(tts.synthesize('One.')), failureOf(lastValueFrom(tts.speak(of('Two.'))))]);
      await until(() => service.requests.length >= Math.min(2, subject.inFlight));
      await Promise.all([tts.dispose(), tts.dispose()]);
      expect((await failed).map(({ code }) => code)).toEqual(['aborted', 'aborted']);
      await until(() => service.requests.every(({ aborted }) => aborted()));
    });

    it('buffers text, and speaks it on finalize()', async () => {
      const { service, tts, heard } = await start();
      tts.processChunk('Hello ');
      tts.processChunk('there.');
      expect(service.requests).toEqual([]);
      await tts.finalize();
      expect(service.requests.map(subject.textOf)).toEqual(['Hello there.']);
      expect(heard.bytes()).toEqual([...audioOf('Hello there.')]);
    });
  });
}

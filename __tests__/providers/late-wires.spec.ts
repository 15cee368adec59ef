import { NEVER } from 'rxjs';
import { OnDemand } from '../../lib/core/on-demand.ts';
import type { RemoteProvider } from '../../lib/core/remote-provider.ts';
import { BatchSTT } from '../../lib/providers/stt/batch-stt.ts';
import { StreamingSTT } from '../../lib/providers/stt/streaming-stt.ts';
import type { STTDialect } from '../../lib/providers/stt/stt-wire.ts';
import { RemoteTTS } from '../../lib/providers/tts/remote-tts.ts';
import { byRequests } from '../../lib/providers/tts/requests/by-requests.ts';
import type { RequestDialect } from '../../lib/providers/tts/requests/request-wire.ts';
import { byOrder } from '../../lib/providers/tts/sockets/by-order.ts';
import { overSocket } from '../../lib/providers/tts/sockets/over-socket.ts';
import type { SocketDialect } from '../../lib/providers/tts/sockets/socket-wire.ts';
import { pcm } from './tts/fixture.ts';

/** Loads a dialect as a test says, and counts how often it is asked to. */
interface Loading {
  loads: number;
  load: () => Promise<void>;
}

type Late = (loading: Loading) => RemoteProvider<object>;

/** As a provider loads its dialect. */
async function loaded<D>(name: string, loading: Loading, dialect: D): Promise<D> {
  loading.loads += 1;
  await new OnDemand(name, () => loading.load()).load();
  return dialect;
}

const byRequest: RequestDialect<object> = { request: (text) => ({ path: '/', json: { text } }) };
const bySocket: SocketDialect<object, undefined> = {
  ...{ address: () => ({ path: '/' }), start: undefined, typeOf: () => undefined, read: {} },
  attribution: () => byOrder({ flush: 'flush', charactersPerMinute: 1000, flushesPerMinute: 20, flushReserve: 8 }),
  voice: () => () => ({ say: (text) => text, cancel: 'clear' }),
};
const hearing: STTDialect<object, undefined> = { start: () => undefined, read: {}, path: '/' };
const service = { baseUrl: 'https://service.example', rules: () => ({}) };
const voice = { ...service, format: () => pcm };

const config = { proxyUrl: 'http://127.0.0.1:9' };

class Voice extends RemoteTTS<object> {}
class Recorded extends BatchSTT<object> {
  readonly name = 'Late';
  readonly accepts = [];
  protected readonly defaultBaseUrl = service.baseUrl;
  protected readonly limits = { bytes: 1, ms: 1, liveMs: 1 };
  protected override readonly recognize = () => NEVER;
  readonly #loading: Loading;

  constructor(loading: Loading) {
    super(config);
    this.#loading = loading;
  }

  protected override load(): Promise<void> {
    return loaded(this.name, this.#loading, undefined);
  }
}
const kinds: Record<string, Late> = {
  'a voice by requests': (loading) =>
    new Voice(byRequests({ ...voice, name: 'Late', load: (name) => loaded(name, loading, byRequest) }), config),
  'a voice on a socket': (loading) =>
    new Voice(overSocket({ ...voice, name: 'Late', load: (name) => loaded(name, loading, bySocket) }), config),
  'a service of whole recordings': (loading) => new Recorded(loading),
  'a service that hears': (loading) =>
    new StreamingSTT(
      {
        ...{
          name: 'Late',
          baseUrl: () => 'https://service.example',
          rules: {},
          accepts: () => [{ encoding: 'linear16' }],
        },
        load: ({ name }) => loaded(name, loading, hearing),
      },
      config,
    ),
};

describe.each(Object.entries(kinds))('A dialect that is loaded late: %s', (_kind, late) => {
  it('says so when a page is offline, and loads it when it is asked again', async () => {
    const loading: Loading = { loads: 0, load: () => Promise.reject(new TypeError('Failed to fetch')) };
    const provider = late(loading);
    await expect(provider.initialize()).rejects.toMatchObject({
      name: 'ProviderInitializationError',
      message: expect.stringMatching(/^Late .*its code could not be loaded: is the page offline\?/) as string,
    });
    expect(provider.isReady()).toBe(false);
    loading.load = () => Promise.resolve();
    await provider.initialize();
    expect([provider.isReady(), loading.loads]).toEqual([true, 2]);
    await provider.dispose();
  });
});

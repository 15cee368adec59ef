import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  createLogger,
  type Logger,
  ProviderInitializationError,
  RemoteProvider,
  silentLogger,
  VoiceError,
  type AuthType,
  type RemoteConfig,
} from 'rxvoice';

const key = 'canary-key-0123456789';

class Remote extends RemoteProvider<RemoteConfig> {
  override readonly name = 'Remote';
  override readonly roles = ['stt'] as const;
  override readonly type = 'websocket';
  protected override readonly defaultBaseUrl: string | undefined = 'https://api.example.com/base/';

  url(path: string): string {
    return this.resolveUrl(path, { a: 1, list: ['x', 'y'], none: undefined, flag: true }).href;
  }

  socketUrl(path: string): string {
    return this.resolveSocketUrl(path).href;
  }

  fail(message: string): VoiceError {
    return this.error(message, { code: 'internal' });
  }

  log(...entry: [message: string, ...details: unknown[]]): void {
    this.logger.warn(...entry);
  }
}

class Bearer extends Remote {
  protected override readonly defaultAuthType: AuthType = 'bearer';
}

class Homeless extends Remote {
  protected override readonly defaultBaseUrl = undefined;
}

describe('proxy mode', () => {
  const provider = new Remote({ proxyUrl: 'https://app.example.com/proxy/', apiKey: key });

  it('is on when proxyUrl is set, also beside an apiKey', () => {
    expect(provider.isProxyMode).toBe(true);
    expect(new Remote({ apiKey: key }).isProxyMode).toBe(false);
  });

  it('sends no credential at all', async () => {
    expect(await provider.resolveApiKey()).toBe('proxy');
    expect(await provider.resolveAuthHeader()).toBeUndefined();
    expect(await provider.resolveWsProtocols()).toBeUndefined();
    expect(await provider.resolveSocketCredentials()).toEqual({});
  });

  it('does not even ask the factory', async () => {
    let calls = 0;
    const factory = (): Promise<string> => {
      calls++;
      return Promise.resolve(key);
    };
    await new Remote({ proxyUrl: 'https://app.example.com', apiKey: factory }).resolveApiKey();
    expect(calls).toBe(0);
  });
});

describe('a credential that cannot be sent', () => {
  const refused: Readonly<Record<string, string>> = {
    'the last line break of a file': `${key}\n`,
    'white space alone': '  ',
    'the scheme of a header': `Bearer ${key}`,
    'an ellipsis, copied from a list': 'canary-…6789',
    'a character of a document': `${key}\u200b`,
  };

  for (const [name, apiKey] of Object.entries(refused)) {
    it(`is told before anything is sent, and not shown: ${name}`, async () => {
      const failure = (error: unknown): unknown => error;
      const refusing = Promise.resolve(new Remote({ apiKey })).then((provider) => provider.assertAuth());
      const problem: unknown = await refusing.catch(failure);
      const told: unknown = await new Remote({ apiKey: () => Promise.resolve(apiKey) }).resolveApiKey().catch(failure);
      expect(problem).toMatchObject({
        code: 'configuration',
        message:
          'Remote could not be initialized: it needs a credential, ASCII without spaces: set apiKey (servers) or proxyUrl (browsers)',
      });
      expect(told).toMatchObject({
        code: 'unauthorized',
        message: 'Remote: the apiKey factory returned no credential',
      });
      expect(inspect([problem, told], { depth: 5 })).not.toContain('6789');
    });
  }
});

describe('direct mode', () => {
  it('presents a token as Token and as the protocols token, key', async () => {
    const provider = new Remote({ apiKey: key });
    expect(await provider.resolveAuthHeader()).toBe(`Token ${key}`);
    expect(await provider.resolveWsProtocols()).toEqual(['token', key]);
  });

  it('presents a bearer as Bearer and as the protocols bearer, token', async () => {
    const provider = new Remote({ apiKey: key, authType: 'bearer' });
    expect(await provider.resolveAuthHeader()).toBe(`Bearer ${key}`);
    expect(await provider.resolveWsProtocols()).toEqual(['bearer', key]);
  });

  it('uses the default of the provider, which the configuration overrides', async () => {
    expect(await new Bearer({ apiKey: key }).resolveAuthHeader()).toBe(`Bearer ${key}`);
    expect(await new Bearer({ apiKey: key, authType: 'token' }).resolveAuthHeader()).toBe(`Token ${key}`);
  });

  it('calls a factory each time a fresh credential is needed, once for header and protocols together', async () => {
    let calls = 0;
    const provider = new Remote({ apiKey: () => Promise.resolve(`fresh-credential-${++calls}`) });
    expect(await provider.resolveApiKey()).toBe('fresh-credential-1');
    expect(await provider.resolveSocketCredentials()).toEqual({
      headers: { Authorization: 'Token fresh-credential-2' },
      protocols: ['token', 'fresh-credential-2'],
    });
  });

  it('tells that a factory failed, not what it said', async () => {
    const provider = new Remote({ apiKey: () => Promise.reject(new Error(`used ${key}`)) });
    await expect(provider.resolveApiKey()).rejects.toMatchObject({
      ...{ code: 'unauthorized', message: 'Remote: the apiKey factory failed' },
    });
  });

  it('passes on what a factory says as a VoiceError: it knows whether another try makes sense', async () => {
    const refusal = new VoiceError('No token for this user', { code: 'unauthorized', status: 401 });
    const provider = new Remote({ apiKey: () => Promise.reject(refusal) });
    await expect(provider.resolveApiKey()).rejects.toBe(refusal);
  });

  it('rejects an empty credential', async () => {
    const provider = new Remote({ apiKey: () => Promise.resolve('') });
    await expect(provider.resolveApiKey()).rejects.toThrow('the apiKey factory returned no credential');
  });
});

describe('assertAuth', () => {
  it('throws when neither apiKey nor proxyUrl is set', () => {
    expect(() => new Remote({}).assertAuth()).toThrow(ProviderInitializationError);
    expect(() => new Remote({}).assertAuth()).toThrow(/set apiKey .* or proxyUrl/);
  });

  it('tells of a missing credential as of any other option that is wrong', () => {
    expect(() => new Remote({}).assertAuth()).toThrow(
      expect.objectContaining({ code: 'configuration', provider: 'Remote', recoverable: false }) as Error,
    );
  });

  it('throws when the environment variable that they come from is not set, which compiles', () => {
    const unset = process.env['RXVOICE_NO_SUCH_KEY'];
    const remote = new Remote({ apiKey: unset, proxyUrl: unset, endpoint: unset });
    expect(() => remote.assertAuth()).toThrow(/set apiKey .* or proxyUrl/);
    expect(remote.url('/v1')).toMatch(/^https:..api.example.com.base.v1/);
  });

  it('passes with either', () => {
    expect(() => new Remote({ apiKey: key }).assertAuth()).not.toThrow();
    expect(() => new Remote({ proxyUrl: 'https://app.example.com' }).assertAuth()).not.toThrow();
  });
});

describe('a credential of its own kind', () => {
  class Signing extends RemoteProvider<RemoteConfig & { readonly credentials?: object }> {
    override readonly name = 'Signing';
    override readonly roles = ['stt'] as const;
    override readonly type = 'websocket';
    protected override readonly defaultBaseUrl = 'http://far.example.com';
    protected override readonly credentialKey = 'credentials';

    protected override get directCredential(): unknown {
      return this.config.credentials;
    }

    url(): URL {
      return this.resolveUrl('/path');
    }

    get renews(): boolean {
      return this.transportOptions.renewsCredential;
    }
  }

  it('is what direct mode needs, and what an error names', () => {
    expect(() => new Signing({ credentials: {} }).assertAuth()).not.toThrow();
    expect(() => new Signing({ apiKey: key }).assertAuth()).toThrow(/set credentials .* or proxyUrl/);
  });

  it('does not travel unencrypted, and is renewed when a function fetches it', () => {
    expect(() => new Signing({ credentials: {} }).url()).toThrow(/unencrypted/);
    expect(new Signing({ apiKey: key }).url().href).toBe('http://far.example.com/path');
    expect([new Signing({ credentials: {} }).renews, new Signing({ credentials: () => ({}) }).renews]).toEqual([
      ...[false, true],
    ]);
  });
});

describe('addresses', () => {
  const endpoint = 'https://endpoint.example.com';
  const proxyUrl = 'https://proxy.example.com/alpha';

  it('come from proxyUrl, then endpoint, then the default, without a trailing slash', () => {
    expect(new Remote({ proxyUrl, endpoint }).resolveBaseUrl()).toBe(proxyUrl);
    expect(new Remote({ endpoint: `${endpoint}/` }).resolveBaseUrl()).toBe(endpoint);
    expect(new Remote({}).resolveBaseUrl()).toBe('https://api.example.com/base');
    expect(new Homeless({}).resolveBaseUrl()).toBeUndefined();
  });

  it('may be URL objects', () => {
    expect(new Remote({ proxyUrl: new URL(proxyUrl) }).url('/v1')).toMatch(`${proxyUrl}/v1?`);
    expect(new Remote({ endpoint: new URL(endpoint) }).resolveBaseUrl()).toBe(endpoint);
    expect(() => new Remote({ endpoint: new URL('ftp://a.example') }).url('/')).toThrow(
      'Remote: "ftp://a.example/" must be an https:// URL',
    );
  });

  it('that are empty, as those from an environment may be, are none', () => {
    expect(new Remote({ proxyUrl: '', endpoint }).resolveBaseUrl()).toBe(endpoint);
    expect(new Remote({ proxyUrl: '', endpoint: '' }).resolveBaseUrl()).toBe('https://api.example.com/base');
    expect(() => {
      new Remote({ proxyUrl: '', apiKey: '' }).assertAuth();
    }).toThrow('it needs a credential');
  });

  it('are base + path + query; a list repeats its key, undefined leaves it out', () => {
    expect(new Remote({ apiKey: key }).url('/v1/x')).toBe(
      'https://api.example.com/base/v1/x?a=1&list=x&list=y&flag=true',
    );
  });

  it('turn http(s) into ws(s) for sockets', () => {
    expect(new Remote({ proxyUrl }).socketUrl('/v1')).toBe('wss://proxy.example.com/alpha/v1');
    expect(new Remote({ proxyUrl: 'http://127.0.0.1:80/a' }).socketUrl('/v1')).toBe('ws://127.0.0.1/a/v1');
    expect(new Remote({ endpoint: 'wss://socket.example.com' }).socketUrl('/v1')).toBe('wss://socket.example.com/v1');
  });

  it('that are missing or malformed are told with what to do', () => {
    expect(() => new Homeless({}).url('/')).toThrow('Remote needs an address: set endpoint or proxyUrl');
    expect(() => new Remote({ endpoint: 'not an address' }).url('/')).toThrow(
      'Remote: "not an address/" must be an https:// URL',
    );
  });

  it('whose path is no path are told with it', () => {
    expect(() => new Remote({ endpoint: 'http://127.0.0.1:8080' }).url('v1/say')).toThrow(
      'Remote: "http://127.0.0.1:8080v1/say" must be an https:// URL',
    );
  });

  it.each(['localhost:8080/voice', 'app.example.com:443/voice', 'app.example.com/voice', '/voice', 'ftp://a.example'])(
    'without a scheme that connects are told with what to do: %s',
    (proxyUrl) => {
      for (const read of ['url', 'socketUrl'] as const) {
        expect(() => new Remote({ proxyUrl })[read]('/v1')).toThrow(`Remote: "${proxyUrl}/v1" must be an https:// URL`);
      }
    },
  );

  it('never carry a credential unencrypted to another machine, unless that is allowed (F48)', () => {
    const insecure = 'http://api.example.com';
    expect(() => new Remote({ apiKey: key, endpoint: insecure }).url('/')).toThrow('will not send its credential');
    expect(() => new Remote({ apiKey: key, endpoint: insecure }).socketUrl('/')).toThrow('allowInsecure');
    expect(new Remote({ apiKey: key, endpoint: insecure, allowInsecure: true }).socketUrl('/')).toMatch(/^ws:/);
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'app.localhost']) {
      expect(new Remote({ apiKey: key, endpoint: `http://${host}:8787` }).url('/')).toContain(host);
    }
    // Other ways to write 127.0.0.1.
    for (const host of ['127.1', '2130706433', '0x7f000001', 'LOCALHOST']) {
      expect(new Remote({ apiKey: key, endpoint: `http://${host}` }).url('/')).toMatch(
        /^http:\/\/(127\.0\.0\.1|localhost)\//,
      );
    }
  });

  it.each([
    ...['127.0.0.1.evil.example', '127.evil.example', '127.0.0.1@evil.example', 'localhost.evil.example'],
    ...['evil-localhost', 'localhost@evil.example', '[::1]@evil.example', '[::2]', '0.0.0.0', '128.0.0.1'],
  ])('never take %s for this machine', (host) => {
    for (const scheme of ['http', 'ws']) {
      const remote = new Remote({ apiKey: key, endpoint: `${scheme}://${host}` });
      expect(() => remote.url('/')).toThrow('will not send its credential');
    }
  });
});

describe('a credential is never shown (F50)', () => {
  it('by inspect(), JSON or Object.keys() of a provider', async () => {
    const provider = new Remote({ apiKey: key });
    await provider.resolveApiKey();
    const shown = [inspect(provider, { depth: 9, showHidden: true }), JSON.stringify(provider)];
    expect(shown.join()).not.toContain(key);
    expect(Object.keys(provider)).not.toContain('config');
  });

  it('by its errors, in any form', async () => {
    const provider = new Remote({ apiKey: key });
    await provider.resolveApiKey();
    const error = provider.fail(`GET https://api.example.com/?token=${key} with Token ${key}`);
    expect([error.message, JSON.stringify(error), String(error), error.stack].join()).not.toContain(key);
  });

  it('by the logger, wherever it stands', () => {
    const lines: string[] = [];
    const write = (...parts: unknown[]): void => void lines.push(parts.map(String).join(' '));
    const logger = createLogger({ debug: write, info: write, warn: write, error: write }, { level: 'debug' });
    logger.info('Authorization: Bearer abcdef0123456789', { headers: { authorization: 'Token abcdef0123456789' } });
    logger.scope('x').error('wss://host/?access_token=abcdef0123456789&b=1', new Error('apiKey=abcdef0123456789'));
    logger.debug('sk-abcdef0123456789', { apiKey: 'abcdef0123456789' });
    expect(lines).toHaveLength(3);
    expect(lines.join()).not.toContain('abcdef0123456789');
    expect(lines[1]).toContain('[rxvoice:x]');
  });

  it("by a logger of the application's own, which gets one line each", () => {
    const lines: unknown[][] = [];
    const write = (...parts: unknown[]): void => void lines.push(parts);
    const logger: Logger = { debug: write, info: write, warn: write, error: write, scope: () => logger };
    const details = { status: 401 };
    new Remote({ apiKey: key }, logger).log('refused:\nToken abcdef0123456789', 'no\r\nsuch key', details);
    expect(lines).toEqual([['refused: Token [redacted]', 'no such key', details]]);
  });
});

describe('a credential in a page (F49)', () => {
  const lines: string[] = [];
  const log = (line: string): unknown => lines.push(line);
  const page = { document: {} };

  beforeEach(() => {
    lines.length = 0;
    Object.assign(globalThis, page);
  });
  afterEach(() => {
    Reflect.deleteProperty(globalThis, 'document');
  });

  const check = async (config: RemoteConfig): Promise<VoiceError[]> => {
    const provider = new Remote(config, { ...silentLogger, warn: log, error: log });
    const errors: VoiceError[] = [];
    provider.errors$.subscribe((error) => errors.push(error));
    provider.assertAuth();
    provider.assertAuth();
    // The words are loaded.
    await import('../../lib/core/remote-warnings.ts');
    await setImmediate();
    return errors;
  };

  it('is warned of once, without being shown', async () => {
    expect(await check({ apiKey: key })).toEqual([]);
    expect(lines).toEqual([expect.stringContaining('set proxyUrl') as string]);
    expect(lines.join()).not.toContain(key);
  });

  it('is an error when it never expires', async () => {
    const errors = await check({ apiKey: `sk-${key}` });
    expect(errors).toMatchObject([{ code: 'configuration', recoverable: true, provider: 'Remote' }]);
    expect(errors[0]?.message).not.toContain(key);
  });

  it('is fine when a factory fetches it, and in proxy mode', async () => {
    expect(await check({ apiKey: () => Promise.resolve(key) })).toEqual([]);
    expect(await check({ apiKey: key, proxyUrl: 'https://app.example.com' })).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('goes without a word where there is no page', async () => {
    Reflect.deleteProperty(globalThis, 'document');
    await check({ apiKey: key });
    expect(lines).toEqual([]);
  });
});

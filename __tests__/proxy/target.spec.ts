import fc from 'fast-check';
import { findRoute, isBelow, parseTarget } from '../../lib/proxy/target.ts';
import { elevenlabs, googleMeet } from '../../lib/proxy/vendors.ts';

describe('the target of a request to the proxy', () => {
  const refused = {
    'dot segments': '/alpha/v1/../v2/listen',
    'a dot segment at the end': '/alpha/v1/listen/..',
    'single dots': '/alpha/./v1/listen',
    'encoded dots': '/alpha/v1/%2e%2e/v2/listen',
    'half encoded dots': '/alpha/v1/.%2E/v2/listen',
    'an empty segment': '/alpha//v1/listen',
    'an empty vendor': '//evil.example/v1/listen',
    'a slash at the end': '/alpha/v1/listen/',
    'an encoded slash': '/alpha/v1%2flisten',
    'an encoded backslash': '/alpha/v1%5clisten',
    'a backslash': '/alpha\\v1\\listen',
    'a double encoding': '/alpha/v1/%252e%252e/listen',
    'an encoded zero': '/alpha/v1/listen%00',
    'an encoded line break': '/alpha/v1/listen%0d%0aHost:%20evil',
    'an encoding that is none': '/alpha/v1/%zz',
    'a semicolon that some servers take for an ampersand': '/eta/v1/x?a=1;access_token=theirs',
    'bytes that are no text': '/alpha/v1/%ff%fe',
    'a fragment': '/alpha/v1/listen#top',
    braces: '/alpha/v1/{listen}',
    'a space': '/alpha/v1/listen now',
    'letters beyond ASCII': '/alpha/v1/lïsten',
    'an absolute address': 'http://evil.example/alpha/v1/listen',
    'an absolute address of a socket': 'ws://evil.example/alpha/v1/listen',
    'an authority': 'evil.example:443',
    'no path at all': '*',
    'an empty target': '',
  };
  for (const [name, url] of Object.entries(refused)) {
    it(`is refused with ${name}`, () => {
      expect(parseTarget(url, '')).toMatchObject({ status: 400, code: 'bad_target' });
    });
  }

  it('is refused when it is longer than any that a provider makes', () => {
    expect(parseTarget(`/alpha/v1/listen?x=${'a'.repeat(20_000)}`, '')).toMatchObject({ status: 414 });
  });

  const kept = {
    'the path, as it was sent': ['/iota/v1/speech:recognize', 'iota', '/v1/speech:recognize', ''],
    'encoded letters of a name': ['/gamma/v1/a%20b/c', 'gamma', '/v1/a%20b/c', ''],
    'the query, in its order and spelling': ['/alpha/v1/l?b=1&a=%5B%5D&b=2+3', 'alpha', '/v1/l', '?b=1&a=%5B%5D&b=2+3'],
    'dots and slashes in the query': ['/alpha/v1/l?a=../b//c', 'alpha', '/v1/l', '?a=../b//c'],
  };
  for (const [name, [url = '', vendor, path, query]] of Object.entries(kept)) {
    it(`keeps ${name}`, () => {
      expect(parseTarget(url, '')).toEqual({ vendor, path, query });
    });
  }

  const credentials = [
    ...['key', 'api_key', 'apikey', 'token', 'access_token', 'single_use_token', 'authorization', 'jwt'],
    ...['Ocp-Apim-Subscription-Key', 'X-Amz-Signature', 'x-amz-security-token', 'ACCESS_TOKEN', '%61ccess_token'],
    ...['access%5Ftoken', '+access_token', 'xi-api-key', 'X-goog-api-key', 'secret_key'],
  ];
  for (const name of credentials) {
    it(`loses the client's ?${name}`, () => {
      expect(parseTarget(`/eta/v1/x?a=1&${name}=theirs&b=2`, '')).toMatchObject({ query: '?a=1&b=2' });
      expect(parseTarget(`/eta/v1/x?${name}=theirs`, '')).toMatchObject({ query: '' });
    });
  }
  for (const name of ['keyterm', 'keywords', 'keyterms_prompt', 'max_tokens', 'X-ConnectionId', 'authority']) {
    it(`keeps ?${name}, which is none`, () => {
      expect(parseTarget(`/eta/v1/x?${name}=1`, '')).toMatchObject({ query: `?${name}=1` });
    });
  }

  it('is looked for below the prefix only', () => {
    expect(parseTarget('/api/voice/alpha/v1/listen', '/api/voice')).toMatchObject({ path: '/v1/listen' });
    expect(parseTarget('/alpha/v1/listen', '/api/voice')).toMatchObject({ status: 400 });
    expect(['/api', '/api/x', '/api?x', '/apix', '/'].map((url) => isBelow(url, '/api'))).toEqual([
      ...[true, true, true, false, false],
    ]);
  });

  it('whatever it is, leads to the host, and below the base, or nowhere', () => {
    const piece = fc.oneof(
      fc.constantFrom('/', '//', '..', '.', '%2e', '%2F', '%5c', '\\', '@', ':', '?', '#', '%00', '%25', 'alpha', 'v1'),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const target = parseTarget(`/${pieces.join('')}`, '');
        if ('status' in target) return;
        const url = new URL(`https://vendor.example/base${target.path}${target.query}`);
        expect([url.host, url.username, url.hash]).toEqual(['vendor.example', '', '']);
        expect(url.pathname).toBe(`/base${target.path}`);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('the routes of the proxy', () => {
  const { routes } = elevenlabs;
  const path = '/v1/text-to-speech/voice/multi-stream-input';

  it('are found by path and method', () => {
    for (const found of [path, '/v1/text-to-dialogue/multi-stream-input']) {
      expect(findRoute(routes, found, 'WS')).toMatchObject({ method: 'WS' });
    }
    expect(findRoute(routes, path, 'POST')).toMatchObject({ status: 405 });
  });

  for (const other of [
    '/v1/text-to-speech/a/b/multi-stream-input',
    '/v1/text-to-speech//multi-stream-input',
    `${path}/more`,
    `/more${path}`,
    '/v1/single-use-token/tts_websocket',
    '/V1/speech-to-text/realtime',
  ]) {
    it(`are not found by ${other}`, () => {
      expect(findRoute(routes, other, 'WS')).toMatchObject({ status: 404, code: 'path_not_listed' });
    });
  }

  it('take a dot for a dot, and a colon for a colon', () => {
    expect(findRoute([{ method: 'GET', path: '/a.b' }], '/axb', 'GET')).toMatchObject({ status: 404 });
    expect(findRoute(googleMeet.routes, '/v2beta/spaces/x:connectActiveConference', 'POST')).toMatchObject({
      method: 'POST',
    });
  });
});

import { startSandbox } from '../../../samples/sandbox/index.ts';
import { garbage } from '../../../samples/sandbox/faults.ts';
import type { Fault, Sandbox } from '../../../samples/sandbox/index.ts';
import { speech } from './audio.ts';
import { globalClock } from '../../transport/global-clock.ts';
import { until } from '../../transport/http-fixture.ts';
import { connect, refused } from './client.ts';
import type { Client } from './client.ts';

const listenQuery = '/v1/listen?model=nova-3&encoding=linear16&sample_rate=16000&interim_results=true&vad_events=true';

describe("the sandbox's faults", () => {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await startSandbox();
  });
  afterEach(() => sandbox.close());

  const listen = (): Promise<Client> => connect(sandbox.endpoints.alpha + listenQuery, ['token', 'sandbox-key']);
  const chat = (signal?: AbortSignal): Promise<Response> =>
    fetch(`${sandbox.endpoints.nu}/chat/completions`, {
      ...{ method: 'POST', headers: { authorization: 'Bearer sandbox-key', 'content-type': 'application/json' } },
      body: JSON.stringify({
        model: 'llama-3.3-70b-versatile',
        stream: true,
        messages: [{ role: 'user', content: 'count to 9' }],
      }),
      ...(signal ? { signal } : {}),
    });
  const once = (fault: Fault): Fault => ({ ...fault, times: 1 });

  it('refuse cuts the connection before any answer', async () => {
    sandbox.setFault('alpha-stt', { kind: 'refuse' });
    // Not just once: some clients try a second time by themselves.
    sandbox.setFault('nu-llm', { kind: 'refuse' });
    await expect(listen()).rejects.toThrow();
    await expect(chat()).rejects.toThrow();
    sandbox.clearFaults();
    (await listen()).close();
    expect((await chat()).status).toBe(200);
  });

  it('a fault befalls as many connections as it says, or all until it is taken back', async () => {
    sandbox.setFault('nu-llm', { kind: 'status', status: 500, times: 2 });
    expect([(await chat()).status, (await chat()).status, (await chat()).status]).toEqual([500, 500, 200]);
    sandbox.setFault('nu-llm', { kind: 'status', status: 503 });
    expect([(await chat()).status, (await chat()).status]).toEqual([503, 503]);
    sandbox.clearFaults();
    expect((await chat()).status).toBe(200);
  });

  it('status answers in the words of the vendor, with Retry-After', async () => {
    sandbox.setFault('nu-llm', once({ kind: 'status', status: 429, retryAfter: 2 }));
    const answer = await chat();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await answer.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    sandbox.setFault('alpha-stt', once({ kind: 'status', status: 429, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' }));
    const upgrade = await refused(sandbox.endpoints.alpha + listenQuery, { authorization: 'Token sandbox-key' });
    expect([upgrade.status, upgrade.headers['retry-after']]).toEqual([429, 'Wed, 21 Oct 2026 07:28:00 GMT']);
    expect(JSON.parse(upgrade.body)).toMatchObject({ err_code: 'TOO_MANY_REQUESTS' });
    sandbox.setFault('nu-llm', once({ kind: 'status', status: 307, headers: { location: 'http://127.0.0.1:1/' } }));
    await expect(chat()).rejects.toThrow();
    sandbox.setFault('nu-llm', once({ kind: 'status', status: 502, body: '<html>Bad gateway</html>' }));
    expect(await (await chat()).text()).toBe('<html>Bad gateway</html>');
  });

  it('slowAccept answers later', async () => {
    sandbox.setFault('alpha-stt', once({ kind: 'slowAccept', ms: 120 }));
    using clock = globalClock();
    const listening = listen();
    await until(() => clock.isDueIn(120));
    await clock.advance(119);
    expect(clock.isDueIn(1)).toBe(true);
    await clock.advance(1);
    (await listening).close();
  });

  it('neverReady answers never, and close() still leaves nothing', async () => {
    sandbox.setFault('nu-llm', once({ kind: 'neverReady' }));
    sandbox.setFault('alpha-stt', once({ kind: 'neverReady' }));
    const waiting = [chat(), listen()].map((each) =>
      each.then(
        () => 'answered',
        () => 'cut',
      ),
    );
    await until(() => sandbox.records().length >= 2);
    await sandbox.close();
    expect(await Promise.all(waiting)).toEqual(['cut', 'cut']);
  });

  it('dropAfter cuts after so many messages of the service, or of the client', async () => {
    sandbox.setFault('alpha-stt', once({ kind: 'dropAfter', messages: 2 }));
    const client = await listen();
    client.sendBytes(speech(['One two three four.', 500]));
    expect([(await client.closed).code, client.messages.length]).toEqual([1006, 2]);
    sandbox.setFault('alpha-stt', once({ kind: 'dropAfter', messages: 3, of: 'received' }));
    const other = await listen();
    for (let n = 0; n < 3; n++) other.send({ type: 'KeepAlive' });
    expect((await other.closed).code).toBe(1006);
    sandbox.setFault('nu-llm', once({ kind: 'dropAfter', messages: 5 }));
    await expect((await chat()).text()).rejects.toThrow();
  });

  it('close closes with a code, as soon as it is open or later', async () => {
    sandbox.setFault('alpha-stt', once({ kind: 'close', code: 1011, reason: 'NET-0000' }));
    expect(await (await listen()).closed).toEqual({ code: 1011, reason: 'NET-0000' });
    sandbox.setFault('alpha-stt', once({ kind: 'close', code: 1008, after: 1 }));
    const client = await listen();
    client.sendBytes(speech(['One two.', 500]));
    expect([(await client.closed).code, client.messages.length]).toEqual([1008, 1]);
  });

  it('stall says nothing more and stays open', async () => {
    sandbox.setFault('alpha-stt', once({ kind: 'stall', after: 1 }));
    const client = await listen();
    client.sendBytes(speech(['One two.', 500]));
    client.send({ type: 'Finalize' });
    await client.untilType('SpeechStarted');
    const other = await listen();
    other.sendBytes(speech(['One.', 500]));
    await other.until(({ speech_final }) => speech_final === true);
    expect(client.messages).toHaveLength(1);
    client.close();
    other.close();
  });

  it('stall after nothing sends the headers of an answer and no body', async () => {
    sandbox.setFault('nu-llm', once({ kind: 'stall' }));
    const abort = new AbortController();
    const answer = await chat(abort.signal);
    expect(answer.status).toBe(200);
    const read = answer.text().then(
      () => 'read',
      () => 'aborted',
    );
    const other = await (await chat()).text();
    expect(other).toContain('[DONE]');
    abort.abort();
    expect(await read).toBe('aborted');
  });

  it('garbage comes between good messages', async () => {
    sandbox.setFault('alpha-stt', once({ kind: 'garbage', after: 1, payloads: ['{', 'null', new Uint8Array([1])] }));
    const client = await listen();
    client.sendBytes(speech(['Still good.', 500]));
    await client.until(({ speech_final }) => speech_final === true);
    expect(client.frames).toHaveLength(1);
    sandbox.setFault('nu-llm', once({ kind: 'garbage', after: 2 }));
    const body = await (await chat()).text();
    expect(body).toContain('data: {\n\n');
    expect(body).toContain('[DONE]');
    client.close();
  });

  it('splitEveryByte sends a body byte by byte, and audio in odd pieces', async () => {
    const whole = await (await chat()).text();
    sandbox.setFault('nu-llm', once({ kind: 'splitEveryByte' }));
    const split = await (await chat()).text();
    const shape = (body: string): string => body.replaceAll(/"(id|created)":("[^"]*"|\d+)/g, '');
    expect(shape(split)).toBe(shape(whole));
    sandbox.setFault('alpha-tts', once({ kind: 'splitEveryByte' }));
    const client = await connect(`${sandbox.endpoints.alpha}/v1/speak?model=aura-2-thalia-en`, [
      'token',
      'sandbox-key',
    ]);
    client.send({ type: 'Speak', text: 'Odd.' });
    client.send({ type: 'Flush' });
    await client.untilType('Flushed');
    expect(client.frames.some(({ length }) => length % 2 === 1)).toBe(true);
    expect(client.audio().length).toBe(4 * 80 * 48);
    client.close();
  });

  it("error ends a stream with the vendor's own words", async () => {
    sandbox.setFault('nu-llm', once({ kind: 'error', after: 4 }));
    expect(await (await chat()).text()).toMatch(/data: \{"error":\{"message":"Internal Server Error".*\n\n$/);
    sandbox.setFault('alpha-flux', once({ kind: 'error', after: 1 }));
    const client = await connect(
      `${sandbox.endpoints.alpha}/v2/listen?model=flux-general-en&encoding=linear16&sample_rate=16000`,
      ['token', 'sandbox-key'],
    );
    client.sendBytes(speech([500]));
    expect(await client.untilType('Error')).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
    expect((await client.closed).code).toBe(1011);
  });

  it('survives whatever it is sent', async () => {
    const paths = [
      listenQuery,
      '/v2/listen?model=flux-general-en&encoding=linear16&sample_rate=16000',
      '/v1/speak?model=aura-2-thalia-en',
      '/v1/agent/converse',
    ];
    for (const path of paths) {
      for (const text of [
        ...garbage,
        '{"type":"Configure","thresholds":7}',
        '{"type":"Settings","audio":[],"agent":{"think":[]}}',
        '{"type":"Speak","text":{}}',
      ]) {
        const client = await connect(sandbox.endpoints.alpha + path, ['token', 'sandbox-key']);
        client.send(text);
        client.sendBytes(new Uint8Array(7).fill(255));
        client.close();
        await client.closed;
      }
    }
    for (const text of garbage) {
      for (const address of [
        `${sandbox.endpoints.nu}/chat/completions`,
        `${sandbox.endpoints.mu}/v1/messages`,
        `${sandbox.endpoints.psi}/v1/tts`,
        `${sandbox.endpoints.epsilon}/v2/live`,
      ]) {
        const headers = {
          authorization: 'Bearer sandbox-key',
          'x-gladia-key': 'sandbox-key',
          'content-type': 'application/json',
          'anthropic-version': '2026-10-21',
        };
        expect((await fetch(address, { method: 'POST', headers, body: text })).status).toBeLessThan(500);
      }
    }
    expect((await fetch(`${sandbox.url}//x?%`)).status).toBe(404);
    expect(sandbox.records().filter(({ refusal }) => refusal?.includes('the sandbox failed'))).toEqual([]);
  });

  it('keeps no messages when it is to keep no records', async () => {
    const forgetful = await startSandbox({ keepRecords: 0 });
    const client = await connect(forgetful.endpoints.alpha + listenQuery, ['token', 'sandbox-key']);
    client.sendBytes(speech(['Not kept.']));
    client.send({ type: 'CloseStream' });
    await client.closed;
    expect(forgetful.records()).toEqual([]);
    await forgetful.close();
  });

  it('keeps the newest records only, and forgets them when told', async () => {
    const small = await startSandbox({ keepRecords: 2 });
    for (const path of ['/v1/a', '/chat/completions', '/chat/completions', '/chat/completions']) {
      await fetch(small.endpoints.compatible + path, { method: 'POST', body: path });
    }
    expect(small.records()).toHaveLength(2);
    expect(small.records('compatible-llm')[0]).toMatchObject({
      status: 400,
      method: 'POST',
      headers: { host: `127.0.0.1:${small.port}` },
    });
    small.clearRecords();
    expect(small.records()).toEqual([]);
    await small.close();
  });
});

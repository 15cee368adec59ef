import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { runCall } from '../../../samples/sandbox/call-command.ts';
import { addressTable } from '../../../samples/sandbox/command.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, writeSamples } from '../../../samples/sandbox/pcm.ts';
import { sign } from '../../../samples/sandbox/phone-caller.ts';
import { runCommand } from '../../../samples/sandbox/run-command.ts';

/** A phone server that greets, answers a line with the caller's name, and hangs up when a key is pressed. */
class Answerer implements AsyncDisposable {
  readonly keys: string[] = [];
  readonly signatures: unknown[] = [];
  readonly #server: Server = createServer();
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #status: number;

  constructor(status = 101) {
    this.#status = status;
    this.#server.on('upgrade', (request: IncomingMessage, socket, head) => {
      this.signatures.push(request.headers['x-twilio-signature']);
      if (this.#status !== 101) socket.end(`HTTP/1.1 ${this.#status} No\r\nConnection: close\r\n\r\n`);
      else this.#sockets.handleUpgrade(request, socket, head, (accepted) => this.#answer(accepted));
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/call`;
  }

  #answer(socket: WebSocket): void {
    let name = '';
    let streamSid = '';
    let hasAnswered = false;
    const heard: Uint8Array[] = [];
    const say = (text: string): void => {
      const payload = Buffer.from(writeSamples(encodeText(text, 8000), 'mulaw')).toString('base64');
      socket.send(JSON.stringify({ event: 'media', streamSid, media: { payload } }));
    };
    socket.on('message', (data) => {
      const message = JSON.parse((data as Buffer).toString()) as {
        readonly event: string;
        readonly start?: { readonly streamSid: string; readonly customParameters: { readonly name?: string } };
        readonly media?: { readonly payload: string };
        readonly dtmf?: { readonly digit: string };
      };
      if (message.start) {
        streamSid = message.start.streamSid;
        name = message.start.customParameters.name ?? '';
        say('Hello');
      }
      if (message.dtmf) {
        this.keys.push(message.dtmf.digit);
        if (message.dtmf.digit === '#') socket.close(1000);
      }
      if (!message.media || hasAnswered) return;
      heard.push(Buffer.from(message.media.payload, 'base64'));
      if (heard.length % 25 !== 0) return;
      if (!decodeSamples(readSamples(concatBytes(heard), 'mulaw'), 8000).text.includes('who am I')) return;
      hasAnswered = true;
      say(`You are ${name}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('rxvoice call', () => {
  const call = async (...args: string[]): Promise<{ readonly code: number; readonly lines: readonly string[] }> => {
    const lines: string[] = [];
    return { code: await runCall(args, { print: (line) => lines.push(line), speed: 10 }), lines };
  };

  it('waits for the greeting and for each answer, and prints both sides', async () => {
    await using answerer = new Answerer();
    const url = await answerer.listen();
    const { code, lines } = await call(
      url,
      'who am I',
      '--parameter',
      'name=A=da',
      '--token',
      'secret',
      '--patience',
      '600000',
    );
    expect(lines).toEqual(['agent:  Hello', 'caller: who am I', 'agent:  You are A=da', 'The caller has hung up.']);
    expect(code).toBe(0);
    expect(answerer.signatures).toEqual([sign('secret', url)]);
  }, 60_000);

  it('presses keys, does not wait forever for an answer, and says when the server hangs up', async () => {
    await using answerer = new Answerer();
    const { lines } = await call(await answerer.listen(), '[4]', '[2#]', 'nobody hears this', '--patience', '4000');
    expect(lines).toEqual(['agent:  Hello', 'caller: [4]', 'caller: [2#]', 'The server has hung up (1000).']);
    expect(answerer.keys).toEqual(['4', '2', '#']);
  }, 60_000);

  it('says what a server may want that refuses the call', async () => {
    await using answerer = new Answerer(403);
    const { code, lines } = await call(await answerer.listen());
    expect(lines).toEqual([
      '31920: the server answered the upgrade with 403: does it check the signature? Pass --token, and --public-url',
    ]);
    expect(code).toBe(1);
  });

  it('explains itself to somebody who gives no address', async () => {
    expect(await call()).toEqual({ code: 2, lines: [expect.stringContaining('--parameter A=B')] });
  });
});

describe('rxvoice sandbox', () => {
  it('prints the addresses in columns, however long a name is', async () => {
    await using sandbox = await startSandbox();
    const [head = '', ...rows] = addressTable(sandbox);
    const [second, third] = [head.indexOf('endpoint'), head.indexOf('proxyUrl')];
    for (const row of rows)
      expect(row).toMatch(new RegExp(`^[\\w ()]+ {2,}(?<=^.{${second}})http\\S+ {2,}(?<=^.{${third}})http`));
  });

  it('names each vendor as the entry of its classes does', async () => {
    await using sandbox = await startSandbox();
    const rows = addressTable(sandbox).map((row) => row.split(/ {2,}/));
    const { url } = sandbox;
    expect(rows).toContainEqual(['deepgram', `${url}/alpha`, `${url}/proxy/alpha`]);
    expect(rows).toContainEqual(['aws (Polly)', `${url}/omega`, `${url}/proxy/omega`]);
  });
});

describe('rxvoice', () => {
  const told = async (...args: string[]): Promise<unknown[]> => {
    const lines: string[] = [];
    return [await runCommand(args, (line) => lines.push(line)), ...lines];
  };

  it('says in a line which option it does not know', async () => {
    for (const command of ['sandbox', 'call']) {
      const unknown: unknown = expect.stringMatching(new RegExp(`^rxvoice ${command}: Unknown option '--colour'`));
      expect(await told(command, '--colour', 'red')).toEqual([2, unknown]);
    }
  });

  it.each([
    ['sandbox --port abc', 'rxvoice sandbox: --port takes a number from 0 to 65535, not "abc"'],
    ['sandbox --port 99999', 'rxvoice sandbox: --port takes a number from 0 to 65535, not "99999"'],
    ['sandbox node server.js', 'rxvoice sandbox: a command comes after --: rxvoice sandbox -- node server.js'],
    ['sandbox --realtime=-1', 'rxvoice sandbox: --realtime takes a number from 0, not "-1"'],
    ['sandbox --token-delay=', 'rxvoice sandbox: --token-delay takes a number from 0, not ""'],
    ['call ws://127.0.0.1:1/ --pause soon', 'rxvoice call: --pause takes a number from 0, not "soon"'],
    ['call ws://127.0.0.1:1/ --parameter name', 'rxvoice call: --parameter takes NAME=VALUE, not "name"'],
    ['call ws://127.0.0.1:1/ [12z]', 'rxvoice call: [12z] has more than the keys 0 to 9, *, #, A to D'],
  ])('says in a line what is wrong with %s', async (line, said) => {
    const lines: string[] = [];
    expect(await runCommand(line.split(' '), (each) => lines.push(each))).toBe(2);
    expect(lines).toEqual([said]);
  });

  it('says in a line that its port is taken', async () => {
    await using sandbox = await startSandbox();
    const { port } = new URL(sandbox.url);
    const lines: string[] = [];
    expect(await runCommand(['sandbox', '--port', port], (each) => lines.push(each))).toBe(2);
    expect(lines).toEqual([`rxvoice sandbox: port ${port} is taken: choose another one with --port`]);
  });

  it('says that no server listens', async () => {
    const lines: string[] = [];
    expect(await runCall(['ws://127.0.0.1:1/call'], { print: (each) => lines.push(each) })).toBe(1);
    expect(lines.join()).toContain('no server listens at ws://127.0.0.1:1/call; start yours first');
  });

  it('lists its commands to somebody who names none, or an unknown one', async () => {
    const list: unknown = expect.stringMatching(/rxvoice sandbox[^]*rxvoice call/);
    expect([await told(), await told('--help'), await told('cal')]).toEqual([
      [0, list],
      [0, list],
      [2, list],
    ]);
  });
});

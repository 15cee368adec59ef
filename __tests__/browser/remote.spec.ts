// Slow: two conversations of fifteen seconds, at the speed of sound.
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { encodeText, noise } from '../../samples/sandbox/modem.ts';
import { RemoteServer } from '../integration/support/remote.ts';
import { TestBrowser } from './support/browser.ts';

const sampleRate = 48_000;

describe('A page as a telephone', () => {
  let browser: TestBrowser;
  let sandbox: Sandbox;
  beforeAll(async () => {
    const parts = [2500, 'tell me a story', 5000, 'what is two plus two', 30_000] as const;
    const samples = Int16Array.from(
      parts.flatMap((part) => [
        ...(typeof part === 'number' ? noise(part, sampleRate, 0.0005) : encodeText(part, sampleRate)),
      ]),
    );
    [browser, sandbox] = await Promise.all([
      TestBrowser.start({ microphone: { samples, sampleRate } }),
      startSandbox({ realtimeFactor: 4, tokenDelayMs: 5 }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([browser[Symbol.asyncDispose](), sandbox.close()]);
  });
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  it.each([
    ['linear16', 24_000],
    ['opus', 48_000],
  ] as const)(
    'talks %s with a server, interrupts it, and loses its connection on the way',
    async (audio, rate) => {
      const page = await browser.open();
      await using server = await new RemoteServer(sandbox, {
        pages: { origins: [new URL(page.url()).origin] },
        share: { streams: ['state$', 'transcripts$', 'tokens$', 'captions$', 'metrics$', 'speech$', 'turns$'] },
      }).listen();
      let cuts = 0;
      await page.exposeFunction('cutOff', () => {
        cuts += 1;
        server.cut();
      });
      const options = { url: server.url, audio };
      const result = await page.evaluate(async ({ url, audio: codec }) => {
        // Tones are noise to a browser that looks for speech.
        const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        navigator.mediaDevices.getUserMedia = () =>
          open({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
        // What the speaker plays is recorded where it leaves the library.
        const contexts: AudioContext[] = [];
        const connect = Reflect.get(AudioNode.prototype, 'connect') as (
          this: AudioNode,
          target: AudioNode,
        ) => AudioNode;
        let recording: ReturnType<typeof sound.record> | undefined;
        let isRecorded = false;
        AudioNode.prototype.connect = function (this: AudioNode, target: AudioNode) {
          const joined = connect.call(this, target);
          if (this instanceof GainNode && !isRecorded) {
            isRecorded = true;
            recording = sound.record(this);
            contexts.push(this.context as AudioContext);
          }
          return joined;
        } as typeof AudioNode.prototype.connect;
        // What either side sends.
        const wire = { sent: 0, frames: 0, received: 0, packets: 0 };
        const openSocket = (address: string): WebSocket => {
          const socket = new WebSocket(address);
          const send = socket.send.bind(socket);
          socket.send = (data: string | Uint8Array<ArrayBuffer>) => {
            if (typeof data !== 'string') {
              wire.frames += 1;
              wire.sent += data.length;
            }
            send(data);
          };
          socket.addEventListener('message', ({ data }) => {
            if (!(data instanceof ArrayBuffer)) return;
            wire.received += data.byteLength;
            wire.packets += 1;
          });
          return socket;
        };
        const pipeline = new remote.RemotePipeline({ url, audio: codec, openSocket });
        const links: string[] = [];
        const problems: string[] = [];
        const spoken: { heardText: string; interrupted: boolean }[] = [];
        const said: string[] = [];
        pipeline.link$.subscribe((link) => links.push(link.type === 'connected' ? link.audio : link.type));
        pipeline.errors$.subscribe(({ message }) => problems.push(message));
        pipeline.transcripts$.subscribe((event) => {
          if (event.type === 'transcript.final') said.push(event.text);
        });
        pipeline.speech$.subscribe((event) => {
          if (event.type === 'speech.ended')
            spoken.push({ heardText: event.heardText, interrupted: event.interrupted });
          const { cutOff } = globalThis as unknown as { cutOff: () => Promise<void> };
          if (event.type === 'speech.started' && spoken.length === 1) void cutOff();
        });
        const answered = rxjs.firstValueFrom(
          pipeline.turns$.pipe(
            rxjs.filter(({ type }) => type === 'turn.ended'),
            rxjs.skip(1),
          ),
        );
        await pipeline.start();
        await answered;
        await recording?.more(300);
        const heard = recording?.take() ?? new Float32Array(0);
        const played = contexts[0]?.sampleRate ?? 0;
        const { text } = modem.decodeSamples(pcm.toInt16(heard), played);
        await pipeline.dispose();
        return { links, problems, spoken, said, played, text, wire };
      }, options);
      expect(cuts).toBe(1);
      expect(result.problems).toEqual([]);
      expect(result.links).toEqual(['connecting', audio, 'reconnecting', audio, 'closed']);
      expect(result.said.map((text) => text.toLowerCase())).toEqual([
        expect.stringMatching(/^tell me a story/),
        expect.stringMatching(/^what is two plus two/),
      ]);
      const [story, reply] = result.spoken;
      expect(story).toMatchObject({
        interrupted: true,
        heardText: expect.stringMatching(/^Once upon a time/) as string,
      });
      expect(reply).toEqual({ interrupted: false, heardText: 'You said: what is two plus two' });
      // The speaker said what is remembered, and at most a word more, which was cut; the rest in spite of the lost line.
      // The text parts the two, not the pause: a starved audio device plays less silence than there was.
      const text = result.text.trim();
      const whole = reply?.heardText ?? '?';
      expect(text.slice(-whole.length)).toBe(whole);
      const cut = text.slice(0, -whole.length).trim();
      expect(cut.startsWith(story?.heardText ?? '?')).toBe(true);
      expect(cut.split(' ').length - (story?.heardText.split(' ').length ?? 0)).toBeLessThanOrEqual(2);
      expect(result.played).toBe(rate);
      // Of what linear16 takes at 16 and 24 kHz, for as much sound.
      const { sent, frames, received, packets } = result.wire;
      const shares = [sent / (frames * 640), received / (packets * 960)];
      for (const share of shares) {
        if (audio === 'opus') expect(share).toBeLessThan(1 / 5);
        else expect(share).toBeGreaterThan(1);
      }
      await page.close();
    },
    90_000,
  );

  it('says that the microphone is blocked, and asks no server', async () => {
    await using deaf = await TestBrowser.start({ allowsMicrophone: false });
    const page = await deaf.open();
    await using server = await new RemoteServer(sandbox).listen();
    const result = await page.evaluate(async (url) => {
      const pipeline = new remote.RemotePipeline({ url });
      const error: unknown = await pipeline.start().catch((cause: unknown) => cause);
      const { code, message } = error as { code: string; message: string };
      const { state } = pipeline;
      await pipeline.dispose();
      return { code, message, state };
    }, server.url);
    expect(result).toMatchObject({ code: 'permission', state: 'idle' });
    expect(server.accepted).toEqual([]);
    expect(deaf.failures).toEqual([]);
    await page.close();
  }, 60_000);

  it('is refused by a server that does not list its origin', async () => {
    const page = await browser.open();
    await using server = await new RemoteServer(sandbox).listen();
    const code = await page.evaluate(async (url) => {
      const pipeline = new remote.RemotePipeline({ url });
      const error: unknown = await pipeline.start().catch((cause: unknown) => cause);
      await pipeline.dispose();
      return (error as { code: string }).code;
    }, server.url);
    expect(code).toBe('forbidden');
    expect(server.pages.all).toEqual([]);
    await page.close();
  }, 60_000);
});

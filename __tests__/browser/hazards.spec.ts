// Slow: each hazard needs a Chromium of its own, started with other flags; audio comes at its own speed.
import { TestBrowser, type BrowserOptions } from './support/browser.ts';

declare global {
  /** What stays in a page while its clock runs: a microphone that was taken away. */
  var taken: {
    readonly microphone: InstanceType<(typeof rxvoice)['MicrophoneInput']>;
    readonly denial: { asked: number; isDenied: boolean };
    readonly codes: readonly string[];
  };
}

/** Runs a test in a browser of its own. */
async function within(options: BrowserOptions, work: (browser: TestBrowser) => Promise<void>): Promise<void> {
  await using browser = await TestBrowser.start(options);
  await work(browser);
  expect(browser.failures).toEqual([]);
}

/** Chromium's own sounds, in the page: what a microphone's start() comes to. */
const startMicrophone = async (): Promise<unknown> => {
  const microphone = new rxvoice.MicrophoneInput();
  await microphone.initialize();
  return microphone.start().then(
    () => 'started',
    (cause: unknown) => rxvoice.VoiceError.from(cause).toJSON(),
  );
};

describe('What can go wrong with audio in a page', () => {
  it('the microphone is denied: an error that says what the user can do, and no prompt again (F53)', () =>
    within({ allowsMicrophone: false }, async (browser) => {
      const page = await browser.open();
      const result = await page.evaluate(startMicrophone);
      expect(result).toMatchObject({ code: 'permission', recoverable: false, provider: 'MicrophoneInput' });
      expect(result).toMatchObject({ message: expect.stringContaining('allow it for this page') as unknown });
    }));

  it('there is no microphone: an error of its own (F53)', () =>
    within({ hasDevices: false }, async (browser) => {
      const page = await browser.open();
      const result = await page.evaluate(startMicrophone);
      expect(result).toMatchObject({ code: 'device', recoverable: true });
      expect(result).toMatchObject({ message: expect.stringContaining('no microphone') as unknown });
    }));

  it('the microphone is unplugged: told once, found again, and the words flow on (F52)', () =>
    within({}, async (browser) => {
      const page = await browser.open();
      const result = await page.evaluate(async () => {
        const { mediaDevices } = navigator;
        const open = mediaDevices.getUserMedia.bind(mediaDevices);
        const tracks: MediaStreamTrack[] = [];
        let absent = 0;
        mediaDevices.getUserMedia = async (constraints) => {
          if (absent-- > 0) throw new DOMException('gone', 'NotFoundError');
          const stream = await open(constraints);
          tracks.push(...stream.getAudioTracks());
          return stream;
        };
        const microphone = new rxvoice.MicrophoneInput();
        const log: string[] = [];
        microphone.device$.subscribe(({ type }) => log.push(type));
        microphone.connection$.subscribe(({ type }) => log.push(type));
        microphone.errors$.subscribe(({ code, recoverable }) => log.push(`error ${code} ${recoverable}`));
        await microphone.initialize();
        await microphone.start();
        absent = 2;
        const back = rxjs.firstValueFrom(microphone.device$.pipe(rxjs.filter(({ type }) => type === 'found')));
        tracks[0]?.dispatchEvent(new Event('ended'));
        await back;
        const chunk = await rxjs.firstValueFrom(microphone.audio$);
        await microphone.stop();
        return { log, states: tracks.map(({ readyState }) => readyState), bytes: chunk.data.length };
      });
      expect(result.log).toEqual([
        'connecting',
        'connected',
        'found',
        'lost',
        'error device true',
        'reconnecting',
        'reconnecting',
        'reconnecting',
        'connected',
        'found',
        'closed',
      ]);
      expect(result.bytes).toBeGreaterThan(0);
      expect(result.states).toEqual(['ended', 'ended']);
    }));

  it('the microphone is taken away for good: no prompt loop, the provider can start again (F52, F53)', () =>
    within({}, async (browser) => {
      const page = await browser.open();
      await page.clock.install();
      await page.evaluate(async () => {
        const { mediaDevices } = navigator;
        const open = mediaDevices.getUserMedia.bind(mediaDevices);
        const tracks: MediaStreamTrack[] = [];
        const denial = { asked: 0, isDenied: false };
        mediaDevices.getUserMedia = async (constraints) => {
          denial.asked += 1;
          if (denial.isDenied) throw new DOMException('denied', 'NotAllowedError');
          const stream = await open(constraints);
          tracks.push(...stream.getAudioTracks());
          return stream;
        };
        const microphone = new rxvoice.MicrophoneInput();
        await microphone.initialize();
        await microphone.start();
        denial.isDenied = true;
        const lost = rxjs.firstValueFrom(microphone.connection$.pipe(rxjs.filter(({ type }) => type === 'lost')));
        const errors = rxjs.firstValueFrom(
          microphone.errors$.pipe(
            rxjs.map(({ code }) => code),
            rxjs.take(2),
            rxjs.toArray(),
          ),
        );
        tracks[0]?.dispatchEvent(new Event('ended'));
        await lost;
        globalThis.taken = { microphone, denial, codes: await errors };
      });
      // Whoever would ask again has had a minute for it.
      await page.clock.runFor(60_000);
      const result = await page.evaluate(async () => {
        const { microphone, denial, codes } = globalThis.taken;
        const askedWhileDenied = denial.asked;
        denial.isDenied = false;
        await microphone.start();
        await rxjs.firstValueFrom(microphone.audio$);
        await microphone.dispose();
        return { codes, askedWhileDenied };
      });
      expect(result).toEqual({ codes: ['device', 'permission'], askedWhileDenied: 2 });
    }));

  it('the permission is withdrawn, and given back: nobody is asked meanwhile, and the words flow on (F53)', () =>
    within({}, async (browser) => {
      const page = await browser.open();
      const { targetInfo } = await (await page.context().newCDPSession(page)).send('Target.getTargetInfo');
      const settings = await page.context().browser()?.newBrowserCDPSession();
      const set = (setting: 'granted' | 'denied') =>
        settings?.send('Browser.setPermission', {
          ...{ permission: { name: 'microphone' }, setting, origin: new URL(page.url()).origin },
          ...(targetInfo.browserContextId && { browserContextId: targetInfo.browserContextId }),
        });
      await page.evaluate(async () => {
        const { mediaDevices, permissions } = navigator;
        const open = mediaDevices.getUserMedia.bind(mediaDevices);
        const denial = { asked: 0, isDenied: false };
        // Chromium's fake prompt grants what the settings deny.
        mediaDevices.getUserMedia = async (constraints) => {
          denial.asked += 1;
          const { state } = await permissions.query({ name: 'microphone' });
          if (state === 'denied') throw new DOMException('denied', 'NotAllowedError');
          return open(constraints);
        };
        const microphone = new rxvoice.MicrophoneInput();
        const codes: string[] = [];
        microphone.errors$.subscribe(({ code }) => codes.push(code));
        await microphone.initialize();
        await microphone.start();
        globalThis.taken = { microphone, denial, codes };
        microphone.connection$.subscribe(({ type }) => (document.title = type));
      });
      await set('denied');
      await page.waitForFunction(() => document.title === 'lost' || document.title === 'closed');
      await set('granted');
      await page.waitForFunction(() => document.title === 'connected');
      const result = await page.evaluate(async () => {
        const { microphone, denial, codes } = globalThis.taken;
        await rxjs.firstValueFrom(microphone.audio$);
        await microphone.dispose();
        return { codes, asked: denial.asked };
      });
      expect(result).toEqual({ codes: ['device', 'permission'], asked: 3 });
    }));

  it('a conversation whose microphone is denied ends, listens to nobody and says why', () =>
    within({ allowsMicrophone: false }, async (browser) => {
      const page = await browser.open();
      const result = await page.evaluate(async () => {
        const { FakeLLM, FakeOutput, FakeSTT, FakeTTS } = fakes;
        const others = [new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()];
        const pipeline = new rxvoice.Pipeline({ providers: [new rxvoice.MicrophoneInput(), ...others] });
        const states: string[] = [];
        pipeline.on('agent.state', ({ state }) => states.push(state));
        const permissions: string[] = [];
        pipeline.on('input.permission', ({ permission }) => permissions.push(permission));
        const code = await pipeline.start().then(
          () => 'started',
          (cause: unknown) => rxvoice.VoiceError.from(cause).code,
        );
        const { state, agentState } = pipeline;
        await pipeline.dispose();
        return { code, state, agentState, states, permission: permissions.at(-1) };
      });
      expect(result).toMatchObject({ code: 'permission', agentState: 'idle', permission: 'denied' });
      expect(result.state).not.toBe('running');
      expect(result.states.at(-1)).toBe('idle');
    }));

  it('a conversation whose microphone is taken away does not say that it listens, until it is back', () =>
    within({}, async (browser) => {
      const page = await browser.open();
      const result = await page.evaluate(async () => {
        const { mediaDevices } = navigator;
        const open = mediaDevices.getUserMedia.bind(mediaDevices);
        const tracks: MediaStreamTrack[] = [];
        let isAbsent = false;
        mediaDevices.getUserMedia = async (constraints) => {
          if (isAbsent) throw new DOMException('gone', 'NotFoundError');
          const stream = await open(constraints);
          tracks.push(...stream.getAudioTracks());
          return stream;
        };
        const { FakeLLM, FakeOutput, FakeSTT, FakeTTS } = fakes;
        const others = [new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()];
        const pipeline = new rxvoice.Pipeline({ providers: [new rxvoice.MicrophoneInput(), ...others] });
        const states: string[] = [];
        pipeline.on('agent.state', ({ state }) => states.push(state));
        const becomes = (wanted: string): Promise<unknown> =>
          rxjs.firstValueFrom(
            pipeline.state$.pipe(rxjs.filter((event) => event.type === 'agent.state' && event.state === wanted)),
          );
        await pipeline.start();
        isAbsent = true;
        const gone = becomes('idle');
        tracks[0]?.dispatchEvent(new Event('ended'));
        await gone;
        const meanwhile = [pipeline.state, pipeline.agentState];
        const back = becomes('listening');
        isAbsent = false;
        await back;
        await pipeline.dispose();
        return { states, meanwhile };
      });
      expect(result.meanwhile).toEqual(['running', 'idle']);
      expect(result.states.slice(0, 3)).toEqual(['listening', 'idle', 'listening']);
    }));

  it('start() is stopped while the user is still being asked: rejected, and the late microphone is released', () =>
    within({}, async (browser) => {
      const page = await browser.open();
      const result = await page.evaluate(async () => {
        const { mediaDevices } = navigator;
        const open = mediaDevices.getUserMedia.bind(mediaDevices);
        let answer: () => void = () => undefined;
        const answered = new Promise<void>((resolve) => (answer = resolve));
        let track: MediaStreamTrack | undefined;
        let release: () => void = () => undefined;
        const released = new Promise<void>((resolve) => (release = resolve));
        let asked: () => void = () => undefined;
        const prompt = new Promise<void>((resolve) => (asked = resolve));
        mediaDevices.getUserMedia = async (constraints) => {
          asked();
          await answered;
          const stream = await open(constraints);
          const [late] = stream.getAudioTracks();
          if (!late) throw new Error('no track');
          const stop = late.stop.bind(late);
          late.stop = () => {
            stop();
            release();
          };
          track = late;
          return stream;
        };
        const microphone = new rxvoice.MicrophoneInput();
        await microphone.initialize();
        const started = microphone.start().then(
          () => 'started',
          (cause: unknown) => rxvoice.VoiceError.from(cause).code,
        );
        await prompt;
        await microphone.dispose();
        const outcome = await started;
        answer();
        await released;
        return { outcome, state: track?.readyState };
      });
      expect(result).toEqual({ outcome: 'aborted', state: 'ended' });
    }));

  it('the browser wants a gesture first: an event and an error say so, and a click lets everything sound (F55)', () =>
    within({ needsGesture: true }, async (browser) => {
      const page = await browser.open({
        onLoad: () => {
          const output = new rxvoice.BrowserAudioOutput();
          output.device$.subscribe(({ type }) => console.log(`device ${type} at ${output.positionMs}`));
          output.errors$.subscribe(({ code, message }) => console.log(`${code}: ${message}`));
          const data = pcm.int16Bytes(modem.encodeText('click', 24_000));
          const metadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
          void output
            .initialize()
            .then(() => rxjs.lastValueFrom(output.play([{ data, metadata }])))
            .then(({ type, positionMs }) => console.log(`${type} at ${Math.round(positionMs)}`));
        },
      });
      const log: string[] = [];
      const next = async (pattern: RegExp): Promise<void> => {
        if (log.some((line) => pattern.test(line))) return;
        await page.waitForEvent('console', (message) => pattern.test(message.text()));
      };
      page.on('console', (message) => message.type() === 'log' && log.push(message.text()));
      await next(/^permission/);
      expect(log).toEqual(['device suspended at 0', expect.stringMatching(/^permission: .*until the user clicks/)]);
      await page.click('button');
      await next(/^finished/);
      expect(log.slice(2)).toEqual([expect.stringMatching(/^device running/), 'finished at 400']);
    }));

  const strict = "default-src 'none'; script-src 'self'; connect-src 'self'";
  for (const [name, workletUrl] of [
    ['without workletUrl: an error that names the remedy', undefined],
    ['with workletUrl: it works', '/worklets.js'],
  ] as const) {
    it(`a strict Content-Security-Policy, ${name} (F57)`, () =>
      within({}, async (browser) => {
        const page = await browser.open({ csp: strict });
        const result = await page.evaluate(async (url) => {
          const config = url === undefined ? {} : { workletUrl: url };
          const output = new rxvoice.BrowserAudioOutput(config);
          const microphone = new rxvoice.MicrophoneInput(config);
          const outcome = (promise: Promise<unknown>): Promise<unknown> =>
            promise.then(
              () => 'fine',
              (cause: unknown) => rxvoice.VoiceError.from(cause).message,
            );
          await microphone.initialize();
          return [await outcome(output.initialize()), await outcome(microphone.start())];
        }, workletUrl);
        if (workletUrl) expect(result).toEqual(['fine', 'fine']);
        else {
          expect(result[0]).toMatch(/^BrowserAudioOutput could not be initialized: .*worklets\.js.*workletUrl/);
          expect(result[1]).toMatch(/^MicrophoneInput cannot load its AudioWorklet.*workletUrl/);
        }
      }));
  }
});

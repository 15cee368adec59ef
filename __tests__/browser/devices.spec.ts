// Slow: a browser.
import { TestBrowser } from './support/browser.ts';

describe('devices that are chosen while a session runs, in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());

  it('another deviceId is that microphone, at once, one that there is not any; the one before is let go', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const tracks: MediaStreamTrack[] = [];
      const { mediaDevices } = navigator;
      const open = mediaDevices.getUserMedia.bind(mediaDevices);
      mediaDevices.getUserMedia = async (constraints) => {
        const stream = await open(constraints);
        tracks.push(...stream.getTracks());
        return stream;
      };
      const microphone = new rxvoice.MicrophoneInput();
      await microphone.initialize();
      let chunks = 0;
      microphone.audio$.subscribe(() => chunks++);
      await microphone.start();
      const all = (await mediaDevices.enumerateDevices()).filter(({ kind }) => kind === 'audioinput');
      const choose = async (deviceId: string) => {
        const connected = rxjs.firstValueFrom(
          microphone.connection$.pipe(
            rxjs.skip(1),
            rxjs.filter(({ type }) => type === 'connected'),
          ),
        );
        microphone.updateConfig({ deviceId });
        await connected;
      };
      await choose(all.at(-1)?.deviceId ?? '');
      const before = chunks;
      await rxjs.firstValueFrom(microphone.audio$);
      microphone.updateConfig({ sampleRate: 16_000 });
      const states = tracks.map(({ readyState }) => readyState);
      await choose('none such');
      await microphone.dispose();
      return {
        labels: tracks.map(({ label }) => all.findIndex((device) => device.label === label)),
        last: all.length - 1,
        states,
        goesOn: chunks > before,
        left: tracks.map(({ readyState }) => readyState),
      };
    });
    expect(told).toEqual({
      labels: [0, told.last, 0],
      last: expect.any(Number) as number,
      states: ['ended', 'live'],
      goesOn: true,
      left: ['ended', 'ended', 'ended'],
    });
    expect(told.last).toBeGreaterThan(0);
    await page.close();
  });

  it('another sinkId is another speaker, and one that there is not is an error, and nothing else', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const output = new rxvoice.BrowserAudioOutput();
      const errors: string[] = [];
      output.errors$.subscribe(({ code }) => errors.push(code));
      await output.initialize();
      const context = output.audioNode?.context as AudioContext & { setSinkId(id: string): Promise<void> };
      const chosen: string[] = [];
      const choose = context.setSinkId.bind(context);
      context.setSinkId = (id) => {
        chosen.push(id);
        return choose(id);
      };
      output.updateConfig({ sinkId: '' });
      const failed = rxjs.firstValueFrom(output.errors$);
      output.updateConfig({ sinkId: 'none such' });
      await failed;
      await output.dispose();
      output.updateConfig({ sinkId: '' });
      return { chosen, errors };
    });
    expect(told).toEqual({ chosen: ['', 'none such'], errors: ['device'] });
    await page.close();
  });

  for (const how of ['its list of devices says so', 'its context fails']) {
    it(`a speaker that is unplugged hands over to the system's choice, and takes over again: ${how} (F63)`, async () => {
      const page = await browser.open();
      const told = await page.evaluate(async (isFailure) => {
        const { mediaDevices } = navigator;
        const list = mediaDevices.enumerateDevices.bind(mediaDevices);
        const speaker = (await list()).findLast(({ kind }) => kind === 'audiooutput');
        const { deviceId: sinkId = '', label = '' } = speaker ?? {};
        let isThere = true;
        mediaDevices.enumerateDevices = async () =>
          (await list()).filter(({ deviceId }) => isThere || deviceId !== sinkId);
        const output = new rxvoice.BrowserAudioOutput({ sinkId });
        const log: string[] = [];
        output.errors$.subscribe(({ code, message }) => log.push(`${code}: ${message}`));
        await output.initialize();
        const context = output.audioNode?.context as AudioContext & { readonly sinkId: string };
        const used = () => (context.sinkId === sinkId ? 'its own' : context.sinkId);
        const speakers = [used()];
        const next = (type: string) =>
          rxjs.firstValueFrom(output.device$.pipe(rxjs.filter((event) => event.type === type)));
        const data = pcm.int16Bytes(modem.encodeText('one speaker, then another', 24_000));
        const metadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
        const played = rxjs.lastValueFrom(output.play([{ data, metadata }]));
        const lost = next('lost');
        isThere = false;
        if (isFailure) context.dispatchEvent(new Event('error'));
        else mediaDevices.dispatchEvent(new Event('devicechange'));
        await lost;
        speakers.push(used());
        const found = next('found');
        isThere = true;
        mediaDevices.dispatchEvent(new Event('devicechange'));
        const back = await found;
        speakers.push(used());
        const { type } = await played;
        await output.dispose();
        return { log, speakers, type, isNamed: 'label' in back && back.label === label };
      }, how === 'its context fails');
      expect(told).toEqual({
        log: ["device: BrowserAudioOutput: the speaker is gone: the system's choice plays until it is back"],
        ...{ speakers: ['its own', '', 'its own'], type: 'finished', isNamed: true },
      });
      await page.close();
    });
  }

  it('a speaker of last time that is not there now does not keep a conversation from starting (F63)', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const output = new rxvoice.BrowserAudioOutput({ sinkId: 'of last time' });
      const codes: string[] = [];
      output.errors$.subscribe(({ code }) => codes.push(code));
      await output.initialize();
      const data = pcm.int16Bytes(modem.encodeText('here', 24_000));
      const metadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
      const { type } = await rxjs.lastValueFrom(output.play([{ data, metadata }]));
      await output.dispose();
      return { codes, type };
    });
    expect(told).toEqual({ codes: ['device'], type: 'finished' });
    await page.close();
  });
});

describe('the list of devices, in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());

  it('has names and ids, and is told again when a device comes or goes', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const { mediaDevices } = navigator;
      const list = mediaDevices.enumerateDevices.bind(mediaDevices);
      let isThere = true;
      mediaDevices.enumerateDevices = async () => (await list()).slice(0, isThere ? undefined : 1);
      const seen: { microphones: number; speakers: number; isNamed: boolean }[] = [];
      const subscription = rxvoice.audioDevices().subscribe(({ microphones, speakers }) => {
        const isNamed = microphones.every(({ id, label }) => id !== '' && label !== '');
        seen.push({ microphones: microphones.length, speakers: speakers.length, isNamed });
      });
      const next = async () => {
        const before = seen.length;
        mediaDevices.dispatchEvent(new Event('devicechange'));
        await rxjs.firstValueFrom(rxjs.interval(5).pipe(rxjs.filter(() => seen.length > before)));
      };
      await rxjs.firstValueFrom(rxjs.interval(5).pipe(rxjs.filter(() => seen.length > 0)));
      isThere = false;
      await next();
      isThere = true;
      await next();
      // Nothing has changed.
      mediaDevices.dispatchEvent(new Event('devicechange'));
      await list();
      subscription.unsubscribe();
      return { seen, permission: await rxjs.firstValueFrom(rxvoice.microphonePermission()) };
    });
    expect(told.permission).toBe('granted');
    expect(told.seen[0]).toMatchObject({ isNamed: true });
    expect(told.seen[0]?.microphones).toBeGreaterThan(1);
    expect(told.seen[0]?.speakers).toBeGreaterThan(0);
    expect(told.seen.slice(1)).toEqual([{ microphones: 1, speakers: 0, isNamed: true }, told.seen[0]]);
    await page.close();
  });

  it('is told again when the user allows the microphone, which is not asked for', async () => {
    await using strange = await TestBrowser.start({ allowsMicrophone: false });
    const page = await strange.open();
    const told = page.evaluate(async () => {
      const permissions: string[] = [];
      rxvoice.microphonePermission().subscribe((state) => {
        permissions.push(state);
        document.title = state;
      });
      const named = await rxjs.firstValueFrom(
        rxvoice.audioDevices().pipe(
          rxjs.map(({ microphones }) => microphones.some(({ label }) => label !== '')),
          rxjs.filter((isNamed) => isNamed),
        ),
      );
      return { permissions, named };
    });
    await page.waitForFunction(() => ['prompt', 'denied'].includes(document.title));
    await page.context().grantPermissions(['microphone']);
    const { permissions, named } = await told;
    expect([permissions.at(-1), named]).toEqual(['granted', true]);
    expect(permissions.length).toBeGreaterThan(1);
  });

  it('is empty, and nothing else, on a page that is not secure', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      Object.defineProperty(navigator, 'mediaDevices', { value: undefined });
      Object.defineProperty(navigator, 'permissions', { value: undefined });
      return [
        await rxjs.lastValueFrom(rxvoice.audioDevices()),
        await rxjs.lastValueFrom(rxvoice.microphonePermission()),
      ];
    });
    expect(told).toEqual([{ microphones: [], speakers: [] }, 'unknown']);
    await page.close();
  });

  it('levels are those of the microphone, and of what the output plays', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const [microphone, output] = [new rxvoice.MicrophoneInput(), new rxvoice.BrowserAudioOutput()];
      await Promise.all([microphone.initialize(), output.initialize()]);
      await microphone.start();
      const loud = rxjs.filter<{ rms: number; peak: number }>(({ peak }) => peak > 0.05);
      // Chromium's fake microphone beeps.
      const heard = await rxjs.firstValueFrom(rxvoice.audioLevels(microphone).pipe(loud));
      const levels$ = rxvoice.audioLevels(output, { intervalMs: 20 });
      const quiet = await rxjs.firstValueFrom(levels$);
      const tone = Int16Array.from({ length: 24_000 }, (_, at) => 16_384 * Math.sin((2 * Math.PI * 440 * at) / 24_000));
      const metadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
      const playing = rxjs.lastValueFrom(output.play([{ data: new Uint8Array(tone.buffer), metadata }]));
      const played = await rxjs.firstValueFrom(levels$.pipe(loud, rxjs.skip(2)));
      output.stop();
      await playing;
      await Promise.all([microphone.dispose(), output.dispose()]);
      return { heard, quiet, played };
    });
    expect(told.heard.rms).toBeLessThanOrEqual(told.heard.peak);
    expect(told.quiet).toEqual({ rms: 0, peak: 0 });
    expect(told.played.peak).toBeCloseTo(0.5, 1);
    expect(told.played.rms).toBeCloseTo(0.35, 1);
    await page.close();
  });

  it('are events of a pipeline: levels of both ends while they are wanted, and the permission', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const providers = [
        ...[new rxvoice.MicrophoneInput(), new rxvoice.BrowserAudioOutput()],
        ...[new fakes.FakeSTT(), new fakes.FakeLLM(), new fakes.FakeTTS()],
      ];
      const pipeline = new rxvoice.Pipeline({ providers });
      const next = (type: 'input.level' | 'output.level') =>
        new Promise<{ peak: number; rms: number }>((resolve) => {
          const undo = pipeline.on(type, ({ peak, rms }) => {
            if (peak === 0) return;
            undo();
            resolve({ peak, rms });
          });
        });
      const types = new Set<string>();
      pipeline.on('*', ({ type }) => types.add(type));
      await pipeline.start();
      const { permission } = await rxjs.firstValueFrom(
        pipeline.input$.pipe(rxjs.filter((event) => event.type === 'input.permission')),
      );
      const input = await next('input.level');
      const unwanted = types.has('output.level');
      const speaking = next('output.level');
      pipeline.say('One two three four five six seven eight nine ten.');
      const output = await speaking;
      await pipeline.dispose();
      return { permission, input, output, unwanted };
    });
    expect(told).toMatchObject({ permission: 'granted', unwanted: false });
    for (const { peak, rms } of [told.input, told.output]) {
      expect(rms).toBeGreaterThan(0);
      expect(rms).toBeLessThanOrEqual(peak);
    }
    await page.close();
  });

  it('an iPhone plays although its silent switch is on, and through its loudspeaker while it records', async () => {
    const page = await browser.open();
    const told = await page.evaluate(async () => {
      const session = { type: 'auto' };
      Object.defineProperty(navigator, 'audioSession', { value: session });
      const types: string[] = [];
      const look = () => types.push(session.type);
      const [microphone, output] = [new rxvoice.MicrophoneInput(), new rxvoice.BrowserAudioOutput()];
      await output.initialize();
      look();
      await microphone.initialize();
      await microphone.start();
      look();
      await microphone.stop();
      look();
      await output.dispose();
      look();
      // The application knows better.
      session.type = 'ambient';
      await output.initialize();
      look();
      await Promise.all([microphone.dispose(), output.dispose()]);
      look();
      return types;
    });
    expect(told).toEqual(['playback', 'play-and-record', 'playback', 'auto', 'ambient', 'ambient']);
    await page.close();
  });

  it('an iPhone is left alone by an output that is disposed before it is ready', async () => {
    const page = await browser.open();
    const type = await page.evaluate(async () => {
      const session = { type: 'auto' };
      Object.defineProperty(navigator, 'audioSession', { value: session });
      let tell: (type: 'opened' | 'closed') => void = () => undefined;
      const next = (wanted: string): Promise<void> =>
        new Promise((resolve) => {
          tell = (type) => {
            if (type === wanted) resolve();
          };
        });
      globalThis.AudioContext = class extends AudioContext {
        constructor(options?: AudioContextOptions) {
          super(options);
          tell('opened');
        }
        override async close(): Promise<void> {
          await super.close();
          tell('closed');
        }
      };
      const output = new rxvoice.BrowserAudioOutput();
      const opened = next('opened');
      const starting = output.initialize().catch(() => undefined);
      await opened;
      const closed = next('closed');
      await output.dispose();
      await Promise.all([starting, closed]);
      return session.type;
    });
    expect(type).toBe('auto');
    await page.close();
  });
});

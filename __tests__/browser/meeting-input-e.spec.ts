// Slow: a meeting over WebRTC, whose reserve of sound fills at the speed of sound.
import type { Page } from 'playwright-core';
import { TestBrowser } from './support/browser.ts';

/** The service's side of a meeting, in the page. */
declare global {
  var service: {
    readonly requests: { url: string; authorization: string | null; lines: string[] }[];
    readonly received: { channel: string; message: Record<string, unknown> }[];
    /** Answers of the service in place of the next ones, by status. */
    readonly refusals: { status: number; body: string }[];
    tell(channel: string, message: object): void;
    /** Says something on one of the streams; resolves when it is said. */
    say(index: number, text: string): Promise<void>;
    /** The same, with keys of a telephone. */
    dial(index: number, number: string): Promise<void>;
    /** Sounds on all streams until it is told to stop. */
    hum(): () => void;
    /** Looks at a number every half second of the sound's own clock, until two in a row are so, ten seconds at most. */
    heard(count: () => Promise<number>, isIt: (before: number, now: number) => boolean): Promise<unknown>;
    drop(): void;
    readonly opened: string[];
    /** Resolves when something is so, checked whenever something has happened. */
    until(condition: () => boolean): Promise<void>;
    /** What the client's side of WebRTC counts, over all streams. */
    count(...keys: string[]): Promise<number>;
  };
}

/** Puts a service into a page: `fetch` is answered by a peer connection of its own. */
async function serve(page: Page): Promise<void> {
  await page.evaluate(() => {
    const context = new AudioContext();
    const speakers = [0, 1].map(() => context.createMediaStreamDestination());
    // Silence is sent too: a context where nothing plays sends nothing.
    const silence = new ConstantSourceNode(context, { offset: 0 });
    for (const speaker of speakers) silence.connect(speaker);
    silence.start();
    const requests: typeof service.requests = [];
    const received: typeof service.received = [];
    const refusals: typeof service.refusals = [];
    const opened: string[] = [];
    const happened$ = new rxjs.Subject<void>();
    const clients: RTCPeerConnection[] = [];
    const Peer = globalThis.RTCPeerConnection;
    globalThis.RTCPeerConnection = class extends Peer {
      constructor(configuration?: RTCConfiguration) {
        super(configuration);
        clients.push(this);
      }
    };
    let channels = new Map<string, RTCDataChannel>();
    let peer: RTCPeerConnection | undefined;
    const answerTo = async (offer: string): Promise<string> => {
      channels = new Map();
      peer = new Peer();
      peer.ondatachannel = ({ channel }) => {
        channels.set(channel.label, channel);
        opened.push(channel.label);
        happened$.next();
        channel.onmessage = ({ data }) => {
          const message = JSON.parse(String(data)) as { request?: { requestId: number; leave?: object } };
          received.push({ channel: channel.label, message });
          const { requestId, leave } = message.request ?? {};
          if (leave) channel.send(JSON.stringify({ response: { requestId, status: { code: 0 }, leave: {} } }));
          happened$.next();
        };
      };
      // At the usual 32 kbit/s the codec takes all sound for speech, and blurs a tone now and then.
      const sdp = offer.replaceAll('useinbandfec=1', 'useinbandfec=1;maxaveragebitrate=256000');
      await peer.setRemoteDescription({ type: 'offer', sdp });
      for (const { stream } of speakers) for (const track of stream.getTracks()) peer.addTrack(track, stream);
      await peer.setLocalDescription();
      const current = peer;
      await new Promise<void>((resolve) => {
        const check = (): void => {
          if (current.iceGatheringState === 'complete') resolve();
        };
        current.onicegatheringstatechange = check;
        check();
      });
      return peer.localDescription?.sdp ?? '';
    };
    globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      const { offer } = (await request.json()) as { offer: string };
      const lines = offer.split('\r\n').filter((line) => line.startsWith('m='));
      requests.push({ url: request.url, authorization: request.headers.get('authorization'), lines });
      const refusal = refusals.shift();
      if (refusal) return new Response(refusal.body, { status: refusal.status });
      return Response.json({ answer: await answerTo(offer), traceId: 'abc' });
    };
    const play = (index: number, samples: Float32Array<ArrayBuffer>): Promise<void> => {
      const buffer = context.createBuffer(1, samples.length, context.sampleRate);
      buffer.copyToChannel(samples, 0);
      const player = new AudioBufferSourceNode(context, { buffer });
      const speaker = speakers[index];
      if (speaker) player.connect(speaker);
      player.start();
      return new Promise((resolve) => {
        player.onended = () => resolve();
      });
    };
    globalThis.service = {
      ...{ requests, received, refusals, opened },
      tell: (channel, message) => channels.get(channel)?.send(JSON.stringify(message)),
      say: (index, text) => play(index, pcm.toFloat32(modem.encodeText(text, context.sampleRate))),
      dial: (index, number) => play(index, sound.dial(number, context.sampleRate)),
      hum: () => {
        const tone = new OscillatorNode(context, { frequency: 440 });
        const level = new GainNode(context, { gain: 0.2 });
        tone.connect(level);
        for (const speaker of speakers) level.connect(speaker);
        tone.start();
        return () => tone.stop();
      },
      until: async (condition) => {
        if (!condition()) await rxjs.firstValueFrom(happened$.pipe(rxjs.filter(condition)));
      },
      count: async (...keys) => {
        let sum = 0;
        (await clients.at(-1)?.getStats())?.forEach((report: Partial<Record<string, number>>) => {
          for (const key of keys) sum += report[key] ?? 0;
        });
        return sum;
      },
      heard: (count, isIt) =>
        rxjs.firstValueFrom(
          rxjs
            .defer(() => sound.played(context, 500).then(count))
            .pipe(
              rxjs.repeat(20),
              rxjs.pairwise(),
              rxjs.filter(([before, now]) => isIt(before, now)),
            ),
          { defaultValue: undefined },
        ),
      drop: () => peer?.close(),
    };
  });
}

describe('MeetingInputE in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  it('joins, tells its status, hears the meeting, uploads the statistics that are wanted, and leaves', async () => {
    const page = await browser.open();
    await serve(page);
    const result = await page.evaluate(async () => {
      const { service } = globalThis;
      const input = new rxvoice.MeetingInputE({
        apiKey: () => Promise.resolve('ya29.token'),
        spaceName: 'spaces/jQCFfuBOdN5z',
        iceServers: [],
      });
      const [statuses, ends, errors, chunks]: [string[], unknown[], string[], Uint8Array<ArrayBuffer>[]] = [
        [],
        [],
        [],
        [],
      ];
      input.onSessionStatus((status) => statuses.push(status));
      input.onCallEnded((end) => ends.push(end));
      input.errors$.subscribe(({ message }) => errors.push(message));
      input.audio$.subscribe(({ data }) => chunks.push(data));
      await input.initialize();
      await input.start();
      await service.until(() => service.opened.length === 4);
      const session = (connectionState: string): object => ({ resources: [{ sessionStatus: { connectionState } }] });
      service.tell('session-control', session('STATE_WAITING'));
      const allowlist = {
        codec: { keys: ['mimeType', 'payloadType', 'id'] },
        'inbound-rtp': { key: ['kind', 'packetsReceived'] },
      };
      service.tell('media-stats', { resources: [{ configuration: { uploadIntervalSeconds: 1, allowlist } }] });
      // Sound comes before we are let in.
      const stop = service.hum();
      await service.heard(
        () => service.count('packetsReceived'),
        (_before, now) => now >= 50,
      );
      const early = chunks.length;
      service.tell('session-control', session('STATE_JOINED'));
      service.tell('session-control', { nonsense: [null, 1] });
      await rxjs.firstValueFrom(input.sessionStatus$.pipe(rxjs.filter((status) => status === 'joined')));
      /** Samples that the browser itself has put into the sound, or taken from it. */
      const altered = (): Promise<number> =>
        service.count('insertedSamplesForDeceleration', 'removedSamplesForAcceleration', 'concealedSamples');
      const isQuiet = ({ data }: { data: Uint8Array<ArrayBuffer> }): boolean =>
        pcm.int16View(data).every((one) => Math.abs(one) < 300);
      /** Resolves when the meeting has sounded, and then been silent for a while. */
      const sounded = (): Promise<number> =>
        rxjs.firstValueFrom(
          input.audio$.pipe(
            rxjs.skipWhile(isQuiet),
            rxjs.scan((ms, chunk) => (isQuiet(chunk) ? ms + 20 : 0), 0),
            rxjs.filter((ms) => ms >= 600),
          ),
        );
      // The browser makes itself a reserve against uneven packets by stretching what sounds, until it has enough.
      await service.heard(altered, (before, now) => before === now);
      const hummed = sounded();
      stop();
      await hummed;
      const take = (): Int16Array<ArrayBuffer> => pcm.int16View(pcm.concatBytes(...chunks.splice(0)));
      chunks.length = 0;
      const numbered = sounded();
      await service.dial(1, '159D73*0');
      await numbered;
      const number = sound.dialled(pcm.toFloat32(take()), 16_000);
      const alteredBefore = await altered();
      const said = sounded();
      await service.say(0, 'hello');
      await said;
      const { text } = modem.decodeSamples(take(), 16_000);
      const heard = { number, text, altered: (await altered()) - alteredBefore };
      await service.until(() => service.received.some(({ channel }) => channel === 'media-stats'));
      const metadata = input.getMetadata();
      await input.dispose();
      const { requests, received, opened } = service;
      return { statuses, ends, errors, early, heard, requests, received, opened, metadata };
    });
    expect(result.requests).toEqual([
      {
        url: 'https://meet.googleapis.com/v2beta/spaces/jQCFfuBOdN5z:connectActiveConference',
        authorization: 'Bearer ya29.token',
        lines: [
          ...[0, 1, 2].map(() => expect.stringMatching(/^m=audio/) as string),
          expect.stringMatching(/^m=application/) as string,
        ],
      },
    ]);
    expect([...result.opened].sort()).toEqual(['media-entries', 'media-stats', 'participants', 'session-control']);
    // Keys outlast all that a browser does to the sound; words, whose every 10 ms count, are lost where it says that it did.
    const { number, text, altered } = result.heard;
    expect([result.early, number]).toEqual([0, '159D73*0']);
    if (altered === 0) expect(text).toBe('hello');
    else console.warn(`Chromium altered ${altered} samples of the word: ${text}`);
    expect(result.statuses).toEqual(['waiting', 'joined', 'disconnected']);
    expect([result.ends, result.errors]).toEqual([[{ reason: 'left' }], []]);
    expect(result.metadata).toMatchObject({ encoding: 'linear16', sampleRate: 16_000, channels: 1 });
    const uploads = result.received.filter(({ channel }) => channel === 'media-stats').map(({ message }) => message);
    expect(uploads[0]).toMatchObject({
      request: {
        requestId: 1,
        uploadMediaStats: {
          sections: expect.arrayContaining([
            {
              id: expect.any(String) as string,
              inbound_rtp: { kind: 'audio', packets_received: expect.any(Number) as number },
            },
          ]) as unknown,
        },
      },
    });
    expect(
      result.received.filter(({ channel }) => channel === 'session-control').map(({ message }) => message),
    ).toEqual([{ request: { requestId: 1, leave: {} } }]);
    await page.close();
  });

  it('comes back when the session is unhealthy or the connection breaks, and ends with the conference', async () => {
    const page = await browser.open();
    await serve(page);
    const result = await page.evaluate(async () => {
      const { service } = globalThis;
      const input = new rxvoice.MeetingInputE({ apiKey: 'ya29', spaceName: 'spaces/a', iceServers: [] });
      const ends: unknown[] = [];
      let completed = 0;
      input.onCallEnded((end) => ends.push(end));
      input.audio$.subscribe({ complete: () => completed++ });
      await input.initialize();
      await input.start();
      const opened = (count: number): Promise<void> => service.until(() => service.opened.length >= count);
      const end = (disconnectReason: string): void =>
        service.tell('session-control', {
          resources: [{ sessionStatus: { connectionState: 'STATE_DISCONNECTED', disconnectReason } }],
        });
      await opened(4);
      end('REASON_SESSION_UNHEALTHY');
      await opened(8);
      service.drop();
      await opened(12);
      const between = ends.length;
      const ended = rxjs.firstValueFrom(input.callEnded$);
      end('REASON_CONFERENCE_ENDED');
      await ended;
      await input.dispose();
      return { between, ends, completed, requests: service.requests.length };
    });
    expect(result).toEqual({
      ...{ between: 0, completed: 1, requests: 3 },
      ends: [{ reason: 'ended', detail: 'REASON_CONFERENCE_ENDED' }],
    });
    await page.close();
  });

  it('says why it cannot join', async () => {
    const page = await browser.open();
    await serve(page);
    const errors = await page.evaluate(async () => {
      const { service } = globalThis;
      const join = async (status: number, word: string, spaceName = 'spaces/a'): Promise<[string, string]> => {
        service.refusals.push({
          status,
          body: JSON.stringify({ error: { code: status, message: `${word}: ya29.secret` } }),
        });
        const input = new rxvoice.MeetingInputE({ apiKey: 'ya29.secret', spaceName, iceServers: [] });
        const error: unknown = await input.initialize().catch((cause: unknown) => cause);
        return rxvoice.VoiceError.is(error) ? [error.code, error.message] : ['', String(error)];
      };
      const all = [
        await join(400, 'NO_ACTIVE_CONFERENCE'),
        await join(403, 'PERMISSION_DENIED'),
        await join(404, 'NOT_FOUND'),
        await join(400, 'INCOMPATIBLE_DEVICE'),
      ];
      service.refusals.length = 0;
      return [...all, await join(200, '', 'abc-defg-hij')];
    });
    expect(errors.map(([code]) => code)).toEqual(['not_found', 'forbidden', 'not_found', 'forbidden', 'configuration']);
    expect(errors[0]?.[1]).toContain('NO_ACTIVE_CONFERENCE');
    expect(errors.flat().join()).not.toContain('secret');
    await page.close();
  });
});

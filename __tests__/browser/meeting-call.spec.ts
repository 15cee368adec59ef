// Slow: speech in both directions, at the speed of sound.
import type { Page } from 'playwright-core';
import type { JoinOptionsLike, MeetingCallPackages } from '../../lib/providers/platform/meeting-call-packages.ts';
import { TestBrowser } from './support/browser.ts';

/** What a page's scripted call does, and what was seen of the provider. */
declare global {
  var script: {
    readonly log: string[];
    readonly errors: string[];
    readonly states: string[];
    readonly common: string[];
    readonly ends: unknown[];
    readonly meeting: InstanceType<(typeof rxvoice)['MeetingCallF']>;
    become(state: string): void;
    /** What the agent's stream in the call says, and what the meeting was heard to say. */
    spoken(): string;
    heard(): string;
    say(text: string): void;
    /** Resolves when a stream has been silent for a while. */
    quiet(audio$: (typeof rxvoice)['MeetingCallF']['prototype']['audio$']): Promise<unknown>;
    readonly input: InstanceType<(typeof rxvoice)['WebRTCInput']>;
    emit(event: string): void;
    readonly call: Record<string, unknown>;
    readonly agent: Record<string, unknown>;
  };
}

/** Puts a scripted call into a page: the package's objects with their events, over real media streams. */
async function scripted(
  page: Page,
  change: { fails?: number; refuses?: number; breaks?: boolean; microphone?: boolean; place?: object } = {},
): Promise<void> {
  await page.evaluate(async ({ fails, refuses, breaks = false, microphone = false, place }) => {
    const log: string[] = [];
    const listeners = new Map<string, Set<() => void>>();
    const emit = (event: string): void => {
      for (const listener of [...(listeners.get(event) ?? [])]) listener();
    };
    const context = new AudioContext();
    const remote = context.createMediaStreamDestination();
    const call = {
      isMuted: false,
      state: 'Connecting',
      callEndReason: undefined as { code: number; subCode?: number } | undefined,
      localAudioStreams: [] as { mediaStreamType: string }[],
      remoteAudioStreams: [] as { getMediaStream(): Promise<MediaStream> }[],
      on: (event: string, listener: () => void) => {
        if (breaks) throw new Error('no such event');
        listeners.set(event, (listeners.get(event) ?? new Set()).add(listener));
      },
      off: (event: string, listener: () => void) => listeners.get(event)?.delete(listener),
      mute: () => become('mute', true),
      unmute: () => become('unmute', false),
      hangUp: () => Promise.resolve(void log.push('hangUp')),
    };
    const become = (what: string, isMuted: boolean): Promise<void> => {
      log.push(what);
      call.isMuted = isMuted;
      emit('isMutedChanged');
      return Promise.resolve();
    };
    let local: MediaStream | undefined;
    class LocalAudioStream {
      readonly mediaStreamType = microphone ? 'Audio' : 'RawMedia';
      constructor(stream: MediaStream) {
        if (!(stream instanceof MediaStream)) throw new Error('not a MediaStream');
        local = stream;
      }
      setMediaStream(stream: MediaStream): Promise<void> {
        local = stream;
        return Promise.resolve();
      }
      on(): void {}
      off(): void {}
    }
    const agent = {
      join: (locator: unknown, options?: JoinOptionsLike) => {
        const { muted, localAudioStreams = [] } = options?.audioOptions ?? {};
        log.push(`join ${JSON.stringify(locator)} ${muted ? 'muted' : 'open'} ${localAudioStreams.length}`);
        if (refuses !== undefined) throw Object.assign(new Error('about 19:secret'), { code: 400, subCode: refuses });
        call.localAudioStreams = localAudioStreams;
        return call;
      },
      dispose: () => Promise.resolve(void log.push('agent disposed')),
    };
    class CallClient {
      createCallAgent(_credential: unknown, options: unknown): Promise<typeof agent> {
        log.push(`agent ${JSON.stringify(options)}`);
        return fails === undefined
          ? Promise.resolve(agent)
          : Promise.reject(Object.assign(new Error('about eyJhbGciOi.secret'), { code: 401, subCode: fails }));
      }
    }
    class AzureCommunicationTokenCredential {
      constructor(token: string | { tokenRefresher(): Promise<string> }) {
        if (typeof token === 'string') log.push(`credential ${token}`);
        else void token.tokenRefresher().then((fresh) => log.push(`fresh ${fresh}`));
      }
      dispose(): void {
        log.push('credential disposed');
      }
    }
    class Scripted extends rxvoice.MeetingCallF {
      protected override importPackages(): Promise<MeetingCallPackages> {
        const packages = { calling: { CallClient, LocalAudioStream }, common: { AzureCommunicationTokenCredential } };
        return Promise.resolve(packages);
      }
    }
    const meeting = new Scripted({
      token: () => Promise.resolve('eyJ.token'),
      ...(place ?? { meetingLink: 'https://teams.microsoft.com/l/meetup-join/19%3a' }),
      displayName: 'Agent',
    });
    const [errors, states, ends, chunks]: [string[], string[], unknown[], Uint8Array<ArrayBuffer>[]] = [[], [], [], []];
    const common: string[] = [];
    meeting.errors$.subscribe(({ code, message }) => errors.push(`${code}: ${message}`));
    meeting.onCallStateChanged((state, raw) => states.push(state === raw ? state : `${state}/${raw}`));
    meeting.onCallEnded((end) => ends.push(end));
    meeting.callStates$.subscribe((state) => common.push(Object.values(state).join(' ')));
    meeting.audio$.subscribe(({ data }) => chunks.push(data));
    const spoken: Uint8Array<ArrayBuffer>[] = [];
    const input = new rxvoice.WebRTCInput();
    input.audio$.subscribe(({ data }) => spoken.push(data));
    const textOf = (pieces: Uint8Array<ArrayBuffer>[]): string =>
      modem.decodeSamples(pcm.int16View(pcm.concatBytes(...pieces)), 16_000).text;
    globalThis.script = {
      ...{ log, errors, states, common, ends, meeting, emit, call, agent, input },
      quiet: (audio$) => {
        const isQuiet = (data: Uint8Array<ArrayBuffer>): boolean =>
          pcm.int16View(data).every((sample) => Math.abs(sample) < 300);
        return rxjs.firstValueFrom(
          audio$.pipe(
            rxjs.skipWhile(({ data }) => isQuiet(data)),
            rxjs.scan((frames, { data }) => (isQuiet(data) ? frames + 1 : 0), 0),
            rxjs.filter((frames) => frames > 15),
          ),
        );
      },
      become: (state) => {
        call.state = state;
        emit('stateChanged');
      },
      spoken: () => textOf(spoken),
      heard: () => textOf(chunks),
      say: (text) => {
        const samples = pcm.toFloat32(modem.encodeText(text, context.sampleRate));
        const leadIn = context.sampleRate / 2;
        const buffer = context.createBuffer(1, leadIn + samples.length, context.sampleRate);
        buffer.copyToChannel(samples, 0, leadIn);
        const player = new AudioBufferSourceNode(context, { buffer });
        player.connect(remote);
        player.start();
      },
    };
    try {
      await meeting.initialize();
    } catch (error) {
      errors.push(String(error));
      return;
    }
    await meeting.start();
    call.remoteAudioStreams = [];
    Object.assign(call, {
      join: () => (call.remoteAudioStreams = [{ getMediaStream: () => Promise.resolve(remote.stream) }]),
    });
    if (local) {
      await input.initialize();
      input.setStream(local);
      await input.start();
    }
  }, change);
}

describe('MeetingCallF in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  it('joins with its own stream, speaks, hears the meeting, and hangs up', async () => {
    const page = await browser.open();
    await scripted(page);
    const result = await page.evaluate(async () => {
      const { script } = globalThis;
      const { meeting, input } = script;
      for (const state of ['Ringing', 'InLobby', 'EarlyMedia', 'Connected']) script.become(state);
      // The stream comes after the state.
      (script.call['join'] as () => void)();
      script.emit('remoteAudioStreamsUpdated');
      await rxjs.firstValueFrom(meeting.audio$);
      const bothQuiet = Promise.all([script.quiet(meeting.audio$), script.quiet(input.audio$)]);
      script.say('hello agent');
      const words = modem.encodeText('hello meeting', 24_000);
      const samples = new Int16Array(12_000 + words.length);
      samples.set(words, 12_000);
      const data = pcm.int16Bytes(samples);
      const metadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
      await rxjs.lastValueFrom(meeting.play([{ data, metadata }]));
      await bothQuiet;
      script.emit('remoteAudioStreamsUpdated');
      const quiet = script.quiet(meeting.audio$);
      script.say('again');
      await quiet;
      script.become('LocalHold');
      script.become('Connected');
      await meeting.dispose();
      return {
        ...script,
        meeting: undefined,
        call: undefined,
        input: undefined,
        quiet: undefined,
        spoken: script.spoken(),
        heard: script.heard(),
      };
    });
    expect(result.spoken).toBe('hello meeting');
    expect(result.heard).toBe('hello agentagain');
    expect(result.states).toEqual([
      'InLobby/Connecting',
      'InLobby/Ringing',
      'InLobby',
      'InLobby/EarlyMedia',
      'Connected',
      'Connected/LocalHold',
      'Connected',
      'Disconnected',
    ]);
    expect(result.common).toEqual([...['waiting', 'ringing', 'waiting', 'answered', 'held', 'answered', 'ended left']]);
    expect(result.log).toEqual([
      'agent {"displayName":"Agent"}',
      'fresh eyJ.token',
      expect.stringContaining('join {"meetingLink":"https://teams.microsoft.com'),
      'hangUp',
      'agent disposed',
      'credential disposed',
    ]);
    expect([result.ends, result.errors]).toEqual([[{ reason: 'left' }], []]);
    await page.close();
  });

  it('mutes itself where the meeting would hear the microphone', async () => {
    const page = await browser.open();
    await scripted(page, { microphone: true });
    const { log, errors, isMuted } = await page.evaluate(() => {
      const { log, errors, call } = globalThis.script;
      globalThis.script.become('Connected');
      return { log, errors, isMuted: call['isMuted'] };
    });
    expect([log.filter((line) => line === 'mute').length, isMuted]).toEqual([1, true]);
    expect(errors).toEqual([expect.stringMatching(/^device: .*microphone/)]);
    await page.close();
  });

  it('says when the meeting has muted it, and unmutes itself', async () => {
    const page = await browser.open();
    await scripted(page);
    const { errors, muted } = await page.evaluate(async () => {
      const { script } = globalThis;
      const { errors, meeting, call } = script;
      const muted: boolean[] = [];
      meeting.muted$.subscribe((isMuted) => muted.push(isMuted));
      script.become('Connected');
      call['isMuted'] = true;
      script.emit('isMutedChanged');
      await meeting.unmute();
      call['isMuted'] = true;
      script.emit('isMutedChanged');
      await meeting.dispose();
      return { errors, muted };
    });
    expect(muted).toEqual([false, true, false, true, false]);
    expect(errors).toEqual(Array(2).fill(expect.stringMatching(/^device: .*has muted the agent/)));
    await page.close();
  });

  it('does not unmute itself where the meeting forbids it, would hear the microphone, or is over', async () => {
    const page = await browser.open();
    await scripted(page);
    const forbidden = await page.evaluate(async () => {
      const { meeting, call } = globalThis.script;
      call['unmute'] = () => Promise.reject(new Error('41106'));
      const failure = (): Promise<unknown> =>
        meeting.unmute().then(String, (error: unknown) => (error as { code: string }).code);
      const first = await failure();
      await meeting.dispose();
      return [first, await failure(), meeting.getCall() === undefined];
    });
    expect(forbidden).toEqual(['forbidden', 'not_ready', true]);
    await page.close();
    const other = await browser.open();
    await scripted(other, { microphone: true });
    const leaking = await other.evaluate(() => {
      const { script } = globalThis;
      script.become('Connected');
      return script.meeting.unmute().then(String, (error: unknown) => (error as { code: string }).code);
    });
    expect(leaking).toBe('device');
    await other.close();
  });

  for (const [place, locator] of [
    [{ meetingId: '123 456', passcode: 'abc' }, '{"meetingId":"123 456","passcode":"abc"}'],
    [{ meetingId: '123 456' }, '{"meetingId":"123 456"}'],
    [{ groupId: '8f0e' }, '{"groupId":"8f0e"}'],
    [{ roomId: '9953' }, '{"roomId":"9953"}'],
  ] as const) {
    it(`joins ${locator}`, async () => {
      const page = await browser.open();
      await scripted(page, { place });
      const { log, hasCall } = await page.evaluate(() => {
        const { log, meeting, call } = globalThis.script;
        return { log, hasCall: (meeting.getCall() as unknown) === call };
      });
      expect([log.find((line) => line.startsWith('join')), hasCall]).toEqual([`join ${locator} open 1`, true]);
      await page.close();
    });
  }

  it('releases the agent, then the credential, when it cannot join', async () => {
    const page = await browser.open();
    await scripted(page, { refuses: 40210 });
    const { errors, log } = await page.evaluate(() => globalThis.script);
    expect(errors).toEqual([expect.stringContaining('meetingLink is not valid (40210)')]);
    expect(log.slice(-2)).toEqual(['agent disposed', 'credential disposed']);
    await page.close();
  });

  it('leaves a call that cannot be followed, and says so', async () => {
    const page = await browser.open();
    await scripted(page, { breaks: true });
    const { errors, ends, log } = await page.evaluate(async () => {
      const { errors, ends, log, meeting } = globalThis.script;
      await meeting.dispose();
      return { errors, ends, log };
    });
    expect(errors).toEqual(['device: MeetingCallF: the call cannot be followed: leaving it']);
    expect(ends).toEqual([{ reason: 'left', detail: 'no such event' }]);
    expect(log.slice(-3)).toEqual(['hangUp', 'agent disposed', 'credential disposed']);
    await page.close();
  });

  it('leaves even where hanging up and releasing the agent fail', async () => {
    const page = await browser.open();
    await scripted(page);
    const { errors, ends, log } = await page.evaluate(async () => {
      const { errors, ends, log, meeting, call } = globalThis.script;
      call['hangUp'] = () => {
        log.push('hangUp');
        throw new Error('gone');
      };
      globalThis.script.agent['dispose'] = () => {
        log.push('agent');
        return Promise.reject(new Error('gone'));
      };
      await meeting.dispose();
      return { errors, ends, log };
    });
    expect([errors, ends]).toEqual([[], [{ reason: 'left' }]]);
    expect(log.slice(-3)).toEqual(['hangUp', 'agent', 'credential disposed']);
    await page.close();
  });

  it('says why it was not let in, and ends', async () => {
    const page = await browser.open();
    await scripted(page);
    const { errors, ends, states, log } = await page.evaluate(async () => {
      const { script } = globalThis;
      script.become('InLobby');
      script.call['callEndReason'] = { code: 0, subCode: 5854 };
      script.become('Disconnected');
      await script.meeting.flush();
      return script;
    });
    expect(ends).toEqual([{ reason: 'ended', detail: 'someone in the meeting turned it away from the lobby' }]);
    expect(errors).toEqual([expect.stringContaining('0/5854')]);
    expect([states.at(-1), log.includes('hangUp')]).toEqual(['Disconnected', false]);
    await page.close();
  });

  for (const [what, code, subCode, end, error] of [
    ['the organizer ends it for everyone', 0, 4097, ['ended', 'the organizer ended the meeting for everyone']],
    ['someone removes the agent', 0, 5300, ['ended', 'someone in the meeting removed the agent']],
    ['it is the last one there', 0, 5010, ['ended', 'code 0, subcode 5010']],
    ['the network fails', 410, 301_005, ['lost', 'the network connection failed'], 'connection'],
    ['the token expires', 495, 4507, ['ended', 'the token is no longer valid'], 'unauthorized'],
    ['guests are not admitted', 403, 5723, ['ended', 'the meeting admits no guests'], 'forbidden'],
    ['the page was closed', 0, 4521, ['ended', 'code 0, subcode 4521'], 'connection'],
  ] as const) {
    it(`ends ${error ? `with the error ${error}` : 'without an error'} when ${what}`, async () => {
      const page = await browser.open();
      await scripted(page);
      const { codes, ends } = await page.evaluate(
        (reason) => {
          const { script } = globalThis;
          const codes: string[] = [];
          script.meeting.errors$.subscribe((problem) => codes.push(problem.code));
          script.become('Connected');
          script.call['callEndReason'] = reason;
          script.become('Disconnected');
          return { codes, ends: script.ends };
        },
        { code, subCode },
      );
      expect([ends, codes]).toEqual([[{ reason: end[0], detail: end[1] }], error ? [error] : []]);
      await page.close();
    });
  }

  it('says what is wrong with a token, without showing it', async () => {
    const page = await browser.open();
    await scripted(page, { fails: 44113 });
    const errors = await page.evaluate(() => globalThis.script.errors);
    expect(errors).toEqual([expect.stringContaining('lacks the scope voip (44113)')]);
    expect(errors.join()).not.toContain('eyJ');
    await page.close();
  });

  it('names the packages that it needs, and what its configuration lacks', async () => {
    const page = await browser.open();
    const messages = await page.evaluate(async () => {
      const { MeetingCallF } = rxvoice;
      const fail = (config: object): Promise<string> =>
        new MeetingCallF(config as ConstructorParameters<typeof MeetingCallF>[0]).initialize().then(
          () => '',
          (error: unknown) => String(error),
        );
      return Promise.all([
        fail({ token: '', meetingLink: 'https://x' }),
        fail({ token: 'eyJ', meetingLink: '' }),
        fail({ token: 'eyJ', meetingLink: 'https://x', roomId: '9953' }),
        fail({ token: 'eyJ', roomId: '9953', passcode: 'abc' }),
        fail({ token: 'eyJ', meetingLink: 'https://x' }),
      ]);
    });
    expect(messages).toEqual([
      expect.stringContaining('token is missing'),
      expect.stringContaining('meetingLink is missing'),
      expect.stringContaining('meetingLink and roomId name a meeting each: set one of them'),
      expect.stringContaining('passcode belongs to a meetingId'),
      expect.stringContaining('npm install @azure/communication-calling'),
    ]);
    await page.close();
  });
});

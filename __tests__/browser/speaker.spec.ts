// Slow: a minute of speech, at the speed of sound.
import type { Page } from 'playwright-core';
import { TestBrowser } from './support/browser.ts';

/** What a page has for these tests: an output, and what came through its node. */
interface Rig {
  readonly output: InstanceType<typeof rxvoice.BrowserAudioOutput>;
  readonly context: AudioContext;
  /** What was said so far, and the context's times at which sound began and ended. */
  readonly heard: () => Promise<{
    text: string;
    utterances: readonly string[];
    from: number;
    to: number;
    lastJump: number;
  }>;
  /** A text as chunks of audio. */
  readonly speech: (
    text: string,
    pieceMs: number,
    sampleRate: number,
  ) => { data: Uint8Array<ArrayBuffer>; metadata: object }[];
  /** Resolves when the speaker's own clock has come so many milliseconds further. */
  readonly played: (ms: number) => Promise<void>;
}
declare global {
  var rig: Rig;
}

async function openRig(browser: TestBrowser): Promise<Page> {
  const page = await browser.open();
  await page.evaluate(async () => {
    const output = new rxvoice.BrowserAudioOutput();
    await output.initialize();
    const node = output.audioNode;
    if (!node) throw new Error('no node');
    const context = node.context as AudioContext;
    const recording = sound.record(node, 128);
    const { recorder } = recording;
    globalThis.rig = {
      output,
      context,
      played: (ms) => sound.played(context, ms),
      async heard() {
        // An edge at a known time says which sample is which.
        const edge = new ConstantSourceNode(context, { offset: 1 });
        const edgeAt = context.currentTime + 0.3;
        edge.connect(recorder);
        const recorded = recording.louderThan(0.95);
        edge.start(edgeAt);
        await recorded;
        edge.stop();
        const all = recording.take();
        const edgeIndex = all.findIndex((sample) => sample > 0.95);
        const timeOf = (index: number): number => edgeAt + (index - edgeIndex) / context.sampleRate;
        const samples = pcm.toInt16(all.slice(0, edgeIndex));
        const end = samples.findLastIndex((sample) => sample !== 0);
        const tail = samples.subarray(end - 50, end + 2);
        const { text, utterances } = modem.decodeSamples(samples, context.sampleRate);
        return {
          ...{ text, utterances, from: timeOf(samples.findIndex((sample) => sample !== 0)), to: timeOf(end) },
          lastJump: Math.max(...tail.map((sample, at) => Math.abs(sample - (tail[at - 1] ?? sample)))),
        };
      },
      speech(text, pieceMs, sampleRate) {
        const bytes = pcm.int16Bytes(modem.encodeText(text, sampleRate));
        const length = Math.floor((pieceMs * sampleRate) / 1000) * 2 + 1;
        const metadata = { encoding: 'linear16', sampleRate, channels: 1 } as const;
        return Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) => ({
          data: bytes.slice(at * length, (at + 1) * length),
          metadata,
        }));
      },
    };
  });
  return page;
}

describe('BrowserAudioOutput in Chromium', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await TestBrowser.start();
  });
  afterAll(() => browser[Symbol.asyncDispose]());
  afterEach(() => {
    expect(browser.failures).toEqual([]);
  });

  for (const [pieceMs, sampleRate] of [
    [20, 24000],
    [1, 8000],
    [313, 44100],
  ] as const) {
    it(`plays pieces of ${pieceMs} ms at ${sampleRate} Hz without a gap`, async () => {
      const page = await openRig(browser);
      const { heard, events } = await page.evaluate(
        async ([piece, rate]) => {
          const { output, heard: recorded, speech } = rig;
          const events = await rxjs.lastValueFrom(
            output.play(speech('no gap anywhere', piece, rate) as never).pipe(rxjs.toArray()),
          );
          return { heard: await recorded(), events };
        },
        [pieceMs, sampleRate] as const,
      );
      expect(heard.text).toBe('no gap anywhere');
      expect(events[0]).toEqual({ type: 'started', positionMs: 0 });
      expect(events.at(-1)?.type).toBe('finished');
      expect(events.at(-1)?.positionMs).toBeCloseTo(15 * 80, 0);
      await page.close();
    });
  }

  it('lets its context come to rest before it closes it', async () => {
    const page = await openRig(browser);
    const states = await page.evaluate(async () => {
      const { output, context } = rig;
      const states: AudioContextState[] = [];
      context.addEventListener('statechange', () => states.push(context.state));
      await output.dispose();
      await sound.closed(context);
      return states;
    });
    expect(states).toEqual(['suspended', 'closed']);
    await page.close();
  });

  it('is silent 10 ms of audio after stop(), without a click, and knows what was heard', async () => {
    const page = await openRig(browser);
    const result = await page.evaluate(async () => {
      const { output, context, heard: recorded, speech, played } = rig;
      const text = 'this will be cut off in the middle of it';
      const done = rxjs.lastValueFrom(output.play(speech(text, 20, 24000) as never), { defaultValue: undefined });
      await played(1300);
      const stopAt = context.currentTime;
      const before = output.positionMs;
      // A busy machine's latency changes from moment to moment: the position counts on that of this one.
      const latencyMs = context.outputLatency * 1000;
      output.stop();
      const stoppedMs = output.positionMs;
      const stoppedAt = context.currentTime;
      const last = await done;
      await played(200);
      const { baseLatency } = context;
      return {
        ...{ heard: await recorded(), stopAt, stoppedAt, before, stoppedMs, after: output.positionMs, last },
        ...{ bufferMs: baseLatency * 1000, latencyMs },
      };
    });
    const { heard, stopAt, stoppedAt, before, stoppedMs, after, last, bufferMs } = result;
    expect(last?.type).not.toBe('finished');
    expect(after).toBe(stoppedMs);
    // What sounds while a busy machine rests between two lines is told by the sound's own clock.
    expect(stoppedMs - before).toBeLessThanOrEqual((stoppedAt - stopAt) * 1000 + bufferMs);
    expect((heard.to - stoppedAt) * 1000).toBeLessThan(10 + bufferMs);
    // What had left the speaker is what had sounded by then, but for what the hardware held.
    const soundedMs = (at: number): number => (at - heard.from) * 1000 - result.latencyMs;
    expect(before).toBeGreaterThan(soundedMs(stopAt) - bufferMs - 5);
    expect(before).toBeLessThan(soundedMs(stoppedAt) + bufferMs + 5);
    expect(heard.lastJump).toBeLessThan(2500);
    await page.close();
  });

  it('loses and repeats nothing at ten pauses', async () => {
    const page = await openRig(browser);
    const { heard, events } = await page.evaluate(async () => {
      const { output, heard: recorded, speech, played } = rig;
      // The play outlasts the tenth pause, however slow the page is.
      const rest$ = new rxjs.Subject<never>();
      const said$ = rxjs.concat(speech('paused again and again and again', 20, 24000) as never[], rest$);
      const done = rxjs.lastValueFrom(output.play(said$).pipe(rxjs.toArray()));
      for (let count = 0; count < 10; count++) {
        await played(150);
        output.pause();
        await played(60);
        output.resume();
      }
      rest$.complete();
      const events = await done;
      return { heard: await recorded(), events };
    });
    expect(heard.text).toBe('paused again and again and again');
    expect(events.filter(({ type }) => type === 'paused')).toHaveLength(10);
    expect(events.at(-1)?.positionMs).toBeCloseTo(32 * 80, 0);
    await page.close();
  });

  it('loses nothing of what comes when the page has been busy, although all before it had been played', async () => {
    const page = await openRig(browser);
    const heard = await page.evaluate(async () => {
      const { output, heard: recorded, speech, played } = rig;
      const chunks = speech('samples', 20, 24000);
      for (const chunk of chunks.slice(0, 14)) output.enqueue(chunk as never);
      await played(100);
      // The speaker's reports wait until the page has time for them.
      for (const end = performance.now() + 700; performance.now() < end;);
      for (const chunk of chunks.slice(14)) output.enqueue(chunk as never);
      const position = output.positionMs;
      await output.flush();
      return { ...(await recorded()), position };
    });
    expect(heard.utterances.join('')).toBe('samples');
    // Nor does it count as heard before it sounds.
    expect(heard.position).toBeLessThan(14 * 20 + 1);
    await page.close();
  });

  it('plays what is enqueued, and what the browser decodes', async () => {
    const page = await openRig(browser);
    const { heard, codec } = await page.evaluate(async () => {
      const { output, heard: recorded, speech, played } = rig;
      for (const chunk of speech('samples', 20, 16000)) output.enqueue(chunk as never);
      await output.flush();
      await played(300);
      // Opus in WebM, as Chromium makes it of the same voice.
      const source = new AudioContext({ sampleRate: 48000 });
      const buffer = source.createBuffer(1, 48000 * 1.5, 48000);
      buffer.copyToChannel(pcm.toFloat32(modem.encodeText('compressed', 48000)), 0, 24000);
      const stream = source.createMediaStreamDestination();
      const player = new AudioBufferSourceNode(source, { buffer });
      player.connect(stream);
      const recorder = new MediaRecorder(stream.stream, {
        mimeType: 'audio/webm;codecs=opus',
        audioBitsPerSecond: 128000,
      });
      const parts: Blob[] = [];
      recorder.ondataavailable = ({ data }) => parts.push(data);
      const stopped = new Promise((resolve) => (recorder.onstop = resolve));
      recorder.start();
      const over = new Promise((resolve) => (player.onended = resolve));
      player.start();
      await over;
      recorder.stop();
      await stopped;
      const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
      const metadata = { encoding: 'opus', container: 'webm', sampleRate: 48000, channels: 1 } as const;
      const pieces = [bytes.slice(0, 1000), bytes.slice(1000)].map((data) => ({ data, metadata }));
      await rxjs.lastValueFrom(output.play(pieces));
      return { heard: await recorded(), codec: recorder.mimeType };
    });
    expect(codec).toContain('opus');
    expect(heard.utterances).toEqual(['samples', 'compressed']);
    await page.close();
  });

  it('refuses what the browser cannot decode, and plays on', async () => {
    const page = await openRig(browser);
    const { heard, error } = await page.evaluate(async () => {
      const { output, heard: recorded, speech } = rig;
      const metadata = { encoding: 'mp3', sampleRate: 24000, channels: 1 } as const;
      const error = await rxjs.lastValueFrom(output.play([{ data: new Uint8Array(500).fill(7), metadata }])).then(
        () => undefined,
        (cause: unknown) => rxvoice.VoiceError.from(cause).toJSON(),
      );
      await rxjs.lastValueFrom(output.play(speech('fine', 20, 24000) as never));
      return { heard: await recorded(), error };
    });
    expect(error?.['code']).toBe('unsupported_format');
    expect(heard.text).toBe('fine');
    await page.close();
  });

  it('plays on in a hidden page (F56)', async () => {
    const page = await openRig(browser);
    const front = await browser.open();
    await front.bringToFront();
    const { heard, last } = await page.evaluate(async () => {
      const { output, heard: recorded, speech } = rig;
      const last = await rxjs.lastValueFrom(output.play(speech('behind another page', 20, 24000) as never));
      return { heard: await recorded(), last };
    });
    expect(last.type).toBe('finished');
    expect(heard.text).toBe('behind another page');
    await Promise.all([page.close(), front.close()]);
  });
});

// Slow: two browsers start, and conversations are as long as they sound. What Chromium does, other engines do too.
import type { AudioChunk } from 'rxvoice';
import { compressed } from '../../samples/sandbox/fixtures.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';
import { type EngineName, missingEngine, TestEngine } from './support/engines.ts';

const names: Readonly<Record<EngineName, string>> = { firefox: 'Firefox', webkit: 'WebKit' };

for (const name of ['firefox', 'webkit'] as const) {
  const missing = missingEngine(name);
  if (missing === undefined) describe(`in ${names[name]}`, () => inEngine(name));
  // CI installs both.
  else (process.env['CI'] ? it : it.skip)(missing, () => expect(missing).toBeUndefined());
}

function inEngine(name: EngineName): void {
  let engine: TestEngine;
  let sandbox: Sandbox;
  beforeAll(async () => {
    [engine, sandbox] = await Promise.all([TestEngine.start(name), startSandbox({ realtimeFactor: 4 })]);
  });
  afterAll(async () => {
    await Promise.all([engine[Symbol.asyncDispose](), sandbox.close()]);
  });

  it('an output plays every sample, pauses, goes on and stops', async () => {
    const page = await engine.open();
    const told = await page.evaluate(async () => {
      const output = new rxvoice.BrowserAudioOutput();
      await output.initialize();
      const node = output.audioNode;
      if (!node) throw new Error('no node');
      const recording = sound.record(node, 128);
      const samples = modem.encodeText('hello from a page', 24_000);
      const metadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1 } as const;
      const events: string[] = [];
      const half = samples.length & ~1;
      const chunks: AudioChunk[] = [
        { data: new Uint8Array(samples.buffer, 0, half), metadata },
        { data: new Uint8Array(samples.buffer, half) },
      ];
      const done = new Promise<void>((resolve, reject) => {
        output.play(chunks).subscribe({
          next: ({ type }) => {
            if (type !== 'progress') events.push(type);
          },
          complete: resolve,
          error: reject,
        });
      });
      const heard = recording.louderThan(0.1);
      await rxjs.firstValueFrom(output.playback$.pipe(rxjs.filter(({ type }) => type === 'started')));
      await heard;
      output.pause();
      await sound.played(node.context, 200);
      output.resume();
      await done;
      await recording.more(200);
      const { sampleRate } = node.context;
      const text = modem.decodeSamples(pcm.toInt16(recording.take()), sampleRate).text;
      await output.dispose();
      return { text, events };
    }, undefined);
    expect(told.events).toEqual(['started', 'paused', 'resumed', 'finished']);
    // The pause is in the middle of a character.
    expect(told.text.replace(/^./u, 'h')).toBe('hello from a page');
  });

  // GTK's WebKit decodes by GStreamer, which Safari does not have.
  for (const format of name === 'webkit' ? [] : (['mp3', 'opus'] as const)) {
    it(`an output plays ${format}`, async () => {
      const page = await engine.open();
      const bytes = [...(await compressed(format, encodeText('it sounds', 24_000), 24_000))];
      const text = await page.evaluate(
        async ({ format, bytes }) => {
          const output = new rxvoice.BrowserAudioOutput();
          await output.initialize();
          const node = output.audioNode;
          if (!node) throw new Error('no node');
          const recording = sound.record(node, 128);
          const containers = { mp3: 'mp3', opus: 'ogg' } as const;
          const metadata = { encoding: format, container: containers[format], sampleRate: 24_000, channels: 1 };
          const chunk: AudioChunk = { data: Uint8Array.from(bytes), metadata, endsFile: true };
          await new Promise<void>((resolve, reject) => {
            output.play([chunk]).subscribe({ complete: resolve, error: reject });
          });
          await recording.more(200);
          const { sampleRate } = node.context;
          const { text } = modem.decodeSamples(pcm.toInt16(recording.take()), sampleRate);
          await output.dispose();
          return text;
        },
        { format, bytes },
      );
      expect(text).toBe('it sounds');
    });
  }

  it('a microphone delivers 20 ms at a time, has a level and a name, and is let go', async () => {
    const page = await engine.open();
    const told = await page.evaluate(async () => {
      const microphone = new rxvoice.MicrophoneInput();
      const tracks: MediaStreamTrack[] = [];
      const { mediaDevices } = navigator;
      const open = mediaDevices.getUserMedia.bind(mediaDevices);
      mediaDevices.getUserMedia = async (constraints) => {
        const stream = await open(constraints);
        tracks.push(...stream.getTracks());
        return stream;
      };
      await microphone.initialize();
      await microphone.start();
      const chunks = await rxjs.firstValueFrom(microphone.audio$.pipe(rxjs.take(10), rxjs.toArray()));
      const level = await rxjs.firstValueFrom(
        rxvoice.audioLevels(microphone).pipe(rxjs.filter(({ peak }) => peak > 0.001)),
      );
      const { microphones } = await rxjs.firstValueFrom(
        rxvoice
          .audioDevices({ refresh$: rxjs.interval(100) })
          .pipe(rxjs.filter(({ microphones }) => microphones.some(({ label }) => label !== ''))),
      );
      const permission = await rxjs.firstValueFrom(rxvoice.microphonePermission());
      await microphone.dispose();
      return {
        lengths: [...new Set(chunks.map(({ data }) => data.length))],
        metadata: chunks[0]?.metadata,
        ...{ level, permission, named: microphones.length, states: tracks.map(({ readyState }) => readyState) },
      };
    }, undefined);
    expect(told).toMatchObject({ lengths: [640], metadata: { encoding: 'linear16', sampleRate: 16_000 } });
    expect(told.level.rms).toBeLessThanOrEqual(told.level.peak);
    expect(told.named).toBeGreaterThan(0);
    expect(['granted', 'prompt', 'unknown']).toContain(told.permission);
    expect(new Set(told.states)).toEqual(new Set(['ended']));
  });

  // On a busy machine GTK's WebKit loses samples between two contexts: there, it is typed.
  const isSpoken = name !== 'webkit';
  it(`converses: what is ${isSpoken ? 'said' : 'typed'} is answered on the speaker, and remembered`, async () => {
    const page = await engine.open();
    const told = await page.evaluate(
      async ({ alpha, nu, isSpoken }) => {
        const { AlphaFlux, AlphaTTS, BrowserAudioOutput, MicrophoneInput, NuLLM, Pipeline } = rxvoice;
        // A microphone that somebody speaks the modem into.
        const room = new AudioContext();
        await room.resume();
        const voice = modem.encodeText('what is two plus two', room.sampleRate);
        const buffer = room.createBuffer(1, voice.length, room.sampleRate);
        buffer.copyToChannel(
          Float32Array.from(voice, (sample) => sample / 32_768),
          0,
        );
        const ear = room.createMediaStreamDestination();
        // Never quite silent.
        const noise = new ConstantSourceNode(room, { offset: 0.0001 });
        noise.connect(ear);
        noise.start();
        navigator.mediaDevices.getUserMedia = () => Promise.resolve(ear.stream);
        const credential = { apiKey: 'sandbox-key' };
        const output = new BrowserAudioOutput();
        const pipeline = new Pipeline({
          providers: [
            new MicrophoneInput(),
            new AlphaFlux({ ...credential, endpoint: alpha, options: { eotThreshold: 0.6 } }),
            new NuLLM({ ...credential, endpoint: nu, model: 'openai/gpt-oss-20b' }),
            new AlphaTTS({ ...credential, endpoint: alpha }),
            output,
          ],
        });
        const errors: string[] = [];
        pipeline.errors$.subscribe(({ message }) => errors.push(message));
        await pipeline.initialize();
        if (!output.audioNode) throw new Error('no node');
        const recording = sound.record(output.audioNode, 128);
        await pipeline.start();
        const over = rxjs.firstValueFrom(pipeline.turns$.pipe(rxjs.filter(({ type }) => type === 'turn.ended')));
        const source = new AudioBufferSourceNode(room, { buffer });
        source.connect(ear);
        if (isSpoken) source.start(room.currentTime + 0.3);
        else pipeline.send('what is two plus two');
        await over;
        await recording.more(300);
        const { sampleRate } = output.audioNode.context;
        const { text } = modem.decodeSamples(pcm.toInt16(recording.take()), sampleRate);
        const history = pipeline.history.messages().map(({ content }) => content);
        await pipeline.dispose();
        return { errors, text: text.trim(), history };
      },
      { alpha: sandbox.endpoints.alpha, nu: sandbox.endpoints.nu, isSpoken },
    );
    expect(told).toEqual({ errors: [], text: told.history[1], history: ['what is two plus two', told.history[1]] });
    expect(told.text).not.toBe('');
  });
}

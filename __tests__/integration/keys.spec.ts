// Slow: telephone calls, at the speed of sound.
/** A PIN that is found in an event, a log, a recording, the history, metrics, or at somebody else's service. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { metrics, trace } from '@opentelemetry/api';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import {
  AlphaFlux,
  AlphaTTS,
  collectDigits,
  createLogger,
  NuLLM,
  PhoneSocketB,
  PhoneStreamA,
  Pipeline,
  record,
} from 'rxvoice';
import type { AudioChunk, VoiceEvent } from 'rxvoice';
import { int16View } from 'rxvoice/audio';
import { traceConversation } from 'rxvoice/opentelemetry';
import { WebSocketServer } from 'ws';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, type SampleEncoding } from '../../samples/sandbox/pcm.ts';
import { dial } from '../../samples/sandbox/phone-caller.ts';
import type { PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { dialSocket } from '../../samples/sandbox/phone-socket-caller.ts';
import { until } from '../transport/test-clock.ts';

/** With a sign that no number has: times and lengths are everywhere. */
const pin = '4*71';

interface Platform {
  readonly name: string;
  readonly create: () => PhoneStreamA | PhoneSocketB;
  readonly ring: (url: string) => Promise<PhoneLine>;
  readonly encoding: SampleEncoding;
  readonly sampleRate: number;
}

const platforms: readonly Platform[] = [
  {
    name: 'PhoneStreamA',
    create: () => new PhoneStreamA(),
    ring: (url) => dial({ url }),
    encoding: 'mulaw',
    sampleRate: 8000,
  },
  {
    name: 'PhoneSocketB',
    create: () => new PhoneSocketB(),
    ring: (url) => dialSocket({ url, sampleRate: 16_000 }),
    encoding: 'linear16',
    sampleRate: 16_000,
  },
];

/** Does what `target` does, and writes down what that and all that it returns is told. */
function overheard<T extends object>(target: T, lines: string[]): T {
  return new Proxy(target, {
    get: (from, key) => {
      const member: unknown = Reflect.get(from, key);
      if (typeof member !== 'function') return member;
      return (...told: unknown[]): unknown => {
        lines.push(JSON.stringify(told));
        const result: unknown = Reflect.apply(member, from, told);
        return typeof result === 'object' && result !== null ? overheard(result, lines) : result;
      };
    },
  });
}

/** What the caller types, in tones as well, as a phone does; then says goodbye. Gives where the PIN is found. */
async function leaksOf(sandbox: Sandbox, platform: Platform, secret: boolean): Promise<string[]> {
  const { encoding, sampleRate } = platform;
  const textOf = (bytes: Uint8Array): string => decodeSamples(readSamples(bytes, encoding), sampleRate).text;
  const key = { apiKey: 'sandbox-key' };
  const phone = platform.create();
  const [logs, events, recorded]: [string[], VoiceEvent[], AudioChunk[]] = [[], [], []];
  const log = (...words: unknown[]): void => void logs.push(JSON.stringify(words));
  const pipeline = new Pipeline({
    providers: [
      phone,
      new AlphaFlux({ ...key, endpoint: sandbox.endpoints.alpha, options: { eotThreshold: 0.6 } }),
      new NuLLM({ ...key, endpoint: sandbox.endpoints.nu, model: 'openai/gpt-oss-20b' }),
      new AlphaTTS({ ...key, endpoint: sandbox.endpoints.alpha, sampleRate: 8000, outputFormat: 'mulaw' }),
    ],
    inputEvents: true,
    logger: createLogger({ debug: log, info: log, warn: log, error: log }, { level: 'debug' }),
  });
  pipeline.events$.subscribe((event) => events.push(event));
  const recording = record(pipeline, { consent: true, events: ['transcript.final', 'dtmf.digit', 'speech.ended'] });
  const file = lastValueFrom(recording.wav$.pipe(toArray()));
  const lines = lastValueFrom(recording.lines$.pipe(toArray()));
  const [spans, figures]: [string[], string[]] = [[], []];
  traceConversation(pipeline, {
    ...{ tracer: overheard(trace.getTracer('none'), spans), content: true },
    meter: overheard(metrics.getMeter('none'), figures),
  });
  phone.audio$.subscribe((chunk) => recorded.push(chunk));

  const server = new WebSocketServer({ port: 0 });
  server.on('connection', (socket) => {
    phone.attach(socket);
    void pipeline.start();
  });
  await once(server, 'listening');
  const caller = await platform.ring(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await until(() => events.some(({ type }) => type === 'session.ready'));

  const prompt = pipeline.say('pin', { store: false });
  const typed = firstValueFrom(collectDigits(phone, { max: 4, prompt, secret }));
  await caller.until(({ playedMs, bufferedMs }) => playedMs > 0 && bufferedMs === 0);
  caller.say(pin);
  for (const digit of pin) caller.press(digit);
  expect(await typed).toEqual({ digits: pin, reason: 'max' });
  // Typed too much, as people do.
  caller.press('9');
  // What is said later is heard again.
  await caller.until(({ isSpeaking }) => !isSpeaking);
  const quietAt = caller.nowMs;
  await caller.until(({ nowMs }) => nowMs > quietAt + 1_500);
  caller.say('say bye');
  await caller.until(({ isSpeaking }) => !isSpeaking);
  await until(() => events.some((event) => event.type === 'speech.ended' && /bye/i.test(event.heardText)));
  caller.press('5');
  await until(() => events.some((event) => event.type === 'dtmf.digit' && event.digit === '5'));
  await caller.hangUp();
  await until(() => events.some(({ type }) => type === 'session.closed'));
  await pipeline.dispose();
  server.close();

  // Metrics never have words: it is enough that there are some.
  expect(figures.length).toBeGreaterThan(10);
  const facts = events.map((event) => ('chunk' in event ? event.type : JSON.stringify(event)));
  const chunks = events.flatMap((event) => (event.type === 'audio.input' ? [event.chunk.data] : []));
  const sent = sandbox
    .records()
    .flatMap(({ body, messages }) => [
      Buffer.from(body).toString(),
      ...messages.flatMap(({ text = '' }) => text),
      textOf(concatBytes(messages.flatMap(({ from, bytes }) => (from === 'client' && bytes ? [bytes] : [])))),
    ]);
  const outputs: Readonly<Record<string, readonly string[]>> = {
    events: facts,
    keys: events.map((event) => (event.type === 'dtmf.digit' && event.digit !== '5' ? pin : '')),
    logs,
    'recorded events': [textOf(concatBytes(chunks))],
    audio: [textOf(concatBytes(recorded.map(({ data }) => data)))],
    recording: [decodeSamples(callersSide(concatBytes(await file)), sampleRate).text],
    'events beside it': await lines,
    traces: spans,
    metrics: figures,
    history: [JSON.stringify(pipeline.history.items)],
    services: sent,
  };
  return Object.keys(outputs).filter((name) => outputs[name]?.some((text) => text.includes(pin)));
}

/** The left channel of a WAV file. */
function callersSide(wav: Uint8Array<ArrayBuffer>): Int16Array {
  return int16View(wav.slice(44)).filter((_, at) => at % 2 === 0);
}

describe.each(platforms)('a PIN on $name', (platform) => {
  it('is nowhere when it is secret', async () => {
    await using sandbox = await startSandbox();
    expect(await leaksOf(sandbox, platform, true)).toEqual([]);
  });

  it('is in all of these otherwise: the search finds what there is', async () => {
    await using sandbox = await startSandbox();
    expect(await leaksOf(sandbox, platform, false)).toEqual([
      ...[
        'events',
        'keys',
        'recorded events',
        'audio',
        'recording',
        'events beside it',
        'traces',
        'history',
        'services',
      ],
    ]);
  });
});

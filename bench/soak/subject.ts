// The system under test, in a process of its own: a server that answers telephone calls with a pipeline each.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapCodeStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocketServer, type WebSocket } from 'ws';
import { PhoneSocketB, PhoneStreamA, Pipeline, type VoiceEvent } from 'rxvoice';
import type { VendorName } from '../../samples/sandbox/index.ts';
import { serve } from '../load/child.ts';
import { greeting, type Log, type Speech, type Vitals } from './judge.ts';
import { callOf } from './script.ts';
import { ears, minds, voices } from './services.ts';

/** What {@link open} is told. */
export interface Opening {
  readonly seed: number;
  readonly proxies: Readonly<Record<VendorName, string>>;
}

const logs: Log[] = [];
const complaints: string[] = [];
const delay = monitorEventLoopDelay({ resolution: 5 });
let calls = 0;
let ended = 0;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('warning', ({ message }) => complaints.push(message));
process.on('unhandledRejection', (reason) => complaints.push(`unhandled rejection: ${String(reason)}`));
process.on('uncaughtException', ({ stack, message }) => complaints.push(`uncaught: ${stack ?? message}`));

/** How often it is looked whether the process keeps time, in milliseconds. */
const lookEveryMs = 10;
/** How late it was at worst since each call began, in milliseconds. */
const latest = new Map<number, number>();
let dueAt = performance.now() + lookEveryMs;
setInterval(() => {
  const now = performance.now();
  for (const [call, lateMs] of latest) latest.set(call, Math.max(lateMs, now - dueAt));
  dueAt = now + lookEveryMs;
}, lookEveryMs).unref();

/** Many, and telling nothing. */
const quiet = new Set([
  'audio.chunk',
  'level',
  'caption.word',
  'llm.token',
  'usage',
  'turn.metrics',
  'provider.format',
]);

/** An event for people: what it is, and what was said. */
function lineOf(event: VoiceEvent): string | undefined {
  if (quiet.has(event.type)) return undefined;
  const told = ['role', 'text', 'heardText', 'reason', 'state', 'code', 'message'].flatMap((key) => {
    const value: unknown = Reflect.get(event, key);
    return typeof value === 'string' ? [key === 'text' || key === 'heardText' ? JSON.stringify(value) : value] : [];
  });
  return [event.type, ...told].join(' ');
}

/** Answers a call, and keeps what its agent makes of it. */
function answer(socket: WebSocket, call: number, { seed, proxies }: Opening): void {
  const { platform, ear, mind, voice } = callOf(seed, call);
  const phone = platform === 'a' ? new PhoneStreamA() : new PhoneSocketB();
  phone.attach(socket);
  const services = [ears[ear], minds[mind], voices[voice]].flatMap((each) => each ?? []);
  const pipeline = new Pipeline({
    providers: [phone, ...services.map(({ vendor, create }) => create({ proxyUrl: proxies[vendor] }))],
    // By its number the model's requests are told apart.
    systemPrompt: `This is call #${call}#.`,
    greeting,
  });
  const open = { turns: 0, speeches: 0 };
  const speeches: Speech[] = [];
  const mishaps: string[] = [];
  const trail: string[] = [];
  const startedAt = performance.now();
  let [resumes, restarts] = [0, 0];
  pipeline.events$.subscribe((event) => {
    const line = lineOf(event);
    if (line !== undefined) trail.push(`${(performance.now() - startedAt).toFixed(0).padStart(6)} ${line}`);
    if (event.type === 'turn.started') open.turns++;
    else if (event.type === 'turn.ended') open.turns--;
    else if (event.type === 'speech.created') open.speeches++;
    else if (event.type === 'speech.ended') {
      open.speeches--;
      const { text, heardText, interrupted } = event;
      speeches.push({ text, heardText, interrupted, resumes, restarts });
      [resumes, restarts] = [0, 0];
    } else if (event.type === 'speech.resumed') resumes++;
    else if (event.type === 'error') mishaps.push(`${event.role ?? ''} ${event.code}`);
    else if (event.type === 'provider.lost') mishaps.push(`${event.role ?? ''} lost`);
    else if (event.type === 'provider.reconnecting') {
      mishaps.push(`${event.role ?? ''} reconnecting`);
      if (event.role === 'tts') restarts++;
    }
  });
  const end = async (): Promise<void> => {
    const endsAt = performance.now();
    await pipeline.dispose();
    calls--;
    ended++;
    const history = pipeline.history.messages().map(({ role, content }) => [role, content] as const);
    const lateMs = latest.get(call) ?? 0;
    latest.delete(call);
    logs.push({ call, open, speeches, history, mishaps, trail, lateMs, endMs: performance.now() - endsAt });
  };
  calls++;
  latest.set(call, 0);
  pipeline.once('session.closed', () => void end());
  void pipeline.start();
}

serve({
  open: async (opening: Opening) => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
    server.on('connection', (socket, { url }) => answer(socket, Number(url?.slice(1)), opening));
    await once(server, 'listening');
    delay.enable();
    return (server.address() as AddressInfo).port;
  },
  /** What the process takes, once everything that nobody holds is gone. */
  vitals: (): Vitals => {
    const delayMs = delay.percentile(99) / 1e6;
    collect();
    // The collection is not the library's.
    delay.reset();
    const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
    const code = getHeapCodeStatistics();
    // What V8 compiles while it learns what runs often is no call's, and takes hundreds of calls.
    const codeBytes = code.code_and_metadata_size + code.bytecode_and_metadata_size;
    const { user, system } = process.cpuUsage();
    return {
      ...{
        calls,
        ended,
        heapBytes: heapUsed + external - codeBytes,
        rssBytes: rss,
        delayMs,
        cpuMs: (user + system) / 1000,
      },
      outsideBytes: rss - heapTotal,
      handles: process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length,
    };
  },
  /** What the calls that have ended since the last question came to. */
  logs: (): readonly Log[] => logs.splice(0),
  /** What the runtime complained about. */
  complaints: (): readonly string[] => complaints,
});

import cluster from 'node:cluster';
import { parseArgs } from 'node:util';
import type { Snapshot } from './metrics.ts';
import { Processes, shareFigures } from './processes.ts';
import { openServices } from './services.ts';
import { Switchboard } from './switchboard.ts';

const help = `A server that answers telephone calls, each with a pipeline of its own.

  npm run phone                        on the sandbox, no keys; http://127.0.0.1:8080 is a softphone
  npm run phone -- --workers 4         so many processes on one port
  npm run phone -- --nats              starts a nats-server, and a page of all calls of all processes
  npm run phone -- --nats URL          the same with one that runs, such as for several machines
  npm run phone -- --port N --host H --max-calls N --drain-ms N --greeting TEXT --board-port N

On the real services, with keys in the environment:
  DEEPGRAM_API_KEY, GROQ_API_KEY       speech-to-text and voices; the language model (GROQ_MODEL chooses it)
  PUBLIC_URL                           where the platforms reach this server, such as https://voice.example.com
  TWILIO_AUTH_TOKEN                    calls of PhoneStreamA must be signed with it; point the number at PUBLIC_URL/twiml
  TWILIO_ACCOUNT_SID                   with the token: the page of all calls can transfer those of PhoneStreamA
  VONAGE_SIGNATURE_SECRET              calls of PhoneSocketB must be signed with it; the answer URL is PUBLIC_URL/ncco

Without a platform's secret only this machine may call it, and with PUBLIC_URL nobody.

GET /healthz (alive), /readyz (takes calls), /metrics (Prometheus). SIGTERM: takes no more calls, lets those under way end
for --drain-ms (default 30000), ends them politely, exits with 0. docs/phones.md has more.
`;

/** `--nats` may stand alone. */
const args = process.argv.slice(2).map((arg, index, all) => {
  return arg === '--nats' && !/^[a-z]+:/.test(all[index + 1] ?? '') ? '--nats=' : arg;
});
const { values } = parseArgs({
  args,
  options: {
    port: { type: 'string', default: '8080' },
    host: { type: 'string', default: '127.0.0.1' },
    workers: { type: 'string', default: '1' },
    'max-calls': { type: 'string', default: '200' },
    'drain-ms': { type: 'string', default: '30000' },
    greeting: { type: 'string', default: 'Hello! How can I help you?' },
    nats: { type: 'string' },
    'board-port': { type: 'string', default: '8081' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const log = (line: string): void => void process.stdout.write(`${line}\n`);
const { env } = process;

/** The whole numbers of the command line. */
const numbers = ['port', 'workers', 'max-calls', 'drain-ms', 'board-port'] as const;
const [port, workers, maxCalls, drainMs, boardPort] = numbers.map((name) => {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  process.stderr.write(`--${name} ${values[name]}: a whole number is wanted\n`);
  process.exit(2);
}) as [number, number, number, number, number];

/**
 * Ends on the first SIGTERM or SIGINT. The second one is not waited for; but one of several processes gets the same
 * signal from the terminal (or from systemd) and from the first process, which alone decides.
 */
function onEnd(end: () => Promise<void>): void {
  let isEnding = false;
  const listener = (): void => {
    if (isEnding && !cluster.isWorker) process.exit(1);
    if (isEnding) return;
    isEnding = true;
    end().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', listener);
  process.on('SIGINT', listener);
}

/** The broker of all processes and the page of all calls, where `--nats` asks for them. */
async function openBoard(): Promise<{ readonly url: string; readonly close: () => Promise<void> } | undefined> {
  if (values.nats === undefined) return undefined;
  const [{ natsBoard }, { dialNats }, { NatsServer }, { Wallboard }] = await Promise.all([
    import('rxvoice/nats'),
    import('./publishing.ts'),
    import('./nats-server.ts'),
    import('./wallboard.ts'),
  ]);
  const server = values.nats === '' ? await NatsServer.start() : undefined;
  const url = server?.url ?? values.nats;
  const nats = dialNats(url);
  const wallboard = await Wallboard.open(natsBoard(nats), boardPort);
  log(`All calls are seen at ${wallboard.url}, over NATS at ${url}`);
  return {
    url,
    close: async () => {
      await wallboard[Symbol.asyncDispose]();
      // Not waited for: a broker that was never reached has no connection to close.
      void nats.then((connection) => connection.close());
      await server?.[Symbol.asyncDispose]();
    },
  };
}

async function lead(): Promise<void> {
  const { startSandbox } = await import('../sandbox/index.ts');
  const sandbox = env['DEEPGRAM_API_KEY'] && env['GROQ_API_KEY'] ? undefined : await startSandbox({ keepRecords: 0 });
  const { alpha, nu } = sandbox?.endpoints ?? {};
  const board = await openBoard();
  const addresses = {
    ...(sandbox && { PHONE_SANDBOX: JSON.stringify({ alpha, nu }) }),
    ...(board && { PHONE_NATS: board.url }),
  };
  const processes = new Processes(workers, addresses, log, () => process.exit(1));
  onEnd(async () => {
    await processes.end();
    await board?.close();
    await sandbox?.close();
  });
}

async function answerCalls(): Promise<void> {
  const known = env['PHONE_SANDBOX'];
  const services = await openServices(env, known ? (JSON.parse(known) as { alpha: string; nu: string }) : undefined);
  // One of several processes is told where the broker is.
  const board = cluster.isWorker ? undefined : await openBoard();
  const natsUrl = board?.url ?? env['PHONE_NATS'];
  const publishing = natsUrl ? new (await import('./publishing.ts')).Publishing(natsUrl, env) : undefined;
  const shared: { all?: () => Promise<Snapshot>; stop?: () => void } = {};
  const { PUBLIC_URL: publicUrl, TWILIO_AUTH_TOKEN: authToken, VONAGE_SIGNATURE_SECRET: signatureSecret } = env;
  const switchboard = await Switchboard.open({
    ...{ services, log, host: values.host, port, maxCalls },
    greeting: values.greeting,
    ...(publicUrl && { publicUrl }),
    ...(authToken && { authToken }),
    ...(signatureSecret && { signatureSecret }),
    ...(publishing && { answered: (pipeline, phone) => publishing.add(pipeline, phone) }),
    figures: () => shared.all?.() ?? switchboard.metrics.snapshot(),
  });
  if (cluster.isWorker) Object.assign(shared, shareFigures(switchboard.metrics));
  const by = services.real ? 'the real services' : 'the sandbox';
  log(`Calls are answered at http://${values.host}:${switchboard.port} by ${by}, in process ${process.pid}`);
  onEnd(async () => {
    await switchboard.drain(drainMs);
    await publishing?.close();
    await board?.close();
    shared.stop?.();
    await services.close();
  });
}

const work = (): Promise<void> => (workers > 1 && cluster.isPrimary ? lead() : answerCalls());
if (values.help) log(help);
else {
  await work().catch((cause: unknown) => {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
    process.exit(1);
  });
}

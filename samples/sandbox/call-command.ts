import { parseArgs } from 'node:util';
import { dial, type PhoneCaller } from './phone-caller.ts';
import { numberOption, UsageError } from './command-line.ts';
import { member } from './validate.ts';

const help = `A caller for your phone server: calls it on Twilio's wire, says the lines, and prints what it hears.
It speaks and understands the sandbox's tones: run the server with \`rxvoice sandbox\`.

  rxvoice call ws://127.0.0.1:8080/call "hello" "count to 3" "[1#]"

A line in brackets is keys that are pressed. The next line follows once the agent has been silent for a while.

  --token TEXT        the account's auth token, which signs the upgrade
  --public-url URL    the address that is signed, if the server checks another one
  --parameter A=B     a <Parameter> of the TwiML, any number of them
  --pause N           how long the agent is silent before the caller goes on, in milliseconds; default 2000
  --patience N        longest wait for the agent to begin, in milliseconds; default 10000
`;

/** What a test changes. */
interface CallSetting {
  readonly print?: (line: string) => void;
  /** How fast the caller's clock runs, as a multiple of real time. */
  readonly speed?: number;
}

/** Makes a call by its command line; resolves with the exit code. */
export async function runCall(
  args: readonly string[],
  { print = console.log, speed = 1 }: CallSetting = {},
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      token: { type: 'string' },
      'public-url': { type: 'string' },
      parameter: { type: 'string', multiple: true, default: [] },
      pause: { type: 'string', default: '2000' },
      patience: { type: 'string', default: '10000' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [url, ...lines] = positionals;
  if (values.help || url === undefined) {
    print(help);
    return values.help ? 0 : 2;
  }
  const { token, 'public-url': publicUrl } = values;
  const [pauseMs, patienceMs] = [numberOption('pause', values.pause), numberOption('patience', values.patience)];
  const pairs = values.parameter.map((pair): [string, string] => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined || value === undefined) throw new UsageError(`--parameter takes NAME=VALUE, not "${pair}"`);
    return [name, value];
  });
  for (const [line, keys = ''] of lines.flatMap((each) => [/^\[(.+)\]$/.exec(each) ?? []])) {
    if (/[^0-9*#A-D]/.test(keys)) throw new UsageError(`${line} has more than the keys 0 to 9, *, #, A to D`);
  }
  let caller: PhoneCaller;
  try {
    caller = await dial({
      ...{ url, speed, customParameters: Object.fromEntries(pairs) },
      ...(token !== undefined && { authToken: token }),
      ...(publicUrl !== undefined && { publicUrl }),
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (member(error, 'code') === 'ECONNREFUSED') print(`${message}: no server listens at ${url}; start yours first`);
    else if (/\b403$/.test(message)) print(`${message}: does it check the signature? Pass --token, and --public-url`);
    else print(message);
    return 1;
  }
  let told = 0;
  const tell = (): void => {
    const { text } = caller.heard();
    if (text.length > told) print(`agent:  ${text.slice(told).trim()}`);
    told = text.length;
  };
  let isOver = false;
  try {
    for (const line of ['', ...lines]) {
      if (line !== '') print(`caller: ${line}`);
      const keys = /^\[(.+)\]$/.exec(line)?.[1];
      if (keys !== undefined) for (const key of keys) caller.press(key);
      else if (line !== '') caller.say(line);
      await caller.until(answer(pauseMs, patienceMs));
      tell();
    }
  } catch {
    isOver = true;
    tell();
  }
  const code = isOver ? await caller.ended : await caller.hangUp();
  for (const { code: number, text } of caller.warnings)
    print(`warning: ${number === undefined ? '' : `${number}: `}${text}`);
  print(isOver ? `The server has hung up (${code}).` : 'The caller has hung up.');
  return 0;
}

/** Whether the agent has answered what the caller says, and has been silent since; or has not begun in time. */
function answer(pauseMs: number, patienceMs: number): (caller: PhoneCaller) => boolean {
  let played: number | undefined;
  let quietSince = 0;
  let hasBegun = false;
  return (caller) => {
    const { playedMs, nowMs } = caller;
    const isHeard = playedMs !== (played ?? playedMs);
    if (played === undefined || isHeard || caller.isSpeaking) quietSince = nowMs;
    if (isHeard && !caller.isSpeaking) hasBegun = true;
    played = playedMs;
    return nowMs - quietSince >= (hasBegun ? pauseMs : patienceMs);
  };
}

import { bodyJson, type Sandbox } from '../../samples/sandbox/index.ts';
import type { Log, Told, Vitals } from './judge.ts';
import { callOf } from './script.ts';
import { minds } from './services.ts';

/** One thing that must be so. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** The figures behind it, for people. */
  readonly detail: string;
  /** What was wrong, the first of it. */
  readonly problems: readonly string[];
  /** The calls that were no good, with what happened in them. */
  readonly trails?: ReadonlyMap<number, readonly string[]>;
}

const mostProblems = 5;

/** A check that holds when there are no problems. */
export function check(name: string, detail: string, problems: readonly string[]): Check {
  return { name, detail, problems: problems.slice(0, mostProblems), ok: problems.length === 0 };
}

/** What all ends of a run have seen. */
export class Ledger {
  readonly told: Told[] = [];
  readonly logs = new Map<number, Log>();
  readonly vitals: (Vitals & { readonly seconds: number })[] = [];
  /** What the model was sent of a call's caller, request by request. */
  readonly sent = new Map<number, string[]>();
  readonly seed: number;
  mishaps = 0;

  constructor(seed: number) {
    this.seed = seed;
  }

  /** Reads what the models were sent since the last look. */
  read(sandbox: Sandbox): void {
    const asked = Object.values(minds).flatMap(({ services }) => services);
    for (const record of asked.flatMap((name) => sandbox.records(name))) {
      const text = new TextDecoder().decode(record.body);
      const call = Number(/#(\d+)#/.exec(text)?.[1]);
      this.sent.set(call, [...(this.sent.get(call) ?? []), userText(bodyJson(record))]);
    }
    sandbox.clearRecords();
  }

  /** What a judge says of every call. */
  judge(name: string, detail: string, judge: (told: Told, log: Log) => readonly string[]): Check {
    const trails = new Map<number, readonly string[]>();
    const problems = this.told.flatMap((told) => {
      const log = this.logs.get(told.call);
      const found = log ? judge(told, log) : ['the agent never ended it'];
      const { platform, ear, mind, voice } = callOf(this.seed, told.call);
      const who = `call ${told.call} (${platform}, ${ear}, ${mind}, ${voice})`;
      const all = found.map((problem) => `${who}: ${problem}`);
      if (all.length > 0)
        trails.set(told.call, [...all, ...(log?.trail ?? []), 'In the receiver, on its clock:', ...told.lines]);
      return all;
    });
    return { ...check(name, detail, problems), trails };
  }
}

/** What stands for a user who has not spoken yet: models want one to begin. */
const nothing = '(empty)';

/** The user's words in the body of a request, in the form of any vendor. */
function userText(body: unknown): string {
  const { messages = [] } = body as {
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  };
  const textOf = (content: unknown): string =>
    Array.isArray(content)
      ? content.map((part: { readonly text?: string }) => part.text ?? '').join(' ')
      : String(content);
  return messages
    .flatMap(({ role, content }) => (role === 'user' && textOf(content) !== nothing ? [textOf(content)] : []))
    .join(' ');
}

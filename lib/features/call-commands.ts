import { asBoolean, asObject, asString, type WireObject } from '../core/guard.ts';
import { parseJsonObject } from '../core/parse-json.ts';
import { messageOf } from '../core/errors.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { CallCommand, CommandReply, CommandedChanges } from './call-sink.ts';

/** The application's part in carrying out commands. */
export interface CommandedCall {
  readonly pipeline: Pick<Pipeline, 'interrupt' | 'say' | 'send' | 'state' | 'update'>;
  /** The commands to accept. */
  readonly commands: readonly CallCommand['type'][];
  readonly hangUp: () => unknown;
  readonly transfer: ((to: string) => unknown) | undefined;
}

/** Longest text of a command, in characters. */
const maxTextCharacters = 10_000;

const commandedOptions: Readonly<Record<keyof CommandedChanges, true>> = {
  agent: true,
  bargeIn: true,
  followLanguage: true,
  greeting: true,
  listening: true,
  locale: true,
  preflight: true,
  systemPrompt: true,
  timeouts: true,
};

/** Checks and carries out an untrusted command. Never rejects. */
export async function carryOut(body: string, call: CommandedCall): Promise<CommandReply> {
  try {
    const command = readCommand(parseJsonObject(body));
    if (typeof command === 'string') return refused(command);
    if (!call.commands.includes(command.type)) return refused(`this call takes no "${command.type}"`);
    if (command.type !== 'update' && command.type !== 'hangUp' && call.pipeline.state !== 'running') {
      return refused('the call is not under way');
    }
    const problem = await perform(command, call);
    return problem === undefined ? { ok: true } : refused(problem);
  } catch (cause) {
    return refused(messageOf(cause));
  }
}

async function perform(
  command: CallCommand,
  { pipeline, hangUp, transfer }: CommandedCall,
): Promise<string | undefined> {
  switch (command.type) {
    case 'say':
      pipeline.say(command.text, { interruptible: command.interruptible ?? true });
      return undefined;
    case 'send':
      pipeline.send(command.text);
      return undefined;
    case 'interrupt':
      pipeline.interrupt();
      return undefined;
    case 'hangUp':
      await hangUp();
      return undefined;
    case 'transfer':
      if (!transfer) return 'this call cannot be transferred';
      await transfer(command.to);
      return undefined;
    case 'update':
      pipeline.update(command.changes);
      return undefined;
  }
}

/** The command, or why it is invalid. */
function readCommand(message: WireObject | undefined): CallCommand | string {
  const type = asString(message?.['type']);
  switch (type) {
    case 'say':
    case 'send': {
      const text = asString(message?.['text']) ?? '';
      if (text.trim() === '') return `"${type}" needs a text`;
      if (text.length > maxTextCharacters) return `the text is longer than ${maxTextCharacters} characters`;
      if (type === 'send') return { type, text };
      return { type, text, interruptible: asBoolean(message?.['interruptible']) ?? true };
    }
    case 'interrupt':
    case 'hangUp':
      return { type };
    case 'transfer': {
      const to = asString(message?.['to']) ?? '';
      return to.trim() === '' || to.length > maxTextCharacters ? '"transfer" needs a destination, `to`' : { type, to };
    }
    case 'update':
      return readChanges(asObject(message?.['changes']));
    default:
      return type === undefined ? 'not a command: no `type`' : `no command is called "${type.slice(0, 40)}"`;
  }
}

function readChanges(changes: WireObject | undefined): CallCommand | string {
  if (!changes) return '"update" needs `changes`';
  const other = Object.keys(changes).filter((key) => !Object.hasOwn(commandedOptions, key));
  if (other.length > 0) return `a command cannot change ${other.join(', ').slice(0, 200)}`;
  const wrong = (['systemPrompt', 'greeting', 'agent', 'locale'] as const).find(
    (key) => key in changes && typeof changes[key] !== 'string',
  );
  // The pipeline checks the rest.
  return wrong ? `${wrong} must be a text` : { type: 'update', changes };
}

function refused(message: string): CommandReply {
  return { ok: false, message };
}

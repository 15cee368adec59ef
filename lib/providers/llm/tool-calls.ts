import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { parseJson, parseJsonObject } from '../../core/parse-json.ts';
import type { ToolCall } from '../../core/messages.ts';

/** A chat completion's call, as received so far. */
export interface PartialCall {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly argsText: string;
  readonly extraContent: WireObject | undefined;
}

/** Limits on what a service may send. */
const maxCalls = 128;
const maxArgsLength = 1_048_576;

/**
 * Adds the `tool_calls` of one delta to the calls so far. Services send fragments in many ways: by index, by id, by
 * neither, all with index 0, with a new id or the name repeated in each fragment, or whole.
 */
export function addFragments(calls: readonly PartialCall[], fragments: unknown): readonly PartialCall[] {
  return asObjects(fragments).reduce(addFragment, calls);
}

function addFragment(calls: readonly PartialCall[], fragment: WireObject): readonly PartialCall[] {
  const { arguments: args, ...call } = asObject(fragment['function']) ?? {};
  const id = textOf(fragment['id']);
  const name = textOf(call['name']);
  const index = asNumber(fragment['index']);
  const known = continued(calls, { index, id, name, args });
  if (!known && calls.length >= maxCalls) return calls;
  const { argsText, ...before } = known ?? { index, id, name, argsText: '', extraContent: undefined };
  const next: PartialCall = {
    index: before.index,
    id: before.id || id,
    name: before.name || name,
    argsText:
      typeof args === 'string'
        ? (argsText + args).slice(0, maxArgsLength)
        : asObject(args)
          ? JSON.stringify(args)
          : argsText,
    extraContent: asObject(fragment['extra_content']) ?? before.extraContent,
  };
  return known ? calls.map((each) => (each === known ? next : each)) : [...calls, next];
}

interface Fragment extends Pick<PartialCall, 'index' | 'id' | 'name'> {
  readonly args: unknown;
}

/** The call that a fragment continues; `undefined` when it starts a new one. */
function continued(calls: readonly PartialCall[], { index, id, name, args }: Fragment): PartialCall | undefined {
  const isNewId = id !== '' && !calls.some((call) => call.id === id);
  if (index === undefined) {
    const known = id ? calls.find((call) => call.id === id) : undefined;
    return known ?? (isNewId || name ? undefined : calls.at(-1));
  }
  const call = calls.findLast((each) => each.index === index);
  if (!call || !name) return call;
  // Some services send every call with index 0; others repeat the name, or send a new id, in each fragment of a call.
  const isWhole = typeof args === 'string' ? args.trimStart().startsWith('{') : asObject(args) !== undefined;
  const isAnother = isNewId && call.id !== '' && call.name !== '' && name !== call.name;
  const isNext = isWhole && call.argsText !== '' && (isNewId || parseArgs(call.argsText).args !== undefined);
  return isAnother || isNext ? undefined : call;
}

/** Options of {@link wholeCalls}. */
export interface WholeCallsOptions {
  readonly newId: () => string;
  /** Whether the answer hit its length limit, so that arguments that do not parse are incomplete. */
  readonly isCut: boolean;
}

/** The calls of an answer that has ended, in order. No call is complete before that. */
export function wholeCalls(calls: readonly PartialCall[], { newId, isCut }: WholeCallsOptions): ToolCall[] {
  const ids = new Set<string>();
  return calls.flatMap(({ id, name, argsText, extraContent }) => {
    const parsed = parseArgs(argsText);
    if (!name || (isCut && parsed.args === undefined)) return [];
    // Two calls with one id would share one result.
    const unique = id && !ids.has(id) ? id : newId();
    ids.add(unique);
    return [{ id: unique, name, ...parsed, ...(extraContent && { providerExtras: { extra_content: extraContent } }) }];
  });
}

/**
 * The tool calls in a text such as `{"name": "get_weather", "arguments": {}}` or `<tool_call>…</tool_call>`, which
 * small local models write instead of calling. Empty unless the whole text is calls of known tools.
 */
export function callsInText(text: string, toolNames: readonly string[], newId: () => string): ToolCall[] {
  const parts = text
    .replaceAll('</tool_call>', '')
    .split('<tool_call>')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const calls = parts.map((part) => {
    const call = parseJsonObject(part);
    const name = asString(call?.['name']);
    const args = asObject(call?.['arguments'] ?? call?.['parameters'] ?? {});
    if (name === undefined || !toolNames.includes(name) || !args) return undefined;
    return { id: newId(), name, args, argsText: JSON.stringify(args) };
  });
  return calls.every((call) => call !== undefined) ? calls : [];
}

/** A non-empty text: some services send blanks, or the word `null`. */
function textOf(value: unknown): string {
  const text = asString(value)?.trim() ?? '';
  return text === 'null' ? '' : text;
}

/** A call's arguments; `{}` when there are none, `undefined` when they do not parse. */
export function parseArgs(argsText: string): Pick<ToolCall, 'args' | 'argsText'> {
  const text = argsText.trim();
  if (text === '' || text === 'null') return { args: {}, argsText: '{}' };
  try {
    return { args: parseJson(text), argsText };
  } catch {
    return { args: undefined, argsText };
  }
}

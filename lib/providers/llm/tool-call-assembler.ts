import { arr, num, obj, str, type WireObject } from '../../core/guard.ts';
import type { ToolCall } from '../../core/messages.ts';

interface Entry {
  readonly index: number | undefined;
  id: string;
  name: string;
  argsText: string;
  extraContent: WireObject | undefined;
}

/** Bounds of what a service may send. */
const maxCalls = 128;
const maxArgsLength = 1_048_576;

/** What {@link ToolCallAssembler.finish} needs to know. */
export interface AssembledOptions {
  /** Makes an id for a call that came without one. */
  readonly newId: () => string;
  /** Whether the answer was cut at its length limit, so that arguments which do not parse are only the half. */
  readonly isCut: boolean;
}

/**
 * Puts a chat completion's tool calls together from their fragments, in the many ways that services send them: by
 * index, by id, by neither, all with index 0, with a new id or the name in each fragment, whole.
 */
export class ToolCallAssembler {
  readonly #entries: Entry[] = [];

  /** Takes the `tool_calls` of one delta. */
  add(fragments: unknown): void {
    for (const value of arr(fragments)) {
      const fragment = obj(value);
      if (fragment) this.#add(fragment);
    }
  }

  /** The calls, in order. Nothing of them is complete before the stream has ended. */
  finish({ newId, isCut }: AssembledOptions): ToolCall[] {
    const ids = new Set<string>();
    return this.#entries.flatMap(({ id, name, argsText, extraContent }) => {
      if (!name) return [];
      const parsed = parseArgs(argsText);
      if (isCut && parsed.args === undefined) return [];
      // Two calls of one id would share one result.
      const unique = id && !ids.has(id) ? id : newId();
      ids.add(unique);
      return [
        { id: unique, name, ...parsed, ...(extraContent && { providerExtras: { extra_content: extraContent } }) },
      ];
    });
  }

  #add(fragment: WireObject): void {
    const call = obj(fragment['function']) ?? {};
    const id = textOf(fragment['id']);
    const name = textOf(call['name']);
    const args = call['arguments'];
    const entry = this.#find(num(fragment['index']), id, name, args) ?? this.#open(num(fragment['index']));
    if (!entry) return;
    entry.id ||= id;
    entry.name ||= name;
    if (typeof args === 'string') entry.argsText = (entry.argsText + args).slice(0, maxArgsLength);
    else if (obj(args)) entry.argsText = JSON.stringify(args);
    entry.extraContent = obj(fragment['extra_content']) ?? entry.extraContent;
  }

  /** The call that a fragment goes on with; `undefined` when it begins one. */
  #find(index: number | undefined, id: string, name: string, args: unknown): Entry | undefined {
    const isNewId = id !== '' && !this.#entries.some((entry) => entry.id === id);
    if (index === undefined) {
      const known = id ? this.#entries.find((entry) => entry.id === id) : undefined;
      return known ?? (isNewId || name ? undefined : this.#entries.at(-1));
    }
    const entry = this.#entries.findLast((each) => each.index === index);
    if (!entry || !name) return entry;
    // Some services send every call with index 0; others a new id, or the name again, in each fragment of one call.
    const isWhole = typeof args === 'string' ? args.trimStart().startsWith('{') : obj(args) !== undefined;
    const isAnother = isNewId && entry.id !== '' && entry.name !== '' && name !== entry.name;
    const isNext = isWhole && entry.argsText !== '' && (isNewId || parseArgs(entry.argsText).args !== undefined);
    return isAnother || isNext ? undefined : entry;
  }

  #open(index: number | undefined): Entry | undefined {
    if (this.#entries.length >= maxCalls) return undefined;
    const entry: Entry = { index, id: '', name: '', argsText: '', extraContent: undefined };
    this.#entries.push(entry);
    return entry;
  }
}

/** A text that says something: some services send blanks, or the word `null`. */
function textOf(value: unknown): string {
  const text = str(value)?.trim() ?? '';
  return text === 'null' ? '' : text;
}

/** A call's arguments; none at all are an empty object, and what does not parse is `undefined`. */
export function parseArgs(argsText: string): Pick<ToolCall, 'args' | 'argsText'> {
  const text = argsText.trim();
  if (text === '' || text === 'null') return { args: {}, argsText: '{}' };
  try {
    return { args: JSON.parse(text) as unknown, argsText };
  } catch {
    return { args: undefined, argsText };
  }
}

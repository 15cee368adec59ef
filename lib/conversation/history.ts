import { Subject, type Observable } from 'rxjs';
import { once, publicStream } from '../core/application-code.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import { asObject, asString } from '../core/guard.ts';
import { imageUrl } from '../core/image-url.ts';
import { assertKnownKeys } from '../core/known-keys.ts';
import type { Message, MessageImage, TokenUsage, ToolCall } from '../core/messages.ts';
import { ownEntry } from '../core/own-entry.ts';
import { joinWords } from '../text/words.ts';

/** When, in which turn, by whom and in which language something was said, where known. */
export interface HistoryFacts {
  /** When it was added, in milliseconds on the pipeline's clock: since 1970 (UTC) unless it has another `scheduler`. */
  readonly at?: number;
  readonly turnId?: string;
  /** The user's language, as reported by the speech-to-text service. BCP 47. */
  readonly language?: string;
  /** The speaker's name as given by the speech-to-text service. */
  readonly speaker?: string;
}

/** An item of the conversation's history. */
export type HistoryItem = HistoryFacts & { readonly id: string } & (
    | {
        readonly role: 'user';
        readonly text: string;
        /** Images that it is about; those given as bytes are `data:` addresses. */
        readonly images?: readonly { readonly url: string }[];
        /** Whether it is a summary that replaces earlier items: see `summarize()`. Default: false. */
        readonly isSummary?: boolean;
      }
    | {
        readonly role: 'assistant';
        /** The model's text. */
        readonly generated: string;
        /** The audible part, in whole words; this is what the model is told later. */
        readonly heard: string;
        readonly interrupted: boolean;
        /** True when `heard` was computed without word timings from the service. */
        readonly estimated: boolean;
        readonly toolCalls?: readonly ToolCall[];
      }
    | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string; readonly isError: boolean }
  );

/** Options of {@link History}. */
export interface HistoryOptions {
  /** Most turns to keep, including those the agent begins; older ones are dropped whole. Default: 40. */
  readonly maxTurns?: number | undefined;
  /** Most tokens to send, as counted by `countTokens`; older turns are dropped whole. Default: no limit. */
  readonly maxTokens?: number | undefined;
  /** Default: a quarter of the characters, rounded up. */
  readonly countTokens?: ((text: string) => number) | undefined;
}

/** A change of a {@link History}. */
export type HistoryChange =
  | { readonly type: 'added'; readonly item: HistoryItem }
  | { readonly type: 'updated'; readonly item: HistoryItem }
  /** The oldest items were dropped, or replaced by a summary. */
  | { readonly type: 'truncated'; readonly removed: number; readonly summary?: HistoryItem };

/** The outcome of an assistant's text. */
export interface Spoken {
  readonly generated: string;
  readonly heard: string;
  readonly interrupted: boolean;
  readonly estimated: boolean;
}

/** The outcome of a tool call. */
export interface ToolOutcome {
  readonly toolCallId: string;
  readonly content: string;
  readonly isError: boolean;
}

/** What a request to a model has used. */
interface Spent {
  readonly provider: string;
  readonly tokens: TokenUsage;
}

/** What was said and heard, as a model's messages. */
export class History {
  readonly #maxTurns: number;
  readonly #maxTokens: number;
  readonly #changes$ = new Subject<HistoryChange>();
  readonly #broken$ = new Subject<VoiceError>();
  /** Changes. Hot. */
  readonly changes$: Observable<HistoryChange> = publicStream(this.#changes$, (cause) =>
    this.#tell('a subscriber of changes$', cause),
  );
  /** @internal Errors of the application's code, for the conversation to report. Hot. */
  readonly broken$: Observable<VoiceError> = this.#broken$.asObservable();
  readonly #spent$ = new Subject<Spent>();
  /** @internal What {@link spend} is told, for the conversation to count. Hot. */
  readonly spent$: Observable<Spent> = this.#spent$.asObservable();
  readonly #count: (text: string) => number;
  #items: HistoryItem[] = [];
  #nextId = 1;
  /** @internal How many ids turns and speeches have been given: the next session goes on from there. */
  lastId: number = 0;

  /** @throws VoiceError `configuration` for an unknown option. */
  constructor(options: HistoryOptions = {}) {
    assertKnownKeys('History', options, { maxTurns: true, maxTokens: true, countTokens: true });
    const usual = (text: string): number => Math.ceil(text.length / 4);
    const { maxTurns = 40, maxTokens = Infinity, countTokens = usual } = options;
    this.#maxTurns = maxTurns;
    this.#maxTokens = maxTokens;
    const tell = once((cause) => this.#tell('countTokens', cause));
    this.#count = (text) => {
      try {
        return countTokens(text);
      } catch (cause) {
        tell(cause);
        return usual(text);
      }
    };
  }

  get items(): readonly HistoryItem[] {
    return this.#items;
  }

  /** @internal What the user said last; the agent may have said something of its own accord since. */
  get lastSaid(): Extract<HistoryItem, { readonly role: 'user' }> | undefined {
    const last = this.#items.findLast((item) => item.role === 'user' && !item.isSummary);
    return last?.role === 'user' ? last : undefined;
  }

  /** Adds what the user said; merges it into the last message if that is also the user's. */
  addUser(text: string, images: readonly MessageImage[] = [], facts?: HistoryFacts): HistoryItem {
    return this.#addUsers(this.continuedBy(text), images, facts);
  }

  /**
   * @internal Adds what the user said as guards let it pass: together with the message that it continues. An empty text
   * takes that message out, and its images.
   */
  addJudged(whole: string, images: readonly MessageImage[] = [], facts?: HistoryFacts): void {
    if (whole.trim()) this.#addUsers(whole, images, facts);
    else if (this.#unanswered) this.rewriteUser('');
  }

  /** @internal What the user has said in whole once this is added: a message that nothing has answered goes on. */
  continuedBy(text: string): string {
    const last = this.#unanswered;
    return last ? joinWords(last.text, text) : text;
  }

  /**
   * Replaces what the user said last; an empty text is not sent to the model, nor are its images, and the next message
   * takes its place.
   */
  rewriteUser(text: string): void {
    const last = this.lastSaid;
    if (!last || last.text === text) return;
    const { images, ...rest } = last;
    this.#update({ ...rest, text, ...(images && text.trim() && { images }) });
  }

  /** Adds what the agent said; does nothing if none of it was heard. */
  addAssistant({ generated, heard, interrupted, estimated }: Spoken, facts?: HistoryFacts): void {
    if (!heard.trim()) return;
    this.#add({ id: this.#id(), role: 'assistant', generated, heard, interrupted, estimated, ...facts });
    this.#trim();
  }

  /**
   * Adds a model's turn with tool calls together with all their results, so that neither is left alone.
   *
   * @returns The item's id, for {@link settle}.
   */
  addToolRound(
    generated: string,
    toolCalls: readonly ToolCall[],
    results: readonly ToolOutcome[],
    facts?: HistoryFacts,
  ): string {
    const id = this.#id();
    const said = { generated, heard: generated, interrupted: false, estimated: false };
    this.#add({ id, role: 'assistant', ...said, toolCalls, ...facts });
    for (const { toolCallId, content, isError } of results) {
      this.#add({ id: this.#id(), role: 'tool', toolCallId, content, isError, ...facts });
    }
    this.#trim();
    return id;
  }

  /** Sets how much of an assistant's item was finally heard. */
  settle(id: string, { heard, interrupted, estimated }: Spoken): void {
    const item = this.#items.find((each) => each.id === id);
    if (item?.role !== 'assistant' || (item.heard === heard && item.interrupted === interrupted)) return;
    this.#update({ ...item, heard, interrupted, estimated });
  }

  /** Replaces a tool's result, such as the placeholder of one that was still running. */
  updateToolResult({ toolCallId, content, isError }: ToolOutcome): void {
    const item = this.#items.findLast((each) => each.role === 'tool' && each.toolCallId === toolCallId);
    if (item?.role === 'tool') this.#update({ ...item, content, isError });
  }

  /**
   * The messages for the model: the system prompt, then alternating roles, with tool results right after their calls.
   *
   * @param asked - The message to answer, if it is not the last one; not stored.
   */
  messages(systemPrompt?: string, asked?: string): Message[] {
    const messages: Message[] = systemPrompt ? [{ role: 'system', content: systemPrompt }] : [];
    for (const item of this.#items) append(messages, toMessage(item));
    if (asked) append(messages, { role: 'user', content: asked });
    return messages;
  }

  /** A copy for {@link import}, JSON-compatible. */
  export(): HistoryItem[] {
    return structuredClone(this.#items);
  }

  /**
   * Replaces everything. A call whose result is not there, as after a crash, gets one that says so: models refuse a
   * call without a result.
   *
   * @throws VoiceError `configuration` when an item is not like those of {@link History.export}; then nothing changes.
   */
  import(items: readonly HistoryItem[]): void {
    const whole = paired(items.map(checked));
    if (this.#items.length > 0) this.dropOldest(this.#items.length);
    for (const item of whole) this.#add({ ...item, id: this.#id() });
    this.#trim();
  }

  /**
   * Drops the oldest items. Drop whole turns, so that no tool call loses its result.
   *
   * @param summary - Replaces them; the model reads it as a message of the user.
   */
  dropOldest(removed: number, summary?: string): void {
    const by: HistoryItem[] = summary ? [{ id: this.#id(), role: 'user', text: summary, isSummary: true }] : [];
    this.#items = [...by, ...this.#items.slice(removed)];
    this.#changes$.next({ type: 'truncated', removed, ...(by[0] ? { summary: by[0] } : {}) });
  }

  /** @internal Tells of a request beside the turns, such as one for a summary. */
  spend(spent: Spent): void {
    this.#spent$.next(spent);
  }

  #tell(what: string, cause: unknown): void {
    this.#broken$.next(new VoiceError(`${what} threw: ${messageOf(cause)}`, { code: 'internal', cause }));
  }

  /** The user's message if it is the last item. */
  get #unanswered(): Extract<HistoryItem, { readonly role: 'user' }> | undefined {
    const last = this.#items.at(-1);
    return last?.role === 'user' && !last.isSummary ? last : undefined;
  }

  #addUsers(text: string, images: readonly MessageImage[], facts?: HistoryFacts): HistoryItem {
    const last = this.#unanswered;
    const all = [...(last?.images ?? []), ...images.map((image) => ({ url: imageUrl(image) }))];
    const shown = all.length > 0 && { images: all };
    if (last) {
      const { at = facts?.at } = last;
      return this.#update({ ...last, ...facts, ...(at === undefined ? {} : { at }), ...shown, text });
    }
    const item = this.#add({ id: this.#id(), role: 'user', text, ...facts, ...shown });
    this.#trim();
    return item;
  }

  #id(): string {
    return `item-${this.#nextId++}`;
  }

  #add(item: HistoryItem): HistoryItem {
    this.#items = [...this.#items, item];
    this.#changes$.next({ type: 'added', item });
    return item;
  }

  #update(item: HistoryItem): HistoryItem {
    this.#items = this.#items.map((each) => (each.id === item.id ? item : each));
    this.#changes$.next({ type: 'updated', item });
    return item;
  }

  /** Drops whole turns from the front, so that a tool call never loses its result. */
  #trim(): void {
    let turns = 0;
    let tokens = 0;
    let kept = this.#items.length;
    for (let index = kept - 1; index >= 0; index--) {
      const item = this.#items[index];
      if (!item) break;
      if (this.#maxTokens < Infinity) tokens += this.#count(textOf(item));
      // The last turn is kept, however long it is.
      if (turns > 0 && (turns >= this.#maxTurns || tokens > this.#maxTokens)) break;
      if (!beginsTurn(item, this.#items[index - 1])) continue;
      turns += 1;
      kept = index;
    }
    if (kept > 0 && turns > 0) this.dropOldest(kept);
  }
}

/** What an item of each role must have, all texts. */
const needs: Readonly<Record<HistoryItem['role'], readonly string[]>> = {
  user: ['text'],
  assistant: ['generated', 'heard'],
  tool: ['toolCallId', 'content'],
};

/** An item from outside: a store or a file may have anything. */
function checked(value: unknown, index: number): HistoryItem {
  const item = asObject(value);
  const keys = item && ownEntry(needs, asString(item['role']));
  if (keys?.every((key) => typeof item?.[key] === 'string')) return value as HistoryItem;
  const like = Object.entries(needs).map(([role, texts]) => `{ role: '${role}', ${texts.join(', ')} }`);
  throw new VoiceError(
    `History: cannot import item ${index}: each item must be one of ${like.join(', ')}, as export() returns them`,
    {
      code: 'configuration',
    },
  );
}

/** With a result for each call, and without results of no call. */
function paired(items: readonly HistoryItem[]): HistoryItem[] {
  const whole: HistoryItem[] = [];
  /** Calls that wait for their result. */
  let open: readonly ToolCall[] = [];
  let facts: HistoryFacts = {};
  const close = (): void => {
    for (const { id: toolCallId } of open) {
      const content = 'Unknown: the session ended before the result was stored.';
      whole.push({ ...facts, id: '', role: 'tool', toolCallId, content, isError: true });
    }
    open = [];
  };
  for (const item of items) {
    if (item.role === 'tool') {
      if (!open.some(({ id }) => id === item.toolCallId)) continue;
      open = open.filter(({ id }) => id !== item.toolCallId);
    } else {
      close();
      if (item.role === 'assistant') {
        const { at, turnId } = item;
        open = item.toolCalls ?? [];
        facts = { ...(at !== undefined && { at }), ...(turnId !== undefined && { turnId }) };
      }
    }
    whole.push(item);
  }
  close();
  return whole;
}

/** @internal A turn begins with what the user says, or with what the agent says unprompted. */
export function beginsTurn(item: HistoryItem, before: HistoryItem | undefined): boolean {
  if (item.role === 'user') return true;
  return item.role === 'assistant' && (!before || (before.role === 'assistant' && !before.toolCalls));
}

/** @internal An item as sent to the model. */
export function textOf(item: HistoryItem): string {
  if (item.role === 'user') return item.text;
  if (item.role === 'tool') return item.content;
  const calls = (item.toolCalls ?? []).map(({ name, argsText }) => `${name} ${argsText}`);
  return [item.heard, ...calls].filter(Boolean).join(' ');
}

function toMessage(item: HistoryItem): Message {
  if (item.role === 'user') {
    const { text, images } = item;
    return { role: 'user', content: text, ...(images && { images }) };
  }
  if (item.role === 'tool') {
    const { toolCallId, content, isError } = item;
    return { role: 'tool', toolCallId, content, ...(isError ? { isError } : {}) };
  }
  const { heard, toolCalls } = item;
  return { role: 'assistant', content: heard, ...(toolCalls ? { toolCalls } : {}) };
}

/** Adds a message, merging neighbors with the same role so that roles alternate. */
function append(messages: Message[], message: Message): void {
  const last = messages.at(-1);
  if (message.role === 'user' && last?.role === 'user') {
    const images = [...(last.images ?? []), ...(message.images ?? [])];
    const content = joinWords(last.content, message.content);
    messages[messages.length - 1] = { role: 'user', content, ...(images.length > 0 && { images }) };
  } else if (message.role === 'assistant' && last?.role === 'assistant' && !last.toolCalls) {
    messages[messages.length - 1] = { ...message, content: joinWords(last.content, message.content) };
  } else if (message.content.trim() || message.role === 'tool' || 'images' in message || 'toolCalls' in message) {
    messages.push(message);
  }
}

import { ignoreElements, Subject, Subscription, tap, type Observable } from 'rxjs';
import type { VoiceEvent } from '../conversation/events.ts';
import type { HistoryItem } from '../conversation/history.ts';
import { publicStream } from '../core/application-code.ts';
import { VoiceError } from '../core/errors.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { merge } from '../stream/merge.ts';
import { joinWords } from '../text/words.ts';
import { withHistoryItem, type HistoryStore } from './history-store.ts';

/** Options of {@link remember}. */
export interface RememberOptions {
  /** Where to store it. */
  readonly store: HistoryStore;
  /** Identifies the conversation: only one at a time may run under a name. */
  readonly conversation: string;
}

/** A conversation that is being stored. */
export interface Memory {
  /** The items that it resumed from. Empty for a new conversation. */
  readonly resumed: readonly HistoryItem[];
  /** The store's errors. Hot. */
  readonly errors$: Observable<VoiceError>;
  /** Resolves when everything so far has been stored, or has failed to be. Never rejects. */
  saved(): Promise<void>;
  /**
   * Stops storing, and resolves when everything so far has been stored. The end of the pipeline does the same. Never
   * rejects.
   */
  end(): Promise<void>;
}

/** The words heard so far of a speech in progress. */
interface Heard {
  readonly speechId: string;
  readonly turnId: string | undefined;
  readonly at: number;
  readonly words: readonly Pick<VoiceEvent<'caption.word'>, 'text' | 'range' | 'estimated'>[];
}

/**
 * Keeps a conversation in a store, and resumes it from there: after a crash, at the last word that was heard. Every
 * change of the history is written at once, and so is each word of the agent as it is heard.
 *
 * @example
 * ```ts
 * import { MemoryHistory, remember, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 *
 * const memory = await remember(pipeline, { store: new MemoryHistory(), conversation: 'caller-4711' });
 * if (memory.resumed.length > 0) pipeline.update({ greeting: 'Where were we?' });
 * await pipeline.start();
 * ```
 *
 * @throws VoiceError `not_ready` when the pipeline runs already: what was said would be lost; `configuration` when the
 * store has loaded anything but items. What the store's `load` throws.
 */
export async function remember(
  pipeline: Pick<Pipeline, 'history' | 'events$' | 'captions$' | 'state'>,
  { store, conversation }: RememberOptions,
): Promise<Memory> {
  const { history } = pipeline;
  assertIdle(pipeline);
  const loaded: unknown = await store.load(conversation);
  assertIdle(pipeline);
  const resumed = itemsOf(loaded);
  if (resumed.length > 0) history.import(resumed);
  // Ids of turns go on from there.
  const turns = resumed.map(({ turnId = '' }) => Number(/\d{1,9}$/.exec(turnId)?.[0] ?? 0));
  history.lastId = Math.max(history.lastId, ...turns);
  const keeper = new Keeper(history, store, conversation);
  const following = keeper.follow(pipeline);
  return {
    resumed,
    errors$: keeper.errors$,
    saved: () => keeper.saved(),
    end: () => {
      following.unsubscribe();
      return keeper.saved();
    },
  };
}

function assertIdle({ state }: Pick<Pipeline, 'state'>): void {
  if (state === 'running') throw new VoiceError('remember: call it before start()', { code: 'not_ready' });
}

/** What a store has loaded: a map or a database returns nothing for a conversation that it does not know. */
function itemsOf(loaded: unknown): readonly HistoryItem[] {
  const items = loaded ?? [];
  if (Array.isArray(items)) return items as readonly HistoryItem[];
  throw new VoiceError('remember: what the store has loaded is no list of items', { code: 'configuration' });
}

/** Keeps a store up to date with a conversation, one write after the other. */
class Keeper {
  readonly #errors$ = new Subject<VoiceError>();
  /** The store's errors. Hot. */
  readonly errors$: Observable<VoiceError> = publicStream(this.#errors$, () => undefined);
  readonly #history: Pipeline['history'];
  readonly #store: HistoryStore;
  readonly #conversation: string;
  /** The speeches that are not to be remembered. */
  readonly #unstored = new Set<string>();
  #heard: Heard | undefined;
  /** What is waiting to be written: everything, or some items. */
  #pending: 'all' | readonly HistoryItem[];
  #writing: Promise<void> | undefined;

  constructor(history: Pipeline['history'], store: HistoryStore, conversation: string) {
    this.#history = history;
    this.#store = store;
    this.#conversation = conversation;
    this.#pending = history.items.length > 0 ? 'all' : [];
  }

  /** Writes what the history already has, and every change from now on. Ends with the pipeline. */
  follow({ captions$, events$ }: Pick<Pipeline, 'captions$' | 'events$'>): Subscription {
    const changes = new Subscription();
    const changed$ = this.#history.changes$.pipe(
      tap((change) => this.#keep(change.type === 'truncated' || this.#heard ? 'all' : [change.item])),
    );
    // Captions are produced only while `captions$` has a subscriber; they arrive with the other events.
    const event$ = merge(captions$.pipe(ignoreElements()), events$).pipe(
      tap({ next: (event) => this.#onEvent(event), complete: () => changes.unsubscribe() }),
    );
    changes.add(changed$.subscribe());
    changes.add(event$.subscribe());
    this.#begin();
    return changes;
  }

  /** Resolves when nothing is being written. */
  async saved(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  #onEvent(event: VoiceEvent): void {
    const { speechId = '' } = event;
    if (event.type === 'speech.created' && !event.stored) this.#unstored.add(speechId);
    else if (event.type === 'caption.word') this.#hearWord(event, speechId);
    else if (event.type === 'speech.ended') this.#endSpeech(speechId);
  }

  #hearWord(word: VoiceEvent<'caption.word'>, speechId: string): void {
    if (this.#unstored.has(speechId)) return;
    const { turnId, at } = word;
    const { items } = this.#history;
    const words = this.#heard?.speechId === speechId ? this.#heard.words : [];
    this.#heard = { speechId, turnId, at, words: [...words, word] };
    const isChanged = (item: HistoryItem): boolean =>
      !items.includes(item) || (item.role === 'assistant' && turnId !== undefined && item.turnId === turnId);
    this.#keep(asHeard(items, this.#heard).filter(isChanged));
  }

  #endSpeech(speechId: string): void {
    this.#unstored.delete(speechId);
    if (this.#heard?.speechId !== speechId) return;
    // The history has it, or gets it in this tick, if it is worth remembering.
    this.#heard = undefined;
    this.#keep('all');
  }

  #keep(items: 'all' | readonly HistoryItem[]): void {
    this.#pending =
      items === 'all' || this.#pending === 'all' ? 'all' : items.reduce(withHistoryItem, [...this.#pending]);
    this.#begin();
  }

  #begin(): void {
    this.#writing ??= this.#write();
  }

  /** Writes what is pending. In the same tick as it finds nothing more, it is over: what changes later begins it anew. */
  async #write(): Promise<void> {
    // What changes in one tick is written together.
    await Promise.resolve();
    while (this.#pending === 'all' || this.#pending.length > 0) {
      const items = this.#pending;
      this.#pending = [];
      try {
        if (items === 'all') await this.#store.save(this.#conversation, asHeard(this.#history.items, this.#heard));
        else for (const item of items) await this.#store.put(this.#conversation, item);
      } catch (cause) {
        this.#pending = 'all';
        this.#errors$.next(VoiceError.from(cause, { code: 'internal' }));
        break;
      }
    }
    this.#writing = undefined;
  }
}

/**
 * The items as a crash should leave them: including what has been heard of the speech in progress. Earlier rounds of an
 * answer that called tools are already in the history, as generated.
 */
function asHeard(items: readonly HistoryItem[], heard: Heard | undefined): readonly HistoryItem[] {
  if (!heard) return items;
  const { speechId, turnId, at } = heard;
  // The last word has only begun.
  const words = heard.words.slice(0, -1);
  let before = '';
  const known = items.map((item): HistoryItem => {
    if (item.role !== 'assistant' || !item.toolCalls || turnId === undefined || item.turnId !== turnId) return item;
    const from = joinWords(before, item.generated).length - item.generated.length;
    before = joinWords(before, item.generated);
    const last = words.findLast(({ range }) => range[1] <= before.length);
    const said = item.generated.slice(0, Math.max(0, (last?.range[1] ?? 0) - from));
    if (said === item.heard || said.length === item.generated.trimEnd().length) return item;
    return { ...item, heard: said, interrupted: true };
  });
  const rest = words.filter(({ range }) => range[0] >= before.length);
  const text = rest.reduce((joined, word, index) => {
    const isApart = index > 0 && word.range[0] > (rest[index - 1]?.range[1] ?? 0);
    return `${joined}${isApart ? ' ' : ''}${word.text}`;
  }, '');
  if (text === '') return known;
  const facts = { at, ...(turnId === undefined ? {} : { turnId }) };
  const said = { generated: text, heard: text, interrupted: true, estimated: words.some(({ estimated }) => estimated) };
  return [...known, { id: `heard-${speechId}`, role: 'assistant', ...said, ...facts }];
}

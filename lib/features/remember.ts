import { ignoreElements, Subject, Subscription, tap, type Observable } from 'rxjs';
import type { VoiceEvent } from '../conversation/events.ts';
import type { HistoryItem } from '../conversation/history.ts';
import { publicStream } from '../core/application-code.ts';
import { VoiceError } from '../core/errors.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { merge } from '../stream/merge.ts';
import { joinWords } from '../text/words.ts';
import { withItem, type HistoryStore } from './history-store.ts';

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
  const assertIdle = (): void => {
    if (pipeline.state !== 'running') return;
    throw new VoiceError('remember: call it before start()', { code: 'not_ready' });
  };
  assertIdle();
  const loaded: unknown = await store.load(conversation);
  // A map or a database answers so for what it does not know.
  const resumed = (loaded ?? []) as readonly HistoryItem[];
  assertIdle();
  if (!Array.isArray(loaded ?? [])) {
    throw new VoiceError('remember: what the store has loaded is no list of items', { code: 'configuration' });
  }
  if (resumed.length > 0) history.import(resumed);
  // Ids of turns go on from there.
  history.lastId = Math.max(
    history.lastId,
    ...resumed.map(({ turnId = '' }) => Number(/\d{1,9}$/.exec(turnId)?.[0] ?? 0)),
  );

  const errors$ = new Subject<VoiceError>();
  const unstored = new Set<string>();
  let heard: Heard | undefined;
  /** What is waiting to be written: everything, or some items. */
  let pending: 'all' | readonly HistoryItem[] = history.items.length > 0 ? 'all' : [];
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    while (pending === 'all' || pending.length > 0) {
      const now = pending;
      pending = [];
      try {
        if (now === 'all') await store.save(conversation, asHeard(history.items, heard));
        else for (const item of now) await store.put(conversation, item);
      } catch (cause) {
        pending = 'all';
        errors$.next(VoiceError.from(cause, { code: 'internal' }));
        return;
      }
    }
  };
  const begin = (): void => {
    writing ??= Promise.resolve()
      .then(write)
      .finally(() => {
        writing = undefined;
      });
  };
  const keep = (items: 'all' | readonly HistoryItem[]): void => {
    pending = items === 'all' || pending === 'all' ? 'all' : items.reduce(withItem, [...pending]);
    begin();
  };
  const onEvent = (event: VoiceEvent): void => {
    const { speechId = '' } = event;
    if (event.type === 'speech.created' && !event.stored) unstored.add(speechId);
    if (event.type === 'caption.word' && !unstored.has(speechId)) {
      const words = heard?.speechId === speechId ? heard.words : [];
      heard = { speechId, turnId: event.turnId, at: event.at, words: [...words, event] };
      const { turnId } = event;
      const isOfIt = (item: HistoryItem): boolean =>
        !history.items.includes(item) || (item.role === 'assistant' && turnId !== undefined && item.turnId === turnId);
      keep(asHeard(history.items, heard).filter(isOfIt));
    } else if (event.type === 'speech.ended') {
      unstored.delete(speechId);
      if (heard?.speechId !== speechId) return;
      // The history has it, or gets it in this tick, if it is worth remembering.
      heard = undefined;
      keep('all');
    }
  };
  const changes = new Subscription();
  const changed$ = history.changes$.pipe(
    tap((change) => keep(change.type === 'truncated' || heard !== undefined ? 'all' : [change.item])),
  );
  // Captions are produced only while `captions$` has a subscriber; they arrive with the other events.
  const event$ = merge(pipeline.captions$.pipe(ignoreElements()), pipeline.events$).pipe(
    tap({ next: onEvent, complete: () => changes.unsubscribe() }),
  );
  changes.add(changed$.subscribe());
  changes.add(event$.subscribe());
  begin();
  const saved = async (): Promise<void> => {
    while (writing) await writing;
  };
  return {
    resumed,
    errors$: publicStream(errors$, () => undefined),
    saved,
    end: () => {
      changes.unsubscribe();
      return saved();
    },
  };
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

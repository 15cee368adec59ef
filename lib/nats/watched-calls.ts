import type { KvWatchEntry } from '@nats-io/kv';
import { distinctUntilChanged, interval, map, scan, type Observable, type SchedulerLike } from 'rxjs';
import { asNumber, asObject, asString } from '../core/guard.ts';
import { parseJsonObject } from '../core/parse-json.ts';
import type { ListedCall } from '../features/call-sink.ts';
import { merge } from '../stream/merge.ts';

/** A call of some machine. */
export interface BoardCall extends ListedCall {
  /** `lost`: its machine has not been heard of for as long as the list keeps a call. */
  readonly state: 'live' | 'lost';
}

/** How often calls are looked at whose machine may be gone, in milliseconds. */
const tickMs = 250;

/** What a board learns. */
export type Note =
  | { readonly type: 'down' | 'tick' }
  | { readonly type: 'up'; readonly expiryMs: number }
  | { readonly type: 'entry'; readonly entry: KvWatchEntry };

/** What a board knows. */
interface Watched {
  /** When the broker came back; `undefined` while it is away. */
  readonly upSince: number | undefined;
  readonly expiryMs: number;
  readonly calls: ReadonlyMap<string, Sighting>;
}

/** A call, and when it was last heard of. */
interface Sighting {
  readonly call: BoardCall;
  readonly revision: number;
  readonly seenAt: number;
}

/** What it knows at first. */
const nothing: Watched = { upSince: undefined, expiryMs: Infinity, calls: new Map() };

/** The calls, in the order in which they began, whenever something of them changes. Cold. */
export function watchedCalls(
  notes$: Observable<Note>,
  showLostMs: number,
  scheduler: SchedulerLike,
): Observable<readonly BoardCall[]> {
  const ticks$ = interval(tickMs, scheduler).pipe(map((): Note => ({ type: 'tick' })));
  return merge(notes$, ticks$).pipe(
    scan((watched, note: Note) => follow(watched, note, scheduler.now(), showLostMs), nothing),
    map(({ calls }) => calls),
    distinctUntilChanged(),
    map((calls) => [...calls.values()].map(({ call }) => call).sort((a, b) => a.startedAt - b.startedAt)),
    distinctUntilChanged(
      (before, calls) => before.length === calls.length && calls.every((call, at) => call === before[at]),
    ),
  );
}

/** What it knows after it has learned something. */
function follow(watched: Watched, note: Note, now: number, showLostMs: number): Watched {
  switch (note.type) {
    case 'down':
      return { ...watched, upSince: undefined };
    case 'up':
      return { ...watched, upSince: now, expiryMs: note.expiryMs };
    case 'tick':
      return aged(watched, now, showLostMs);
    case 'entry':
      return { ...watched, calls: seen(watched.calls, note.entry, now) };
  }
}

function seen(calls: Watched['calls'], entry: KvWatchEntry, now: number): Watched['calls'] {
  const { key, revision, operation } = entry;
  // A new watch tells again what is known.
  if (calls.get(key)?.revision === revision) return calls;
  const listed = operation === 'PUT' ? readListed(entry.value, key) : undefined;
  const next = new Map(calls);
  if (listed) next.set(key, { call: known(calls.get(key)?.call, { ...listed, state: 'live' }), revision, seenAt: now });
  else next.delete(key);
  return next;
}

/** The call as it was, if only its place on the list was renewed. */
function known(before: BoardCall | undefined, call: BoardCall): BoardCall {
  return before && JSON.stringify(before) === JSON.stringify(call) ? before : call;
}

function aged(watched: Watched, now: number, showLostMs: number): Watched {
  const { upSince, expiryMs, calls } = watched;
  // Who cannot hear of anybody has lost nobody.
  if (upSince === undefined) return watched;
  const silentMs = ({ seenAt }: Sighting): number => now - Math.max(seenAt, upSince);
  const late = [...calls].filter(([, each]) => each.call.state === 'live' && silentMs(each) >= expiryMs);
  const old = [...calls].filter(([, each]) => silentMs(each) >= expiryMs + showLostMs);
  if (late.length === 0 && old.length === 0) return watched;
  const next = new Map(calls);
  for (const [key, each] of late) next.set(key, { ...each, call: { ...each.call, state: 'lost' } });
  for (const [key] of old) next.delete(key);
  return { ...watched, calls: next };
}

/** An entry of the list; `undefined` for what is none. */
function readListed(value: Uint8Array, key: string): ListedCall | undefined {
  const entry = parseJsonObject(value);
  if (entry?.['callId'] !== key) return undefined;
  const said = asObject(entry['said']);
  const text = asString(said?.['text']);
  const agent = agentStates.find((state) => state === entry['agent']);
  const details = Object.entries(asObject(entry['details']) ?? {}).flatMap(([name, detail]) =>
    typeof detail === 'string' ? [[name, detail] as const] : [],
  );
  return {
    callId: key,
    startedAt: asNumber(entry['startedAt']) ?? 0,
    agent: agent ?? 'idle',
    user: entry['user'] === 'speaking' ? 'speaking' : 'silent',
    turns: asNumber(entry['turns']) ?? 0,
    errors: asNumber(entry['errors']) ?? 0,
    ...(text !== undefined && { said: { by: said?.['by'] === 'user' ? 'user' : 'agent', text } }),
    details: Object.fromEntries(details),
  };
}

const agentStates = ['idle', 'listening', 'thinking', 'speaking'] as const;

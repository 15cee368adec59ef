import { decode } from '@msgpack/msgpack';
import type { Sandbox, ServiceName, ServiceRecord } from '../../samples/sandbox/index.ts';

export { until } from '../transport/test-clock.ts';

/** What may differ, and why: `header user-agent`, `query language`, `body stream`, `message 3`. */
export type Stated = Readonly<Record<string, string>>;

/** What a service got of the vendor's client, which comes first, and of ours. */
export function bothRecords(sandbox: Sandbox, service: ServiceName): [theirs: ServiceRecord, ours: ServiceRecord] {
  const [theirs, ours, ...others] = sandbox.records(service);
  if (!theirs || !ours || others.length > 0) throw new Error(`${sandbox.records(service).length} records, not 2`);
  return [theirs, ours];
}

/** The members of a body, JSON or MessagePack. */
function bodyOf({ headers, body }: ServiceRecord): Readonly<Record<string, unknown>> {
  if (body.length === 0) return {};
  const isPacked = headers['content-type'] === 'application/msgpack';
  return (isPacked ? decode(body) : JSON.parse(new TextDecoder().decode(body))) as Readonly<Record<string, unknown>>;
}

/** What a client sent, by the name of each part. */
function parts(record: ServiceRecord): Map<string, unknown> {
  const names = [...new Set(record.query.map(([name]) => name))];
  const valuesOf = (wanted: string): string[] =>
    record.query.flatMap(([name, value]) => (name === wanted ? [value] : []));
  const body = bodyOf(record);
  const sent = record.messages.filter(({ from }) => from === 'client');
  return new Map<string, unknown>([
    ['method', record.method],
    ['path', record.path],
    ['subprotocols', record.protocols],
    ...names.map((name) => [`query ${name}`, valuesOf(name)] as const),
    ...Object.entries(record.headers).map(([name, value]) => [`header ${name}`, value] as const),
    ...Object.entries(body).map(([name, value]) => [`body ${name}`, value] as const),
    ...sent.map(({ text: said, bytes }, index) => {
      // What is no JSON says something too, such as that the audio has ended.
      const message: unknown = bytes ? Buffer.from(bytes).toString('base64') : parsed(said ?? '');
      return [`message ${index}`, message] as const;
    }),
  ]);
}

/**
 * Expects that two clients sent the same, down to the headers and the bounds of binary frames, save for what is stated;
 * and that everything stated does differ.
 */
export function expectSameWire(ours: ServiceRecord, theirs: ServiceRecord, stated: Stated): void {
  const [our, their] = [parts(ours), parts(theirs)];
  const names = [...new Set([...our.keys(), ...their.keys()])];
  const differing = names.filter((name) => canonical(our.get(name)) !== canonical(their.get(name)));
  const unstated = differing.filter((name) => !(name in stated));
  expect(unstated.map((name) => ({ name, ours: our.get(name), theirs: their.get(name) }))).toEqual([]);
  expect(Object.keys(stated).filter((name) => !differing.includes(name))).toEqual([]);
  expect([ours.refusal, theirs.refusal]).toEqual([undefined, undefined]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** JSON with its keys in order, which is the same for objects that mean the same. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

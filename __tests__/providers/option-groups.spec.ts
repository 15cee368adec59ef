/**
 * A misspelt key silently leaves a default in force: `reconnect: { maxAttemps: 3 }` retried ten times. Each group of
 * options has the keys that its page documents, whose tables are written from the types, and no others.
 */
import { readdirSync, readFileSync } from 'node:fs';
import * as library from 'rxvoice';
import { VoiceError } from '../../lib/core/errors.ts';
import { everyProvider } from '../pipeline/support/every-provider.ts';

/** What they hold besides is the service's own. */
const open = new Set(['think.provider', 'speak.provider', 'listen.provider']);

const pages = new URL('../../docs/providers/', import.meta.url);

/** The keys in a page's table of the configuration, by group; `''` for those of the configuration itself. */
function groupsOf(page: string): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(new URL(page, pages), 'utf8');
  const [, section = ''] = /\n## Configuration\n(.*?)(?=\n## |$)/s.exec(text) ?? [];
  const keys = [...section.matchAll(/^\| `([\w.]+)`/gm)].map(([, key = '']) => key);
  const groups = new Map<string, string[]>();
  for (const key of keys) {
    const group = key.split('.').slice(0, -1).join('.');
    groups.set(group, [...(groups.get(group) ?? []), key]);
  }
  return groups;
}

const policy = ['initialMs', 'factor', 'maxMs', 'jitter', 'maxTries', 'resetAfterMs', 'quickFailures'];
const keysOfPolicy = [...policy, 'maxRetryAfterMs', 'budgetMs', 'untilFirst', 'shouldRetry', 'random'];

const titleOf = (page: string): string => /^# .*?(\w+)$/m.exec(readFileSync(new URL(page, pages), 'utf8'))?.[1] ?? '';
const byName = new Map(everyProvider(library));
const cases = readdirSync(pages).flatMap((page) => {
  const provider = byName.get(titleOf(page)) as { updateConfig(config: object): void } | undefined;
  const groups = groupsOf(page);
  const all = [...groups, ...(groups.get('')?.includes('reconnect') ? [['reconnect', keysOfPolicy] as const] : [])];
  return all.flatMap(([group, keys]) => {
    if (!provider || group === '' || open.has(group)) return [];
    const own = keys.map((key) => key.slice(key.lastIndexOf('.') + 1));
    return [[titleOf(page), group, own, provider] as const];
  });
});

/** An object with a value at a path. */
const nested = (path: string, value: unknown): object =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object;

describe('a group of options', () => {
  it.each(cases)('%s refuses a misspelt key of %s, and names those that there are', (_, group, keys, provider) => {
    let refusal: unknown;
    try {
      provider.updateConfig(nested(group, { misspelt: 1 }));
    } catch (error) {
      refusal = error;
    }
    const message = VoiceError.is(refusal) ? refusal.message : '';
    const [, names = ''] = new RegExp(`: there is no option ${group}\\.misspelt, only (.*)$`).exec(message) ?? [];
    expect(names.split(', ').sort()).toEqual(keys.map((key) => `${group}.${key}`).sort());
  });

  it('is refused in any of several', () => {
    const agent = new library.AlphaAgent({ apiKey: 'key' });
    const think = [{ provider: { type: 'open-chat' } }, { provider: { type: 'open-chat' }, promt: 'Be brief.' }];
    expect(() => agent.updateConfig({ think })).toThrow('there is no option think.promt, only think.provider');
  });

  it('is refused by initialize()', async () => {
    const stt = new library.AlphaSTT({ apiKey: 'key', ...({ reconnect: { maxAttemps: 3 } } as object) });
    await expect(stt.initialize()).rejects.toThrow(
      'there is no option reconnect.maxAttemps, only reconnect.initialMs, ',
    );
  });
});

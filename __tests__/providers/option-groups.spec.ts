/**
 * A misspelt key silently leaves a default in force: `reconnect: { maxAttemps: 3 }` retried ten times. Each group of
 * options has the keys that its page documents, whose tables are written from the types, and no others. A configuration
 * may have others too, an application's own, but none that differs by a letter from one of its own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import * as library from 'rxvoice';
import { VoiceError } from '../../lib/core/errors.ts';
import { silentLogger, type Logger } from '../../lib/core/logger.ts';
import { everyProvider } from '../pipeline/support/every-provider.ts';

/** What they hold besides is the service's own. */
const open = new Set(['think.provider', 'speak.provider', 'listen.provider']);

const pages = new URL('../../docs/providers/', import.meta.url);

/** The keys in a page's table of the configuration, by group; `''` for those of the configuration itself. */
function groupsOf(page: string): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(new URL(page, pages), 'utf8');
  const [, section = ''] = /<!-- config -->(.*?)<!-- \/config -->/s.exec(text) ?? [];
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
const ownKeys = readdirSync(pages).flatMap((page) => {
  const provider = byName.get(titleOf(page)) as { updateConfig(config: object): void } | undefined;
  return provider ? [[titleOf(page), groupsOf(page).get('') ?? [], provider] as const] : [];
});
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

/** What a provider says of a configuration with one more key. */
function said(provider: { updateConfig(config: object): void }, key: string): string {
  try {
    provider.updateConfig({ [key]: 1 });
    return '';
  } catch (error) {
    return VoiceError.is(error) ? error.message : '';
  }
}

interface Configured {
  readonly config?: object;
}
type Class = new (config: object) => { initialize(): Promise<void> };

/** Without its last letter but one. */
const misspelt = (key: string): string => key.replace(/.(.)$/, '$1');

describe('a configuration', () => {
  it.each(ownKeys)('of %s has no misspelt key', (_, keys, provider) => {
    const missed = keys.filter((key) => {
      const [, meant = ''] = / there is no option \w+: did you mean (\w+)\?$/.exec(said(provider, misspelt(key))) ?? [];
      return !keys.includes(meant);
    });
    expect(missed).toEqual([]);
  });

  it.each(ownKeys)('of %s may have each of its keys, and an application’s own', (_, keys, provider) => {
    const refused = [...keys, 'forTheLogOfMyApplication'].filter((key) => said(provider, key).includes('no option'));
    expect(refused).toEqual([]);
  });

  it.each(ownKeys)('of %s warns of none of its keys', (_, keys, provider) => {
    const warnings: string[] = [];
    Object.assign(provider, { advise: (sentence: string) => warnings.push(sentence) });
    for (const key of keys) said(provider, key);
    const isOf = (sentence: string) => (key: string) => sentence.startsWith(`there is no option ${key}:`);
    expect(warnings.filter((sentence) => keys.some(isOf(sentence)))).toEqual([]);
  });

  // MeetingInputE first asks for a browser. A copy, since the tests above change each configuration.
  const withKey = ownKeys
    .filter(([name, keys]) => keys.includes('apiKey') && name !== 'MeetingInputE')
    .map(
      ([name, , provider]) => [name, provider.constructor as Class, { ...(provider as Configured).config }] as const,
    );
  it.each(withKey)('of %s whose credential is misspelt says so, not that there is none', async (_, Own, config) => {
    const own = new Own({ ...config, apiKey: undefined, apikey: 'key' });
    await expect(own.initialize()).rejects.toThrow('there is no option apikey: did you mean apiKey?');
  });

  it('with a key that belongs in a group is warned of, with where it belongs', async () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (line) => void warnings.push(line), scope: () => logger };
    const stt = new library.AlphaSTT({ apiKey: 'key', ...({ model: 'nova-2' } as object) });
    await stt.initialize({ logger });
    expect(warnings).toEqual(['AlphaSTT: there is no option model: did you mean options.model?']);
    await stt.dispose();
  });

  it('with a misspelt key is refused by initialize(), and by updateConfig()', async () => {
    const stt = new library.AlphaSTT({ apiKey: 'key', ...({ langauge: 'de' } as object) });
    await expect(stt.initialize()).rejects.toThrow(
      'AlphaSTT could not be initialized: there is no option langauge: did you mean language?',
    );
    const tts = new library.ThetaTTS({ apiKey: 'key' });
    expect(() => tts.updateConfig({ response_format: 'wav' } as object)).toThrow('did you mean responseFormat?');
    expect(tts.config).toEqual({ apiKey: 'key' });
  });
});

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

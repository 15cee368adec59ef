import { asArray, asNumber, asObject, asString, type WireObject } from '../../core/guard.ts';

/** Which statistics the service wants, and how often. */
export interface StatsWanted {
  /** Seconds between uploads, 1 to 3600; 0 for none. */
  readonly intervalSeconds: number;
  /** Keys by report type. */
  readonly keys: ReadonlyMap<string, readonly string[]>;
}

/** Longest time between uploads: a timer longer than 24 days would fire at once, endlessly. */
const longestSeconds = 3600;

/** Reads the service's `configuration`. */
export function readStatsWanted(configuration: WireObject): StatsWanted {
  const allowlist = Object.entries(asObject(configuration['allowlist']) ?? {});
  const keys = allowlist.map(([type, value]): [string, string[]] => {
    const entry = asObject(value) ?? {};
    // The service's own sample types it as `key` but reads `keys`.
    return [type, [...asArray(entry['keys']), ...asArray(entry['key'])].flatMap((key) => asString(key) ?? [])];
  });
  const seconds = asNumber(configuration['uploadIntervalSeconds']) ?? 0;
  return { intervalSeconds: seconds > 0 ? Math.min(Math.max(seconds, 1), longestSeconds) : 0, keys: new Map(keys) };
}

/** The sections of an upload: the wanted keys of each wanted report, under the service's names. */
export function statsSections(reports: Iterable<WireObject>, { keys }: StatsWanted): WireObject[] {
  return [...reports].flatMap((report) => {
    const type = asString(report['type']) ?? '';
    const wanted = (keys.get(type) ?? []).filter((key) => key !== 'id' && report[key] !== undefined);
    if (wanted.length === 0) return [];
    const values = Object.fromEntries(wanted.map((key) => [snakeCase(key), report[key]]));
    return [{ id: report['id'], [type.replaceAll('-', '_')]: values }];
  });
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

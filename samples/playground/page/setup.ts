import type { AnyProvider, ProviderRole } from 'rxvoice';
import type { Services } from '../server/playground.ts';
import { classOf, providerRows, type Field, type ProviderRow } from './providers.ts';

/** Where a provider finds its service. `local` needs none. */
export type Place = 'local' | 'sandbox' | 'proxy';

/** A provider at a place: one entry of a role's list. */
export interface Choice {
  /** `place:Name`. */
  readonly id: string;
  readonly place: Place;
  readonly row: ProviderRow;
  /** What a provider takes as `proxyUrl`; absent where it needs no service. */
  readonly proxyUrl?: string;
}

/** What a field holds. */
export type FieldValue = string | number | boolean;

/** When the user is listened to. */
export type Listening = 'always' | 'after-greeting' | 'unless-tools-run';

/** Where the pipeline runs: here, or on the server, with which this page then talks as by telephone. */
export type Runs = 'page' | 'server';

/** The path of the server's pipelines; their setup is in the query. */
export const talkPath = '/talk';

/** What the user has chosen. */
export interface Setup {
  /** The choice's id by role; an agent stands in stt and covers llm and tts. */
  readonly roles: Readonly<Record<ProviderRole, string>>;
  /** Values that differ from the fields' own, by class name and key. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, FieldValue>>>>;
  readonly systemPrompt: string;
  readonly greeting: string;
  /** Default: always. */
  readonly listening?: Listening;
  /** Default: in the page. */
  readonly runs?: Runs;
}

/** A setup that fits most people. */
export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly roles: Setup['roles'];
}

/** The roles, in the order of the pipeline. */
export const roles: readonly ProviderRole[] = ['input', 'stt', 'llm', 'tts', 'output'];

/** Everything that can be chosen: what the library has, at each place that has a service for it. */
export function choicesOf({ sandbox, proxy }: Services, isThere: (row: ProviderRow) => boolean = hasClass): Choice[] {
  return providerRows.filter(isThere).flatMap((row): Choice[] => {
    const { name, vendor } = row;
    if (vendor === undefined) return [{ id: `local:${name}`, place: 'local', row }];
    const places: readonly (readonly [Place, string | undefined])[] = [
      ['sandbox', sandbox[vendor]],
      ['proxy', proxy[vendor]],
    ];
    return places.flatMap(([place, proxyUrl]) =>
      proxyUrl === undefined ? [] : [{ id: `${place}:${name}`, place, row, proxyUrl }],
    );
  });
}

function hasClass(row: ProviderRow): boolean {
  return classOf(row) !== undefined;
}

/** The choices for a role. */
export function choicesFor(role: ProviderRole, choices: readonly Choice[]): Choice[] {
  // An agent is chosen once: by its ears.
  return choices.filter(({ row }) => row.roles.includes(role) && (!isAgent(row) || role === 'stt'));
}

/** Whether a provider is stt, llm and tts in one. */
export function isAgent({ roles: covered }: ProviderRow): boolean {
  return covered.includes('stt') && covered.includes('llm') && covered.includes('tts');
}

/** Setups that can be had with these choices, best first. */
export function presetsOf(choices: readonly Choice[]): Preset[] {
  const first = (role: ProviderRole, place: Place): string | undefined =>
    choicesFor(role, choices).find((choice) => choice.place === place && !isAgent(choice.row))?.id;
  const devices = { input: 'local:MicrophoneInput', output: 'local:BrowserAudioOutput' };
  const native = {
    input: 'local:NativeSTT',
    stt: 'local:NativeSTT',
    tts: 'local:NativeTTS',
    output: 'local:NativeTTS',
  };
  const drafts: readonly (Omit<Preset, 'roles'> & {
    readonly roles: Readonly<Record<ProviderRole, string | undefined>>;
  })[] = [
    {
      ...{ id: 'services', title: 'Your keys', about: 'Your voice, and the real services that you have keys for.' },
      roles: { ...devices, stt: first('stt', 'proxy'), llm: first('llm', 'proxy'), tts: first('tts', 'proxy') },
    },
    {
      ...{ id: 'sandbox', title: 'Sandbox', about: 'No microphone, no keys: type, and a caller says it in tones.' },
      roles: {
        ...{ ...devices, input: 'local:BufferInput' },
        ...{ stt: 'sandbox:AlphaFlux', llm: 'sandbox:NuLLM', tts: 'sandbox:AlphaTTS' },
      },
    },
    {
      ...{ id: 'built-in', title: 'Your voice', about: 'The browser’s own speech, with the sandbox’s model. No keys.' },
      roles: { ...native, llm: 'sandbox:NuLLM' },
    },
    {
      ...{ id: 'in-page', title: 'All in this page', about: 'The browser’s speech, and a model on your GPU.' },
      roles: { ...native, llm: 'local:BrowserLLM' },
    },
  ];
  const known = new Set(choices.map(({ id }) => id));
  return drafts.filter((draft): draft is Preset => roles.every((role) => known.has(draft.roles[role] ?? '')));
}

/**
 * Makes the roles fit together after one was chosen: who covers two roles is taken for both, or for neither.
 */
export function chosen(
  role: ProviderRole,
  id: string,
  before: Setup['roles'],
  choices: readonly Choice[],
): Setup['roles'] {
  const rowOf = (each: string): ProviderRow | undefined => choices.find((choice) => choice.id === each)?.row;
  const row = rowOf(id);
  if (!row) return before;
  const after = { ...before, [role]: id };
  for (const other of roles) {
    const theirs = rowOf(after[other]);
    if (row.roles.includes(other)) after[other] = id;
    else if (theirs?.roles.includes(role))
      after[other] = choicesFor(other, choices).find((choice) => choice.row.roles.length === 1)?.id ?? '';
  }
  return after;
}

/** The value of a field as it stands in the form. */
export function valueOf(setup: Setup, { name }: ProviderRow, { key, value }: Field): FieldValue | undefined {
  return setup.fields[name]?.[key] ?? value;
}

/** The configuration of a provider: its fixed keys, its address, and the fields that say something. */
export function configOf(choice: Choice, setup: Setup): Record<string, unknown> {
  const { row, proxyUrl } = choice;
  const config: Record<string, unknown> = { ...row.fixed, ...(proxyUrl === undefined ? {} : { proxyUrl }) };
  for (const field of row.fields ?? []) {
    const value = parsed(field, valueOf(setup, row, field));
    if (value !== undefined) put(config, field.key.split('.'), value);
  }
  return config;
}

function parsed({ kind }: Field, value: FieldValue | undefined): unknown {
  if (value === undefined || value === '') return undefined;
  if (kind === 'number') return Number(value);
  if (kind !== 'list') return value;
  const entries = String(value).split(',');
  return entries.map((entry) => entry.trim()).filter(Boolean);
}

function put(target: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    target[first] = value;
    return;
  }
  const inner = { ...(target[first] as Record<string, unknown> | undefined) };
  target[first] = inner;
  put(inner, rest, value);
}

/** The part of a setup that a server plays: the services. */
export function servicesOf(setup: Setup): Setup {
  return { ...setup, roles: { ...setup.roles, input: '', output: '' } };
}

/** The choices of a setup, each once. */
export function choicesIn(setup: Setup, choices: readonly Choice[]): Choice[] {
  const ids = new Set(roles.map((role) => setup.roles[role]).filter(Boolean));
  return [...ids].flatMap((id) => choices.find((each) => each.id === id) ?? []);
}

/** The providers of a setup, each once, with what made them. */
export function castOf(
  setup: Setup,
  choices: readonly Choice[],
  extras: (row: ProviderRow, config: Readonly<Record<string, unknown>>) => Record<string, unknown> = () => ({}),
): { readonly choice: Choice; readonly provider: AnyProvider }[] {
  return choicesIn(setup, choices).flatMap((choice) => {
    const type = classOf(choice.row);
    if (!type) return [];
    const config = configOf(choice, setup);
    return [{ choice, provider: new type({ ...config, ...extras(choice.row, config) }) }];
  });
}

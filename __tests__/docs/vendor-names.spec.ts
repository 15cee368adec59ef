/** People search by the name of the service: whatever they find begins with it, before our own name of the class. */
import { readdirSync, readFileSync } from 'node:fs';
import { providerRows } from '../../samples/playground/page/providers.ts';

/** How each entry's vendor is called, or its products. */
const names: Readonly<Record<string, RegExp>> = {
  ...{ anthropic: /Anthropic/, assemblyai: /AssemblyAI/, aws: /Amazon/, azure: /(Microsoft )?(Azure|Teams)/ },
  ...{ cartesia: /Cartesia/, deepgram: /Deepgram/, discord: /Discord/, elevenlabs: /ElevenLabs/ },
  ...{ fishaudio: /Fish Audio/, gladia: /Gladia/, google: /Google|Gemini/, groq: /Groq/, lmnt: /LMNT/ },
  ...{ minimax: /MiniMax/, mistral: /Mistral/, murf: /Murf/, openai: /OpenAI/, revai: /Rev AI/, rime: /Rime/ },
  ...{ smallest: /Smallest[. ]?AI/i, soniox: /Soniox/, speechify: /Speechify/, speechmatics: /Speechmatics/ },
  ...{ twilio: /Twilio/, vonage: /Vonage/, zoom: /Zoom/ },
};

const entries = readdirSync('lib/vendors').map((file) => file.replace('.ts', ''));
const sources = readdirSync('lib/providers', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(`lib/providers/${file}`, 'utf8'));
const pages = readdirSync('docs/providers').map((file) => readFileSync(`docs/providers/${file}`, 'utf8'));
const calls = readFileSync('docs/calls.md', 'utf8');

/** The classes of an entry that have two names there, ours and the vendor's. */
function classesOf(entry: string): readonly (readonly [string, string])[] {
  const text = readFileSync(`lib/vendors/${entry}.ts`, 'utf8');
  return [...text.matchAll(/(type )?\b(\w+) as (\w+)/g)]
    .filter(([, type, own = '']) => type === undefined && /^[A-Z]/.test(own) && !own.endsWith('Config'))
    .map(([, , own = '', theirs = '']) => [own, theirs]);
}
/** The comment before a class. */
function commentOf(name: string): string {
  const found = sources.flatMap(
    (text) => new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*export class ${name}\\b`).exec(text)?.[1] ?? [],
  );
  return found
    .join('')
    .replaceAll(/\s*\n\s*\*\s?/g, ' ')
    .trim();
}

const begins = (text: string, vendor: RegExp): boolean => new RegExp(`^(?:${vendor.source})`, vendor.flags).test(text);
const all = entries.flatMap((entry) => classesOf(entry).map(([own, theirs]) => ({ entry, own, theirs })));

it('every entry of a vendor is looked at, and has classes', () => {
  expect(Object.keys(names).sort()).toEqual(entries.toSorted());
  for (const entry of entries) expect([entry, classesOf(entry).length]).not.toEqual([entry, 0]);
});

describe.each(all)('$own of rxvoice/$entry', ({ entry, own, theirs }) => {
  const vendor = names[entry] ?? /$ /;

  it('has a comment that begins with the vendor', () => {
    expect(begins(commentOf(own), vendor) || commentOf(own)).toBe(true);
  });

  // What controls a phone's calls has its page in common.
  const isControl = own.endsWith('Calls');
  it(`has a page ${isControl ? 'that has' : 'whose title begins with the vendor, and that has'} both names of the class`, () => {
    const page = isControl ? calls : (pages.find((text) => new RegExp(`^# .*\\b${own}\\n`).test(text)) ?? '');
    if (!isControl) expect(begins(page.replace('# ', ''), vendor) || page.slice(0, 80)).toBe(true);
    for (const text of [own, theirs, `rxvoice/${entry}`]) expect(page).toContain(`\`${text}\``);
  });
});

it('the playground leads with the vendor', () => {
  const offered = all.flatMap(({ entry, own }) =>
    providerRows.filter(({ name }) => name === own).map(({ about }) => [own, about, names[entry] ?? /$ /] as const),
  );
  expect(offered.length).toBeGreaterThan(25);
  expect(offered.filter(([, about, vendor]) => !begins(about, vendor)).map(([own, about]) => [own, about])).toEqual([]);
});

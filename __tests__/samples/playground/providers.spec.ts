/** Slow: the vendor's client takes seconds to load. */
import { readdirSync } from 'node:fs';
import { lastValueFrom, reduce } from 'rxjs';
import { providerRows } from '../../../samples/playground/page/providers.ts';
import { choicesOf, configOf, type Setup } from '../../../samples/playground/page/setup.ts';
import { classOf } from '../../../samples/playground/page/providers.ts';
import { serviceNames, startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';

const setup: Setup = {
  roles: { input: '', stt: '', llm: '', tts: '', output: '' },
  ...{ fields: {}, systemPrompt: '', greeting: '' },
};

describe('Every provider that the page offers in the sandbox', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  for (const row of providerRows.filter((each) => each.vendor !== undefined && classOf(each) !== undefined)) {
    it(`${row.name} works as the form has it at first`, async () => {
      const choice = choicesOf({ sandbox: sandbox.proxies, proxy: {} }).find((each) => each.row === row);
      // A provider may be there before its service is.
      if (!choice) return;
      // Hazards go by the service's name.
      expect(serviceNames).toContain(row.service);
      const type = classOf(row);
      if (!type) throw new Error('no class');
      const provider = new type(configOf(choice, setup));
      await provider.initialize();
      expect(provider.isReady()).toBe(true);
      expect(provider.roles).toEqual(row.roles);
      if (row.roles.includes('llm') && 'generate' in provider) {
        const events$ = provider.generate([{ role: 'user', content: 'say fine' }]);
        const text$ = events$.pipe(reduce((text, event) => (event.type === 'token' ? text + event.text : text), ''));
        expect(await lastValueFrom(text$)).toBe('fine');
      }
      if (row.roles.includes('tts') && 'speak' in provider) {
        const bytes$ = provider.speak(['fine']).pipe(reduce((sum, { data }) => sum + data.length, 0));
        expect(await lastValueFrom(bytes$)).toBeGreaterThan(1_000);
      }
      await provider.dispose();
    });
  }
});

describe('What a provider is called on the page', () => {
  it('begins with its vendor, as the vendor’s entry has it', async () => {
    const files = readdirSync(new URL('../../../lib/vendors', import.meta.url)).map((file) => file.replace('.ts', ''));
    const entries = await Promise.all(
      files.map(async (entry) => {
        const exported = (await import(`../../../lib/vendors/${entry}.ts`)) as Record<string, unknown>;
        return { entry, names: Object.entries(exported) };
      }),
    );
    const rows = providerRows.filter(({ vendor }) => vendor !== undefined && vendor !== 'compatible');
    expect(rows.length).toBeGreaterThan(30);
    const others = rows.filter((row) => {
      const type = classOf(row);
      const vendor = entries.find(({ names }) => names.some(([, each]) => each === type));
      const called = vendor?.names.filter(([name, each]) => each === type && name !== row.name).map(([name]) => name);
      const [first = ''] = row.about.toLowerCase().split(' ');
      return ![vendor?.entry ?? '', ...(called ?? [])].some((name) => name.toLowerCase().startsWith(first));
    });
    expect(others.map(({ about, name }) => `${about} · ${name}`)).toEqual([]);
  });
});

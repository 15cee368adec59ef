import { providerRows, type ProviderRow } from '../../../samples/playground/page/providers.ts';
import {
  castOf,
  choicesFor,
  choicesOf,
  chosen,
  configOf,
  presetsOf,
  roles,
  type Setup,
} from '../../../samples/playground/page/setup.ts';

const services = {
  sandbox: { alpha: '/sandbox/alpha', nu: '/sandbox/nu/openai/v1', theta: '/sandbox/theta/v1' },
  proxy: { nu: '/proxy/nu', alpha: '/proxy/alpha' },
};
const all = choicesOf(services, () => true);
const sandbox = presetsOf(all).find(({ id }) => id === 'sandbox');
const setup: Setup = {
  roles: sandbox?.roles ?? { input: '', stt: '', llm: '', tts: '', output: '' },
  ...{ fields: {}, systemPrompt: '', greeting: '' },
};

describe('What can be chosen', () => {
  it('is what the library has, at each place that has a service for it', () => {
    const ids = choicesFor('llm', all).map(({ id }) => id);
    expect(ids).toEqual(
      expect.arrayContaining(['sandbox:NuLLM', 'proxy:NuLLM', 'sandbox:ThetaLLM', 'local:BrowserLLM']),
    );
    expect(ids).not.toContain('proxy:ThetaLLM');
    const without = choicesOf(services, ({ name }) => name !== 'BrowserLLM');
    expect(choicesFor('llm', without).map(({ id }) => id)).not.toContain('local:BrowserLLM');
  });

  it('offers the keys first where there are some, and nothing that cannot be had', () => {
    expect(presetsOf(all).map(({ id }) => id)).toEqual(['services', 'sandbox', 'built-in', 'in-page']);
    const none = choicesOf({ sandbox: services.sandbox, proxy: {} }, ({ name }) => !/^(Native|BrowserLLM)/.test(name));
    expect(presetsOf(none).map(({ id }) => id)).toEqual(['sandbox']);
  });

  it('names every provider once, with fields that are its own', () => {
    const names = providerRows.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { fields = [] } of providerRows) {
      expect(new Set(fields.map(({ key }) => key)).size).toBe(fields.length);
    }
  });
});

describe('A choice', () => {
  const rowOf = (id: string): ProviderRow | undefined => all.find((choice) => choice.id === id)?.row;

  it('of one who covers two roles is taken for both, and given up for both', () => {
    const native = chosen('stt', 'local:NativeSTT', setup.roles, all);
    expect([native.input, native.stt]).toEqual(['local:NativeSTT', 'local:NativeSTT']);
    const back = chosen('stt', 'sandbox:AlphaSTT', native, all);
    expect(back.stt).toBe('sandbox:AlphaSTT');
    expect(rowOf(back.input)?.roles).toEqual(['input']);
  });

  it('of an agent covers three roles', () => {
    const agent = chosen('stt', 'sandbox:AlphaAgent', setup.roles, all);
    expect([agent.stt, agent.llm, agent.tts]).toEqual(Array(3).fill('sandbox:AlphaAgent'));
    const back = chosen('stt', 'sandbox:AlphaFlux', agent, all);
    expect(roles.map((role) => rowOf(back[role])?.roles.includes(role))).toEqual(Array(5).fill(true));
    expect(Object.values(back)).not.toContain('sandbox:AlphaAgent');
  });
});

describe('Configuration', () => {
  it('has the address, the fixed keys, and what the fields say, at their paths', () => {
    const choice = all.find(({ id }) => id === 'sandbox:AlphaFlux');
    if (!choice) throw new Error('no AlphaFlux');
    const fields = { AlphaFlux: { 'options.eotThreshold': '0.6', 'options.keyterms': 'rx, voice,' } };
    expect(configOf(choice, { ...setup, fields })).toEqual({
      proxyUrl: '/sandbox/alpha',
      options: { eagerEotThreshold: 0.4, eotThreshold: 0.6, keyterms: ['rx', 'voice'] },
    });
  });

  it('leaves out what is left to the provider', () => {
    const choice = all.find(({ id }) => id === 'proxy:NuLLM');
    if (!choice) throw new Error('no NuLLM');
    const fields = { NuLLM: { model: '', temperature: '' } };
    expect(configOf(choice, { ...setup, fields })).toEqual({ proxyUrl: '/proxy/nu' });
  });

  it('makes each provider once', () => {
    const cast = castOf(setup, all, ({ name }) => (name === 'BufferInput' ? { sampleRate: 8000 } : {}));
    expect(cast.map(({ provider }) => provider.name)).toEqual([
      ...['BufferInput', 'AlphaFlux', 'NuLLM', 'AlphaTTS', 'BrowserAudioOutput'],
    ]);
    expect(Reflect.get(cast[0]?.provider ?? {}, 'config')).toEqual({ sampleRate: 8000 });
  });
});

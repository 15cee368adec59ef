/**
 * Deviations are listed on one page, each with its reason. What goes wrong otherwise: a default of ours changes, or a key is
 * renamed, and the page promises what is no more; a difference stands there that nobody can understand.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as rxvoice from 'rxvoice';
import { GammaTTS, NuLLM, PhiTTS, type Provider, RhoTTS, ThetaRealtimeSTT, ThetaTTS } from 'rxvoice';
import { epsilonSTTRules } from '../../lib/providers/stt/epsilon-stt.ts';
import { gammaWire } from '../../lib/providers/stt/gamma-stt.ts';

const root = new URL('../..', import.meta.url).pathname;
const page = readFileSync(join(root, 'docs/deviations.md'), 'utf8');

/** The rows of the tables under a heading: what differs, what happens, why. */
function rowsUnder(heading: string): string[][] {
  const section = page.split(/^## /m).find((each) => each.startsWith(heading)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('Deviations are listed on one page, with their reasons', () => {
  const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const rows = headings.flatMap(rowsUnder);

  it('each says what differs, what happens instead, and why', () => {
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((row) => row.length !== 3 || row.some((cell) => cell.length < 3))).toEqual([]);
  });

  it('each provider that it names is one', () => {
    const named = [...page.matchAll(/`([A-Z][A-Za-z]*(?:STT|TTS|LLM|Agent|Flux|F))`/g)].map(([, name = '']) => name);
    expect(new Set(named).size).toBeGreaterThan(12);
    expect(named.filter((name) => !(name in rxvoice))).toEqual([]);
  });

  it('the defaults that it calls ours are ours', () => {
    const ours = rowsUnder('Defaults that are ours').map(([cell = '']) => cell);
    const { endpointing, maximumDurationWithoutEndpointing: longest } = epsilonSTTRules;
    const { commitStrategy } = gammaWire.rules;
    expect(ours).toEqual(
      expect.arrayContaining([
        `\`GammaSTT\` \`commitStrategy: '${String(commitStrategy?.default)}'\``,
        `\`EpsilonSTT\` \`endpointing\` ${String(endpointing?.default)} s, ${String(longest?.default)} s`,
      ]),
    );
  });

  const [, kept = '', gone = ''] = /Some defaults are models([^]*?)They stay([^]*?)\n\n/.exec(page) ?? [];
  const modelsIn = (text: string): (string | undefined)[] =>
    [...text.matchAll(/`([a-z][\w.]*-[\w.-]+|eleven_\w+|arcana)`/g)].map(([, model]) => model).toSorted();
  const config = { proxyUrl: 'http://127.0.0.1:9' };
  const voice = { ...config, voiceId: 'v' };

  it.each<[string, string, readonly Provider<object>[]]>([
    [
      'the models that it keeps as defaults although they go are the defaults',
      kept,
      [new ThetaTTS(config), new ThetaRealtimeSTT(config), new NuLLM(config), new GammaTTS(voice)],
    ],
    [
      'the models that it asks for although they are gone are reported',
      gone,
      [new PhiTTS({ ...config, speaker: 'v', model: 'arcana' }), new RhoTTS({ ...voice, model: 'simba-english' })],
    ],
  ])('%s', async (_, text, providers) => {
    const told: string[] = [];
    for (const provider of providers) {
      provider.errors$.subscribe(({ code, message }) => {
        if (code === 'retiring') told.push(/(?:retires|retired|lists) ([\w.-]+)/.exec(message)?.[1] ?? message);
      });
      await provider.initialize();
      await provider.dispose();
    }
    expect(told.toSorted()).toEqual(modelsIn(text));
  });
});

import { map, of, Subject, type Observable } from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import type { LLMEvent } from '../../core/messages.ts';
import type { LLMProvider, ProviderContract, TTSProvider } from '../../core/roles.ts';
import { casesOfAll, casesOfWork } from './cases.ts';
import { Bench, check, Recorded, shown, type ContractCase, type ContractOptions } from './contract.ts';

/** Options of {@link llmContract}. */
export interface LLMContractOptions extends ContractOptions<LLMProvider> {
  /**
   * Two questions whose answers differ, are several tokens long and the same each time, as a test server gives them.
   * Default: "Count to ten." and "What is the capital of France?".
   */
  readonly questions?: readonly [string, string];
}

/**
 * The rules of a language model, as tests: one case for each.
 *
 * @param create - Makes a provider that is not initialized.
 */
export function llmContract(create: () => LLMProvider, options: LLMContractOptions = {}): readonly ContractCase[] {
  const { questions = ['Count to ten.', 'What is the capital of France?'] } = options;
  const bench = new Bench<LLMProvider, LLMEvent>({
    ...{ create, options, role: 'llm', streams: ['tokens$'] },
    work$: (llm, which) => llm.generate([{ role: 'user', content: questions[which] }]),
    hot$: (llm) => llm.tokens$.pipe(map((text) => ({ type: 'token', text }))),
  });
  const textOf = (events: readonly LLMEvent[]): string =>
    events.map((event) => (event.type === 'token' ? event.text : '')).join('');
  return [
    ...casesOfAll(bench),
    ...casesOfWork(bench, 'generate()'),
    ...casesOfUtterances(bench, 'generate()', textOf),
    bench.with('generate(): its tokens are followed by one `done`, and then the end', async (llm) => {
      const types = (await bench.whole(llm, 0)).map(({ type }) => type);
      check(types.includes('token'), `it gave ${shown(types.join())}: no token`);
      check(types.indexOf('done') === types.length - 1, `it gave ${shown(types.join())}: not one \`done\` at the end`);
    }),
  ];
}

/** Options of {@link ttsContract}. */
export interface TTSContractOptions extends ContractOptions<TTSProvider> {
  /**
   * Two texts whose audio differs. Default: "One two three four five six seven." and "Eight nine ten.".
   */
  readonly texts?: readonly [string, string];
  /** What is heard in an utterance's audio, the same each time that a text is spoken. Default: the bytes. */
  readonly hear?: (audio: readonly AudioChunk[]) => string;
}

/**
 * The rules of a voice, as tests: one case for each.
 *
 * @param create - Makes a provider that is not initialized.
 */
export function ttsContract(create: () => TTSProvider, options: TTSContractOptions = {}): readonly ContractCase[] {
  const { texts = ['One two three four five six seven.', 'Eight nine ten.'], hear = bytesOf } = options;
  const bench = new Bench<TTSProvider, AudioChunk>({
    ...{ create, options, role: 'tts', streams: ['audio$', 'metadata$', 'words$?'] },
    work$: (tts, which) => tts.speak(of(texts[which])),
    hot$: (tts) => tts.audio$,
  });
  return [
    ...casesOfAll(bench),
    ...casesOfWork(bench, 'speak()'),
    ...casesOfUtterances(bench, 'speak()', hear),
    bench.with('speak(): audio has its utterance, and first its format', async (tts) => {
      const [one, two] = [await bench.whole(tts, 0), await bench.whole(tts, 1)];
      const ids = [one, two].map((chunks) => new Set(chunks.map(({ utteranceId }) => utteranceId)));
      check(
        ids.every((each) => each.size === 1 && !each.has(undefined)),
        'an utterance has chunks without its utteranceId',
      );
      check(one[0]?.utteranceId !== two[0]?.utteranceId, 'two utterances have one utteranceId');
      const isKnown = (chunks: readonly AudioChunk[]): boolean => chunks[0]?.metadata !== undefined;
      check(isKnown(one) && isKnown(two), "an utterance's first chunk has no metadata");
    }),
    letsGo(
      bench,
      'speak()',
      'text',
      (tts, text$: Observable<string>) => tts.speak(text$),
      () => texts[0],
    ),
  ];
}

/** The rules of who hears what, of providers that serve several at once. */
export function casesOfUtterances<P extends ProviderContract, T>(
  bench: Bench<P, T>,
  what: string,
  textOf: (values: readonly T[]) => string,
): ContractCase[] {
  const { kit } = bench;
  const alone = async (provider: P): Promise<readonly [string, string]> => {
    const one = textOf(await bench.whole(provider, 0));
    const two = textOf(await bench.whole(provider, 1));
    check(one !== two, `both utterances give ${shown(one)}: the contract needs two that differ`);
    return [one, two];
  };
  return [
    bench.with(`${what}: what comes late of a cancelled one goes nowhere`, async (provider) => {
      const [, expected] = await alone(provider);
      const cancelled = bench.begin(kit.work$(provider, 0));
      await cancelled.begun('the work');
      cancelled.cancel();
      const recorded = new Recorded(kit.hot$(provider));
      const got = textOf(await bench.whole(provider, 1));
      await bench.watch();
      check(got === expected, `after a cancelled one, the next gave ${shown(got)}, not ${shown(expected)}`);
      const heard = textOf(recorded.heard);
      check(heard === expected, `after a cancelled one, its stream emitted ${shown(heard)}, not ${shown(expected)}`);
      recorded.close();
    }),

    bench.with(`${what}: two at once never hear each other`, async (provider) => {
      const expected = await alone(provider);
      const got = await Promise.all([bench.whole(provider, 0), bench.whole(provider, 1)]);
      got.forEach((values, which) => {
        const text = textOf(values);
        check(text === expected[which], `one of two at once got ${shown(text)}, not ${shown(expected[which])}`);
      });
    }),
  ];
}

/** The rule that a stream which is given is let go. */
export function letsGo<P extends ProviderContract, T, V>(
  bench: Bench<P, T>,
  what: string,
  name: string,
  use$: (provider: P, source$: Observable<V>) => Observable<unknown>,
  first: (provider: P) => V | undefined,
): ContractCase {
  return bench.with(`${what}: unsubscribing lets go of the ${name} that it reads`, async (provider) => {
    const source$ = new Subject<V>();
    const work = bench.begin(use$(provider, source$));
    for (let waited = 0; !source$.observed && waited < bench.timeoutMs; waited += bench.watchMs) await bench.watch();
    check(source$.observed, `it does not read the ${name}`);
    const value = first(provider);
    if (value !== undefined) source$.next(value);
    work.cancel();
    await bench.watch();
    check(!source$.observed, `it still reads the ${name}`);
  });
}

function bytesOf(chunks: readonly AudioChunk[]): string {
  return chunks.map(({ data }) => Array.from(data, (byte) => String.fromCharCode(byte)).join('')).join('');
}

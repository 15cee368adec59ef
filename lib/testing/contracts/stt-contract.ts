import { concat, from, NEVER, type Observable } from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import type { STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { casesOfAll, casesOfWork } from './cases.ts';
import { Bench, check, fail, Recorded, shown, type ContractCase, type ContractOptions } from './contract.ts';
import { letsGo } from './model-and-voice.ts';

/** What somebody says, as audio and as text. */
export interface ContractUtterance {
  /** In a format that the provider accepts, with the silence that ends it. */
  readonly audio: readonly AudioChunk[];
  /** What it says; letter case and punctuation are not compared. */
  readonly text: string;
}

/** Options of {@link sttContract}. */
export interface STTContractOptions extends ContractOptions<STTProvider> {
  /** Two utterances that say different things. */
  readonly utterances: readonly [ContractUtterance, ContractUtterance];
}

/**
 * The rules of speech-to-text, as tests: one case for each.
 *
 * @param create - Makes a provider that is not initialized.
 */
export function sttContract(create: () => STTProvider, options: STTContractOptions): readonly ContractCase[] {
  const { utterances } = options;
  const [first] = utterances[0].audio;
  if (!first) fail('sttContract: utterances[0].audio is empty');
  const bench = new Bench<STTProvider, TranscriptionResult>({
    ...{ create, options, role: 'stt', streams: ['transcripts$', 'speech$'] },
    work$: (stt, which) => stt.transcribe(from(utterances[which].audio)),
    hot$: (stt) => stt.transcripts$,
  });
  const expected = utterances.map(({ text }) => plain(text));
  const says = (results: readonly TranscriptionResult[], which: 0 | 1, who: string): void => {
    const heard = plain(results.flatMap((result) => (result.utteranceComplete ? [result.text] : [])).join(' '));
    check(heard === expected[which], `${who} ${shown(heard)}, not ${shown(expected[which])}`);
  };
  return [
    ...casesOfAll(bench),
    ...casesOfWork(bench, 'transcribe()'),

    bench.with('transcribe(): what comes late of a cancelled one goes nowhere', async (stt) => {
      // It speaks on, and is cancelled in the middle. A service of whole recordings says nothing before their end.
      const cancelled = bench.begin(stt.transcribe(concat(from(utterances[0].audio), NEVER)));
      await Promise.race([cancelled.begun('the work').catch(() => undefined), bench.watch(bench.timeoutMs / 2)]);
      cancelled.cancel();
      const recorded = new Recorded(stt.transcripts$);
      says(await bench.whole(stt, 1), 1, 'after a cancelled one, the next heard');
      await bench.watch();
      says(recorded.heard, 1, 'after a cancelled one, transcripts$ says');
      recorded.close();
    }),

    bench.with('connect(): two of them never hear each other', async (one) => {
      const two = create();
      try {
        await bench.inTime(two.initialize(), 'initialize()');
        const [heardByOne, heardByTwo] = await Promise.all([bench.whole(one, 0), bench.whole(two, 1)]);
        says(heardByOne, 0, 'one of two heard');
        says(heardByTwo, 1, 'the other of two heard');
      } finally {
        await two.dispose();
      }
    }),

    bench.with('sendAudio(): what is sent before connect() is heard, and nothing after disconnect()', async (stt) => {
      const recorded = new Recorded(stt.transcripts$);
      if (first.metadata) stt.configureAudio(first.metadata);
      for (const chunk of utterances[0].audio) stt.sendAudio(chunk);
      await bench.inTime(stt.connect(), 'connect()');
      await bench.inTime(stt.disconnect(), 'disconnect()');
      says(recorded.heard, 0, 'before connect() and up to disconnect(), it heard');
      const { length } = recorded.heard;
      await bench.watch();
      check(recorded.heard.length === length, 'transcripts$ emits after disconnect()');
      recorded.close();
    }),

    letsGo(
      bench,
      'transcribe()',
      'audio',
      (stt, audio$: Observable<AudioChunk>) => stt.transcribe(audio$),
      () => first,
    ),
  ];
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s]/gu, '')
    .split(/\s+/)
    .filter(Boolean)
    .join(' ');

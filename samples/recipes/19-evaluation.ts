/** Simulated callers, real services: a report page, and an exit code for CI. */
import { mkdir, writeFile } from 'node:fs/promises';
import { BufferInput, NullOutput, Pipeline, type AudioChunk } from 'rxvoice';
import { int16Bytes, int16View } from 'rxvoice/audio';
import * as evaluation from 'rxvoice/evaluation';
import { decodeSamples, encodeText } from '../sandbox/modem.ts';
import type { Kit } from './kit.ts';

const { manners, modelCaller, scriptedCaller } = evaluation;
const metadata = { encoding: 'linear16', sampleRate: 16_000, channels: 1 } as const;
const voice = (text: string): AudioChunk[] => [{ data: int16Bytes(encodeText(text, 16_000)), metadata }];
const reads = (audio: readonly AudioChunk[]): string => {
  const samples = Int16Array.from(audio.flatMap(({ data }) => [...int16View(data)]));
  return decodeSamples(samples, audio[0]?.metadata?.sampleRate ?? 24_000).text;
};

/** The sandbox's model plays the caller: with rules of its own. */
const persona = 'sandbox: {"rules":[{"when":"hello","say":"Count to 3"},{"when":"3","say":"Goodbye [hang up]"}]}';

export async function recipe(kit: Kit): Promise<void> {
  await using llm = kit.llm();
  const isRight = [evaluation.understands(), evaluation.soundsAsReported(), evaluation.noErrors()];
  const scenarios: evaluation.Scenario[] = [
    {
      name: 'A story is interrupted',
      caller: scriptedCaller(['Tell me a long story', 'Say the line is clear']),
      manner: { ...manners.interrupting, interruptions: 1 },
      judges: [...isRight, evaluation.interruptions({ maxCutMs: 200 }), evaluation.says('the line is clear')],
    },
    {
      name: 'A noise in the answer',
      caller: scriptedCaller(['Count to 5']),
      manner: { ...manners.noisy, noises: 1 },
      judges: [...isRight, evaluation.interruptions(), evaluation.latency({ maxMs: 3_000 }), evaluation.says('5')],
    },
    {
      name: 'A caller played by a model',
      caller: modelCaller({ llm, persona: `a child\n${persona}`, goal: 'to hear numbers' }),
      judges: [evaluation.says('1, 2, 3'), evaluation.neverSays('4'), evaluation.endsByItself()],
    },
  ];
  const found = await evaluation.evaluate({
    ...{ scenarios, concurrency: 3, seed: 7 },
    create: () => {
      const [input, output] = [new BufferInput({ sampleRate: 16_000 }), new NullOutput()];
      const pipeline = new Pipeline({ greeting: 'hello', providers: [input, kit.stt(), kit.llm(), kit.tts(), output] });
      return { pipeline, line: new evaluation.AudioLine({ input, output, voice, reads }) };
    },
    onResult: ({ scenario, outcome, verdicts, error = '' }) => {
      kit.print(`${outcome}: ${scenario} ${error}`);
      for (const { judge, outcome: each, reason } of verdicts) kit.print(`  ${each}: ${judge} (${reason})`);
    },
  });
  await mkdir('.cache/evaluation', { recursive: true });
  await writeFile('.cache/evaluation/report.html', evaluation.evaluationPage(found, { title: 'The sandbox' }));
  await writeFile('.cache/evaluation/report.json', evaluation.evaluationJson(found));
  kit.print(`exit code ${found.exitCode}: .cache/evaluation/report.html`);
  if (found.exitCode > 0) process.exitCode = found.exitCode;
}

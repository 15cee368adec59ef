/** The providers that need no service keep the contract that is asked of everybody's. */
import { NEVER } from 'rxjs';
import { BufferInput } from '../../../lib/providers/input/buffer-input.ts';
import { NullOutput } from '../../../lib/providers/output/null-output.ts';
import { fallback } from '../../../lib/providers/fallback.ts';
import { inputContract, outputContract } from '../../../lib/testing/contracts/input-and-output.ts';
import type { ContractCase } from '../../../lib/testing/contracts/contract.ts';
import { llmContract, ttsContract } from '../../../lib/testing/contracts/model-and-voice.ts';
import { FakeLLM, FakeTTS } from '../../../lib/testing/fakes.ts';
import { audioToText } from '../../../lib/testing/text-audio.ts';
import { globalClock } from '../../transport/global-clock.ts';
import { quick } from './break.ts';

const model = (): FakeLLM => new FakeLLM({ firstTokenMs: 1, tokenMs: 1 });
const voice = (): FakeTTS => new FakeTTS({ latencyMs: 1, msPerCharacter: 1 });
/** A provider that lacks a member. */
const without = <P extends object>(member: keyof P, provider: P): P =>
  new Proxy(provider, {
    get: (target, key): unknown => (key === member ? undefined : Reflect.get(target, key, target)),
  });
const hear = { hear: (audio: Parameters<typeof audioToText>[0]) => audioToText(audio, 1) };

const contracts = {
  BufferInput: inputContract(() => new BufferInput(), {
    ...quick,
    capture: (input) => input.push(new Uint8Array(640)),
  }),
  NullOutput: outputContract(() => new NullOutput(), quick),
  FakeLLM: llmContract(model, quick),
  FakeTTS: ttsContract(voice, { ...quick, ...hear }),
  'a chain of models': llmContract(() => fallback(model(), model()), quick),
  'a chain of voices': ttsContract(() => fallback(voice(), voice()), { ...quick, ...hear }),
};

for (const [provider, contract] of Object.entries(contracts)) {
  describe(provider, () => {
    for (const { name, run } of contract) it(name, run);
  });
}

it.each<[string, readonly ContractCase[]]>([
  ['FakeLLM" needs generate() to be a provider of llm', llmContract(() => without('generate', model()), quick)],
  ['FakeTTS" needs audio$ to be a provider of tts', ttsContract(() => without('audio$', voice()), quick)],
  [
    'NullOutput" needs positionMs to be a provider of output',
    outputContract(() => without('positionMs', new NullOutput()), quick),
  ],
  ['FakeLLM" needs dispose() to be a provider of llm', llmContract(() => without('dispose', model()), quick)],
])('each case names what a provider lacks: %s', async (problem, contract) => {
  for (const { run } of contract) await expect(run()).rejects.toThrow(problem);
});

it('a case says what it waits for in vain before a test runner gives it up, after five seconds', async () => {
  using clock = globalClock();
  const stuck = (): FakeLLM => Object.assign(model(), { generate: () => NEVER });
  const name = 'generate(): everybody hears what its subscriber gets';
  const found = llmContract(stuck).find((each) => each.name === name);
  const problems: string[] = [];
  void found?.run().catch((cause: unknown) => problems.push(String(cause)));
  await clock.advance(4_999);
  expect(problems).toEqual(['Error: the work of one call did not come to an end within 4000 ms']);
});

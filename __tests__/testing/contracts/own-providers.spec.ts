/** The providers that need no service keep the contract that is asked of everybody's. */
import { concatMap, delay, EMPTY, from, lastValueFrom, NEVER, of, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { TextOutput, TextVoice } from '../../../lib/features/text-only.ts';
import { BufferInput } from '../../../lib/providers/input/buffer-input.ts';
import { textModel } from '../../../lib/providers/llm/text-model.ts';
import { NullOutput } from '../../../lib/providers/output/null-output.ts';
import { fallback } from '../../../lib/providers/fallback.ts';
import { inputContract, outputContract } from '../../../lib/testing/contracts/input-and-output.ts';
import type { ContractCase } from '../../../lib/testing/contracts/contract.ts';
import { llmContract, ttsContract } from '../../../lib/testing/contracts/model-and-voice.ts';
import { FakeInput } from '../../../lib/testing/fake-input.ts';
import { sttContract, type ContractUtterance } from '../../../lib/testing/contracts/stt-contract.ts';
import { FakeLLM, FakeOutput, FakeSTT, FakeTTS } from '../../../lib/testing/fakes.ts';
import { audioToText, textAudioFormat, textToAudio } from '../../../lib/testing/text-audio.ts';
import { globalClock } from '../../transport/global-clock.ts';
import { quick } from './break.ts';

const frame = { data: textToAudio('x', 20), metadata: textAudioFormat };
const later = concatMap((word: string) => of(word).pipe(delay(1)));
const model = (): FakeLLM => new FakeLLM({ firstTokenMs: 1, tokenMs: 1 });
const voice = (): FakeTTS => new FakeTTS({ latencyMs: 1, msPerCharacter: 1 });
/** A provider that lacks a member. */
const without = <P extends object>(member: keyof P, provider: P): P =>
  new Proxy(provider, {
    get: (target, key): unknown => (key === member ? undefined : Reflect.get(target, key, target)),
  });
/** A service whose results are what the samples say, a word at a time. */
class TextSTT extends FakeSTT {
  #audio: AudioChunk[] = [];
  override configureAudio(): void {
    this.#audio = [];
  }
  override sendAudio(chunk: AudioChunk): void {
    super.sendAudio(chunk);
    const text = audioToText(this.#audio.concat(chunk), 1);
    const isOver = text.endsWith('.');
    this.#audio = isOver ? [] : [...this.#audio, chunk];
    this.hearWords(FakeSTT.result(text, isOver ? 'final' : 'interim'));
  }
}
const said = (text: string): ContractUtterance => ({
  text,
  audio: text.split(/(?= )/).map((word) => ({ data: textToAudio(word, 1), metadata: textAudioFormat })),
});
/** Its silence says no more than how many pieces a text had. */
class WordByWord extends TextVoice {
  override speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return super.speak(from(text$).pipe(concatMap((text) => text.split(' '))));
  }
}
const hear = { hear: (audio: Parameters<typeof audioToText>[0]) => audioToText(audio, 1) };

const contracts = {
  BufferInput: inputContract(() => new BufferInput(), {
    ...quick,
    capture: (input) => input.push(new Uint8Array(640)),
  }),
  NullOutput: outputContract(() => new NullOutput(), quick),
  FakeInput: inputContract(() => new FakeInput(), { ...quick, capture: (input) => input.push(frame) }),
  FakeOutput: outputContract(() => new FakeOutput(), quick),
  FakeLLM: llmContract(model, quick),
  FakeTTS: ttsContract(voice, { ...quick, ...hear }),
  FakeSTT: sttContract(() => new TextSTT(), { ...quick, utterances: [said('one two three.'), said('four five.')] }),
  TextVoice: ttsContract(() => new WordByWord(), { ...quick, hear: ({ length }) => `${length} pieces` }),
  TextOutput: outputContract(() => new TextOutput(), quick),
  'a model of text': llmContract(
    () => textModel((messages) => from(`You said ${messages.at(-1)?.content}`.split(/(?= )/)).pipe(later)),
    quick,
  ),
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

describe('of a call, whose output has the same methods', () => {
  class Call extends FakeInput {
    override readonly roles = ['input', 'output'] as const;
  }
  it.each([
    ['stop()', 'audio$: nothing comes after stop()'],
    ['pause()', 'audio$: nothing comes between pause() and resume()'],
  ])('%s must not silence the caller', async (method, name) => {
    const contract = inputContract(() => new Call(), { ...quick, capture: (call) => call.push(frame) });
    const found = contract.find((each) => each.name === name);
    await expect(found?.run()).rejects.toThrow(`after ${method}, which is the output's, audio$ emits nothing`);
  });
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

it('FakeOutput keeps what is heard in a second life, too', async () => {
  const output = new FakeOutput({ realtime: false });
  for (const text of ['one', 'two']) {
    await output.initialize();
    await lastValueFrom(output.play([{ data: textToAudio(text, 1), metadata: textAudioFormat }]));
    await output.dispose();
  }
  expect(audioToText(output.heard, 1)).toBe('onetwo');
});

it('a case that fails says what errors$ had to say, and why', async () => {
  class Deaf extends FakeLLM {
    override generate(): Observable<never> {
      this.report(this.error('ignored a malformed message', { code: 'protocol', cause: new TypeError('no words') }));
      return EMPTY;
    }
  }
  const name = 'generate(): everybody hears what its subscriber gets';
  const found = llmContract(() => new Deaf(), quick).find((each) => each.name === name);
  await expect(found?.run()).rejects.toThrow('it gave nothing; errors$ says: ignored a malformed message (no words)');
});

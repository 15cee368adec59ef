export type { ContractCase, ContractOptions } from './contracts/contract.ts';
export {
  inputContract,
  outputContract,
  type InputContractOptions,
  type OutputContractOptions,
} from './contracts/input-and-output.ts';
export {
  llmContract,
  ttsContract,
  type LLMContractOptions,
  type TTSContractOptions,
} from './contracts/model-and-voice.ts';
export { sttContract, type ContractUtterance, type STTContractOptions } from './contracts/stt-contract.ts';
export type { FakeConfig } from './fake.ts';
export { FakeInput } from './fake-input.ts';
export * from './fakes.ts';
export * from './record-replay.ts';
export * from './text-audio.ts';
export { VirtualClock } from './virtual-clock.ts';
export * from './voice-test.ts';

import { jest } from '@jest/globals';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';

for (const name of ['mpg123-decoder', 'opus-decoder']) {
  jest.unstable_mockModule(name, () => {
    throw new Error(`Cannot find package '${name}'`);
  });
}
const { Pipeline } = await import('rxvoice');

it.each([
  ['mp3', 'mp3', 'mpg123-decoder', '>= 1.0.0'],
  ['opus', 'ogg', 'opus-decoder', '>= 0.7.0'],
] as const)(
  'a server that lacks the package for %s is told how to install it',
  async (encoding, container, name, range) => {
    const tts = new FakeTTS();
    tts.getMetadata = () => ({ encoding, container, sampleRate: 24_000, channels: 1 });
    const output = new FakeOutput();
    const pipeline = new Pipeline({ providers: [new FakeInput(), new FakeSTT(), new FakeLLM(), tts, output] });
    await expect(pipeline.initialize()).rejects.toMatchObject({
      code: 'missing_package',
      provider: 'FakeTTS',
      message: `FakeTTS needs the optional package ${name} (${range}): npm install ${name}`,
    });
    expect(output.isReady()).toBe(false);
    await pipeline.dispose();
  },
);

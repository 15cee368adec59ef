import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, capture, node } from '../../scripts/lib.mjs';
import { consumer } from './consumer.mjs';

// The consumer installs no optional package.
writeFileSync(
  join(consumer, 'missing-decoders.mjs'),
  `import { strict as assert } from 'node:assert';
import { createLogger, MuLLM, PageSockets, Pipeline, PsiTTS } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';

for (const [encoding, container, name, range] of [
  ['mp3', 'mp3', 'mpg123-decoder', '>= 1.0.0'],
  ['opus', 'ogg', 'opus-decoder', '>= 0.7.0'],
]) {
  const tts = new FakeTTS();
  tts.getMetadata = () => ({ encoding, container, sampleRate: 24_000, channels: 1 });
  const output = new FakeOutput();
  const pipeline = new Pipeline({ providers: [new FakeInput(), new FakeSTT(), new FakeLLM(), tts, output] });
  await assert.rejects(pipeline.initialize(), {
    code: 'missing_package',
    provider: 'FakeTTS',
    message: \`FakeTTS needs the optional package \${name} (\${range}): npm install \${name}\`,
  });
  assert.equal(output.isReady(), false);
  await pipeline.dispose();
}

await assert.rejects(new PsiTTS({ apiKey: 'key', referenceId: 'voice' }).initialize(), {
  name: 'ProviderInitializationError',
  code: 'missing_package',
  message: /^PsiTTS could not be initialized: PsiTTS needs the optional package @msgpack.msgpack .>= 3.0.0.: npm install @msgpack.msgpack$/,
});
const logs = [];
const pages = new PageSockets({ open: () => undefined, logger: createLogger({ ...console, warn: (line) => logs.push(line) }) });
const sent = new Promise((send) => {
  const socket = Object.assign(new EventTarget(), { readyState: 1, bufferedAmount: 0, close: () => undefined, send });
  pages.accept(socket, { headers: {} });
  const hello = { type: 'hello', version: 1, rate: 16_000, audio: 'opus', received: 0, heard: 0, seen: 0 };
  socket.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(hello) }));
});
const welcome = JSON.parse(await sent);
assert.deepEqual([welcome.type, welcome.rate, welcome.audio], ['welcome', 24_000, undefined]);
assert.match(logs.join(), /linear16 instead of Opus: PageSocket needs the optional package opusscript .*npm install opusscript$/);
pages[Symbol.dispose]();
await assert.rejects(new MuLLM({ apiKey: 'key', model: 'claude-opus-4-6' }).initialize(), {
  code: 'missing_package',
  message: /npm install @anthropic-ai.sdk$/,
});
`,
);

for (const [name, runtime] of [
  ['Node', node()],
  ['Bun', bin('bun')],
  ['Deno', bin('deno', 'run', '-A')],
]) {
  test(`${name}: a server without a decoder is told how to install it`, () => {
    capture([...runtime, 'missing-decoders.mjs'], { cwd: consumer });
  });
}

/** A third party's provider is checked with one call a role, under Jest, Vitest and `node:test`; Jest runs conversations. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { transformSync } from 'esbuild';
import { bin, capture, node } from '../../scripts/lib.mjs';
import { project } from './consumer.mjs';

const provider = `
import { concat, defer, from, map, of, Subject, tap } from 'rxjs';

/** Answers with the question; one that is late goes on talking when nobody listens any more. */
export function echo({ isLate }) {
  const tokens$ = new Subject();
  let isReady = false;
  return {
    name: 'Echo',
    roles: ['llm'],
    initialize: async () => void (isReady = true),
    dispose: async () => void (isReady = false),
    isReady: () => isReady,
    tokens$,
    generate: (messages) =>
      defer(() => {
        if (isLate) setTimeout(() => tokens$.next('late'), 10);
        const words$ = from(messages.at(-1).content.split(/(?= )/)).pipe(tap((word) => tokens$.next(word)));
        const text$ = words$.pipe(map((text) => ({ type: 'token', text })));
        return concat(text$, of({ type: 'done', finishReason: 'stop' }));
      }),
  };
}
`;
const ears = `
import { audioToText, FakeSTT } from 'rxvoice/testing';

/** Hears what the samples say, a word at a time; a sentence ends with its full stop. */
export class Ears extends FakeSTT {
  #audio = [];
  configureAudio() {
    this.#audio = [];
  }
  sendAudio(chunk) {
    this.#audio.push(chunk);
    const text = audioToText(this.#audio, 1);
    const isOver = text.endsWith('.');
    if (isOver) this.#audio = [];
    this.hearWords(FakeSTT.result(text, isOver ? 'final' : 'interim'));
  }
}
`;
/** One call a role. Jest has its functions as globals. */
const spec = (runner, isLate) => `
${runner === 'jest' ? '' : `import { describe, test } from '${runner}';`}
import {
  audioToText, FakeInput, FakeOutput, FakeTTS, inputContract, llmContract, outputContract, sttContract, textAudioFormat,
  textToAudio, ttsContract,
} from 'rxvoice/testing';
import { Ears } from './ears.mjs';
import { echo } from './echo.mjs';

const sound = (text) => ({ data: textToAudio(text, 1), metadata: textAudioFormat });
const said = (text) => ({ text, audio: text.split(/(?= )/).map(sound) });
const contracts = {
  input: inputContract(() => new FakeInput(), { capture: (input) => input.push(sound('x')) }),
  stt: sttContract(() => new Ears(), { utterances: [said('One two three.'), said('Four five.')] }),
  llm: llmContract(() => echo({ isLate: ${isLate} })),
  tts: ttsContract(() => new FakeTTS({ latencyMs: 1, msPerCharacter: 1 }), { hear: (audio) => audioToText(audio, 1) }),
  output: outputContract(() => new FakeOutput()),
};
for (const [role, cases] of Object.entries(contracts)) {
  describe(role, () => {
    for (const { name, run } of cases) test(name, run);
  });
}
`;
const modules = (runner, suffix) => ({
  'echo.mjs': provider,
  'ears.mjs': ears,
  [`good${suffix}.mjs`]: spec(runner, false),
  [`late${suffix}.mjs`]: spec(runner, true),
});
/** As somebody's Jest has them, without flags: CommonJS. */
const common = (files) =>
  Object.fromEntries(
    Object.entries(files).map(([name, code]) => [
      name.replace('.mjs', '.js'),
      transformSync(code.replaceAll('.mjs', '.js'), { format: 'cjs' }).code,
    ]),
  );
const within = (folder, files) =>
  Object.fromEntries(Object.entries(files).map(([name, code]) => [`${folder}/${name}`, code]));
const folder = project('contracts', ['vitest'], {
  'vitest.config.mjs': `export default { test: { include: ['vitest/*.mjs'] } };`,
  'package.json': '{"private":true,"jest":{"testMatch":["**/jest/*.test.js"]}}',
  ...within('vitest', modules('vitest', '')),
  ...within('node', modules('node:test', '')),
  ...within('jest', common(modules('jest', '.test'))),
});
// A run inside of a run is told by this, and says nothing.
const env = { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined };
const runners = {
  Jest: (name) => bin('jest', '--json', `jest/${name}`),
  Vitest: (name) => node('node_modules/vitest/vitest.mjs', 'run', '--reporter=verbose', `vitest/${name}.mjs`),
  'node:test': (name) => node('--test', '--test-reporter=spec', `node/${name}.mjs`),
};

for (const [runner, command] of Object.entries(runners)) {
  test(`${runner}: a provider that keeps the contract passes`, () => {
    const told = capture(command('good'), { cwd: folder, env });
    assert.match(told, /isReady|is ready from initialize\(\) to dispose\(\)/);
    assert.match(told, /two at once never hear each other/);
  });

  test(`${runner}: one that breaks it fails, and is told what is wrong`, () => {
    assert.throws(
      () => capture(command('late'), { cwd: folder, env }),
      /its stream emitted 1 times after the work was cancelled/,
    );
  });
}

test('Jest: a pipeline talks without --experimental-vm-modules, and where jsdom stands in for a page', () => {
  const conversation = `
// What jsdom lacks.
delete globalThis.TextDecoder;
delete globalThis.TextEncoder;
const { BufferInput, NullOutput, Pipeline } = require('rxvoice');
const { FakeLLM, FakeSTT, FakeTTS } = require('rxvoice/testing');

it('answers', async () => {
  const input = new BufferInput({ sampleRate: 16_000 });
  const pipeline = new Pipeline({ providers: [input, new FakeSTT(), new FakeLLM(), new FakeTTS(), new NullOutput()] });
  const answered = new Promise((resolve) => pipeline.on('turn.ended', resolve));
  await pipeline.start();
  pipeline.send('Are you there?');
  expect(await answered).toMatchObject({ reason: 'completed' });
  await pipeline.dispose();
});
`;
  const jest = project('jest', [], { 'package.json': '{"private":true,"jest":{}}', 'talk.test.js': conversation });
  capture(bin('jest'), { cwd: jest, env });
});

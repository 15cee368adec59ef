/** A third party's provider is checked with one call, under Vitest and under `node:test`; a conversation runs under Jest. */
import { strict as assert } from 'node:assert';
import { test } from 'node:test';
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
const spec = (runner, isLate) => `
import { test } from '${runner}';
import { llmContract } from 'rxvoice/testing';
import { echo } from './echo.mjs';
for (const { name, run } of llmContract(() => echo({ isLate: ${isLate} }))) test(name, run);
`;
const folder = project('contracts', ['vitest'], {
  'echo.mjs': provider,
  'vitest.config.mjs': `export default { test: { include: ['vitest/*.mjs'] } };`,
  'vitest/echo.mjs': provider,
  'vitest/good.mjs': spec('vitest', false),
  'vitest/late.mjs': spec('vitest', true),
  'good.mjs': spec('node:test', false),
  'late.mjs': spec('node:test', true),
});
// A run inside of a run is told by this, and says nothing.
const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
const runners = {
  Vitest: (name) => node('node_modules/vitest/vitest.mjs', 'run', '--reporter=verbose', `vitest/${name}`),
  'node:test': (name) => node('--test', '--test-reporter=spec', name),
};

for (const [runner, command] of Object.entries(runners)) {
  test(`${runner}: a provider that keeps the contract passes`, () => {
    const told = capture(command('good.mjs'), { cwd: folder, env });
    assert.match(told, /isReady|is ready from initialize\(\) to dispose\(\)/);
    assert.match(told, /two at once never hear each other/);
  });

  test(`${runner}: one that breaks it fails, and is told what is wrong`, () => {
    assert.throws(
      () => capture(command('late.mjs'), { cwd: folder, env }),
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
  capture(bin('jest'), { cwd: jest, env: { ...env, NODE_OPTIONS: '' } });
});

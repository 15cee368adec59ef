import { strict as assert } from 'node:assert';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { z as zod3 } from 'zod/v3';
import { consumer } from './consumer.mjs';

const resolve = createRequire(join(consumer, 'package.json'));
const installed = (entry) => import(pathToFileURL(resolve.resolve(entry)));
const { Pipeline } = await installed('rxvoice');
const { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } = await installed('rxvoice/testing');

/** What a model is told of a booking, and what it passes. */
const schemas = {
  'Zod 4': z.object({ city: z.string(), guests: z.number().default(2) }),
  'Valibot, with its JSON Schema': toStandardJsonSchema(
    v.object({ city: v.string(), guests: v.optional(v.number(), 2) }),
  ),
  ArkType: type({ city: 'string', guests: 'number = 2' }),
};

const bookingOfMini = mini.object({ city: mini.string(), guests: mini._default(mini.number(), 2) });

/** A pipeline whose model calls the tool once. */
function booking(schema, seen, args, parameters) {
  const done = { type: 'done', finishReason: 'stop' };
  const call = { type: 'tool-call', id: 'call-1', name: 'book', args, argsText: JSON.stringify(args) };
  const answer = (messages) =>
    messages.at(-1).role === 'tool' ? [{ type: 'token', text: 'Yes.' }, done] : [call, done];
  const llm = new FakeLLM({ answer, firstTokenMs: 0, tokenMs: 0 });
  const voice = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
  const tool = { name: 'book', schema, ...(parameters && { parameters }), execute: (booked) => seen.push(booked) };
  const providers = [new FakeInput(), new FakeSTT(), llm, voice, new FakeOutput()];
  return { llm, pipeline: new Pipeline({ providers, tools: [tool] }) };
}

for (const [library, schema] of Object.entries(schemas)) {
  test(`a tool with a schema of ${library} only tells the model its arguments`, async () => {
    for (const [args, booked] of [
      [{ city: 'Rome' }, [{ city: 'Rome', guests: 2 }]],
      [{ city: 7 }, []],
    ]) {
      const seen = [];
      const { pipeline, llm } = booking(schema, seen, args);
      await pipeline.start();
      await pipeline.send('A table, please.').done;
      const [first, second] = llm.requests;
      const [{ parameters }] = first.options.tools;
      assert.equal(parameters.type, 'object');
      assert.equal(parameters.properties.city.type, 'string');
      assert.equal(parameters.properties.guests.type, 'number');
      assert.deepEqual(parameters.required, ['city']);
      assert.equal(parameters.additionalProperties, false);
      assert.equal(parameters.$schema, undefined);
      assert.deepEqual(seen, booked);
      const result = second.messages.at(-1).content;
      assert.ok(booked.length ? result === '1' : result.startsWith('Error: the arguments are not valid'), result);
      await pipeline.dispose();
    }
  });
}

test('a tool with a schema of Zod mini tells the model the arguments that it is given beside it', async () => {
  const seen = [];
  const parameters = z.toJSONSchema(bookingOfMini, { io: 'input' });
  const { pipeline, llm } = booking(bookingOfMini, seen, { city: 'Rome' }, parameters);
  await pipeline.start();
  await pipeline.send('A table, please.').done;
  assert.deepEqual(llm.requests[0].options.tools[0].parameters, parameters);
  assert.deepEqual(seen, [{ city: 'Rome', guests: 2 }]);
  await pipeline.dispose();
});

const write = "write what the model may pass as parameters: { type: 'object', properties: { … } }";
const refused = {
  'Zod with a date': [z.object({ on: z.date() }), /zod cannot turn the schema into JSON Schema: Date/],
  'Zod that is no object': [z.string(), /takes "string", but models pass an object/],
};
for (const [what, [schema, why]] of Object.entries(refused)) {
  test(`a tool with a schema of ${what} is refused, with a sentence that says what to write`, async () => {
    const { pipeline } = booking(schema, [], {});
    await assert.rejects(pipeline.initialize(), (error) => {
      assert.equal(error.code, 'configuration');
      assert.match(error.message, why);
      assert.ok(error.message.endsWith(write), error.message);
      return true;
    });
    await pipeline.dispose();
  });
}

const mute = {
  'Valibot alone': v.object({ city: v.string() }),
  'Zod mini alone': bookingOfMini,
  'Zod 3': zod3.object({ city: zod3.string() }),
};
for (const [what, schema] of Object.entries(mute)) {
  test(`a tool with a schema of ${what} is refused by the constructor, which says what to write`, () => {
    const message = `Pipeline: the tool book has no parameters, and its schema tells no JSON Schema: ${write}`;
    assert.throws(() => booking(schema, [], {}), { code: 'configuration', message });
  });
}

/** A model of the AI SDK in a call: its provider's package asks, the pipeline runs the tools and speaks. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { fromLanguageModel, Pipeline, type Tool } from 'rxvoice';
import type { Kit } from './kit.ts';

const weather: Tool = {
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }: { readonly city: string }) => `sunny in ${city}`,
};

export async function recipe(kit: Kit): Promise<void> {
  // Any provider of the AI SDK would do, as would its gateway or a model behind middleware.
  const local = createOpenAICompatible({
    name: 'local',
    baseURL: kit.sandbox.endpoints.compatible,
    includeUsage: true,
  });
  const llm = fromLanguageModel(local('llama3.2'), { systemPrompt: 'Be brief.' });

  await using pipeline = new Pipeline({
    providers: [kit.input, kit.stt(), llm, kit.tts(), kit.output],
    tools: [weather],
  });
  pipeline.on('usage', ({ provider, tokens }) => {
    if (tokens) kit.print(`${provider}: ${tokens.inputTokens} in, ${tokens.outputTokens} out`);
  });
  await pipeline.start();
  kit.pickUp();

  kit.say('What is the weather in Paris');
  await kit.next(pipeline, 'turn.ended');
  for (const { role, content } of pipeline.history.messages()) kit.print(`${role}: ${content}`);
  kit.print(`heard: ${kit.heard()}`);
  await pipeline.stop();
}

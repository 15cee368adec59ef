import { asObject, type WireObject } from '../../core/guard.ts';
import type { GenerateOptions, Message, MessageImage, ToolDefinition } from '../../core/messages.ts';
import { answerSchema } from './answer-schema.ts';
import { repairHistory } from './repair-history.ts';

/** What a model of the AI SDK is given beside what every request has. */
export interface PromptOptions {
  readonly systemPrompt?: string | undefined;
  /** The version of the specification by which the model is made, such as `v3`. */
  readonly version: string;
  readonly name: string;
}

/** One request, in the words of the AI SDK's specification: versions 2 to 4 share them, but for files. */
export function callOptions(
  history: readonly Message[],
  options: GenerateOptions,
  { systemPrompt, version, name }: PromptOptions,
): WireObject {
  const { tools = [], toolChoice = 'auto', responseFormat, maxTokens, temperature, seed, stopSequences } = options;
  const { system, messages } = repairHistory(history, { systemPrompt, startsWithUser: true });
  return {
    prompt: [...(system ? [{ role: 'system', content: system }] : []), ...promptOf(messages, version)],
    maxOutputTokens: maxTokens,
    temperature,
    seed,
    stopSequences,
    ...(responseFormat && { responseFormat: formatOf(responseFormat, name) }),
    ...(tools.length > 0 && {
      tools: tools.map(toolOf),
      toolChoice: typeof toolChoice === 'object' ? { type: 'tool', toolName: toolChoice.name } : { type: toolChoice },
    }),
  };
}

function promptOf(messages: readonly Message[], version: string): WireObject[] {
  const names = new Map<string, string>();
  const prompt: { role: string; content: WireObject[] }[] = [];
  for (const message of messages) {
    switch (message.role) {
      case 'system':
        // Many services take instructions at the beginning only.
        prompt.push({ role: 'user', content: [textPart(message.content)] });
        break;
      case 'user':
        prompt.push({
          role: 'user',
          content: [...textParts(message.content), ...(message.images ?? []).map((image) => filePart(image, version))],
        });
        break;
      case 'assistant': {
        const calls = message.toolCalls ?? [];
        for (const { id, name } of calls) names.set(id, name);
        const parts = calls.map(({ id, name, args, providerExtras }) => ({
          ...{ type: 'tool-call', toolCallId: id, toolName: name, input: args ?? {} },
          ...(providerExtras && { providerOptions: providerExtras }),
        }));
        prompt.push({ role: 'assistant', content: [...textParts(message.content), ...parts] });
        break;
      }
      case 'tool': {
        const { toolCallId, content, isError = false } = message;
        const output = { type: isError ? 'error-text' : 'text', value: content };
        const part = { type: 'tool-result', toolCallId, toolName: names.get(toolCallId) ?? 'unknown', output };
        // The results of one round are one message.
        const last = prompt.at(-1);
        if (last?.role === 'tool') last.content.push(part);
        else prompt.push({ role: 'tool', content: [part] });
      }
    }
  }
  return prompt;
}

const textPart = (text: string): WireObject => ({ type: 'text', text });

const textParts = (text: string): WireObject[] => (text.trim() === '' ? [] : [textPart(text)]);

/** An image as a file: from version 4 on, its data says whether it is an address. */
function filePart(image: MessageImage, version: string): WireObject {
  const isTagged = !/^v[23]$/.test(version);
  const [, inUrl, base64] = 'url' in image ? (/^data:([^;,]+);base64,(.*)$/is.exec(image.url) ?? []) : [];
  if ('url' in image && base64 === undefined) {
    const url = new URL(image.url);
    return { type: 'file', mediaType: 'image/*', data: isTagged ? { type: 'url', url } : url };
  }
  const data = 'url' in image ? base64 : image.data;
  const mediaType = 'url' in image ? inUrl : image.mediaType;
  return { type: 'file', mediaType, data: isTagged ? { type: 'data', data } : data };
}

function toolOf({ name, description, parameters, strict }: ToolDefinition): WireObject {
  return {
    ...{ type: 'function', name, inputSchema: parameters ?? { type: 'object', properties: {} } },
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  };
}

function formatOf(format: NonNullable<GenerateOptions['responseFormat']>, provider: string): WireObject {
  if (format === 'json') return { type: 'json' };
  const { name, schema } = answerSchema(format, provider);
  return { type: 'json', name, schema };
}

/** What of a model's metadata about a call goes back with the call. */
export function extrasOf(metadata: unknown): { readonly providerExtras?: WireObject } {
  const extras = asObject(metadata);
  return extras ? { providerExtras: extras } : {};
}

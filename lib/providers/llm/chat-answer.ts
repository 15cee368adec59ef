import {
  asArray,
  asNumber,
  asObject,
  asObjects,
  asString,
  ownEntry,
  parseJsonObject,
  type WireObject,
} from '../../core/guard.ts';
import type { FinishReason, TokenUsage } from '../../core/messages.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';
import { addText, restOfText, type AnswerText } from './answer-text.ts';
import type { AnswerContext, ModelStep, ModelWire } from './model-wire.ts';
import { addFragments, callsInText, wholeCalls, type PartialCall } from './tool-calls.ts';

/** A chat completion as read so far. */
export interface ChatAnswer {
  readonly text: AnswerText;
  readonly calls: readonly PartialCall[];
  readonly finishReason: string | undefined;
  readonly isRefused: boolean;
  readonly usage: TokenUsage | undefined;
}

type Step = ModelStep<ChatAnswer>;

const finishReasons: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  model_length: 'length',
  max_tokens: 'length',
  content_filter: 'filtered',
};

/** Where services put the model's reasoning, which is not spoken. */
const reasoningKeys = ['reasoning_content', 'reasoning', 'reasoning_details'];

/**
 * Reads a chat completion, in every variant of the format that services send (OpenAI's reference).
 *
 * @param hasCallsInText - Whether the model may write a tool call as text, as small local ones do.
 */
export function chatAnswer(
  hasCallsInText = false,
): Required<Pick<ModelWire<never, ChatAnswer>, 'start' | 'read' | 'end' | 'readWhole'>> {
  const holdsCalls = ({ toolNames }: AnswerContext): boolean => hasCallsInText && toolNames.length > 0;
  return {
    start: {
      ...{ text: { phase: 'start', pending: '', hasThought: false }, calls: [] },
      ...{ finishReason: undefined, isRefused: false, usage: undefined },
    },
    read: (state, event, context) => readEvent(state, event, context, holdsCalls(context)),
    end: (state, context) => (state.finishReason === undefined ? undefined : finish(state, context)),
    readWhole: (state, json, context) => {
      const completion = asObject(json) ?? {};
      const [whole, ...effects] = readChunk(state, completion, holdsCalls(context));
      if (effects.some(({ type }) => type === 'refused')) return [whole, ...effects];
      const hasEnded = whole.finishReason !== undefined || asArray(completion['choices']).length > 0;
      const [last, ...ending] = hasEnded ? finish(whole, context) : [whole];
      return [last, ...effects, ...ending];
    },
  };
}

function readEvent(state: ChatAnswer, event: ServerSentEvent, context: AnswerContext, holdsCalls: boolean): Step {
  const { data } = event;
  if (data.trim() === '[DONE]') return finish(state, context);
  if (event.event === 'error') return [state, { type: 'refused', text: data }];
  const chunk = parseJsonObject(data) ?? errorInArray(data);
  return chunk ? readChunk(state, chunk, holdsCalls) : [state, { type: 'unreadable' }];
}

function readChunk(state: ChatAnswer, chunk: WireObject, holdsCalls: boolean): Step {
  const groq = asObject(chunk['x_groq']);
  const error = chunk['error'] ?? groq?.['error'] ?? (chunk['object'] === 'error' ? chunk : undefined);
  if (error) {
    return [state, { type: 'refused', text: JSON.stringify({ error }), status: asNumber(asObject(error)?.['code']) }];
  }
  const choice = asObjects(chunk['choices']).find(({ index }) => (index ?? 0) === 0);
  const usage = usageOf(choice?.['usage']) ?? usageOf(chunk['usage']) ?? usageOf(groq?.['usage']) ?? state.usage;
  if (!choice) return [{ ...state, usage }];
  const reason = asString(choice['finish_reason']);
  if (reason === 'error') return [state, { type: 'refused', text: '{"error":{"code":"error"}}' }];

  const delta = asObject(choice['delta']) ?? asObject(choice['message']) ?? {};
  const refusal = asString(delta['refusal']) ?? '';
  const content = textOf(delta['content']);
  const [text, said] = addText(state.text, content, holdsCalls);
  const next: ChatAnswer = {
    ...{ text, usage },
    calls: addFragments(state.calls, delta['tool_calls']),
    // Some services send '' until the last.
    finishReason: reason === '' ? (state.finishReason ?? reason) : (reason ?? state.finishReason),
    isRefused: state.isRefused || refusal !== '',
  };
  if (said || refusal) return [next, { type: 'token', text: said + refusal }];
  const isThinking = content || reasoningKeys.some((key) => delta[key]) || asArray(delta['tool_calls']).length > 0;
  return isThinking || reason !== undefined ? [next, { type: 'progress' }] : [next];
}

function finish(state: ChatAnswer, { newCallId, toolNames }: AnswerContext): Step {
  const finishReason = ownEntry(finishReasons, state.finishReason) ?? 'stop';
  const isCut = finishReason === 'length';
  const { text, held } = restOfText(state.text);
  const written = callsInText(held, toolNames, newCallId);
  const calls = [...wholeCalls(state.calls, { newId: newCallId, isCut }), ...written];
  // A call of an unknown tool, or an incomplete call, is not spoken either.
  const isCall = isCut || held.startsWith('<tool_call>') || parseJsonObject(held) !== undefined;
  const said = isCall ? text : text + held;
  return [
    state,
    ...(held && isCall && written.length === 0 ? [{ type: 'unreadable' } as const] : []),
    ...(said ? [{ type: 'token', text: said } as const] : []),
    ...calls.map((call) => ({ type: 'tool-call', ...call }) as const),
    {
      type: 'done',
      finishReason: calls.length > 0 ? 'tool-calls' : state.isRefused ? 'filtered' : finishReason,
      ...(state.usage && { usage: state.usage }),
    },
  ];
}

/** The text of a delta's content: a string, or a list of parts that may include other kinds. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return asObjects(content)
    .map((part) => (part['type'] === 'text' ? asString(part['text']) : '') ?? '')
    .join('');
}

/** Gemini wraps errors in an array. */
function errorInArray(data: string): WireObject | undefined {
  return data.trimStart().startsWith('[') ? parseJsonObject(data.trim().slice(1, -1)) : undefined;
}

function usageOf(value: unknown): TokenUsage | undefined {
  const usage = asObject(value) ?? {};
  const counts = [
    ['inputTokens', asNumber(usage['prompt_tokens'])],
    ['outputTokens', asNumber(usage['completion_tokens'])],
    ['totalTokens', asNumber(usage['total_tokens'])],
  ] as const;
  const known = counts.filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

import { asArray, asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { FinishReason, TokenUsage } from '../../core/messages.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';
import type { AnswerContext, ModelStep, ModelWire } from './model-wire.ts';
import { addFragments, callsInText, type PartialCall, wholeCalls } from './tool-calls.ts';

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
      text: { phase: 'start', pending: '', hasThought: false },
      calls: [],
      finishReason: undefined,
      isRefused: false,
      usage: undefined,
    },
    read: (state, event, context) => readEvent(state, event, context, holdsCalls(context)),
    // '' comes with every chunk of some services: it says nothing of where a connection broke.
    end: (state, context, isBroken = false) =>
      state.finishReason === undefined || (isBroken && state.finishReason === '') ? undefined : finish(state, context),
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
  if (kindOf(reason) === 'function_call_filter') {
    return [state, { type: 'refused', text: '{"error":{"code":"function_call_filter"}}' }];
  }

  const delta = asObject(choice['delta']) ?? asObject(choice['message']) ?? {};
  const refusal = asString(delta['refusal']) ?? '';
  const content = textOf(delta['content']);
  const [text, said] = addText(state.text, content, holdsCalls);
  const next: ChatAnswer = {
    text,
    usage,
    calls: addFragments(state.calls, delta['tool_calls']),
    // Some services send '' until the last.
    finishReason: reason === '' ? (state.finishReason ?? reason) : (reason ?? state.finishReason),
    isRefused: state.isRefused || refusal !== '',
  };
  if (said || refusal) return [next, { type: 'token', text: said + refusal }];
  const isThinking = content || reasoningKeys.some((key) => delta[key]) || asArray(delta['tool_calls']).length > 0;
  return isThinking || reason !== undefined ? [next, { type: 'progress' }] : [next];
}

/** Gemini adds its own word to a reason: `content_filter: RECITATION`. */
function kindOf(reason: string | undefined): string | undefined {
  return reason?.split(':', 1)[0];
}

function finish(state: ChatAnswer, { newCallId, toolNames }: AnswerContext): Step {
  const finishReason = ownEntry(finishReasons, kindOf(state.finishReason)) ?? 'stop';
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
  const usage = asObject(value);
  if (!usage) return undefined;
  const details = (key: string): WireObject => asObject(usage[key]) ?? {};
  const counts = [
    ['inputTokens', asNumber(usage['prompt_tokens'])],
    ['outputTokens', asNumber(usage['completion_tokens'])],
    ['totalTokens', asNumber(usage['total_tokens'])],
    ['cachedTokens', asNumber(details('prompt_tokens_details')['cached_tokens'])],
    ['reasoningTokens', asNumber(details('completion_tokens_details')['reasoning_tokens'])],
  ] as const;
  const known = counts.filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

/**
 * The start of an answer, not yet classified as reasoning, a tool call or speech; then speech, passed on as it arrives.
 */
export type AnswerText =
  | {
      /** `held` starts like a tool call. */
      readonly phase: 'start' | 'held';
      readonly pending: string;
      /** Whether reasoning preceded it. */
      readonly hasThought: boolean;
    }
  | { readonly phase: 'thinking'; readonly pending: string }
  | { readonly phase: 'speaking' };

const opening = '<think>';
const closing = '</think>';
const thoughts = /^(?:\s*<think>[^]*?<\/think>)+/;

/** How weak models start text that is a tool call, not speech. */
const callMarks = ['{', '<tool_call>'];

const maxHeldLength = 65_536;

/**
 * Adds a chunk and returns what can now be spoken. Reasoning between `<think>` and `</think>` at the start of an answer
 * is left out, however the chunks are split.
 *
 * @param holdsCalls - Whether to hold back text that starts like a tool call.
 */
export function addText(
  state: AnswerText,
  piece: string,
  holdsCalls: boolean,
): readonly [state: AnswerText, spoken: string] {
  if (state.phase === 'speaking') return [state, piece];
  const pending = state.pending + piece;
  if (state.phase === 'thinking') {
    const end = pending.indexOf(closing);
    // Reasoning can be long; only a possible start of its end mark needs keeping.
    if (end < 0) return [{ phase: 'thinking', pending: pending.slice(-closing.length) }, ''];
    const rest = pending.slice(end + closing.length);
    return addText({ phase: 'start', pending: '', hasThought: true }, rest, holdsCalls);
  }
  if (state.phase === 'held') {
    // No tool call is that long.
    return pending.length < maxHeldLength ? [{ ...state, pending }, ''] : speak(pending, state.hasThought);
  }
  const unthought = pending.replace(thoughts, '');
  const hasThought = state.hasThought || unthought !== pending;
  const text = unthought.trimStart();
  if (text.startsWith(opening)) return [{ phase: 'thinking', pending: text.slice(-closing.length) }, ''];
  const waiting = { pending: unthought, hasThought };
  if (holdsCalls && callMarks.some((mark) => text.startsWith(mark))) return [{ phase: 'held', ...waiting }, ''];
  const marks = holdsCalls ? [opening, ...callMarks] : [opening];
  return marks.some((mark) => mark.startsWith(text))
    ? [{ phase: 'start', ...waiting }, '']
    : speak(unthought, hasThought);
}

/** What remains at the end of the answer: `text` to speak, or `held`, which started like a tool call. */
export function restOfText(state: AnswerText): { readonly text: string; readonly held: string } {
  if (state.phase !== 'start' && state.phase !== 'held') return { text: '', held: '' };
  const [, rest] = speak(state.pending, state.hasThought);
  return state.phase === 'held' ? { text: '', held: rest } : { text: rest.trim() === '' ? '' : rest, held: '' };
}

function speak(text: string, hasThought: boolean): readonly [AnswerText, string] {
  return [{ phase: 'speaking' }, hasThought ? text.trimStart() : text];
}

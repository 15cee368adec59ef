import type { Message, MessageImage, ToolCall } from '../../core/messages.ts';

/** A history that every service accepts. */
export interface RepairedHistory {
  /** All instructions from before the conversation, joined by blank lines; empty if there are none. */
  readonly system: string;
  /** Roles in an order that the services accept, ending with the user's turn or a tool's result. */
  readonly messages: readonly Message[];
}

/** Requirements of a particular service. */
export interface RepairOptions {
  /** Instructions placed before all others. */
  readonly systemPrompt?: string | undefined;
  /** Whether the first turn must be the user's. */
  readonly startsWithUser: boolean;
}

/** The result of a call that was never answered. */
const cancelled = 'Cancelled: the user interrupted.';
/** Stands for a missing user turn where a service requires one. */
const nothing = '(empty)';
const goOn = '.';

/**
 * Makes a history acceptable to services, whatever an interruption, a trimmed window or another vendor did to it: each
 * call is followed by its result, each result belongs to a call, no turn is empty, no speaker has two turns in a row.
 */
export function repairHistory(
  history: readonly Message[],
  { systemPrompt, startsWithUser }: RepairOptions,
): RepairedHistory {
  const firstTurn = history.findIndex(({ role }) => role !== 'system');
  const leading = firstTurn < 0 ? history : history.slice(0, firstTurn);
  const instructions = [systemPrompt ?? '', ...leading.map(({ content }) => content)].filter(isSaid);

  const results = new Map<string, Message>();
  for (const message of history) if (message.role === 'tool') results.set(message.toolCallId, message);
  const answered = new Set<string>();
  const messages: Message[] = [];
  for (const message of history.slice(leading.length)) {
    if (message.role === 'tool') continue;
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    const fresh = calls.filter(({ id }) => !answered.has(id) && answered.add(id));
    if (!isSaid(message.content) && fresh.length === 0 && imagesOf(message).length === 0) continue;
    append(messages, message, fresh);
    for (const { id } of fresh) {
      messages.push(results.get(id) ?? { role: 'tool', toolCallId: id, content: cancelled, isError: true });
    }
  }

  if (startsWithUser && messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: nothing });
  const last = messages.at(-1)?.role;
  if (last === undefined || last === 'assistant') messages.push({ role: 'user', content: goOn });
  return { system: instructions.join('\n\n'), messages };
}

const isSaid = (text: string): boolean => text.trim() !== '';

const imagesOf = (message: Message | undefined): readonly MessageImage[] =>
  (message?.role === 'user' ? message.images : undefined) ?? [];

/** Adds a turn, or merges it into the last one by the same speaker. */
function append(messages: Message[], message: Exclude<Message, { role: 'tool' }>, calls: readonly ToolCall[]): void {
  const last = messages.at(-1);
  const previous = last?.role === message.role && message.role !== 'system' ? last : undefined;
  if (previous) messages.pop();
  const content = [previous?.content ?? '', message.content].filter(isSaid).join('\n');
  const images = [...imagesOf(previous), ...imagesOf(message)];
  if (message.role === 'assistant') {
    messages.push({ role: 'assistant', content, ...(calls.length > 0 && { toolCalls: calls }) });
  } else if (message.role === 'user') {
    messages.push({ role: 'user', content, ...(images.length > 0 && { images }) });
  } else messages.push({ role: 'system', content });
}

import type { AgentHeard, AgentText } from '../../core/roles.ts';

/** A text of the conversation. */
export interface Line extends AgentText {
  /** The reply that an assistant's text belongs to. */
  readonly reply?: string;
}

/** The audio of a reply as it was received. */
export interface ReplyAudio {
  readonly id: string;
  /** Its parts, under the service's names, in order. */
  readonly parts: readonly ReplyPart[];
}

interface ReplyPart {
  readonly item: string | undefined;
  /** Milliseconds. */
  readonly ms: number;
}

/** How much of a part of a reply was heard. */
export interface HeardPart {
  /** The service's name for it; see the effect `audio`. */
  readonly item: string | undefined;
  /** Its audio, in milliseconds. */
  readonly ms: number;
  /** How much of it was heard, in milliseconds. */
  readonly playedMs: number;
}

/** Limits on what is remembered. */
const maxHistory = 80;
const maxHistoryLength = 262_144;
/** Replies that may still be cut off: the service sends them faster than they sound. */
const maxReplies = 8;
const maxParts = 64;

/** Adds audio to a reply. */
export function withAudio(replies: readonly ReplyAudio[], id: string, added: ReplyPart): readonly ReplyAudio[] {
  const { parts = [] } = replies.find((reply) => reply.id === id) ?? {};
  const last = parts.at(-1);
  const isSame = last?.item === added.item;
  const next = isSame ? [...parts.slice(0, -1), { ...added, ms: (last?.ms ?? 0) + added.ms }] : [...parts, added];
  return [...replies.filter((reply) => reply.id !== id), { id, parts: next.slice(-maxParts) }].slice(-maxReplies);
}

/** Replies of a connection that is gone: the next one does not know the service's names. */
export function withoutNames(replies: readonly ReplyAudio[]): readonly ReplyAudio[] {
  return replies.map(({ id, parts }) => ({ id, parts: parts.map(({ ms }) => ({ item: undefined, ms })) }));
}

/** What was heard of each part of a reply. */
export function heardOf({ parts }: ReplyAudio, playedMs: number): readonly HeardPart[] {
  let startMs = 0;
  return parts.map(({ item, ms }) => {
    const heardMs = Math.min(ms, Math.max(0, playedMs - startMs));
    startMs += ms;
    return { item, ms, playedMs: heardMs };
  });
}

/** The latest texts, as many as are remembered. */
export function latest(history: readonly Line[]): readonly Line[] {
  let length = 0;
  const kept = history.slice(-maxHistory);
  return kept.slice(kept.findLastIndex(({ text }) => (length += text.length) > maxHistoryLength) + 1);
}

/** The history with a reply reduced to what was heard of it. */
export function asHeard(history: readonly Line[], { utteranceId, text }: AgentHeard): readonly Line[] {
  const at = history.findIndex(({ reply }) => reply === utteranceId);
  const others = history.filter(({ reply }) => reply !== utteranceId);
  const heard: readonly Line[] = text.trim() ? [{ role: 'assistant', text, reply: utteranceId }] : [];
  return latest(at < 0 ? [...others, ...heard] : [...others.slice(0, at), ...heard, ...others.slice(at)]);
}

/** The history with the service's own account of a reply that it cut off, unless what was heard is known. */
export function corrected(history: readonly Line[], original: string, text: string): readonly Line[] {
  const at = history.findLastIndex((line) => line.role === 'assistant' && line.text === original);
  return history.flatMap((line, index) => (index !== at ? [line] : text ? [{ ...line, text }] : []));
}

/** The history with the user's words inserted that arrived after the reply to them had begun. */
export function withLateWords(history: readonly Line[], text: string): readonly Line[] {
  const at = history.findLastIndex(({ role }) => role === 'user') + 1;
  return latest([...history.slice(0, at), { role: 'user', text }, ...history.slice(at)]);
}

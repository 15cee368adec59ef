import { asNumber, asObject, asObjects, asString, wireWord, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { TokenUsage } from '../../core/messages.ts';
import type { AgentFunctionCall } from '../../core/roles.ts';
import type { AgentEffect } from './agent-wire.ts';

/** What a message holds, in one object. */
export function flat({ serverContent, ...rest }: WireObject): WireObject {
  return { ...rest, ...asObject(serverContent) };
}

/** A result as the wire has it: an object. */
export function resultOf({ id, name }: AgentFunctionCall, content: string, extras: WireObject): WireObject {
  return { id, name, response: parseJsonObject(content) ?? { output: content }, ...extras };
}

/** Why the model did not say all that it could have. */
export function reasonOf(reason: unknown): readonly AgentEffect[] {
  if (!asString(reason) || reason === 'NEED_MORE_INPUT' || reason === 'TURN_COMPLETE_REASON_UNSPECIFIED') return [];
  const message = `the service ended the reply (${wireWord(reason)})`;
  return [{ type: 'warning', message, code: 'server', recoverable: true }];
}

/** The tokens of an answer. */
export function usageOf(usage: WireObject | undefined): TokenUsage | undefined {
  const audioOf = (details: unknown): number | undefined =>
    asNumber(asObjects(details).find(({ modality }) => modality === 'AUDIO')?.['tokenCount']);
  const [answer, thoughts] = [asNumber(usage?.['responseTokenCount']), asNumber(usage?.['thoughtsTokenCount'])];
  const counts = {
    inputTokens: asNumber(usage?.['promptTokenCount']),
    outputTokens: answer === undefined ? thoughts : answer + (thoughts ?? 0),
    totalTokens: asNumber(usage?.['totalTokenCount']),
    cachedTokens: asNumber(usage?.['cachedContentTokenCount']),
    reasoningTokens: thoughts,
    inputAudioTokens: audioOf(usage?.['promptTokensDetails']),
    outputAudioTokens: audioOf(usage?.['responseTokensDetails']),
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

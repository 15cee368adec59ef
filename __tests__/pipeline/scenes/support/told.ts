import type { AudioChunk, History, VoiceEvent, VoiceEventType } from 'rxvoice';
import { durationMs } from '../../../../lib/audio/formats.ts';
import { textAudioFormat } from 'rxvoice/testing';
import { seconds } from './script.ts';

/** A line of what happened, and when, in milliseconds. */
export interface Told {
  readonly atMs: number;
  readonly line: string;
}

const samplesPerCharacter = 50 * 8;

/** A stretch of a speech between two silences, its text read from the samples. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly text: string;
}

/** A line for each stretch. */
export function heardLines(stretches: readonly Stretch[]): Told[] {
  return stretches.map(({ fromMs, toMs, text }) => ({
    atMs: fromMs,
    line: `${seconds(fromMs)}-${seconds(toMs)} heard: ${text.trim()}`,
  }));
}

/** What sounded. */
export function stretchesOf(chunks: readonly AudioChunk[], events: readonly VoiceEvent[]): Stretch[] {
  const starts = events.flatMap(({ type, at }) => (type === 'speech.started' ? [at] : []));
  const stretches: { fromMs: number; toMs: number; text: string }[] = [];
  let [code, run] = [0, 0];
  let begun: { text: string } | undefined;
  for (const { data, timestamp = 0 } of chunks) {
    const ms = durationMs(data.byteLength, textAudioFormat);
    const last = stretches.at(-1);
    const isNewSpeech = starts.some((at) => last && at > last.fromMs && at >= last.toMs - 1 && at <= timestamp);
    const isNew = !last || timestamp - last.toMs > 1 || isNewSpeech;
    const stretch = isNew ? { fromMs: timestamp, toMs: timestamp, text: '' } : last;
    if (isNew) stretches.push(stretch);
    if (isNewSpeech) run = 0;
    stretch.toMs = timestamp + ms;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    for (let at = 0; at + 1 < data.byteLength; at += 2) {
      const next = view.getUint16(at, true);
      if (next !== code) run = 0;
      code = next;
      // A character belongs to where it began: a pause may cut it in two.
      if (run++ % samplesPerCharacter === 0) begun = stretch;
      if (begun && run % samplesPerCharacter === 0) begun.text += String.fromCharCode(code);
    }
  }
  return stretches.filter(({ text }) => text.trim());
}

type Sentences = { readonly [T in VoiceEventType]?: (event: VoiceEvent<T>, isHeard: boolean) => string | undefined };

/** What is told of the agent's decisions. */
const sentences: Sentences = {
  'turn.committed': ({ text }) => `turn: ${text}`,
  'turn.ended': ({ reason }) => (reason === 'completed' ? undefined : `turn ends (${reason})`),
  'transcript.timeout': ({ text }) => `no final came: ${text || 'no words either'}`,
  'preflight.started': ({ text }) => `prepares: ${text}`,
  'preflight.adopted': ({ leadMs }) => `uses what it prepared ${seconds(leadMs)} ago`,
  'preflight.discarded': ({ reason }) => `drops what it prepared (${reason})`,
  'bargeIn.suspected': (_, isHeard) => (isHeard ? 'agent ducks' : 'agent holds back'),
  'bargeIn.paused': (_, isHeard) => (isHeard ? 'agent pauses' : undefined),
  'bargeIn.resumed': () => 'agent goes on',
  'bargeIn.confirmed': (_, isHeard) => (isHeard ? 'agent is cut off' : 'agent is stopped'),
  'bargeIn.ignored': ({ reason, text }) => `ignored (${reason}): ${text}`,
  'tool.call': ({ call }) => `tool ${call.name} starts`,
  'tool.result': ({ call, content }) => `tool ${call.name} gives: ${content}`,
  'tool.error': ({ call, content }) => `tool ${call.name} fails: ${content}`,
  'tool.cancelled': ({ call }) => `tool ${call.name} is cancelled`,
  'agent.handoff': ({ to }) => `agent is now: ${to}`,
  'user.language': ({ language }) => `language is now: ${language}`,
  'user.idle': () => 'nobody speaks',
  'user.away': () => 'the user is away',
  'input.listening': ({ listening }) => (listening ? 'listens again' : 'does not listen'),
  'provider.fallback': ({ role = '', message }) => `${role} ${message ? 'falls back' : 'is the first again'}`,
  'session.closed': () => 'conversation ends',
  error: ({ role = 'pipeline', code }) => `error: ${role} ${code}`,
};

/** The agent's decisions, a line each. */
export function decisionLines(events: readonly VoiceEvent[]): Told[] {
  const heard = new Set<string | undefined>();
  return events.flatMap((event) => {
    if (event.type === 'speech.started') heard.add(event.speechId);
    const sentence = sentences[event.type] as ((event: VoiceEvent, isHeard: boolean) => string | undefined) | undefined;
    const line = sentence?.(event, event.speechId !== undefined && heard.has(event.speechId));
    return line ? [{ atMs: event.at, line: `${seconds(event.at)} ${line}` }] : [];
  });
}

/** What the model will be told later. */
export function historyLines({ items }: History): string[] {
  return items.flatMap((item) => {
    if (item.role === 'user') return item.text ? [`user: ${item.text}`] : [];
    if (item.role === 'tool') return [`tool: ${item.content}`];
    const calls = (item.toolCalls ?? []).map(({ name }) => `agent calls ${name}`);
    const { heard, interrupted } = item;
    return [...(heard || calls.length === 0 ? [`agent: ${heard}${interrupted ? '—' : ''}`] : []), ...calls];
  });
}

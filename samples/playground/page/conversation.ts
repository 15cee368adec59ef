import type { HistoryItem, TurnEndReason, TurnMetrics, VoiceEvent, VoiceEventType } from 'rxvoice';

/** Something that was said or done, as the conversation shows it. */
export type Line =
  | {
      readonly kind: 'user';
      readonly key: string;
      readonly turnId: string | undefined;
      /** The turn's number, as the diagram has it. */
      readonly turn: number | undefined;
      readonly text: string;
      readonly ended?: TurnEndReason;
      /** What the model will remember of it; absent until it is known. */
      readonly memory?: readonly Memory[];
    }
  | {
      readonly kind: 'agent';
      readonly key: string;
      readonly turnId: string | undefined;
      readonly speechId?: string;
      /** What it says, as far as the model has written it. */
      readonly text: string;
      readonly phase: 'preparing' | 'speaking' | 'paused' | 'ended';
      /** How much of it has begun to sound, in characters, where captions tell each word. */
      readonly spokenTo?: number;
      /** What was heard of it, when it has ended. */
      readonly heard?: string;
      readonly interrupted: boolean;
      /** How long its turn took, when that is known. */
      readonly metrics?: TurnMetrics;
      readonly memory?: readonly Memory[];
    }
  | {
      readonly kind: 'tool';
      readonly key: string;
      readonly turnId: string | undefined;
      readonly text: string;
      readonly result?: string;
      readonly phase: 'running' | 'ended' | 'failed' | 'cancelled';
      /** Where in the answer it was called: the line, and how much of that was written. */
      readonly within?: { readonly key: string; readonly at: number };
      readonly memory?: readonly Memory[];
    };

/** What the model will be told of a line. */
export interface Memory {
  readonly id: string;
  readonly text: string;
  /** Reckoned without word times of the voice. */
  readonly estimated: boolean;
}

/** What is shown of a conversation. */
export interface Conversation {
  readonly lines: readonly Line[];
  /** What the user is saying; nothing of it is certain. */
  readonly caption: { readonly text: string; readonly isPreflight: boolean } | undefined;
  /** What is remembered before its line is there. */
  readonly pending: Memory | undefined;
  /** The turn that began last; turns count from 1. */
  readonly turn: { readonly id: string | undefined; readonly number: number };
}

/** Before anything was said. */
export const silence: Conversation = {
  ...{ lines: [], caption: undefined, pending: undefined },
  turn: { id: undefined, number: 0 },
};

/** Lines that are kept; older ones are in the recording. */
const maxLines = 300;

type Agent = Extract<Line, { kind: 'agent' }>;
type Reducer<T extends VoiceEventType> = (before: Conversation, event: VoiceEvent<T>) => Conversation;

function add(before: Conversation, line: Line): Conversation {
  return { ...before, lines: [...before.lines, line].slice(-maxLines) };
}

/** Changes the last line that a test finds. */
function change<L extends Line>(
  before: Conversation,
  isIt: (line: Line) => line is L,
  how: (line: L) => L,
): Conversation {
  const index = before.lines.findLastIndex(isIt);
  const line = before.lines[index];
  if (!line || !isIt(line)) return before;
  return { ...before, lines: before.lines.with(index, how(line)) };
}

const agentLine =
  (isIt: (line: Agent) => boolean) =>
  (line: Line): line is Agent =>
    line.kind === 'agent' && isIt(line);
const bySpeech = (speechId: string | undefined): ((line: Line) => line is Agent) =>
  agentLine((line) => line.speechId === speechId);
const openAnswer = (turnId: string | undefined): ((line: Line) => line is Agent) =>
  agentLine((line) => line.turnId === turnId && line.phase !== 'ended');

/** The agent's line that an answer of a turn goes to: the open one, else a new one. */
function answering(before: Conversation, { turnId, at }: VoiceEvent): Conversation {
  if (before.lines.some(openAnswer(turnId))) return before;
  const line = { kind: 'agent', key: `agent ${turnId ?? ''} ${at}`, turnId, text: '', phase: 'preparing' } as const;
  return add(before, { ...line, interrupted: false });
}

const memoryOf = (item: HistoryItem): Memory => ({
  id: item.id,
  text: item.role === 'user' ? item.text : item.role === 'assistant' ? item.heard : item.content,
  estimated: item.role === 'assistant' && item.estimated,
});

function remember(before: Conversation, item: HistoryItem): Conversation {
  const memory = memoryOf(item);
  // What the user says is remembered before its line is committed; what joins an earlier message moves to the newest.
  if (item.role === 'user') {
    const lines = before.lines.map((line) => (isOf(line, item.id) ? forget(line) : line));
    return { ...before, lines, pending: memory };
  }
  if (item.role === 'tool') {
    return change(
      before,
      (line): line is Extract<Line, { kind: 'tool' }> => line.key === `tool ${item.toolCallId}`,
      (line) => ({ ...line, memory: [memory] }),
    );
  }
  // A round that only called tools said nothing.
  if (!memory.text.trim()) return before;
  const known = agentLine((line) => isOf(line, item.id));
  if (before.lines.some(known)) {
    return change(before, known, (line) => ({
      ...line,
      memory: line.memory?.map((each) => (each.id === item.id ? memory : each)) ?? [],
    }));
  }
  // An answer of several rounds is remembered in as many pieces.
  return change(
    before,
    agentLine(() => true),
    (line) => ({ ...line, memory: [...(line.memory ?? []), memory] }),
  );
}

function isOf({ memory = [] }: Line, id: string): boolean {
  return memory.some((each) => each.id === id);
}

function forget(line: Line): Line {
  const { memory: _, ...rest } = line;
  return rest;
}

function endTool(
  before: Conversation,
  id: string,
  phase: Extract<Line, { kind: 'tool' }>['phase'],
  result?: string,
): Conversation {
  return change(
    before,
    (line): line is Extract<Line, { kind: 'tool' }> => line.key === `tool ${id}`,
    (line) => ({ ...line, phase, ...(result === undefined ? {} : { result }) }),
  );
}

const paused =
  (phase: 'paused' | 'speaking'): Reducer<'speech.paused' | 'speech.resumed' | 'speech.started'> =>
  (before, { speechId }) =>
    change(before, bySpeech(speechId), (line) => ({ ...line, phase }));

const captioned =
  (isPreflight: boolean): Reducer<'transcript.interim' | 'transcript.preflight'> =>
  (before, { text }) => ({ ...before, caption: { text, isPreflight } });

const reducers: { readonly [T in VoiceEventType]?: Reducer<T> } = {
  'transcript.interim': captioned(false),
  'transcript.preflight': captioned(true),
  'transcript.timeout': (before) => ({ ...before, caption: undefined }),
  'bargeIn.ignored': (before) => ({ ...before, caption: undefined }),
  'turn.started': (before, { turnId }) =>
    turnId === undefined ? before : { ...before, turn: { id: turnId, number: before.turn.number + 1 } },
  'turn.committed': (before, { turnId, text, at }) => {
    const turn = before.turn.id === turnId ? before.turn.number : undefined;
    const line = { kind: 'user', key: `user ${turnId ?? ''} ${at}`, turnId, turn, text } as const;
    const memory = before.pending;
    return { ...add(before, memory ? { ...line, memory: [memory] } : line), caption: undefined, pending: undefined };
  },
  'turn.ended': (before, { turnId, reason }) =>
    change(
      before,
      (line): line is Extract<Line, { kind: 'user' }> => line.kind === 'user' && line.turnId === turnId,
      (line) => ({ ...line, ended: reason }),
    ),
  // Another round goes on with the answer, a space apart.
  'llm.started': (before, { turnId }) =>
    change(before, openAnswer(turnId), (line) => (/\S$/.test(line.text) ? { ...line, text: `${line.text} ` } : line)),
  'llm.token': (before, event) =>
    change(answering(before, event), openAnswer(event.turnId), (line) => ({ ...line, text: line.text + event.delta })),
  'llm.aborted': (before, { turnId }) =>
    change(
      before,
      agentLine((line) => line.turnId === turnId && line.speechId === undefined && line.phase === 'preparing'),
      (line) => ({ ...line, phase: 'ended', heard: '', interrupted: true }),
    ),
  'speech.created': (before, event) => {
    const { speechId, source } = event;
    const named = speechId === undefined ? {} : { speechId };
    if (source === 'answer') {
      return change(answering(before, event), openAnswer(event.turnId), (line) => ({ ...line, ...named }));
    }
    const line = { kind: 'agent', key: `speech ${speechId ?? ''}`, turnId: event.turnId, ...named } as const;
    return add(before, { ...line, text: '', phase: 'preparing', interrupted: false });
  },
  'speech.started': paused('speaking'),
  'speech.resumed': paused('speaking'),
  'speech.paused': paused('paused'),
  'caption.word': (before, { speechId, range }) =>
    change(before, bySpeech(speechId), (line) => ({ ...line, spokenTo: range[1] })),
  'speech.ended': (before, { speechId, text, heardText, interrupted }) =>
    change(before, bySpeech(speechId), (line) => ({
      ...line,
      // What the model wrote and nobody said is a part of what was never heard.
      ...{ phase: 'ended', text: prefixLength(line.text, text) === undefined ? text : line.text },
      ...{ heard: heardText, interrupted },
    })),
  'turn.metrics': (before, { type: _, at: _at, turnId, ...metrics }) =>
    change(
      before,
      agentLine((line) => line.turnId === turnId),
      (line) => ({ ...line, metrics }),
    ),
  'tool.call': (before, { call, turnId }) => {
    const answer = before.lines.findLast(openAnswer(turnId));
    return add(before, {
      ...{ kind: 'tool', key: `tool ${call.id}`, turnId, text: `${call.name}(${call.argsText})`, phase: 'running' },
      ...(answer && { within: { key: answer.key, at: answer.text.length } }),
    });
  },
  'tool.result': (before, { call, content }) => endTool(before, call.id, 'ended', content),
  'tool.error': (before, { call, content }) => endTool(before, call.id, 'failed', content),
  'tool.cancelled': (before, { call }) => endTool(before, call.id, 'cancelled'),
  'history.added': (before, { item }) => remember(before, item),
  'history.updated': (before, { item }) => remember(before, item),
  'session.closed': (before) => ({ ...before, caption: undefined }),
};

/** What is shown after one more event; the same object where nothing changes. */
export function conversed(before: Conversation, event: VoiceEvent): Conversation {
  const reduce = reducers[event.type] as Reducer<VoiceEventType> | undefined;
  return reduce ? reduce(before, event) : before;
}

/** What was heard of a text, and what never was. */
export function splitHeard(text: string, heard: string): { readonly heard: string; readonly unheard: string } {
  const cut = prefixLength(text, heard) ?? wordsLength(text, heard);
  return { heard: text.slice(0, cut), unheard: text.slice(cut) };
}

/** How long the part of a text is that says a prefix, white space aside; `undefined` when it begins otherwise. */
function prefixLength(text: string, prefix: string): number | undefined {
  let at = 0;
  for (const character of prefix.replace(/\s+/g, '')) {
    while (/\s/.test(text[at] ?? '')) at++;
    if (!text.startsWith(character, at)) return undefined;
    at += character.length;
  }
  return at;
}

/** The voice says Markdown otherwise than it is written: as many words as were heard. */
function wordsLength(text: string, heard: string): number {
  const count = heard.trim().split(/\s+/).filter(Boolean).length;
  const last = [...text.matchAll(/\S+/g)].slice(0, count).at(-1);
  return last ? last.index + last[0].length : 0;
}

/** A line in words, for the log that is read aloud; `undefined` while it is not final. */
export function spokenLine(line: Line): string | undefined {
  if (line.kind === 'user') return `You: ${line.text}`;
  if (line.kind === 'tool')
    return line.phase === 'running' ? undefined : `Tool ${line.text}: ${line.result ?? line.phase}`;
  if (line.phase !== 'ended') return undefined;
  const heard = line.heard?.trim() ?? '';
  if (!line.interrupted) return `Agent: ${heard || line.text}`;
  return heard ? `Agent, interrupted: ${heard}` : undefined;
}

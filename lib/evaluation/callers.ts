import { filter, firstValueFrom, map, reduce, takeUntil } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { GenerateOptions, LLMEvent, Message } from '../core/messages.ts';
import type { LLMProvider } from '../core/roles.ts';
import { fromAbort } from '../stream/bridge.ts';
import type { CallUtterance } from './call-record.ts';
import type { CallContext, Caller } from './scenario.ts';

/** A caller who says these lines, whatever the agent says, and hangs up. */
export function scriptedCaller(lines: readonly string[]): Caller {
  return () => {
    let next = 0;
    return () => lines[next++];
  };
}

/** Any language model. */
export type CallerModel = Pick<LLMProvider, 'name' | 'generate' | 'initialize' | 'isReady'>;

/** Options of a {@link modelCaller}. */
export interface ModelCallerOptions {
  /**
   * Its model, or what makes one for each call: in virtual time it needs the call's `scheduler`. It is initialized if it is
   * not ready; dispose of it yourself.
   */
  readonly llm: CallerModel | ((context: CallContext) => CallerModel);
  /** Who calls: "An old man, hard of hearing, who has lost his card." */
  readonly persona: string;
  /** What the caller wants: the call ends when it is reached, or cannot be. */
  readonly goal: string;
  /** Options of each request, such as `temperature`. The call's `seed` is added. */
  readonly options?: GenerateOptions;
}

/** How the model says that it hangs up. */
const hangUp = '[hang up]';

/** A caller whose words a model chooses. */
export function modelCaller({ llm: given, persona, goal, options }: ModelCallerOptions): Caller {
  const system = [
    `You play a person who calls a voice agent on the telephone. You are: ${persona}`,
    `What you want: ${goal}`,
    'Answer with nothing but the words that you say next: one or two short sentences, as people speak, without marks or',
    'stage directions. You are never the agent, and you never help it.',
    `When you have what you want, or it is clear that you cannot have it, say goodbye and end with ${hangUp}`,
  ].join('\n');
  return (context) => {
    const { seed } = context;
    const llm = typeof given === 'function' ? given(context) : given;
    let isOver = false;
    return async (said, { signal }) => {
      if (isOver) return undefined;
      const text = await answerOf(llm, [{ role: 'system', content: system }, ...asCaller(said)], signal, {
        ...options,
        seed,
      });
      isOver = text.toLowerCase().includes(hangUp);
      const words = isOver ? text.slice(0, text.toLowerCase().indexOf(hangUp)).trim() : text;
      if (words === '' && !isOver) throw new VoiceError(`${llm.name} gave the caller no words`, { code: 'protocol' });
      return words === '' ? undefined : words;
    };
  };
}

/** The call as the caller lives it: the agent's words are what the model is told, its own are its answers. */
function asCaller(said: readonly CallUtterance[]): Message[] {
  const messages: Message[] = [];
  for (const { who, text } of said) {
    const role = who === 'agent' ? 'user' : 'assistant';
    const last = messages.at(-1);
    if (last?.role === role) messages[messages.length - 1] = { role, content: `${last.content} ${text}` };
    else messages.push({ role, content: text });
  }
  if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: '(The line is open. You speak first.)' });
  if (messages.at(-1)?.role !== 'user') messages.push({ role: 'user', content: '(The agent says nothing.)' });
  return messages;
}

/** The text of a whole answer. */
export async function answerOf(
  llm: CallerModel,
  messages: readonly Message[],
  signal: AbortSignal,
  options: GenerateOptions,
): Promise<string> {
  if (!llm.isReady()) await llm.initialize();
  const text$ = llm.generate(messages, options).pipe(
    filter((event): event is Extract<LLMEvent, { readonly type: 'token' }> => event.type === 'token'),
    map(({ text }) => text),
    reduce((all, text) => all + text, ''),
    takeUntil(fromAbort(signal)),
  );
  return (await firstValueFrom(text$, { defaultValue: '' })).trim();
}

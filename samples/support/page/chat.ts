import { map, scan, type Observable } from 'rxjs';
import type { RemotePipeline } from 'rxvoice/remote';

/** A line of the chat. */
export interface Line {
  readonly speaker: 'user' | 'agent';
  readonly text: string;
}

interface Chat {
  readonly lines: readonly Line[];
  /** What the user is saying, and what was heard so far of what the agent is saying. */
  readonly user: string;
  readonly agent: string;
}

/** Most lines that are kept. */
const maxLines = 200;

/** The lines of a conversation, and those that still grow. */
export function chatOf(
  voice: RemotePipeline,
): Observable<{ readonly lines: readonly Line[]; readonly open: readonly Line[] }> {
  const begin: Chat = { lines: [], user: '', agent: '' };
  return voice.events$.pipe(
    scan((chat, event): Chat => {
      const say = (speaker: Line['speaker'], text: string): readonly Line[] =>
        text.trim() ? [...chat.lines, { speaker, text }].slice(-maxLines) : chat.lines;
      switch (event.type) {
        case 'transcript.interim':
          return { ...chat, user: event.text };
        case 'turn.committed':
          return { ...chat, user: '', lines: say('user', event.text) };
        case 'turn.ended':
          return { ...chat, user: '' };
        case 'caption.word':
          return { ...chat, agent: `${chat.agent} ${event.text}` };
        case 'speech.ended':
          return { ...chat, agent: '', lines: say('agent', event.heardText) };
        default:
          return chat;
      }
    }, begin),
    map(({ lines, user, agent }) => ({
      lines,
      open: [
        ...(user ? [{ speaker: 'user', text: user } as const] : []),
        ...(agent ? [{ speaker: 'agent', text: agent } as const] : []),
      ],
    })),
  );
}

import { styleText } from 'node:util';
import type { VoiceEvent, VoiceEventType } from 'rxvoice';

type Color = 'gray' | 'cyan' | 'green' | 'yellow' | 'magenta' | 'red' | 'blue';

/** How an event is shown: its colour, and what matters of it. Types that are not here are not shown. */
const shown: { readonly [T in VoiceEventType]?: readonly [Color, (event: VoiceEvent<T>) => string] } = {
  'session.ready': ['gray', () => ''],
  'provider.format': ['gray', ({ from, to, transcoded }) => `${from} -> ${to}${transcoded ? ', transcoded' : ''}`],
  'transcript.interim': ['gray', ({ text }) => text],
  'transcript.preflight': ['yellow', ({ text }) => text],
  'transcript.final': ['cyan', ({ text }) => text],
  'turn.committed': ['gray', () => ''],
  'preflight.started': ['yellow', ({ text }) => text],
  'preflight.adopted': ['green', ({ leadMs }) => `${leadMs} ms ahead`],
  'preflight.discarded': ['yellow', ({ reason, wastedTokens }) => `${reason}, ${wastedTokens} tokens in vain`],
  'llm.started': ['gray', () => ''],
  'llm.completed': ['green', ({ text }) => text],
  'llm.aborted': ['red', ({ text }) => text],
  'speech.started': ['blue', () => ''],
  'speech.ended': ['blue', ({ heardText }) => `heard: ${heardText}`],
  'bargeIn.suspected': ['magenta', () => ''],
  'bargeIn.paused': ['magenta', () => ''],
  'bargeIn.confirmed': ['magenta', ({ detectMs }) => `after ${detectMs} ms`],
  'bargeIn.resumed': ['magenta', () => ''],
  'bargeIn.ignored': ['magenta', ({ reason, text }) => `${reason}: ${text}`],
  'tool.call': ['green', ({ call }) => call.name],
  'tool.result': ['green', ({ content }) => content],
  'tool.error': ['red', ({ content }) => content],
  'tool.cancelled': ['red', ({ call }) => call.name],
  'provider.reconnecting': ['yellow', ({ provider = '', delayMs }) => `${provider} in ${Math.round(delayMs)} ms`],
  'provider.fallback': ['yellow', ({ from, to, message = 'works again' }) => `${from} -> ${to}: ${message}`],
  'turn.ended': ['gray', ({ reason }) => reason],
  error: ['red', ({ message }) => message],
};

/** An event as a line of the terminal; `undefined` for what is not shown. */
export function timelineRow(event: VoiceEvent, startedAt: number): string | undefined {
  const row = shown[event.type];
  if (!row) return undefined;
  const [color, describe] = row;
  const seconds = ((event.at - startedAt) / 1000).toFixed(2).padStart(6);
  const text = (describe as (event: VoiceEvent) => string)(event);
  const short = text.length > 90 ? `${text.slice(0, 89)}…` : text;
  return `${styleText('gray', `${seconds} s`)}  ${styleText(color, event.type.padEnd(20))} ${short}`;
}

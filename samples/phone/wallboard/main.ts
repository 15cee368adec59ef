/** The page's code: all calls of all processes, what is said in one of them, and what one can do about it. */
import type { CallCommand, CommandReply } from 'rxvoice';
import type { BoardCall, BoardEvent } from 'rxvoice/nats';
import { Listening } from './listening.ts';
import { lineOf } from './lines.ts';

const element = <T extends HTMLElement>(id: string, kind: new () => T): T => {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no #${id}`);
  return found;
};
const list = element('calls', HTMLElement);
const panel = element('call', HTMLElement);
const lines = element('lines', HTMLElement);
const broker = element('broker', HTMLElement);
const reply = element('reply', HTMLElement);
const listen = element('listen', HTMLButtonElement);
const type = element('type', HTMLSelectElement);
const text = element('text', HTMLInputElement);

/** What each command's text is, for example. */
const examples: Readonly<Record<string, string>> = {
  say: 'One moment, please.',
  send: 'Ask for the order number.',
  update: 'Be brief, and speak slowly.',
  transfer: '+442071838750',
};

/** Most lines of a call that are shown. */
const maxLines = 500;

let calls: readonly BoardCall[] = [];
let shown: string | undefined;
let events: EventSource | undefined;
let listening: Listening | undefined;

function make(tag: string, className: string, content: string = ''): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = content;
  return made;
}

function timeOf(startedAt: number): string {
  const seconds = Math.max(0, Math.floor((Date.now() - startedAt) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** A call's card; it stays the same element, so that focus and clicks stay. */
class Card {
  readonly item: HTMLLIElement = document.createElement('li');
  readonly #button: HTMLButtonElement = document.createElement('button');
  readonly #state = make('span', 'state');
  readonly #time = make('span', 'time');
  readonly #where = make('span', 'where');
  readonly #said = make('span', 'said');
  readonly #figures = make('span', 'figures');
  call: BoardCall;

  constructor(call: BoardCall) {
    this.call = call;
    this.#button.type = 'button';
    this.#button.onclick = () => open(this.call.callId);
    this.#button.append(this.#state, this.#time, this.#where, this.#said, this.#figures);
    this.item.append(this.#button);
    this.item.dataset['call'] = call.callId;
  }

  show(call: BoardCall): void {
    this.call = call;
    const isLost = call.state === 'lost';
    const { platform = '', machine = '', process = '' } = call.details;
    this.item.dataset['state'] = isLost ? 'lost' : call.agent;
    this.#state.textContent = isLost
      ? 'Machine gone'
      : call.user === 'speaking'
        ? 'Caller speaks'
        : stateNames[call.agent];
    this.#where.textContent = [platform, machine, process && `process ${process}`].filter(Boolean).join(' · ');
    this.#said.textContent = call.said ? `${call.said.by === 'user' ? 'Caller' : 'Agent'}: ${call.said.text}` : '';
    const errors = call.errors > 0 ? `, ${call.errors} ${call.errors === 1 ? 'error' : 'errors'}` : '';
    this.#figures.textContent = `${call.turns} ${call.turns === 1 ? 'turn' : 'turns'}${errors}`;
    this.#button.setAttribute('aria-current', String(call.callId === shown));
    this.tick();
  }

  tick(): void {
    if (this.call.state === 'live') this.#time.textContent = timeOf(this.call.startedAt);
  }
}

const stateNames = { idle: 'Idle', listening: 'Listens', thinking: 'Thinks', speaking: 'Agent speaks' } as const;
const cards = new Map<string, Card>();

function showCalls(now: readonly BoardCall[]): void {
  calls = now;
  const live = calls.filter(({ state }) => state === 'live');
  const sums = {
    live: live.length,
    speaking: live.filter(({ agent, user }) => agent === 'speaking' || user === 'speaking').length,
    lost: calls.length - live.length,
    machines: new Set(live.map(({ details }) => details['machine'])).size,
  };
  for (const [id, sum] of Object.entries(sums)) element(id, HTMLElement).textContent = String(sum);
  for (const [id, card] of cards) {
    if (calls.some(({ callId }) => callId === id)) continue;
    card.item.remove();
    cards.delete(id);
  }
  for (const call of calls) {
    const card = cards.get(call.callId) ?? new Card(call);
    if (!cards.has(call.callId)) list.append(card.item);
    cards.set(call.callId, card);
    card.show(call);
  }
  const mine = calls.find(({ callId }) => callId === shown);
  const isOver = mine?.state !== 'live';
  panel.dataset['state'] = mine?.state ?? 'ended';
  for (const button of panel.querySelectorAll('button')) button.disabled = isOver && button.id !== 'close';
  if (isOver) listening?.stop();
}

function open(callId: string): void {
  close();
  shown = callId;
  panel.hidden = false;
  element('call-title', HTMLElement).textContent = `Call ${callId.slice(0, 8)}`;
  events = new EventSource(`/events?call=${encodeURIComponent(callId)}`);
  let seq = 0;
  events.onmessage = ({ data }: MessageEvent<string>) => {
    const told = JSON.parse(data) as BoardEvent;
    // The same may be told again, after the broker or this page was away.
    if (told.seq <= seq) return;
    seq = told.seq;
    const line = lineOf(told.event);
    if (!line) return;
    const item = make('p', '');
    item.dataset['by'] = line.by;
    if (line.note) item.append(make('i', '', line.note), ' ');
    item.append(line.text);
    lines.append(item);
    while (lines.childElementCount > maxLines) lines.firstElementChild?.remove();
    item.scrollIntoView({ block: 'nearest' });
  };
  showCalls(calls);
}

function close(): void {
  listening?.stop();
  events?.close();
  lines.replaceChildren();
  reply.textContent = '';
  shown = undefined;
  panel.hidden = true;
  for (const card of cards.values()) card.show(card.call);
}

async function ask(command: CallCommand): Promise<void> {
  reply.textContent = '…';
  reply.dataset['state'] = 'asked';
  const answer: CommandReply = await fetch('/command', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ callId: shown, command }),
  }).then(
    (response) => response.json() as Promise<CommandReply>,
    () => ({ ok: false, message: 'the wallboard’s server cannot be reached' }),
  );
  reply.dataset['state'] = answer.ok ? 'done' : 'refused';
  reply.textContent = answer.ok ? 'Done.' : `Not done: ${answer.message}.`;
  if (answer.ok) text.value = '';
}

function commandOf(kind: string, value: string): CallCommand {
  if (kind === 'transfer') return { type: 'transfer', to: value };
  if (kind === 'update') return { type: 'update', changes: { systemPrompt: value } };
  return { type: kind === 'send' ? 'send' : 'say', text: value };
}

element('command', HTMLFormElement).onsubmit = (event) => {
  event.preventDefault();
  if (text.value.trim() !== '') void ask(commandOf(type.value, text.value.trim()));
};
type.onchange = () => (text.placeholder = examples[type.value] ?? '');
element('interrupt', HTMLButtonElement).onclick = () => void ask({ type: 'interrupt' });
element('hangup', HTMLButtonElement).onclick = () => void ask({ type: 'hangUp' });
element('close', HTMLButtonElement).onclick = () => {
  const card = shown === undefined ? undefined : cards.get(shown);
  close();
  card?.item.querySelector('button')?.focus();
};
listen.onclick = () => {
  if (listening) {
    listening.stop();
    return;
  }
  const levels = {
    caller: element('caller-level', HTMLMeterElement),
    agent: element('agent-level', HTMLMeterElement),
  };
  listen.setAttribute('aria-pressed', 'true');
  listen.textContent = 'Stop listening';
  listening = new Listening(shown ?? '', {
    level: (side, level) => {
      levels[side].value = level;
    },
    ended: () => {
      listening = undefined;
      listen.setAttribute('aria-pressed', 'false');
      listen.textContent = 'Listen in';
      for (const meter of Object.values(levels)) meter.value = 0;
    },
  });
};

const board = new EventSource('/calls');
board.onmessage = ({ data }: MessageEvent<string>) => showCalls((JSON.parse(data) as { calls: BoardCall[] }).calls);
const link = new EventSource('/broker');
const tell = (state: string, words: string): void => {
  broker.dataset['state'] = state;
  broker.textContent = words;
};
link.onmessage = ({ data }: MessageEvent<string>) => {
  if ((JSON.parse(data) as { isConnected: boolean }).isConnected) tell('up', 'Live');
  else tell('down', 'The broker cannot be reached: calls go on unseen');
};
link.onerror = () => tell('down', 'The wallboard’s server cannot be reached');
setInterval(() => {
  for (const card of cards.values()) card.tick();
}, 1000);
document.documentElement.dataset['ready'] = '';

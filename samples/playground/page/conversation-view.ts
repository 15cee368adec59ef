import { asapScheduler, auditTime, scan, switchMap, tap, type Observable, type Subscription } from 'rxjs';
import type { VoiceEvent } from 'rxvoice';
import type { Timeline } from '../../marbles/timeline.ts';
import { conversed, silence, splitHeard, spokenLine, type Conversation, type Line } from './conversation.ts';
import { button, h } from './dom.ts';

/** Where the page shows a conversation. */
export interface ConversationPlaces {
  readonly list: HTMLElement;
  /** The log that screen readers follow: finals only. */
  readonly transcript: HTMLElement;
  /** Says an example for the user. */
  readonly say: (text: string) => void;
}

/** How much of an utterance was heard so far, as the playback knows. */
export interface Playhead {
  readonly playedMs: () => number;
  readonly timeline: () => Timeline;
}

/** What shows most, in a few words. */
const examples = ['Hello there', 'Tell me a long story', 'What is the weather in Paris and Rome?', 'Count to 20'];

const names: Readonly<Record<Line['kind'], string>> = { user: 'You', agent: 'Agent', tool: 'Tool' };

/** Shows a conversation: what is said, beside it what the model will remember. */
export class ConversationView {
  readonly #places: ConversationPlaces;
  readonly #playhead: Playhead;
  readonly #lines = h('ol', { class: 'lines' });
  readonly #caption = h('p', { class: 'caption', hidden: true, 'aria-hidden': 'true' });
  readonly #empty = h(
    'div',
    { class: 'empty' },
    h('p', {}, 'Nothing was said yet.'),
    h('p', {}, 'Press Start and talk, write below, or begin with one of these.'),
  );
  readonly #shown = new Map<string, { line: Line; element: HTMLElement }>();
  readonly #read = new Set<string>();

  constructor(places: ConversationPlaces, playhead: Playhead) {
    this.#places = places;
    this.#playhead = playhead;
    const head = h(
      'div',
      { class: 'columns', 'aria-hidden': 'true' },
      h('span', {}, 'Said'),
      h('span', {}, 'Remembered'),
    );
    const said = examples.map((text) => {
      const example = button(text);
      example.addEventListener('click', () => places.say(text));
      return example;
    });
    this.#empty.append(h('div', { class: 'examples' }, ...said));
    places.list.append(this.#empty, head, this.#lines, this.#caption);
  }

  /** Shows each session's events; a new session begins anew. */
  show(sessions$: Observable<Observable<VoiceEvent>>): Subscription {
    return sessions$
      .pipe(
        tap(() => this.#reset()),
        switchMap((events$) => events$.pipe(scan(conversed, silence), auditTime(0, asapScheduler))),
        tap((conversation) => this.#render(conversation)),
      )
      .subscribe();
  }

  /** Moves the boundary between what was heard and what is still to come; called with each frame. */
  tick(): void {
    for (const { line, element } of this.#shown.values()) {
      if (line.kind !== 'agent' || line.phase === 'ended' || line.speechId === undefined) continue;
      const [heard, pending] = element.querySelectorAll('.said > span');
      if (!heard || !pending) continue;
      const at = this.#heardCharacters(line.text, line.speechId);
      if (heard.textContent.length === at) continue;
      heard.textContent = line.text.slice(0, at);
      pending.textContent = line.text.slice(at);
    }
  }

  /** In proportion to the audio: a hint for the eye, the history has it exactly. */
  #heardCharacters(text: string, speechId: string): number {
    const madeMs = this.#playhead.timeline().synthesizedMs(speechId);
    if (madeMs === 0) return 0;
    const at = Math.floor((text.length * this.#playhead.playedMs()) / madeMs);
    const word = text.indexOf(' ', at);
    return word < 0 || at >= text.length ? Math.min(at, text.length) : word;
  }

  #reset(): void {
    this.#lines.replaceChildren();
    this.#shown.clear();
    this.#read.clear();
    this.#places.transcript.replaceChildren();
    this.#render(silence);
  }

  #render({ lines, caption }: Conversation): void {
    const { list } = this.#places;
    const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    this.#empty.hidden = lines.length > 0 || caption !== undefined;
    list.classList.toggle('has-lines', lines.length > 0);
    for (const line of lines) this.#show(line);
    const keys = new Set(lines.map(({ key }) => key));
    for (const [key, { element }] of this.#shown) {
      if (keys.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    this.#caption.hidden = caption === undefined;
    this.#caption.classList.toggle('preflight', caption?.isPreflight ?? false);
    this.#caption.textContent = caption?.text ?? '';
    if (follows) list.scrollTop = list.scrollHeight;
  }

  #show(line: Line): void {
    const known = this.#shown.get(line.key);
    if (known?.line === line) return;
    const element = lineElement(line);
    if (known) known.element.replaceWith(element);
    else this.#lines.append(element);
    this.#shown.set(line.key, { line, element });
    const spoken = spokenLine(line);
    if (spoken === undefined || this.#read.has(line.key)) return;
    this.#read.add(line.key);
    this.#places.transcript.append(h('p', {}, spoken));
  }
}

function lineElement(line: Line): HTMLElement {
  return h(
    'li',
    { class: `line ${line.kind}`, 'data-phase': 'phase' in line ? line.phase : 'ended' },
    h('div', { class: 'what' }, h('span', { class: 'who' }, names[line.kind], tagOf(line)), saidOf(line)),
    memoryOf(line),
  );
}

function tagOf(line: Line): HTMLElement | undefined {
  const text =
    line.kind === 'user'
      ? line.ended === 'merged' || line.ended === 'cancelled'
        ? line.ended
        : ''
      : line.kind === 'agent'
        ? line.interrupted
          ? 'interrupted'
          : line.phase === 'ended'
            ? ''
            : line.phase
        : line.phase === 'ended'
          ? ''
          : line.phase;
  return text ? h('span', { class: 'tag' }, text) : undefined;
}

function saidOf(line: Line): HTMLElement {
  if (line.kind === 'user') return h('p', { class: 'said' }, line.text);
  if (line.kind === 'tool') {
    const result = line.result === undefined ? undefined : h('span', { class: 'result' }, ` → ${line.result}`);
    return h('p', { class: 'said' }, h('code', {}, line.text), result);
  }
  if (line.phase !== 'ended') {
    return h('p', { class: 'said' }, h('span'), h('span', { class: 'pending' }, line.text || '…'));
  }
  const { heard, unheard } = splitHeard(line.text, line.heard ?? '');
  return h(
    'p',
    { class: 'said' },
    h('span', {}, heard),
    unheard.trim() !== '' && h('span', { class: 'sr-only' }, ' Never heard: '),
    unheard.trim() !== '' && h('s', {}, unheard),
  );
}

function memoryOf(line: Line): HTMLElement {
  const { memory } = line;
  if (!memory) {
    const isForgotten = line.kind === 'agent' && line.phase === 'ended' && !line.heard?.trim();
    return h('p', { class: 'memory none' }, isForgotten ? 'nothing' : '');
  }
  const said = line.kind === 'tool' ? (line.result ?? '') : line.text;
  const text = memory.map((each) => each.text.trim()).join(' ');
  const isSame = folded(text) === folded(said);
  const isAbout = memory.some(({ estimated }) => estimated) && !isSame;
  return h(
    'p',
    { class: isSame ? 'memory same' : 'memory', title: isAbout && 'Reckoned: this voice gives no word times' },
    h('span', { class: 'sr-only' }, 'Remembered: '),
    isSame ? 'as said' : text,
    isAbout && h('span', { class: 'about' }, ' (about)'),
  );
}

/** A text without its spaces: rounds of an answer are joined with or without one. */
function folded(text: string): string {
  return text.replace(/\s+/g, '');
}

import { asapScheduler, auditTime, scan, switchMap, tap, type Observable, type Subscription } from 'rxjs';
import type { VoiceEvent } from 'rxvoice';
import type { Timeline } from '../../marbles/timeline.ts';
import { lineElement, type LineElement, type ToolLine } from './conversation-line.ts';
import { conversed, silence, spokenLine, type Conversation, type Line } from './conversation.ts';
import { button, h, handFocus } from './dom.ts';

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

/** A line that is shown, and of what it was made. */
interface Shown extends LineElement {
  readonly line: Line;
  readonly tools: readonly ToolLine[];
}

/** Shows a conversation: what was said and heard, each call where it was made, each latency at its turn. */
export class ConversationView {
  readonly #places: ConversationPlaces;
  readonly #playhead: Playhead;
  readonly #lines = h('ol', { class: 'lines' });
  readonly #caption = h('p', { class: 'caption', hidden: true, 'aria-hidden': 'true' });
  readonly #empty = h(
    'div',
    { class: 'empty' },
    h('p', {}, 'Nothing was said yet.'),
    h('p', {}, 'Write below, or begin with one of these.'),
  );
  readonly #shown = new Map<string, Shown>();
  readonly #read = new Set<string>();

  constructor(places: ConversationPlaces, playhead: Playhead) {
    this.#places = places;
    this.#playhead = playhead;
    const said = examples.map((text) => {
      const example = button(text);
      example.addEventListener('click', () => places.say(text));
      return example;
    });
    this.#empty.append(h('div', { class: 'examples' }, ...said));
    places.list.append(this.#empty, this.#lines, this.#caption);
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
    for (const { line, pieces } of this.#shown.values()) {
      if (line.kind !== 'agent' || line.phase === 'ended' || line.speechId === undefined) continue;
      const at = line.spokenTo ?? this.#heardCharacters(line.text, line.speechId);
      for (const { from, to, heard, pending } of pieces) {
        const cut = Math.min(to, Math.max(from, at));
        if (heard.textContent.length === cut - from) continue;
        heard.textContent = line.text.slice(from, cut);
        pending.textContent = line.text.slice(cut, to);
      }
    }
  }

  /** In proportion to the audio, where captions tell no words: a hint for the eye, the history has it exactly. */
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
    const isEmpty = lines.length === 0 && caption === undefined;
    if (!isEmpty) handFocus(this.#empty, list);
    this.#empty.hidden = !isEmpty;
    const tools = lines.filter((line): line is ToolLine => line.kind === 'tool' && line.within !== undefined);
    const standing = lines.filter((line) => !tools.some((tool) => tool === line));
    for (const line of standing) {
      this.#show(
        line,
        tools.filter(({ within }) => within?.key === line.key),
      );
    }
    for (const line of lines) this.#announce(line);
    const keys = new Set(standing.map(({ key }) => key));
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

  #show(line: Line, tools: readonly ToolLine[]): void {
    const known = this.#shown.get(line.key);
    const isSame = tools.length === known?.tools.length && tools.every((tool, index) => tool === known.tools[index]);
    if (known?.line === line && isSame) return;
    const shown = { line, tools, ...lineElement(line, tools) };
    this.#shown.set(line.key, shown);
    if (!known) {
      this.#lines.append(shown.element);
      return;
    }
    // What was unfolded stays so.
    const isOpen = known.element.querySelector('details')?.open ?? false;
    shown.element.querySelector('details')?.toggleAttribute('open', isOpen);
    known.element.replaceWith(shown.element);
  }

  #announce(line: Line): void {
    if (this.#read.has(line.key)) return;
    const spoken = spokenLine(line);
    if (spoken === undefined) return;
    this.#read.add(line.key);
    this.#places.transcript.append(h('p', {}, spoken));
  }
}

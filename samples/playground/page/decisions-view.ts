import { switchMap, tap, type Observable, type Subscription } from 'rxjs';
import type { VoiceEvent } from 'rxvoice';
import { decisionOf } from './decisions.ts';
import { h } from './dom.ts';

/** Decisions that are shown; the newest. */
const most = 100;

/** Shows what each conversation decides, and why, newest first. */
export function showDecisions(place: HTMLElement, sessions$: Observable<Observable<VoiceEvent>>): Subscription {
  const list = h('ol', {});
  const empty = h(
    'p',
    { class: 'hint' },
    'What the conversation decides, and why: when a turn is over, who interrupts.',
  );
  place.replaceChildren(empty, list);
  let startedAt: number | undefined;
  return sessions$
    .pipe(
      tap(() => {
        startedAt = undefined;
        list.replaceChildren();
        empty.hidden = false;
      }),
      switchMap((events$) => events$),
    )
    .subscribe((event) => {
      startedAt ??= event.at;
      const decision = decisionOf(event);
      if (!decision) return;
      const { at, matter, text, why } = decision;
      empty.hidden = true;
      const time = h('span', { class: 'number' }, `${((at - startedAt) / 1000).toFixed(2)} s`);
      const what = h('p', {}, text, h('small', {}, why));
      list.prepend(h('li', { 'data-matter': matter }, time, h('span', { class: 'matter' }, matter), what));
      list.children[most]?.remove();
    });
}

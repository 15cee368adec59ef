import { decibels } from 'rxvoice/audio';
import { h } from './dom.ts';

/** Quieter than this shows nothing, in dBFS. */
const floorDb = -54;
/** How much of a level is left after each frame: a meter falls slower than it rises. */
const release = 0.86;

/** A level meter. */
export class Meter {
  readonly element: HTMLElement;
  readonly #bar = h('i');
  #shown = 0;

  constructor(label: string) {
    this.element = h(
      'span',
      {
        class: 'meter',
        role: 'meter',
        'aria-label': `${label} level`,
        'aria-valuemin': 0,
        'aria-valuemax': 100,
        'aria-valuenow': 0,
      },
      h('span', { 'aria-hidden': 'true' }, label),
      h('span', { class: 'track', 'aria-hidden': 'true' }, this.#bar),
    );
  }

  /** Shows a level from 0 to 1; called with each frame. */
  show(level: number): void {
    const share = level <= 0 ? 0 : Math.max(0, 1 - decibels(level) / floorDb);
    const next = Math.min(1, Math.max(share, this.#shown * release));
    const value = next < 0.01 ? 0 : next;
    if (value === this.#shown) return;
    this.#shown = value;
    this.#bar.style.transform = `scaleX(${value.toFixed(3)})`;
    this.element.setAttribute('aria-valuenow', String(Math.round(value * 100)));
  }
}

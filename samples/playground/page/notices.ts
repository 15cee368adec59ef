import { VoiceError, type VoiceErrorCode } from 'rxvoice';
import { button, h, handFocus } from './dom.ts';

/** Notices that are shown at once; older ones go. */
const most = 3;

/** What to do about an error, where its own message does not say. */
const advice: Readonly<Partial<Record<VoiceErrorCode, string>>> = {
  unauthorized:
    'Check the key in the environment, then restart npm start; in the sandbox, renew it under “Break something”.',
  rate_limited: 'Nothing to do: it is tried again.',
  connection: 'Nothing to do while it reconnects; press Start when it has given up.',
  timeout: 'Say it again, or choose another provider in Setup.',
  permission: 'Allow it beside the address, then press Start; or choose the sandbox in Setup.',
  device: 'Or choose another provider in Setup.',
  configuration: 'Change it in Setup.',
  retiring: 'It still works; choose another model in Setup before it goes.',
};

/** Shows errors where the person looks, each once, with what to do. */
export class Notices {
  readonly #place: HTMLElement;

  constructor(place: HTMLElement) {
    this.#place = place;
  }

  show(cause: unknown): void {
    const { message, code, recoverable, provider } = VoiceError.from(cause);
    const again = [...this.#place.children].find((each) => each.getAttribute('data-message') === message);
    again?.remove();
    const dismiss = button('×', { class: 'icon', 'aria-label': 'Dismiss' });
    const hint = code === 'internal' ? undefined : advice[code];
    const notice = h(
      'div',
      { class: recoverable ? 'notice mild' : 'notice', 'data-message': message, 'data-provider': provider },
      h('div', {}, h('p', {}, message), hint !== undefined && h('p', { class: 'hint' }, hint)),
      dismiss,
    );
    dismiss.addEventListener('click', () => remove(notice));
    this.#place.append(notice);
    while (this.#place.children.length > most) this.#place.firstElementChild?.remove();
  }

  /** A provider is well again: what it recovers from by itself is over. */
  settle(provider: string): void {
    for (const notice of this.#place.querySelectorAll<HTMLElement>('.notice.mild')) {
      if (notice.dataset['provider'] === provider) remove(notice);
    }
  }

  clear(): void {
    this.#place.replaceChildren();
  }
}

function remove(notice: HTMLElement): void {
  const next = notice.nextElementSibling ?? notice.previousElementSibling;
  handFocus(notice, next?.querySelector('button') ?? document.getElementById('composer-text'));
  notice.remove();
}

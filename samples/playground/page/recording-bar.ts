import { button, h } from './dom.ts';

/** What the bar of a loaded recording can do. */
export interface RecordingActions {
  readonly play: () => void;
  readonly rerun: () => void;
  readonly close: () => void;
}

/** Shows which recording is looked at. */
export function showRecording(place: HTMLElement, title: string, actions: RecordingActions): void {
  const [play, rerun, close] = [
    button('Play', { id: 'recording-play' }),
    button('Run again', {
      id: 'recording-rerun',
      title: 'The same user and model through the engine, in virtual time',
    }),
    button('Close', { id: 'recording-close' }),
  ];
  play.addEventListener('click', actions.play);
  rerun.addEventListener('click', actions.rerun);
  close.addEventListener('click', actions.close);
  place.replaceChildren(h('span', { role: 'status' }, title), h('div', { class: 'group' }, play, rerun, close));
  place.hidden = false;
}

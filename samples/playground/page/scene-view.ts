import { finalize, fromEvent, merge, takeUntil, tap } from 'rxjs';
import { byId, handFocus } from './dom.ts';
import { beats, playScene } from './scene.ts';
import type { SetupForm } from './setup-form.ts';
import type { Stage } from './stage.ts';
import type { Watch } from './watch.ts';

/** What the scene needs of the page. */
export interface ScenePlaces {
  readonly stage: Stage;
  readonly form: SetupForm;
  /** Begins a conversation with the form's setup; whether that went well. */
  readonly begin: () => Promise<boolean>;
  readonly watch: Watch;
  /** Where the scene is recorded, if it cannot be played. */
  readonly recording: string | undefined;
}

/** Wires the scene: live in the sandbox, and told above the diagram; where there is no sandbox, as it was recorded. */
export function wireScene({ stage, form, begin, watch, recording }: ScenePlaces): void {
  const [note, text] = [byId('note', HTMLElement), byId('note-text', HTMLElement)];
  const [start, again, close] = ['scene', 'scene-again', 'scene-close'].map((id) => byId(id, HTMLButtonElement));
  // Who speaks or breaks something takes over.
  const takenOver$ = merge(
    fromEvent(byId('composer', HTMLFormElement), 'submit'),
    fromEvent(byId('hazards', HTMLElement), 'click'),
  );

  const diagram = byId('diagram', HTMLElement);
  let wasPlayed = false;
  takenOver$.subscribe(() => {
    delete diagram.dataset['leads'];
    if (wasPlayed) watch.show('live');
    wasPlayed = false;
  });

  const tell = (words: string, isOver: boolean): void => {
    text.textContent = words;
    note.hidden = false;
    if (again) again.hidden = !isOver;
  };
  const play = async (): Promise<void> => {
    // On a phone, what the scene is about stays where it was begun, and does not make room for the conversation.
    diagram.dataset['leads'] = '';
    if (recording !== undefined) {
      await watch.open('The scene', await (await fetch(recording)).text());
      await stage.play();
      return;
    }
    form.take('sandbox');
    if (!(await begin()) || !stage.session) return;
    const scene$ = playScene(stage.session).pipe(
      tap({
        next: (beat) => tell(`${beats.indexOf(beat) + 1} of ${beats.length} · ${beat.title}`, false),
        // The whole of it, until something happens again.
        complete: () => {
          watch.show('all');
          wasPlayed = true;
        },
      }),
      takeUntil(takenOver$),
      finalize(() => tell('That was the scene. Now you: say something, or break something.', true)),
    );
    stage.session.perform(scene$);
  };

  for (const control of [start, again]) control?.addEventListener('click', () => void play());
  const hide = (): void => {
    handFocus(note, byId('canvas', HTMLElement));
    note.hidden = true;
  };
  close?.addEventListener('click', hide);
  close?.addEventListener('click', () => delete diagram.dataset['leads']);
  stage.mode$.subscribe((mode) => {
    if (mode === 'starting' || mode === 'recording') hide();
  });
}

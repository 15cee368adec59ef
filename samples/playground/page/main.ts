import { animationFrames, BehaviorSubject, switchMap } from 'rxjs';
import { int16View, rmsLevel } from 'rxvoice/audio';
import { lightPalette } from '../../marbles/palette.ts';
import type { Services } from '../server/playground.ts';
import { ConversationView } from './conversation-view.ts';
import { showDecisions } from './decisions-view.ts';
import { button, byId } from './dom.ts';
import { canDo, doHazard, hazards } from './hazards.ts';
import { Meter } from './meters.ts';
import { Notices } from './notices.ts';
import { wireScene } from './scene-view.ts';
import type { Session } from './session.ts';
import { SetupForm } from './setup-form.ts';
import { choicesOf } from './setup.ts';
import { Stage } from './stage.ts';
import { wireTalk } from './talk.ts';
import { themePalette } from './theme.ts';
import { wireWatch } from './watch.ts';

const notices = new Notices(byId('notices', HTMLElement));
const stage = new Stage();
const palette$ = new BehaviorSubject(lightPalette);
themePalette(byId('theme', HTMLButtonElement)).subscribe(palette$);
stage.errors$.subscribe((error) => notices.show(error));
stage.healed$.subscribe((provider) => notices.settle(provider));
stage.mode$.subscribe((mode) => {
  if (mode === 'starting') notices.clear();
});

const services = (await (await fetch('api/services')).json()) as Services;
const choices = choicesOf(services);
const form = new SetupForm(byId('setup', HTMLElement), choices, preferredPreset());
const talk = wireTalk(stage, form, choices);
const watch = wireWatch(stage, palette$, notices);
wireScene({ stage, form, begin: talk.begin, watch, recording: services.recording });
wireHazards();
wireMeters();
wireProgress();

const conversation = new ConversationView(
  { list: byId('conversation', HTMLElement), transcript: byId('transcript', HTMLElement), say: talk.say },
  { playedMs: () => stage.session?.playedMs ?? 0, timeline: () => stage.log.timeline },
);
conversation.show(stage.sources$);
animationFrames().subscribe(() => conversation.tick());
showDecisions(byId('decisions', HTMLElement), stage.sources$);
document.documentElement.dataset['ready'] = '';

/** Chrome, Edge and Safari have recognition of their own; other builds of Chromium only its name. */
function preferredPreset(): string {
  if (Object.keys(services.proxy).length > 0) return 'services';
  const { userAgentData } = navigator as { userAgentData?: { brands: readonly { brand: string }[] } };
  const hasRecognition = userAgentData
    ? userAgentData.brands.some(({ brand }) => /^(Google Chrome|Microsoft Edge)$/.test(brand))
    : navigator.userAgent.includes('Safari') && !/Chrom|Firefox/.test(navigator.userAgent);
  return hasRecognition ? 'built-in' : 'sandbox';
}

function wireHazards(): void {
  const [place, done] = [byId('hazards', HTMLElement), byId('hazards-done', HTMLElement)];
  const rows = hazards.map((row) => {
    const pressed = row.undone === undefined ? undefined : 'false';
    const control = button(row.label, {
      ...{ id: `hazard-${row.id}`, title: row.about, disabled: true, 'aria-pressed': pressed },
    });
    /** The conversation in which it lasts. */
    let lasting: Session | undefined;
    const act = async (session: Session): Promise<void> => {
      const takesBack = lasting !== undefined;
      await doHazard(row, session, takesBack);
      done.textContent = takesBack ? (row.undone ?? '') : row.done;
      if (row.undone === undefined) return;
      lasting = takesBack ? undefined : session;
      control.setAttribute('aria-pressed', String(!takesBack));
    };
    control.addEventListener('click', () => {
      if (stage.session) act(stage.session).catch((error: unknown) => notices.show(error));
    });
    place.append(control);
    const settle = (): void => {
      if (lasting && lasting !== stage.session) act(lasting).catch((error: unknown) => notices.show(error));
      control.disabled = !canDo(row, stage.session);
    };
    addEventListener('pagehide', () => {
      if (lasting) void act(lasting).catch(() => undefined);
    });
    return settle;
  });
  stage.mode$.subscribe(() => {
    done.textContent = '';
    for (const settle of rows) settle();
  });
}

function wireMeters(): void {
  const [input, output] = [new Meter('In'), new Meter('Out')];
  byId('meters', HTMLElement).append(input.element, output.element);
  let heard = 0;
  stage.sources$.pipe(switchMap((events$) => events$)).subscribe((event) => {
    if (event.type === 'audio.input' && event.chunk.metadata?.encoding === 'linear16') {
      heard = Math.max(heard, rmsLevel(int16View(event.chunk.data)));
    }
  });
  animationFrames().subscribe(() => {
    input.show(stage.mode === 'live' ? heard : 0);
    output.show(stage.session?.outputLevel ?? 0);
    heard = 0;
  });
}

function wireProgress(): void {
  const place = byId('loading', HTMLLabelElement);
  const [text, bar] = [place.querySelector('span'), place.querySelector('progress')];
  stage.progress$.subscribe((progress) => {
    place.hidden = progress === undefined;
    if (!progress || !text || !bar) return;
    bar.value = progress.fraction;
    text.textContent = progress.text || `Loading the model: ${Math.round(progress.fraction * 100)} %`;
  });
}

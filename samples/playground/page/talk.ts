import { filter, switchMap } from 'rxjs';
import type { AgentState } from 'rxvoice';
import { byId, handFocus } from './dom.ts';
import type { SetupForm } from './setup-form.ts';
import type { Choice } from './setup.ts';
import type { Mode, Stage } from './stage.ts';

const said: Readonly<Record<Shown, string>> = {
  idle: 'Ready',
  starting: 'Connecting …',
  live: 'Listening',
  listening: 'Listening',
  thinking: 'Thinking',
  speaking: 'Speaking',
  paused: 'Paused',
  over: 'The call is over',
  recording: 'Recording',
  playing: 'Playing a recording',
};

/** What the page says of the agent; while it is paused, nothing sounds. */
type Shown = AgentState | Mode | 'paused';

/** Wires the controls of the conversation: start and stop, mute, interrupt, what is written, and the tabs. */
export function wireTalk(
  stage: Stage,
  form: SetupForm,
  choices: readonly Choice[],
): { readonly say: (text: string) => void; readonly begin: () => Promise<boolean> } {
  const [start, mute, interrupt] = ['start', 'mute', 'interrupt'].map((id) => byId(id, HTMLButtonElement));
  const push = byId('push', HTMLButtonElement);
  const state = byId('state', HTMLElement);
  const composer = byId('composer', HTMLFormElement);
  const text = byId('composer-text', HTMLInputElement);
  const how = byId('composer-how', HTMLFieldSetElement);
  const or = byId('or', HTMLElement);
  const tabs = wireTabs();

  const begin = async (): Promise<boolean> => {
    const isOn = await stage.start(form.setup, choices);
    tabs.select(isOn ? 'conversation' : 'setup');
    return isOn;
  };
  start?.addEventListener('click', () => {
    if (stage.mode === 'live' || stage.mode === 'starting' || stage.mode === 'playing') void stage.stop();
    else void begin();
  });
  mute?.addEventListener('click', () => {
    const isMuted = mute.getAttribute('aria-pressed') === 'true';
    if (isMuted) stage.session?.pipeline.unmute();
    else stage.session?.pipeline.mute();
    mute.setAttribute('aria-pressed', String(!isMuted));
  });
  push.addEventListener('click', () => {
    const { pipeline } = stage.session ?? {};
    const isTalking = push.getAttribute('aria-pressed') === 'true';
    if (isTalking) pipeline?.commitTurn();
    else pipeline?.beginTurn();
    push.setAttribute('aria-pressed', String(!isTalking));
  });
  interrupt?.addEventListener('click', () => stage.session?.pipeline.interrupt());
  const say = async (words: string): Promise<void> => {
    if (stage.mode !== 'live' && !(await begin())) return;
    const speaks = new FormData(composer).get('how') === 'speak';
    const { session } = stage;
    if (speaks && session?.caller) session.say(words);
    else session?.pipeline.send(words);
  };
  composer.addEventListener('submit', (event) => {
    event.preventDefault();
    const words = text.value.trim();
    text.value = '';
    if (words) void say(words);
  });

  form.setup$.subscribe(({ roles }) => {
    const isCaller = roles.input === 'local:BufferInput';
    how.hidden = !isCaller;
    or.textContent = isCaller ? 'Or write what the caller is to say.' : 'Or press Start and talk.';
  });
  stage.mode$.subscribe((mode) => {
    const isOn = mode === 'live' || mode === 'starting' || mode === 'playing';
    if (start) start.textContent = isOn ? 'Stop' : mode === 'over' ? 'Start again' : 'Start';
    start?.classList.toggle('stop', isOn);
    for (const control of [mute, interrupt]) if (control) control.disabled = mode !== 'live';
    if (mode !== 'live') mute?.setAttribute('aria-pressed', 'false');
    push.hidden = !stage.session?.isPushToTalk;
    push.setAttribute('aria-pressed', 'false');
    form.lock(isOn);
    show(mode === 'live' ? (stage.session?.pipeline.agentState ?? 'listening') : mode);
    if (mode === 'recording' || mode === 'playing') tabs.select('conversation');
  });
  stage.sources$
    .pipe(
      switchMap((events$) => events$),
      // A conversation that is being ended is over when all of it is.
      filter(() => stage.session !== undefined || stage.mode === 'playing'),
    )
    .subscribe((event) => {
      if (event.type === 'agent.state') show(event.state);
      if (event.type === 'speech.paused') show('paused');
      if (event.type === 'speech.resumed') show('speaking');
    });

  function show(value: Shown): void {
    state.dataset['state'] = value;
    state.textContent = said[value];
  }
  return { say: (words) => void say(words), begin };
}

/** Tabs after the ARIA practices: arrows move, one panel is there. */
function wireTabs(): { select: (id: string) => void } {
  const tabs = ['setup', 'conversation'].map((id) => ({
    id,
    tab: byId(`tab-${id}`, HTMLButtonElement),
    panel: byId(id, HTMLElement),
  }));
  const select = (id: string): void => {
    for (const each of tabs) {
      const isIt = each.id === id;
      each.tab.setAttribute('aria-selected', String(isIt));
      each.tab.tabIndex = isIt ? 0 : -1;
      if (!isIt) handFocus(each.panel, document.getElementById(`tab-${id}`));
      each.panel.hidden = !isIt;
    }
  };
  tabs.forEach(({ id, tab }, index) => {
    tab.addEventListener('click', () => select(id));
    tab.addEventListener('keydown', ({ key }) => {
      const by = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
      const next = by && tabs[(index + by + tabs.length) % tabs.length];
      if (!next) return;
      select(next.id);
      next.tab.focus();
    });
  });
  select('setup');
  return { select };
}

/** The page: a microphone that is heard while a button is held, captions, and a chat. The pipeline is the server's. */
import { captions } from 'rxvoice';
import { RemotePipeline, type RemoteLink } from 'rxvoice/remote';
import { chatOf, type Line } from './chat.ts';

const element = <T extends HTMLElement>(id: string, kind: new () => T): T => {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no #${id}`);
  return found;
};
const [chat, caption, notice, link] = ['chat', 'caption', 'notice', 'link'].map((id) => element(id, HTMLElement)) as [
  HTMLElement,
  HTMLElement,
  HTMLElement,
  HTMLElement,
];
const [start, push, end] = ['start', 'push', 'end'].map((id) => element(id, HTMLButtonElement)) as [
  HTMLButtonElement,
  HTMLButtonElement,
  HTMLButtonElement,
];
const composer = element('composer', HTMLFormElement);
const text = element('text', HTMLInputElement);

const voice = new RemotePipeline({ url: '/talk' });
// What is not meant for the agent does not leave the page.
voice.mute();

const links: Readonly<Record<RemoteLink['type'], string>> = {
  connecting: 'Connecting…',
  connected: 'Connected',
  reconnecting: 'Connection lost. Trying again…',
  closed: 'Not connected',
};

/** What a guard did, never what was said. */
const guarded: Readonly<Record<string, string>> = {
  input: 'A private number in your question was left out.',
  output: 'Something in the answer was left out.',
};

function show(isOn: boolean): void {
  start.hidden = isOn;
  push.hidden = !isOn;
  end.hidden = !isOn;
  for (const control of composer.querySelectorAll<HTMLInputElement | HTMLButtonElement>('input, button')) {
    control.disabled = !isOn;
  }
}

function bubble({ speaker, text: words }: Line, isOpen: boolean): HTMLElement {
  const item = document.createElement('p');
  item.dataset['speaker'] = speaker;
  item.dataset['open'] = String(isOpen);
  const who = document.createElement('b');
  who.textContent = speaker === 'user' ? 'You' : 'Support';
  item.append(who, words.trim());
  return item;
}

chatOf(voice).subscribe(({ lines, open }) => {
  if (lines.length + open.length === 0) return;
  chat.replaceChildren(...lines.map((each) => bubble(each, false)), ...open.map((each) => bubble(each, true)));
  chat.scrollTop = chat.scrollHeight;
});
captions(voice, { lineLength: 32 }).subscribe(({ lines, isComplete }) => {
  caption.textContent = lines.join('\n');
  caption.dataset['complete'] = String(isComplete);
});
voice.turns$.subscribe((event) => {
  if (event.type === 'turn.started') notice.textContent = '';
  if (event.type === 'guard.acted') notice.textContent = guarded[event.side] ?? '';
});
voice.link$.subscribe(({ type, ...rest }) => {
  link.dataset['state'] = type;
  link.textContent = links[type];
  if (type !== 'closed') return;
  show(false);
  release();
  if ('error' in rest) notice.textContent = rest.error.message;
});
voice.errors$.subscribe(({ message }) => (notice.textContent = message));

let isHeld = false;

function hold(): void {
  if (isHeld || voice.state !== 'running') return;
  isHeld = true;
  push.setAttribute('aria-pressed', 'true');
  push.textContent = 'Listening…';
  voice.unmute();
  voice.beginTurn();
}

function release(): void {
  if (!isHeld) return;
  isHeld = false;
  push.setAttribute('aria-pressed', 'false');
  push.textContent = 'Hold to talk';
  voice.mute();
  if (voice.state === 'running') voice.commitTurn();
}

start.onclick = () => {
  start.disabled = true;
  notice.textContent = '';
  voice.start().then(
    () => {
      start.disabled = false;
      show(true);
      push.focus();
    },
    (error: unknown) => {
      start.disabled = false;
      notice.textContent = error instanceof Error ? error.message : String(error);
    },
  );
};
end.onclick = () => void voice.stop();
push.onpointerdown = (event) => {
  // The release counts wherever the finger is by then.
  push.setPointerCapture(event.pointerId);
  hold();
};
push.onpointerup = release;
push.onpointercancel = release;
document.addEventListener('keydown', (event) => {
  if (event.key !== ' ' || event.target instanceof HTMLInputElement || push.hidden) return;
  if (event.target instanceof HTMLButtonElement && event.target !== push) return;
  event.preventDefault();
  hold();
});
document.addEventListener('keyup', ({ key }) => {
  if (key === ' ') release();
});
// Who leaves the page lets go of the button.
window.addEventListener('blur', release);
composer.onsubmit = (event) => {
  event.preventDefault();
  if (text.value.trim() === '' || voice.state !== 'running') return;
  voice.send(text.value);
  text.value = '';
};
document.documentElement.dataset['ready'] = '';

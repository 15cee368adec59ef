/** The page's code: a telephone in the browser that calls this server with the platforms' own frames. */
import { Call, type CallEvents } from './call.ts';
import { wires } from './wires.ts';

const element = <T extends HTMLElement>(id: string, kind: new () => T): T => {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no #${id}`);
  return found;
};
const [state, timer, digits, problem, lines] = ['state', 'timer', 'digits', 'problem', 'lines'].map((id) =>
  element(id, HTMLElement),
) as [HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement];
const [dial, hangUp, say] = ['call', 'hangup', 'say'].map((id) => element(id, HTMLButtonElement)) as [
  HTMLButtonElement,
  HTMLButtonElement,
  HTMLButtonElement,
];
const text = element('text', HTMLInputElement);
const settings = element('settings', HTMLFormElement);
const chosen = (name: string): string =>
  settings.querySelector<HTMLInputElement>(`input[name="${name}"]:checked`)?.value ?? '';

/** What the page shows a call as. */
const titles = { idle: 'Ready', calling: 'Calling…', talking: 'In a call', ended: 'Call ended' } as const;

/** What the codes of a closed socket mean to a caller. */
const endings: Readonly<Record<number, string>> = {
  1001: 'The server went away.',
  1006: 'The connection was lost.',
  1008: 'The server did not understand the call.',
  1009: 'The server had too much to listen to.',
  1011: 'The server gave the call up.',
};

/** Why the server took no call. */
const refusals: Readonly<Record<string, string>> = {
  full: 'All lines are busy: the server carries as many calls as it may (--max-calls).',
  draining: 'The server is being shut down and takes no more calls.',
  ready:
    'The server refused the call: it takes only calls that the platforms have signed, as long as it has their secrets.',
};

let call: Call | undefined;
let startedAt = 0;
let isMine = false;

function show(now: keyof typeof titles): void {
  state.textContent = titles[now];
  state.dataset['state'] = now;
  const isOn = now === 'calling' || now === 'talking';
  dial.disabled = isOn;
  hangUp.disabled = !isOn;
  say.disabled = now !== 'talking' || chosen('voice') !== 'typed';
  for (const field of settings.querySelectorAll('fieldset')) field.disabled = isOn;
}

function complain(message: string): void {
  problem.textContent = message;
  problem.hidden = message === '';
}

function line(speaker: 'You' | 'Agent', words: string): HTMLElement {
  const item = document.createElement('p');
  item.dataset['speaker'] = speaker;
  const [who, what] = [document.createElement('b'), document.createElement('span')];
  who.textContent = speaker;
  what.textContent = words;
  item.append(who, ' ', what);
  lines.append(item);
  item.scrollIntoView({ block: 'nearest' });
  return what;
}

async function reasonOfRefusal(): Promise<string> {
  const answer = await fetch('/readyz').catch(() => undefined);
  if (!answer) return 'The server cannot be reached.';
  const { status } = (await answer.json()) as { status: string };
  return refusals[status] ?? 'The server did not take the call.';
}

function start(): void {
  const wire = wires[chosen('wire')]?.();
  if (!wire) return;
  const voice = chosen('voice');
  let spoken: HTMLElement | undefined;
  complain('');
  lines.replaceChildren();
  digits.textContent = '';
  timer.textContent = '';
  isMine = false;
  const events: CallEvents = {
    connected: () => {
      startedAt = performance.now();
      show('talking');
      if (voice === 'typed') text.focus();
    },
    heard: (character, isNew) => {
      if (isNew || lines.lastElementChild !== spoken?.parentElement) spoken = undefined;
      if (spoken) spoken.textContent += character;
      else if (character.trim()) spoken = line('Agent', character);
    },
    failed: complain,
    ended: (code, wasAnswered) => {
      call = undefined;
      show('ended');
      if (!wasAnswered && !isMine) void reasonOfRefusal().then(complain);
      else if (!isMine) complain(endings[code] ?? '');
    },
  };
  show('calling');
  const mine = new Call(wire, events);
  call = mine;
  if (voice === 'typed') return;
  const processed = voice === 'microphone';
  mine
    .useMicrophone({ echoCancellation: processed, noiseSuppression: processed, autoGainControl: processed })
    .catch((error: unknown) => {
      // Who has hung up meanwhile needs no microphone.
      if (call === mine) complain(error instanceof Error ? error.message : String(error));
    });
}

function press(digit: string): void {
  if (state.dataset['state'] !== 'talking') return;
  call?.press(digit);
  digits.textContent += digit;
}

dial.onclick = start;
hangUp.onclick = () => {
  isMine = true;
  call?.hangUp();
};
element('composer', HTMLFormElement).onsubmit = (event) => {
  event.preventDefault();
  const words = text.value.trim();
  if (say.disabled || words === '') return;
  line('You', words);
  call?.say(words);
  text.value = '';
};
for (const digit of '123456789*0#') {
  const key = document.createElement('button');
  key.type = 'button';
  key.textContent = digit;
  key.setAttribute('aria-label', `Key ${{ '*': 'star', '#': 'hash' }[digit] ?? digit}`);
  key.onclick = () => press(digit);
  element('keys', HTMLElement).append(key);
}
document.addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
  const isTyping = target instanceof HTMLInputElement && target.type === 'text';
  if (!isTyping && !ctrlKey && !metaKey && !altKey && /^[\d*#]$/.test(key)) press(key);
});
setInterval(() => {
  if (state.dataset['state'] !== 'talking') return;
  const seconds = Math.floor((performance.now() - startedAt) / 1000);
  timer.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}, 250);
show('idle');
document.documentElement.dataset['ready'] = '';

/** A place for every feature: its recipe, run on the server, and what it shows. */
import type { Services } from '../server/playground.ts';
import type { RecipeEntry } from '../server/recipes.ts';
import { button, byId, h } from './dom.ts';

const buttons: HTMLButtonElement[] = [];

async function run({ name }: RecipeEntry, output: HTMLElement): Promise<void> {
  for (const each of buttons) each.disabled = true;
  output.hidden = false;
  output.textContent = '';
  output.dataset['state'] = 'running';
  try {
    const response = await fetch(`api/recipes/${name}`, { method: 'POST' });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      output.textContent += part.value;
      output.scrollTop = output.scrollHeight;
    }
  } catch {
    output.textContent += 'The playground’s server cannot be reached.';
  } finally {
    output.dataset['state'] = 'done';
    for (const each of buttons) each.disabled = false;
  }
}

function itemOf(entry: RecipeEntry, canRun: boolean): HTMLElement {
  const { name, title, about, docs, source } = entry;
  const output = h('pre', { hidden: true, role: 'log', tabindex: 0, 'aria-label': `What ${title} shows` });
  const start = button('Run', { 'aria-label': `Run ${title}` });
  start.addEventListener('click', () => void run(entry, output));
  buttons.push(start);
  const text = h('div', { class: 'text' }, h('h2', {}, title), about !== '' && h('p', {}, about));
  const guide = h('a', { href: docs, 'aria-label': `Guide: ${title}` }, 'Guide');
  const row = h('div', { class: 'row' }, text, h('div', { class: 'links' }, guide, canRun && start));
  const code = h('pre', { tabindex: 0, 'aria-label': `Source of ${title}` }, source);
  return h('li', { class: 'panel', id: name }, row, output, h('details', {}, h('summary', {}, 'Source'), code));
}

const [recipes, services] = (await Promise.all(
  ['api/recipes', 'api/services'].map(async (path): Promise<unknown> => (await fetch(path)).json()),
)) as [RecipeEntry[], Services];
byId('recipes', HTMLElement).append(...recipes.map((entry) => itemOf(entry, services.recipes === true)));
document.documentElement.dataset['ready'] = '';

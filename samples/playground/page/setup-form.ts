import { BehaviorSubject, type Observable } from 'rxjs';
import type { ProviderRole } from 'rxvoice';
import { h } from './dom.ts';
import type { Field, ProviderRow } from './providers.ts';
import {
  choicesFor,
  chosen,
  presetsOf,
  roles,
  valueOf,
  type Choice,
  type FieldValue,
  type Listening,
  type Preset,
  type Runs,
  type Setup,
} from './setup.ts';

const key = 'rxvoice.setup';
const titles: Readonly<Record<ProviderRole, string>> = {
  input: 'Input',
  stt: 'Speech to text',
  llm: 'Language model',
  tts: 'Text to speech',
  output: 'Output',
};
const places: Readonly<Record<Choice['place'], string>> = {
  local: 'in this browser',
  sandbox: 'in the sandbox',
  proxy: 'with your key',
};
const listenings: Readonly<Record<Listening, string>> = {
  always: 'always',
  'after-greeting': 'when the greeting is over',
  'unless-tools-run': 'unless tools run',
};
const runnings: Readonly<Record<Runs, string>> = { page: 'in this page', server: 'on the server' };
const defaultPrompt = 'You are a concise voice assistant. Answer in one or two short sentences, without Markdown.';

/** The form in which the user chooses who plays which role, generated from the tables of providers. */
export class SetupForm {
  readonly #place: HTMLElement;
  readonly #choices: readonly Choice[];
  readonly #presets: readonly Preset[];
  readonly #setup$: BehaviorSubject<Setup>;

  /** @param preferred - The preset for those who have not chosen yet. */
  constructor(place: HTMLElement, choices: readonly Choice[], preferred: string) {
    this.#place = place;
    this.#choices = choices;
    this.#presets = presetsOf(choices);
    const preset = this.#presets.find(({ id }) => id === preferred) ?? this.#presets[0];
    const none = { input: '', stt: '', llm: '', tts: '', output: '' };
    const fresh: Setup = { roles: preset?.roles ?? none, fields: {}, systemPrompt: defaultPrompt, greeting: '' };
    this.#setup$ = new BehaviorSubject(stored(fresh, choices));
    this.#render();
  }

  get setup$(): Observable<Setup> {
    return this.#setup$.asObservable();
  }

  get setup(): Setup {
    return this.#setup$.value;
  }

  /** Takes a preset, as if the user had chosen it. */
  take(id: string): void {
    const preset = this.#presets.find((each) => each.id === id);
    if (preset) this.#change({ roles: preset.roles });
    this.#render();
  }

  /** Nothing can be changed while a conversation runs. */
  lock(isLocked: boolean): void {
    for (const group of this.#place.querySelectorAll('fieldset')) group.disabled = isLocked;
  }

  #change(part: Partial<Setup>): void {
    this.#setup$.next({ ...this.setup, ...part });
    localStorage.setItem(key, JSON.stringify(this.setup));
  }

  #render(): void {
    const { setup } = this;
    const cards = this.#presets.map((preset) => this.#card(preset));
    const covered = new Set<string>();
    const parts = roles.flatMap((role) => {
      const id = setup.roles[role];
      const isRepeated = covered.has(id);
      covered.add(id);
      return isRepeated ? [] : [this.#role(role)];
    });
    this.#place.replaceChildren(
      h('fieldset', { class: 'cards' }, h('legend', {}, 'Talk through'), ...cards),
      h('fieldset', { class: 'roles' }, h('legend', {}, 'Providers'), ...parts),
      h(
        'fieldset',
        { class: 'words' },
        h('legend', {}, 'Instructions'),
        this.#text('System prompt', setup.systemPrompt, (systemPrompt) => this.#change({ systemPrompt })),
        this.#text('Greeting', setup.greeting, (greeting) => this.#change({ greeting })),
        this.#select('listening', 'Listening', listenings, setup.listening),
        this.#select('runs', 'The pipeline runs', runnings, setup.runs),
      ),
    );
  }

  #card({ id, title, about, roles: wanted }: Preset): HTMLElement {
    const isTaken = roles.every((role) => wanted[role] === this.setup.roles[role]);
    const radio = h('input', { type: 'radio', name: 'preset', value: id, checked: isTaken });
    radio.addEventListener('change', () => {
      this.take(id);
      this.#place.querySelector<HTMLInputElement>(`input[value="${id}"]`)?.focus();
    });
    return h('label', { class: 'card' }, radio, h('span', {}, h('b', {}, title), h('span', {}, about)));
  }

  #role(role: ProviderRole): HTMLElement {
    const id = `role-${role}`;
    const select = h('select', { id });
    const offered = choicesFor(role, this.#choices);
    for (const [place, label] of Object.entries(places)) {
      const options = offered.filter((choice) => choice.place === place).map((choice) => this.#option(role, choice));
      if (options.length > 0) select.append(h('optgroup', { label }, ...options));
    }
    select.addEventListener('change', () => {
      this.#change({ roles: chosen(role, select.value, this.setup.roles, this.#choices) });
      this.#render();
      document.getElementById(id)?.focus();
    });
    const { row, place } = this.#choices.find((choice) => choice.id === this.setup.roles[role]) ?? {};
    const fields = row?.fields ?? [];
    const covers = roles.filter((each) => this.setup.roles[each] === this.setup.roles[role]);
    return h(
      'div',
      { class: 'role' },
      h(
        'label',
        { for: id },
        covers.map((each) => titles[each]).join(' + '),
        place !== undefined && h('span', { class: 'where' }, places[place]),
      ),
      select,
      row !== undefined &&
        fields.length > 0 &&
        h(
          'details',
          {},
          h('summary', {}, `Settings of ${row.name}`),
          h('div', { class: 'fields' }, ...fields.map((field) => this.#field(row, field))),
        ),
    );
  }

  #option(role: ProviderRole, { id, row }: Choice): HTMLElement {
    return h('option', { value: id, selected: id === this.setup.roles[role] }, `${row.about} · ${row.name}`);
  }

  #field(row: ProviderRow, field: Field): HTMLElement {
    const { label, kind, min, max, step, options = [], required } = field;
    const value = valueOf(this.setup, row, field);
    const keep = (next: FieldValue): void => {
      const fields = { ...this.setup.fields, [row.name]: { ...this.setup.fields[row.name], [field.key]: next } };
      this.#change({ fields });
    };
    if (kind === 'check') {
      const box = h('input', { type: 'checkbox', checked: value === true });
      box.addEventListener('change', () => keep(box.checked));
      return h('label', { class: 'check' }, box, label);
    }
    if (kind === 'select') {
      const blank = required ? [] : [h('option', { value: '' }, 'default')];
      const entries = options.map((each) => h('option', { value: each, selected: each === value }, String(each)));
      const select = h('select', {}, ...blank, ...entries);
      select.addEventListener('change', () => keep(select.value));
      return h('label', {}, label, select);
    }
    const type = kind === 'number' ? 'number' : 'text';
    const placeholder = required ? undefined : kind === 'list' ? 'comma, separated' : 'default';
    const input = h('input', {
      type,
      min,
      max,
      step: step ?? (type === 'number' ? 'any' : undefined),
      value,
      placeholder,
      required,
    });
    input.addEventListener('change', () => {
      if (input.reportValidity()) keep(input.value);
    });
    return h('label', {}, label, input);
  }

  #select(id: 'listening' | 'runs', label: string, texts: Readonly<Record<string, string>>, now?: string): HTMLElement {
    const entries = Object.entries(texts).map(([value, text]) => h('option', { value, selected: value === now }, text));
    const select = h('select', { id }, ...entries);
    select.addEventListener('change', () => this.#change({ [id]: select.value }));
    return h('label', {}, label, select);
  }

  #text(label: string, value: string, keep: (text: string) => void): HTMLElement {
    const area = h('textarea', { rows: 2 }, value);
    area.addEventListener('change', () => keep(area.value.trim()));
    return h('label', {}, label, area);
  }
}

/** What the user chose last time, as far as it can still be had. */
function stored(fresh: Setup, choices: readonly Choice[]): Setup {
  try {
    const before = JSON.parse(localStorage.getItem(key) ?? 'null') as Partial<Setup> | null;
    if (!before?.roles) return fresh;
    const chosenRoles = before.roles;
    const isThere = roles.every((role) => choices.some(({ id }) => id === chosenRoles[role]));
    return isThere ? { ...fresh, ...before } : fresh;
  } catch {
    return fresh;
  }
}

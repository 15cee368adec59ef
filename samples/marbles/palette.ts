/** What a colour says, whatever the theme. */
export type Tone =
  | 'user'
  | 'guess'
  | 'model'
  | 'voice'
  | 'heard'
  | 'barge'
  | 'tool'
  | 'good'
  | 'bad'
  | 'quiet'
  | 'line'
  | 'band'
  | 'text'
  | 'paper';

/** A colour for each tone, as CSS writes it. */
export type Palette = Readonly<Record<Tone, string>>;

/** On white: every mark has at least 3:1 against it, text 4.5:1 (WCAG 2.2, 1.4.3 and 1.4.11). */
export const lightPalette: Palette = {
  user: '#0e7490',
  guess: '#b45309',
  model: '#15803d',
  voice: '#7c3aed',
  heard: '#2563eb',
  barge: '#c026d3',
  tool: '#0f766e',
  good: '#15803d',
  bad: '#cf2020',
  quiet: '#64748b',
  line: '#dfe3ea',
  band: '#94a3b8',
  text: '#334155',
  paper: '#ffffff',
};

/** The same on near-black. */
export const darkPalette: Palette = {
  user: '#22d3ee',
  guess: '#fbbf24',
  model: '#4ade80',
  voice: '#a78bfa',
  heard: '#60a5fa',
  barge: '#e879f9',
  tool: '#2dd4bf',
  good: '#4ade80',
  bad: '#f87171',
  quiet: '#94a3b8',
  line: '#2a2f3a',
  band: '#8b98b0',
  text: '#cbd5e1',
  paper: '#13161c',
};

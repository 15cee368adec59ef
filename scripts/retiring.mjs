/**
 * Lists the models of lib/providers/retiring.ts that retire within ninety days of a day (`npm run retiring -- 2027-01-01`;
 * today without one), and those that are gone by then, whose rows then lose their day.
 */
import { pathToFileURL } from 'node:url';
import * as table from '../lib/providers/retiring.ts';

const dayMs = 86_400_000;

/** The rows of a table by provider, soonest first; a row without a day is never due. */
export function retiringBy(day, rowsBy = table, days = 90) {
  const from = Date.parse(`${day}T00:00:00Z`);
  if (!Number.isFinite(from)) throw new Error(`${day} is no day: write it as 2027-01-31`);
  return Object.entries(rowsBy)
    .flatMap(([name, rows]) => rows.map((row) => ({ ...row, provider: name[0].toUpperCase() + name.slice(1) })))
    .map((row) => ({ ...row, inDays: (Date.parse(`${row.on}T00:00:00Z`) - from) / dayMs }))
    .filter(({ inDays }) => inDays <= days)
    .sort((a, b) => a.inDays - b.inDays);
}

/** A row for people. */
export const lineOf = ({ provider, model, on, instead, inDays }) =>
  `${on}  ${(inDays < 0 ? 'gone' : `${inDays} days`).padStart(8)}  ${provider} ${model}: ${instead}`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const day = process.argv[2] ?? new Date().toISOString().slice(0, 10);
  const rows = retiringBy(day);
  console.log(rows.length > 0 ? rows.map(lineOf).join('\n') : `nothing retires within ninety days of ${day}`);
}

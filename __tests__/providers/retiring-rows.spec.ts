/**
 * The tables of retiring models: a row that is mistyped warns of nothing, or sends who reads it from one retiring model to
 * the next.
 */
import { retirementOf } from '../../lib/core/retirement.ts';
import * as tables from '../../lib/providers/retiring.ts';

describe('The rows of retiring models', () => {
  for (const [name, rows] of Object.entries(tables)) {
    it(`${name}: each has a day that exists, or none`, () => {
      const days = rows.flatMap(({ on }) => (on === undefined || on === 'unlisted' ? [] : on));
      expect(days.map((day) => new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10))).toEqual(days);
    });

    it(`${name}: none is hidden by another`, () => {
      const told = rows.map(({ model }) => retirementOf(model.replace(/\*$/, 'x'), rows));
      expect(told.map((text, row) => text?.endsWith(`use ${rows[row]?.instead ?? ''} instead`))).toEqual(
        rows.map(() => true),
      );
      expect(new Set(rows.map(({ model }) => model)).size).toBe(rows.length);
    });

    it(`${name}: none is replaced by a model that retires`, () => {
      const replacements = rows.flatMap(({ instead }) => (/[ ()]/.test(instead) ? [] : instead));
      expect(replacements.filter((model) => retirementOf(model, rows) !== undefined)).toEqual([]);
    });
  }
});

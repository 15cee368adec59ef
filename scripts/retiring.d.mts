import type { RetiringModel } from '../lib/core/retirement.ts';

/** A row of the table that has a day. */
export interface RetiringRow extends RetiringModel {
  readonly provider: string;
  /** Negative once it is gone. */
  readonly inDays: number;
}

export function retiringBy(
  day: string,
  rowsBy?: Readonly<Record<string, readonly RetiringModel[]>>,
  days?: number,
): RetiringRow[];
export function lineOf(row: RetiringRow): string;

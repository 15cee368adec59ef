/** A model that its service retires. */
export interface RetiringModel {
  /** Its id, also for its dated snapshots and fine-tuned models; with `*` at the end, for every id that begins so. */
  readonly model: string;
  /**
   * The day it is retired, `YYYY-MM-DD`; `unlisted` while it is served but no longer documented. Default: already
   * retired.
   */
  readonly on?: string;
  /** What replaces it, according to the vendor. */
  readonly instead: string;
}

/** A warning about a model that its service retires or has retired; `undefined` for any other. */
export function retirementOf(model: string | undefined, retiring: readonly RetiringModel[]): string | undefined {
  if (model === undefined) return undefined;
  const names = [model, originOf(model)];
  const row = retiring.find(({ model: id }) =>
    id.endsWith('*') ? model.startsWith(id.slice(0, -1)) : names.includes(id),
  );
  if (!row) return undefined;
  const { on, instead } = row;
  const advice = `; use ${instead} instead`;
  if (on === undefined) return `the service has retired ${model}${advice}`;
  return on === 'unlisted'
    ? `the service no longer lists ${model}${advice}`
    : `the service retires ${model} on ${on}${advice}`;
}

/** The model with which a fine-tuned one (`ft:<model>:…`), or a snapshot (`<model>-2026-01-31`), is retired. */
function originOf(model: string): string {
  const [base = model] = model.startsWith('ft:') ? model.slice(3).split(':', 1) : [model];
  return base.replace(/-\d{4}-\d\d-\d\d$/, '');
}

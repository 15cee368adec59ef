import type { Observable } from 'rxjs';
import { messageOf, VoiceError } from '../core/errors.ts';
import type { Command } from '../conversation/commands.ts';
import type { PipelineOptions } from './pipeline-options.ts';
import type { Pipeline } from './pipeline.ts';
import type { AssignedRoles } from './roles.ts';

/** The parts of a pipeline that the library's own features may use. */
export interface PipelineInside {
  readonly options: PipelineOptions;
  readonly assigned: AssignedRoles;
  readonly commands$: Observable<Command>;
  /** Publishes an `error` event. */
  readonly reportError: (cause: unknown) => void;
}

/** The internals of a pipeline: members that applications do not see. */
export function insideOf(pipeline: Pipeline): PipelineInside {
  return pipeline as unknown as PipelineInside;
}

/** Reports what the application's own code threw, as an `error` event; what only stands in for a pipeline has none. */
export function reportBroken(pipeline: object, what: string, cause: unknown): void {
  const { reportError } = pipeline as Partial<PipelineInside>;
  const error = new VoiceError(`${what} threw: ${messageOf(cause)}`, { code: 'internal', cause });
  reportError?.call(pipeline, error);
}

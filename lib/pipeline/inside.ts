import type { Observable } from 'rxjs';
import type { Command } from '../conversation/commands.ts';
import type { PipelineOptions } from './pipeline-options.ts';
import type { Pipeline } from './pipeline.ts';
import type { AssignedRoles } from './roles.ts';

/** The parts of a pipeline that the library's own features may use. */
export interface PipelineInside {
  readonly options: PipelineOptions;
  readonly assigned: AssignedRoles;
  readonly commands$: Observable<Command>;
}

/** The internals of a pipeline: members that applications do not see. */
export function insideOf(pipeline: Pipeline): PipelineInside {
  return pipeline as unknown as PipelineInside;
}

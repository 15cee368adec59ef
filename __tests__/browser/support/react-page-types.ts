import type { Root } from 'react-dom/client';
import type { Pipeline } from 'rxvoice';
import type { PipelineHook } from 'rxvoice/react';
import type { cast, PatientInput } from './react-page.ts';

declare global {
  /** A component that uses a pipeline, and what a test wants to know of it. */
  var talk: {
    readonly Talk: () => null;
    readonly root: Root;
    readonly hook: { current?: PipelineHook };
    readonly used: () => {
      readonly pipeline: Pipeline | undefined;
      /** Those that were ever initialized. */
      readonly inputs: readonly PatientInput[];
      readonly made: readonly ReturnType<typeof cast>[];
      readonly shown: readonly string[];
    };
  };
}

/** What a file took: on the clock, on the processor with all threads, and waiting for something to happen. */
export interface SpecTime {
  readonly wallMs: number;
  readonly processorMs: number;
  readonly idleMs: number;
}

export function costOf(time: SpecTime): number;
export function saysWhy(text: string): boolean;

export default class SlowSpecs {
  onTestResult(test: { readonly path: string }, result: { readonly time?: SpecTime }): void;
  onRunComplete(): void;
  getLastError(): Error | undefined;
}

/** The parts of the browser's GPU access (W3C WebGPU) that are used. */
interface Gpu {
  requestAdapter(): Promise<{ readonly features: ReadonlySet<string> } | null>;
}

/** Why this machine cannot run a model, and what to do; `undefined` when it can. */
export async function gpuProblem(model: string): Promise<string | undefined> {
  const gpu = 'navigator' in globalThis ? (navigator as { readonly gpu?: Gpu }).gpu : undefined;
  if (!gpu) {
    const isInsecure = 'isSecureContext' in globalThis && !globalThis.isSecureContext;
    const remedy = isInsecure ? 'a page on https or localhost' : 'a browser with WebGPU: Chrome or Edge 113, Safari 26';
    return `it needs ${remedy}; or use another provider, such as CompatibleLLM`;
  }
  const adapter = await gpu.requestAdapter();
  if (!adapter) return 'the browser found no usable GPU: update its driver, or use another provider';
  if (!/q\df16/.test(model) || adapter.features.has('shader-f16')) return undefined;
  const twin = model.replace(/(q\d)f16/, '$1f32');
  return `this GPU lacks 16-bit floats, which ${model} needs: use ${twin}`;
}

/** The browser's access to a GPU (W3C WebGPU), as far as it is looked at. */
interface Gpu {
  requestAdapter(): Promise<{ readonly features: ReadonlySet<string> } | null>;
}

/** Why this machine cannot run a model, and what to do about it; `undefined` when it can. */
export async function gpuProblem(model: string): Promise<string | undefined> {
  const gpu = 'navigator' in globalThis ? (navigator as { readonly gpu?: Gpu }).gpu : undefined;
  if (!gpu) {
    const isInsecure = 'isSecureContext' in globalThis && !globalThis.isSecureContext;
    const remedy = isInsecure ? 'a page on https or localhost' : 'a browser with WebGPU: Chrome or Edge 113, Safari 26';
    return `it needs ${remedy}, or another model such as CompatibleLLM`;
  }
  const adapter = await gpu.requestAdapter();
  if (!adapter) return 'the browser finds no GPU that it may use: update its driver, or take another model';
  if (!/q\df16/.test(model) || adapter.features.has('shader-f16')) return undefined;
  const twin = model.replace(/(q\d)f16/, '$1f32');
  return `this GPU cannot compute with 16 bits, which ${model} needs: take ${twin}`;
}

import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { OnDemand } from '../core/on-demand.ts';

/** Options of {@link openContext}. */
export interface ContextOptions {
  /** Class name of the provider, for errors. */
  readonly provider: string;
  /** What to use outside a browser, for the error. */
  readonly elsewhere: string;
  /** Where the page serves `rxvoice/worklets.js`. Default: inlined. */
  readonly workletUrl?: string | undefined;
  /** Sample rate in Hz. Default: the device's. */
  readonly sampleRate?: number | undefined;
}

function assertWebAudio(provider: string, elsewhere: string): void {
  if (!('AudioContext' in globalThis)) {
    const message = `${provider} needs a browser: elsewhere use ${elsewhere}`;
    throw new VoiceError(message, { code: 'configuration', provider });
  }
  if (!('AudioWorkletNode' in globalThis)) {
    const message = globalThis.isSecureContext
      ? `${provider} needs a browser with AudioWorklet: Chrome 66, Firefox 76, Safari 14.1 or newer`
      : `${provider} works only on secure pages: serve the page over https, or from localhost`;
    throw new VoiceError(message, { code: 'configuration', provider });
  }
}

/**
 * Prepares what {@link openContext} needs, so that it requires no network then.
 *
 * @throws VoiceError `configuration` where Web Audio is missing, or the page may not use it.
 */
export async function prepareContext({ provider, elsewhere, workletUrl }: ContextOptions): Promise<void> {
  assertWebAudio(provider, elsewhere);
  if (workletUrl === undefined) await loadWorklets(provider);
}

/** Opens a context with the library's worklets, at the device's sample rate unless specified. */
export async function openContext(options: ContextOptions): Promise<AudioContext> {
  const { provider, elsewhere, workletUrl, sampleRate } = options;
  assertWebAudio(provider, elsewhere);
  const context = new AudioContext({ latencyHint: 'interactive', ...(sampleRate !== undefined && { sampleRate }) });
  try {
    await addWorklets(context, provider, workletUrl);
    return context;
  } catch (error) {
    closeContext(context);
    throw error;
  }
}

/** The worklets' program: pages that serve it as a file need not bundle it. */
async function loadWorklets(provider: string): Promise<string> {
  const { workletSource } = await new OnDemand(provider, () => import('./worklets.ts')).load();
  return workletSource;
}

const type = 'text/javascript';

/**
 * Loads the processors into a context: from `url` where one is given, else from a `blob:` or `data:` address.
 *
 * @throws VoiceError `configuration` when the page permits none of them.
 */
async function addWorklets(context: BaseAudioContext, provider: string, url?: string): Promise<void> {
  let failure: unknown;
  const adds = async (address: string): Promise<boolean> => {
    try {
      await context.audioWorklet.addModule(address);
      return true;
    } catch (cause) {
      failure = cause;
      return false;
    }
  };
  if (url !== undefined && (await adds(url))) return;
  const workletSource = await loadWorklets(provider);
  const blobUrl = URL.createObjectURL(new Blob([workletSource], { type }));
  // Inside a frame, Safari treats a blob, but not a data address, as another origin's.
  const isAdded = (await adds(blobUrl)) || (await adds(`data:${type},${encodeURIComponent(workletSource)}`));
  URL.revokeObjectURL(blobUrl);
  if (isAdded) return;
  throw new VoiceError(
    `${provider} cannot load its AudioWorklet, probably because of the page's Content-Security-Policy: serve the file ` +
      `rxvoice/worklets.js from your own origin and set its address as workletUrl, or allow blob: in script-src` +
      (url === undefined ? '' : ` (workletUrl is ${url})`),
    { code: 'configuration', provider, cause: failure },
  );
}

/** Time for a suspended context to render what it has begun, in milliseconds. */
const settleMs = 50;

/**
 * Stops a context at once, and closes it soon.
 *
 * WebKitGTK 2.50 now and then crashes the page when a context closes while its worklet renders, probably because of
 * https://bugs.webkit.org/show_bug.cgi?id=304132.
 */
export function closeContext(context: AudioContext, scheduler: SchedulerLike = asyncScheduler): void {
  if (context.state === 'closed') return;
  context.suspend().catch(() => undefined);
  scheduler.schedule(() => void context.close().catch(() => undefined), settleMs);
}

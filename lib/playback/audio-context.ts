import {
  asyncScheduler,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  fromEvent,
  ignoreElements,
  map,
  of,
  skip,
  startWith,
  switchMap,
  tap,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { OnDemand } from '../core/on-demand.ts';
import type { DeviceEvent } from '../core/roles.ts';
import { merge } from '../stream/merge.ts';

/** User gestures after which browsers let a page play audio. */
const gestures = ['pointerdown', 'pointerup', 'touchend', 'keydown'] as const;

/** Time for a context to start before it is reported as suspended, in milliseconds. */
const graceMs = 300;

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

/** Closes a context permanently. */
export function closeContext(context: AudioContext): void {
  if (context.state !== 'closed') context.close().catch(() => undefined);
}

/**
 * Keeps a context running as far as the browser allows: tries now, at every user gesture, and when the page is shown
 * again; never while the system has interrupted it. Emits when it stops and when it runs again.
 */
export function keepRunning(context: AudioContext, scheduler: SchedulerLike = asyncScheduler): Observable<DeviceEvent> {
  return defer(() => {
    const page = 'document' in globalThis ? globalThis.document : undefined;
    const changes$ = fromEvent(context, 'statechange').pipe(startWith(undefined));
    const gestures$ = page
      ? merge(...gestures.map((name) => fromEvent(page, name, { capture: true, passive: true }))).pipe(
          tap(() => {
            unlock(context);
          }),
        )
      : EMPTY;
    const shown$ = page
      ? fromEvent(page, 'visibilitychange').pipe(filter(() => page.visibilityState === 'visible'))
      : EMPTY;
    const attempts$ = merge(changes$, gestures$, shown$).pipe(
      tap(() => {
        // Without a gesture the promise may stay pending forever.
        if (context.state === 'suspended') context.resume().catch(() => undefined);
      }),
      ignoreElements(),
    );
    const events$ = changes$.pipe(
      map(() => context.state),
      distinctUntilChanged(),
      switchMap((state) => (state === 'suspended' ? timer(graceMs, scheduler).pipe(map(() => state)) : of(state))),
      filter((state) => state !== 'closed'),
      startWith('running' as const),
      distinctUntilChanged(),
      skip(1),
      map((type) => ({ type })),
    );
    return merge(attempts$, events$);
  });
}

/** iOS requires something to be played during the gesture. */
function unlock(context: AudioContext): void {
  if (context.state !== 'suspended') return;
  const source = context.createBufferSource();
  source.buffer = context.createBuffer(1, 1, context.sampleRate);
  source.connect(context.destination);
  source.start();
}

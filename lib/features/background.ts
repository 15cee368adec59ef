import {
  distinctUntilChanged,
  finalize,
  ignoreElements,
  map,
  startWith,
  takeUntil,
  tap,
  filter,
  switchMap,
  type Observable,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { OutputProvider } from '../core/roles.ts';
import { insideOf } from '../pipeline/inside.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { Loop, type BackgroundSound } from './background-loop.ts';
import { MixedOutput } from './mixed-output.ts';

/** Options of {@link background}. */
export interface BackgroundOptions {
  /** A loop that plays throughout the conversation: an office, rain. */
  readonly ambience?: BackgroundSound;
  /** A loop that plays while the agent is thinking: a keyboard. */
  readonly thinking?: BackgroundSound;
  /** Volume of both, a factor from 0 to 1. Default: 0.3. */
  readonly volume?: number;
  /** Volume of the ambience while the agent speaks, as a factor of `volume`. Default: 0.4. */
  readonly ducked?: number;
}

const mixed = Symbol('rxvoice.mixed');
/** What a mixable output overrides. */
const mixes: ReadonlySet<PropertyKey> = new Set<keyof OutputProvider & keyof MixedOutput>([
  ...(['playback$', 'accepts', 'positionMs', 'tailMs', 'play', 'enqueue', 'flush', 'stop'] as const),
]);

/**
 * Makes an output that can play a background under speech, see {@link background}. It keeps every other member of the
 * output, so a phone remains a phone; without a background it behaves exactly like the output. It takes only raw
 * samples: compressed speech is decoded first.
 *
 * @example
 * ```ts
 * import { background, mixable, NullOutput, Pipeline, type AnyProvider } from 'rxvoice';
 *
 * declare const others: readonly AnyProvider[];
 * declare const office: Uint8Array<ArrayBuffer>; // a WAV file
 *
 * const pipeline = new Pipeline({ providers: [...others, mixable(new NullOutput())] });
 * background(pipeline, { ambience: office }).subscribe();
 * ```
 */
export function mixable<T extends OutputProvider>(output: T): T {
  const mix = new MixedOutput(output);
  return new Proxy(output, {
    get: (target, name) => {
      if (name === mixed) return mix;
      const owner = mixes.has(name) ? mix : target;
      const value: unknown = Reflect.get(owner, name, owner);
      return typeof value === 'function' ? (value as () => unknown).bind(owner) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

/**
 * Plays an ambience under the conversation, and a sound while the agent is thinking, on the output's own clock:
 * positions, interruptions and what was heard stay exact. It is softer while the agent speaks, and silent while the
 * agent is paused or a speech waits for its voice. Active while subscribed to, during conversations; completes with the
 * pipeline.
 *
 * @param pipeline - Its output is a {@link mixable} one.
 * @throws VoiceError `configuration` when the output is not mixable, or a volume is not from 0 to 1; `unsupported_format`
 * for a sound that cannot be read.
 */
export function background(pipeline: Pipeline, options: BackgroundOptions): Observable<never> {
  const { volume = 0.3, ducked = 0.4 } = options;
  const { output } = insideOf(pipeline).assigned;
  const { [mixed]: mix } = output as { readonly [mixed]?: MixedOutput };
  if (!mix) throw refused(`${output.name} does not mix: give the pipeline mixable(output)`);
  for (const [name, factor] of Object.entries({ volume, ducked })) {
    if (!(factor >= 0 && factor <= 1)) throw refused(`${name} must be from 0 to 1, not ${factor}`);
  }
  const ambience = options.ambience && new Loop(options.ambience);
  const thinking = options.thinking && new Loop(options.thinking);
  const closed$ = pipeline.events$.pipe(filter(({ type }) => type === 'session.closed'));
  const isThinking$ = pipeline.state$.pipe(
    filter((event) => event.type === 'agent.state'),
    map(({ state }) => state === 'thinking'),
    startWith(false),
    distinctUntilChanged(),
  );
  return pipeline.state$.pipe(
    filter(({ type }) => type === 'session.ready'),
    switchMap(() =>
      isThinking$.pipe(
        tap((isThinking) => mix.sound({ ambience, thinking: isThinking ? thinking : undefined, volume, ducked })),
        takeUntil(closed$),
        finalize(() => mix.sound(undefined)),
      ),
    ),
    ignoreElements(),
  );
}

function refused(problem: string): VoiceError {
  return new VoiceError(`background: ${problem}`, { code: 'configuration' });
}

import { VoiceError } from '../core/errors.ts';
import { asObject, asObjects } from '../core/guard.ts';
import type { Logger } from '../core/logger.ts';
import type { VoiceDetector } from '../core/roles.ts';
import type { ConversationOptions, SettingsChange } from '../conversation/conversation-options.ts';
import type { History, HistoryOptions } from '../conversation/history.ts';
import type { AnyProvider } from './roles.ts';

/** Options of a pipeline. */
export interface PipelineOptions extends Omit<ConversationOptions, 'history'> {
  /** Providers for the five roles; one may fill several. */
  readonly providers: readonly AnyProvider[];
  /** How much to remember, or a {@link History} to continue. */
  readonly history?: HistoryOptions | History;
  /**
   * Detects the user's voice in the captured audio, on its own clock, instead of the speech-to-text service's events:
   * `energyVad()` of `rxvoice/vad`, or your own. Needs an input that captures PCM. If it fails, those events count again.
   * Default: none.
   */
  readonly vad?: VoiceDetector;
  /** Whether captured audio is also emitted as `audio.input` events. Default: false. */
  readonly inputEvents?: boolean;
  /**
   * Receives errors of callbacks and of providers that did not stop cleanly; also used by providers without a logger of
   * their own. A provider keeps the first logger it is given. Default: none.
   */
  readonly logger?: Logger;
}

/** Options that `update()` can change. */
export interface PipelineUpdate extends SettingsChange {
  /** Said at the next start. */
  readonly greeting?: string | undefined;
}

/** The name of an option that `update()` can change. */
export type ChangeableOption = keyof PipelineUpdate;

/** The options that `update()` can change. */
export const changeable: Readonly<Record<ChangeableOption, true>> = {
  systemPrompt: true,
  greeting: true,
  tools: true,
  turnTaking: true,
  endpointing: true,
  onUnclear: true,
  bargeIn: true,
  preflight: true,
  listening: true,
  onUserTurn: true,
  answer: true,
  timeouts: true,
  text: true,
  locale: true,
  followLanguage: true,
  agent: true,
};

/**
 * Checks the only option that is needed at once; the rules of the others are loaded with the conversation.
 *
 * @throws VoiceError `configuration` when there are no providers.
 */
export function assertProviders(options: PipelineOptions | undefined): void {
  const { providers }: { readonly providers?: unknown } = options ?? {};
  if (!Array.isArray(providers)) {
    throw refused('providers must be an array: write new Pipeline({ providers: [new NuLLM({ … }), … ] })');
  }
  const at = providers.findIndex((each: { readonly roles?: unknown } | undefined) => !Array.isArray(each?.roles));
  if (at >= 0) throw refused(`providers[${at}] is not a provider: write new NuLLM({ … }), or an object with roles`);
}

/** @throws VoiceError `configuration` when an option is the agent's own business. */
export function assertLeftToAgent(agent: string | undefined, options: PipelineOptions | PipelineUpdate): void {
  if (agent === undefined) return;
  const own = [...Object.keys(changeable), 'agents', 'voices', 'vad', 'hearing'];
  const set = Object.entries(options).flatMap(([key, value]) =>
    own.includes(key) && value !== undefined ? [key] : [],
  );
  if (set.length === 0) return;
  const message = `${agent} handles ${set.join(', ')} itself: set this in its own configuration`;
  throw new VoiceError(message, { code: 'configuration', provider: agent });
}

/**
 * @throws VoiceError `configuration` when a tool's schema cannot tell the model its arguments: it would assume there are
 * none. `initialize()` checks the rest of what a schema tells.
 */
export function assertArguments(options: { readonly tools?: unknown; readonly agents?: unknown }): void {
  const all = [options, ...Object.values(asObject(options.agents) ?? {})];
  const tools = all.flatMap((each) => asObjects(asObject(each)?.['tools']));
  const mute = tools.find(({ schema, parameters }) => {
    const standard = asObject(asObject(schema)?.['~standard']);
    return standard && !parameters && !asObject(standard['jsonSchema']);
  });
  if (!mute) return;
  throw refused(
    `the tool ${String(mute['name'])} has no parameters, and its schema tells no JSON Schema: ` +
      "write what the model may pass as parameters: { type: 'object', properties: { … } }",
  );
}

/** @throws VoiceError `configuration` when `update()` cannot change an option. */
export function assertChangeable(changes: PipelineUpdate): void {
  if (!asObject(changes)) throw refused("update() takes an object: write update({ systemPrompt: '…' })");
  const fixed = Object.keys(changes).filter((key) => !(key in changeable));
  if (fixed.length === 0) return;
  const known = Object.keys(changeable).join(', ');
  throw refused(`update() cannot change ${fixed.join(', ')}, only ${known}: create another pipeline for the rest`);
}

/** An error of the pipeline's options. */
export function refused(problem: string): VoiceError {
  return new VoiceError(`Pipeline: ${problem}`, { code: 'configuration' });
}

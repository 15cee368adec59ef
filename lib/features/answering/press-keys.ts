import { keyTones, type KeyToneOptions } from '../../audio/key-tones.ts';
import { int16Bytes } from '../../audio/samples.ts';
import type { Tool } from '../../core/tools.ts';
import type { SpeechHandle } from '../../conversation/commands.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { Recording } from '../recording.ts';

/**
 * Presses keys, as tones in the audio: for navigating phone menus on any platform. They play after what is being said,
 * cannot be interrupted, and are not added to the history.
 *
 * @param keys - `0` to `9`, `*`, `#`, `A` to `D`, and `p` or a comma for a pause of half a second.
 * @returns The tones as a speech; `done` resolves once they have been heard.
 * @throws RangeError for anything else.
 *
 * @example
 * ```ts
 * import { pressKeys, type Pipeline } from 'rxvoice';
 *
 * declare const pipeline: Pipeline;
 *
 * await pressKeys(pipeline, '2').done;
 * ```
 */
export function pressKeys(
  pipeline: Pick<Pipeline, 'say'>,
  keys: string,
  { sampleRate = 8_000, ...options }: KeyToneOptions = {},
): SpeechHandle {
  const tones = int16Bytes(keyTones(keys, { sampleRate, ...options }));
  const tts = new Recording(tones, { encoding: 'linear16', sampleRate, channels: 1 });
  return pipeline.say(keys, { tts, interruptible: false, store: false });
}

/** Options of {@link pressKeysTool}. */
export interface PressKeysToolOptions {
  /** Presses the keys: `pressKeys()`, or a request to the platform, such as `sendDigits()` of `PhoneSocketBCalls`. */
  readonly press: (keys: string) => unknown;
  /** The tool's name. Default: `press_keys`. */
  readonly name?: string;
  /** Tells the model when to press keys. Default: when a recorded menu asks for a choice or a number. */
  readonly description?: string;
}

/**
 * A tool that lets the agent choose from a menu that it hears. The model is told to say nothing while calling it, and
 * to listen to what follows.
 *
 * @example
 * ```ts
 * import { Pipeline, pressKeys, pressKeysTool, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * const pipeline: Pipeline = new Pipeline({
 *   providers,
 *   tools: [pressKeysTool({ press: (keys) => void pressKeys(pipeline, keys) })],
 * });
 * ```
 */
export function pressKeysTool({
  press,
  name = 'press_keys',
  description = 'Presses keys of the phone, when a recorded menu asks for a choice or a number. Say nothing with it.',
}: PressKeysToolOptions): Tool {
  const keys = { type: 'string', pattern: '^[0-9*#]{1,32}$', description: 'The keys, such as 2 or 4711#.' };
  const tool: Tool<{ readonly keys: string }> = {
    name,
    description,
    parameters: { type: 'object', properties: { keys }, required: ['keys'], additionalProperties: false },
    execute: async ({ keys: pressed }) => {
      await press(pressed);
      return `Pressed ${pressed}. Say nothing until you have heard what follows.`;
    },
  };
  return tool as Tool;
}

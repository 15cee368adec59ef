import { ProviderInitializationError } from '../core/errors.ts';
import type { InputProvider, OutputProvider } from '../core/roles.ts';

/** An end of the pipeline whose code is loaded when it is needed: who never needs it does not ship it. */
export class DefaultEnd<P> {
  readonly name: string;
  readonly #load: () => Promise<P>;

  /** @param name - The provider's. */
  constructor(name: string, load: () => Promise<P>) {
    this.name = name;
    this.#load = load;
  }

  /** @throws ProviderInitializationError when the code cannot be loaded; a later call tries again. */
  async load(): Promise<P> {
    try {
      return await this.#load();
    } catch (cause) {
      throw new ProviderInitializationError(this.name, cause, 'its code could not be loaded: is the page offline?');
    }
  }
}

/** Who covers the ends that nobody else does, in a browser (SPEC.md, What the service does). */
export interface DefaultEnds {
  readonly input: DefaultEnd<InputProvider>;
  readonly output: DefaultEnd<OutputProvider>;
}

const browserEnds: DefaultEnds = {
  input: new DefaultEnd('MicrophoneInput', async () => {
    const { MicrophoneInput } = await import('../providers/input/microphone-input.ts');
    return new MicrophoneInput();
  }),
  output: new DefaultEnd('BrowserAudioOutput', async () => {
    const { BrowserAudioOutput } = await import('../providers/output/browser-audio-output.ts');
    return new BrowserAudioOutput();
  }),
};

/** The ends that this runtime has by itself: a browser has a microphone and a speaker. */
export function defaultEnds(): Partial<DefaultEnds> {
  return 'AudioContext' in globalThis ? browserEnds : {};
}

import { OnDemand } from '../core/on-demand.ts';
import type { InputProvider, OutputProvider } from '../core/roles.ts';

/** Default input and output in a browser (SPEC.md, What the service does). */
export interface DefaultEnds {
  readonly input: OnDemand<InputProvider>;
  readonly output: OnDemand<OutputProvider>;
}

const browserEnds: DefaultEnds = {
  input: new OnDemand('MicrophoneInput', async () => {
    const { MicrophoneInput } = await import('../providers/input/microphone-input.ts');
    return new MicrophoneInput();
  }),
  output: new OnDemand('BrowserAudioOutput', async () => {
    const { BrowserAudioOutput } = await import('../providers/output/browser-audio-output.ts');
    return new BrowserAudioOutput();
  }),
};

/** The defaults available in this runtime: a browser has a microphone and a speaker. */
export function defaultEnds(): Partial<DefaultEnds> {
  return 'AudioContext' in globalThis ? browserEnds : {};
}

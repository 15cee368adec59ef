import type { FrameCodec } from '../audio/codec.ts';
import { VoiceError } from '../core/errors.ts';
import type { OpenFile } from './decode-audio.ts';

const hasWebCodecs = (): boolean => 'AudioDecoder' in globalThis;

/**
 * Opens a voice's files to be decoded for an output without decoders: by the browser, or by optional packages.
 *
 * @throws VoiceError `missing_package`, with the install command; `unsupported_format` for a codec without a package.
 */
export async function openFor(voice: string, codec: FrameCodec): Promise<OpenFile> {
  if (hasWebCodecs()) return (await import('./web-codecs.ts')).openInPage(() => undefined);
  if (codec === 'aac') {
    // There is no well-maintained package for it.
    const message = `${voice}: there is no AAC decoder here (no WebCodecs, and no package): configure the voice for linear16, mp3 or opus`;
    throw new VoiceError(message, { code: 'unsupported_format', provider: voice });
  }
  const { loadCodec, openOnServer } = await import('./wasm-codecs.ts');
  await loadCodec(voice, codec);
  return openOnServer(voice);
}

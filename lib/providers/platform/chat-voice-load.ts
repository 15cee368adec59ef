// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an optional package that is not installed is declared there
/// <reference path="./optional-packages.d.ts" />
import { loadOptionalPeer, rethrow } from '../../core/optional-peer.ts';
import type { ChatVoicePackages } from './chat-voice-packages.ts';

/** @throws VoiceError `missing_package` for the one that is not installed. */
export async function loadChatVoicePackages(provider: string): Promise<ChatVoicePackages> {
  const voice = await loadOptionalPeer(provider, '@discordjs/voice', '>= 0.19.1', () =>
    import('@discordjs/voice').catch(rethrow),
  );
  const prism = await loadOptionalPeer(provider, 'prism-media', '^1.3.5', () => import('prism-media').catch(rethrow));
  return { voice, opus: prism.default.opus };
}

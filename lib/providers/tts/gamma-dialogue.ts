import { asString } from '../../core/guard.ts';
import type { GammaTTSConfig } from './gamma-tts.ts';
import { byId } from './sockets/by-id.ts';
import type { SocketDialect } from './sockets/socket-wire.ts';
import type { SpeechWire } from './sockets/speech-wire.ts';

/** The pronunciation dictionaries, as a context is opened with them. */
export function locatorsOf({ pronunciationDictionaries }: GammaTTSConfig): readonly object[] | undefined {
  return pronunciationDictionaries?.map(({ id, versionId }) => ({
    pronunciation_dictionary_id: id,
    version_id: versionId,
  }));
}

/**
 * How the expressive models are spoken with, as a dialogue of one voice. The service begins once it has some forty
 * characters in eight words, so each piece is flushed; and it may drop what it has not begun when a context is closed,
 * which is therefore closed when all pieces were answered. Source: the reference of the address below; that of the
 * flushes and their answers is Pipecat's `services/elevenlabs/dialogue`.
 */
export const gammaDialogue = (
  modelOf: (config: GammaTTSConfig) => string,
): Pick<SocketDialect<GammaTTSConfig, unknown>, 'address' | 'attribution' | 'voice' | 'keepAlive'> => ({
  address: (config) => ({
    path: '/v1/text-to-dialogue/multi-stream-input',
    query: {
      model_id: modelOf(config),
      output_format: config.outputFormat ?? 'pcm_16000',
      sync_alignment: true,
      language_code: config.language,
      // It has no `auto`; its default is `off`.
      apply_text_normalization: config.applyTextNormalization === 'auto' ? undefined : config.applyTextNormalization,
      enable_logging: config.enableLogging,
      seed: config.seed,
    },
  }),
  attribution: () =>
    byId({
      contextOf: (message) => asString(message['context_id']),
      // The service takes five; one keeps the connection open.
      maxContexts: () => 4,
      endsCancelled: true,
      speaksAtOnce: () => true,
      answersPieces: true,
    }),
  voice(config) {
    const { voiceId, stability } = config;
    const opening = {
      voices: [voiceId],
      voice_settings: stability === undefined ? undefined : { stability },
      pronunciation_dictionary_locators: locatorsOf(config),
      ...config.extraBody,
    };
    return (id) => {
      const message = (body: object): string => JSON.stringify({ ...body, context_id: id });
      const end = message({ close_context: true });
      return {
        opening: [message(opening)],
        say: (text) => message({ inputs: [{ text, voice_id: voiceId }], flush: true }),
        ending: [end],
        // Another message to it would close the connection.
        endsForGood: true,
        cancel: end,
      };
    };
  },
  keepAlive: (id) => JSON.stringify({ keep_alive: true, context_id: id }),
});

/**
 * The service closes a connection after 20 s without a message, and refuses a keep-alive that names no open context:
 * between utterances, one without text is kept. Source: Pipecat's `services/elevenlabs/dialogue`.
 */
export function dialogueKeeper({ voiceId }: GammaTTSConfig): NonNullable<SpeechWire<unknown>['keeper']> {
  const id = 'keep_alive';
  return { id, opening: JSON.stringify({ voices: [voiceId], context_id: id }) };
}

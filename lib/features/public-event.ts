import type { TranscriptionResult } from '../core/roles.ts';
import type { VoiceEvent } from '../conversation/events.ts';

/** An event without service-specific fields and error causes: safe to leave the process. */
export function publicEvent<E extends VoiceEvent>(event: E): E {
  if (event.type === 'error') return { ...event, cause: undefined };
  return 'result' in event ? { ...event, result: publicResult(event.result) } : event;
}

/** A result without service-specific fields. */
function publicResult({ metadata, ...result }: TranscriptionResult): TranscriptionResult {
  const { text, isFinal, utteranceComplete, isPreflight, confidence } = result;
  const { words, language, speaker, translations } = metadata ?? {};
  return {
    ...{ text, isFinal, utteranceComplete, isPreflight },
    ...(confidence !== undefined && { confidence }),
    ...(metadata && {
      metadata: {
        ...(words && { words }),
        ...(language && { language }),
        ...(speaker && { speaker }),
        ...(translations && { translations }),
      },
    }),
  };
}

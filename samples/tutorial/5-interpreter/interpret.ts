import { concatMap, filter, map, NEVER, takeUntil, type Observable, type OperatorFunction } from 'rxjs';
import type { AudioChunk, LLMProvider, TranscriptionResult, TTSProvider } from 'rxvoice';
import { sentences, utterances } from 'rxvoice/operators';

/** What an interpreter needs. */
export interface InterpreterOptions {
  readonly llm: Pick<LLMProvider, 'generate'>;
  readonly tts: Pick<TTSProvider, 'speak'>;
  /** The language to speak, in the model's words. */
  readonly language: string;
  /** Cuts off what is being said; what was said meanwhile comes next. */
  readonly hush$?: Observable<unknown>;
}

/**
 * Says in another language what is said: one utterance after the other, each to its end.
 *
 * ```text
 * results       -i-a----b----|        a, b: complete utterances
 * a's audio        -x-x-x|
 * b's audio              -y-y|
 * interpret()   ----x-x-x-y-(y|)
 * ```
 */
export function interpret(options: InterpreterOptions): OperatorFunction<TranscriptionResult, AudioChunk> {
  const { llm, tts, language, hush$ = NEVER } = options;
  const content = `Translate what the user says into ${language}. Say nothing else.`;
  const translation = (text: string): Observable<string> =>
    llm
      .generate([
        { role: 'system', content },
        { role: 'user', content: text },
      ])
      .pipe(
        filter((event) => event.type === 'token'),
        map((event) => event.text),
        sentences(),
      );
  return (results$) =>
    results$.pipe(
      utterances(),
      concatMap(({ text }) => tts.speak(translation(text)).pipe(takeUntil(hush$))),
    );
}

import type { TranscriptionResult } from '../core/roles.ts';

/** Late and repeated results come soon after the end of an utterance. */
const remembered = 64;

/**
 * Remembers which utterances are finished, to recognize their late and repeated results. Utterances are identified by
 * the service's id, else by text and word times together; results with neither are not recognized.
 */
export class FinishedUtterances {
  readonly #keys = new Set<string>();

  has(result: TranscriptionResult): boolean {
    const key = keyOf(result);
    return key !== undefined && this.#keys.has(key);
  }

  /** Whether a result comes after the complete one of its utterance. Notes complete ones. */
  isLate(result: TranscriptionResult): boolean {
    const isLate = this.has(result);
    if (!isLate && result.utteranceComplete) this.add(result);
    return isLate;
  }

  add(result: TranscriptionResult): void {
    const key = keyOf(result);
    if (key === undefined) return;
    this.#keys.add(key);
    for (const oldest of this.#keys) {
      if (this.#keys.size <= remembered) break;
      this.#keys.delete(oldest);
    }
  }
}

function keyOf({ utteranceId, text, metadata }: TranscriptionResult): string | undefined {
  if (utteranceId !== undefined) return `id ${utteranceId}`;
  const starts = metadata?.words?.flatMap(({ startMs }) => startMs ?? []) ?? [];
  return starts.length > 0 ? `${text}@${starts.join()}` : undefined;
}

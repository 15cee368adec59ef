import type { OutputLock, QueuedSpeech } from './state.ts';

/** A speech waits for the output: an urgent one before those that are not. */
export function enqueue(lock: OutputLock, speech: QueuedSpeech): OutputLock {
  const at = speech.urgent ? lock.queue.findIndex(({ urgent }) => !urgent) : -1;
  const queue = at < 0 ? [...lock.queue, speech] : lock.queue.toSpliced(at, 0, speech);
  return { ...lock, queue };
}

/** The next one has its say, if nobody has it. */
export function grant(lock: OutputLock): OutputLock {
  const [next, ...queue] = lock.queue;
  return lock.speaking || !next ? lock : { speaking: { ...next, audible: false }, queue };
}

/** The speech that has the output is heard. */
export function heard(lock: OutputLock, id: string): OutputLock {
  const { speaking } = lock;
  return speaking?.id === id ? { ...lock, speaking: { ...speaking, audible: true } } : lock;
}

/** A speech is over, or will never be: it waits no longer, and holds nothing. */
export function release({ speaking, queue }: OutputLock, id: string): OutputLock {
  const rest = queue.filter((speech) => speech.id !== id);
  return speaking && speaking.id !== id ? { speaking, queue: rest } : { queue: rest };
}

/** Only what is still to be said waits: nothing that was cut off begins when the output comes free. */
export function withdraw(lock: OutputLock, wanted: readonly { readonly id: string }[]): OutputLock {
  return { ...lock, queue: lock.queue.filter((speech) => wanted.some(({ id }) => id === speech.id)) };
}

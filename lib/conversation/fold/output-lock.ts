import type { OutputLock, QueuedSpeech } from './state.ts';

/** Queues a speech for the output; urgent ones go first. */
export function enqueue(lock: OutputLock, speech: QueuedSpeech): OutputLock {
  const at = speech.urgent ? lock.queue.findIndex(({ urgent }) => !urgent) : -1;
  const queue = at < 0 ? [...lock.queue, speech] : lock.queue.toSpliced(at, 0, speech);
  return { ...lock, queue };
}

/** Grants the output to the next speech if it is free. */
export function grant(lock: OutputLock): OutputLock {
  if (lock.speaking || lock.queue.length === 0) return lock;
  const [next, ...queue] = lock.queue;
  return next ? { speaking: { audible: false, ...next }, queue } : lock;
}

/** Marks the speech that holds the output as audible. */
export function heard(lock: OutputLock, id: string): OutputLock {
  const { speaking } = lock;
  return speaking?.id === id ? { ...lock, speaking: { ...speaking, audible: true } } : lock;
}

/** Removes a speech that has ended or been dropped from lock and queue. */
export function release({ speaking, queue }: OutputLock, id: string): OutputLock {
  const rest = queue.filter((speech) => speech.id !== id);
  return { speaking: speaking?.id === id ? undefined : speaking, queue: rest };
}

/** Keeps only speeches still wanted: nothing that was cut off starts when the output becomes free. */
export function withdraw(lock: OutputLock, wanted: readonly { readonly id: string }[]): OutputLock {
  if (lock.queue.length === 0) return lock;
  return { ...lock, queue: lock.queue.filter((speech) => wanted.some(({ id }) => id === speech.id)) };
}

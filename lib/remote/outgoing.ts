type Bytes = Uint8Array<ArrayBuffer>;

/** A message for the server. */
export interface Outgoing {
  /** The microphone's position after it, in frames. */
  readonly end: number;
  readonly isAudio: boolean;
  /** A command's number. */
  readonly seq?: number;
  /** Absent until it is encoded. */
  readonly data?: string | Bytes;
  readonly isSent?: boolean;
}

/** Messages in order, until the server acknowledges them. */
export type Queue = readonly Outgoing[];

/** Frames of 20 ms kept, 10 s, and as many commands. */
const maxLength = 500;

/** Adds messages. When there are too many frames, or too many commands, the oldest of them go. */
export function queued(queue: Queue, messages: Queue): Queue {
  const all = [...queue, ...messages];
  if (all.length <= maxLength) return all;
  const newest = (isOne: (each: Outgoing) => boolean): Queue => all.filter(isOne).slice(-maxLength);
  const kept = new Set([...newest(({ isAudio }) => isAudio), ...newest(({ isAudio }) => !isAudio)]);
  return all.filter((each) => kept.has(each));
}

/**
 * Without what has arrived: the microphone's audio up to a position, and the commands up to a number. A server that does
 * not tell the number has those that were sent before audio that it has.
 */
export function unacknowledged(queue: Queue, position: number, commands?: number): Queue {
  return queue.filter(({ end, isAudio, isSent = false, seq = 0 }) => {
    if (isAudio) return end > position;
    return commands === undefined ? end > position || !isSent : seq > commands;
  });
}

/** All that the server has not acknowledged is sent again on another socket. */
export function unsent(queue: Queue): Queue {
  return queue.map((each) => (each.isSent ? { ...each, isSent: false } : each));
}

/** The packet whose audio ends at a position was encoded. */
export function encodedAt(queue: Queue, end: number, data: Bytes): Queue {
  return queue.map((each) => (each.isAudio && each.end === end ? { ...each, data } : each));
}

/** Without what will never be encoded. */
export function encodedOnly(queue: Queue): Queue {
  return queue.filter(({ data }) => data !== undefined);
}

/** What is to be sent now, up to the first message that is still being encoded, and the queue after that. */
export function due(queue: Queue): { readonly queue: Queue; readonly data: readonly (string | Bytes)[] } {
  const blocked = queue.findIndex(({ data }) => data === undefined);
  const ready = blocked < 0 ? queue : queue.slice(0, blocked);
  const data = ready.flatMap((each) => (each.isSent || each.data === undefined ? [] : [each.data]));
  if (data.length === 0) return { queue, data };
  const marked = ready.map((each) => (each.isSent ? each : { ...each, isSent: true }));
  return { queue: [...marked, ...queue.slice(ready.length)], data };
}

/** The service's end of a call by WebRTC. Its audio is linear16 at 24,000 Hz, mono. */
export interface CallLine {
  /** Sends a message over the data channel. */
  send(text: string): void;
  /** Plays samples in real time; resolves with the milliseconds that sounded, at their end or when they are cleared. */
  play(samples: Int16Array<ArrayBuffer>): Promise<number>;
  /** Falls silent. */
  clear(): void;
  /** Hangs up. */
  close(): void;
}

/** What comes over a call. */
export interface CallEvents {
  opened(line: CallLine): void;
  text(text: string): void;
  audio(bytes: Uint8Array<ArrayBuffer>): void;
  closed(): void;
}

/** Takes a call: answers an offer of WebRTC. */
export type AnswerCall = (offer: string, events: CallEvents) => Promise<string>;

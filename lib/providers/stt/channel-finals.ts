/** How far the audio of each channel is final, in milliseconds of all audio. */
export class ChannelFinals {
  readonly #finals = new Map<number, number>();

  /**
   * Marks a channel's audio before a moment as final.
   *
   * @param channels - How many there are.
   * @returns Up to where all of them are final.
   */
  add(audioMs: number, channel: number, channels: number): number {
    this.#finals.set(channel, Math.max(audioMs, this.#of(channel)));
    return Math.min(...Array.from({ length: channels }, (_, each) => this.#of(each)));
  }

  /** Whether a channel's audio before a moment is final. */
  covers(audioMs: number, channel: number | undefined): boolean {
    return channel !== undefined && audioMs <= this.#of(channel);
  }

  /** Other audio follows. */
  reset(): void {
    this.#finals.clear();
  }

  #of(channel: number): number {
    return this.#finals.get(channel) ?? 0;
  }
}

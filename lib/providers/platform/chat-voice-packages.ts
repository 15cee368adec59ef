/** What has listeners. */
export interface ListenableLike {
  /** Listens. */
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  /** Takes a listener away. */
  off(event: string, listener: (...values: unknown[]) => void): unknown;
}

/** Where Opus packets or samples come from. */
export interface PacketStreamLike extends ListenableLike {
  /** Ends it at once. */
  destroy(): unknown;
}

/** A `VoiceConnection` of `@discordjs/voice`: the parts of it that are used. */
export interface VoiceConnectionLike extends ListenableLike {
  /** How the channel was joined. */
  readonly joinConfig: { readonly selfDeaf: boolean };
  /** `signalling`, `connecting`, `ready`, `disconnected` or `destroyed`. */
  readonly state: { readonly status: string };
  /** Where the other members' voices come from. */
  readonly receiver: {
    /** Emits `start` and `end` with the id of a member. */
    readonly speaking: ListenableLike;
    /** The Opus packets of a member. */
    subscribe(userId: string, options?: object): PacketStreamLike;
  };
  /** Plays what a player plays. */
  subscribe(player: object): PlayerSubscriptionLike | undefined;
}

/** What ties a player to a connection. */
export interface PlayerSubscriptionLike {
  /** The connection no longer plays what the player plays. */
  unsubscribe(): void;
}

/** An Opus encoder or decoder of `prism-media`. */
export interface OpusTransformLike extends PacketStreamLike {
  /** Takes samples or a packet. */
  write(data: Uint8Array): boolean;
}

/** An `AudioPlayer` of `@discordjs/voice`. */
export interface AudioPlayerLike extends ListenableLike {
  play(resource: object): void;
  stop(force?: boolean): boolean;
}

/** The packages that ChatVoiceC needs. */
export interface ChatVoicePackages {
  readonly voice: {
    createAudioPlayer(options: object): AudioPlayerLike;
    createAudioResource(stream: object, options: object): object;
  };
  readonly opus: {
    readonly Encoder: new (options: object) => OpusTransformLike;
    readonly Decoder: new (options: object) => OpusTransformLike;
  };
}

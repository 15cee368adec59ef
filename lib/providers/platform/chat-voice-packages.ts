// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an optional package that is not installed is declared there
/// <reference path="./optional-packages.d.ts" />
import { missingPackage } from '../../core/optional-peer.ts';
import type { ListenableLike } from './listenable.ts';

/** A readable stream of Opus packets or samples. */
export interface PacketStreamLike extends ListenableLike {
  /** Destroys the stream at once. */
  destroy(): unknown;
}

/** The parts of a `@discordjs/voice` `VoiceConnection` that are used. */
export interface VoiceConnectionLike extends ListenableLike {
  /** How the channel was joined. */
  readonly joinConfig: { readonly selfDeaf: boolean };
  /** `signalling`, `connecting`, `ready`, `disconnected` or `destroyed`; some disconnections have a `closeCode`. */
  readonly state: { readonly status: string; readonly closeCode?: number };
  /** Receives the other members' voices. */
  readonly receiver: {
    /** Emits `start` and `end` with the id of a member. */
    readonly speaking: ListenableLike;
    /** The Opus packets of a member. */
    subscribe(userId: string, options?: object): PacketStreamLike;
  };
  /** Plays a player's audio. */
  subscribe(player: object): PlayerSubscriptionLike | undefined;
}

/** Ties a player to a connection. */
export interface PlayerSubscriptionLike {
  /** Stops the connection playing the player's audio. */
  unsubscribe(): void;
}

/** An Opus encoder or decoder of `prism-media`. */
export interface OpusTransformLike extends PacketStreamLike {
  /** Packets, or decoded chunks, not yet read. */
  readonly readableLength: number;
  /** Accepts samples or a packet. */
  write(data: Uint8Array): boolean;
}

/** `Encoder` or `Decoder` of `prism-media`. */
export interface OpusTransformType {
  /** The codec package in use: `@discordjs/opus`, `node-opus` or `opusscript`. */
  readonly type?: string;
  new (options: OpusOptions): OpusTransformLike;
}

/** Input format of an Opus encoder, output format of a decoder. */
export interface OpusOptions {
  /** Hz. */
  rate: number;
  channels: number;
  /** Samples per channel in a packet. */
  frameSize: number;
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
  readonly opus: { readonly Encoder: OpusTransformType; readonly Decoder: OpusTransformType };
}

/** @throws VoiceError `missing_package` naming the package that is not installed. */
export async function loadChatVoicePackages(provider: string): Promise<ChatVoicePackages> {
  return { voice: await loadVoice(provider), opus: await loadOpus(provider) };
}

async function loadVoice(provider: string): Promise<ChatVoicePackages['voice']> {
  try {
    return await import('@discordjs/voice');
  } catch (cause) {
    throw missingPackage(provider, '@discordjs/voice', '>= 0.19.1', cause);
  }
}

async function loadOpus(provider: string): Promise<ChatVoicePackages['opus']> {
  try {
    return (await import('prism-media')).default.opus;
  } catch (cause) {
    throw missingPackage(provider, 'prism-media', '^1.3.5', cause);
  }
}

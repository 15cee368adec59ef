import { Observable, skip, Subscription, tap } from 'rxjs';
import { mixChannels } from '../../audio/channels.ts';
import { int16Bytes, int16View } from '../../audio/samples.ts';
import { merge } from '../../stream/merge.ts';
import { opusOptions, silencePacket } from './chat-voice-packages.ts';
import type { OpusTransformLike, OpusTransformType, PacketStreamLike } from './chat-voice-packages.ts';
import { listenTo } from './listenable.ts';

/** A packet; the package wraps it after version 0.19.2. */
type Packet = Uint8Array | { readonly payload: Uint8Array };

/**
 * A member's audio until their packets end: linear16 at 48 kHz, mono. A packet that cannot be decoded is skipped.
 * Unsubscribing ends the packets too. Cold.
 */
export function decodeMember(
  packets: PacketStreamLike,
  Decoder: OpusTransformType,
  warn: (problem: string) => void,
): Observable<Uint8Array<ArrayBuffer>> {
  return new Observable((subscriber) => {
    let decoding = Subscription.EMPTY;
    let decoder: OpusTransformLike | undefined;
    const fail = (): void => {
      warn('a packet cannot be decoded');
      decoding.unsubscribe();
      decoder = undefined;
    };
    const open = (): OpusTransformLike => {
      const opened = new Decoder(opusOptions);
      // Left in place: an abandoned decoder can still fail, and an unhandled `error` event would crash the process.
      opened.on('error', () => opened === decoder && fail());
      decoding = listenTo<Uint8Array>(opened, 'data')
        .pipe(
          skip(1),
          tap((samples) => subscriber.next(int16Bytes(mixChannels(int16View(new Uint8Array(samples)), 2, 1)))),
        )
        .subscribe();
      decoding.add(() => opened.destroy());
      // The member's encoder continues from earlier silence; a decoder that never saw it gets the first levels wrong.
      // The output for this packet is discarded.
      opened.write(silencePacket);
      return opened;
    };
    const end = (): void => subscriber.complete();
    packets.on('error', () => {
      if (!subscriber.closed) warn("a member's packets cannot be read");
      end();
    });
    const decode = (packet: Packet): void => {
      try {
        decoder ??= open();
        decoder.write(packet instanceof Uint8Array ? packet : packet.payload);
      } catch {
        fail();
      }
    };
    const heard$ = merge(
      merge(listenTo(packets, 'end'), listenTo(packets, 'close')).pipe(tap(end)),
      listenTo<Packet>(packets, 'data').pipe(tap(decode)),
    );
    subscriber.add(heard$.subscribe());
    subscriber.add(() => {
      packets.destroy();
      decoding.unsubscribe();
    });
  });
}

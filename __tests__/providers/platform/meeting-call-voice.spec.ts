import { EventEmitter } from 'node:events';
import type { LocalAudioStreamLike, MeetingCallLike } from '../../../lib/providers/platform/meeting-call-packages.ts';
import { keepOwnVoice } from '../../../lib/providers/platform/meeting-call-audio.ts';
import { settle } from '../../transport/test-clock.ts';

class FakeStream extends EventEmitter implements LocalAudioStreamLike {
  mediaStreamType = 'RawMedia';
  setMediaStream(): Promise<void> {
    return Promise.resolve();
  }
}

class FakeCall extends EventEmitter implements MeetingCallLike {
  state = 'Connecting';
  isMuted = false;
  fails = false;
  readonly log: string[] = [];
  localAudioStreams: { readonly mediaStreamType: string }[] = [];
  readonly remoteAudioStreams = [];
  mute(): Promise<void> {
    return this.#become(true);
  }
  unmute(): Promise<void> {
    return this.#become(false);
  }
  hangUp(): Promise<void> {
    return Promise.resolve();
  }
  async #become(isMuted: boolean): Promise<void> {
    await Promise.resolve();
    if (this.fails) throw new Error('403/41106');
    this.isMuted = isMuted;
    this.log.push(isMuted ? 'mute' : 'unmute');
    this.emit('isMutedChanged');
  }
}

const microphone = { mediaStreamType: 'Audio' };

function guarded() {
  const [call, own, seen] = [new FakeCall(), new FakeStream(), [] as string[]];
  call.localAudioStreams = [own];
  const guard = keepOwnVoice(call, own).subscribe({
    next: (event) => seen.push(event),
    error: (cause: unknown) => seen.push(String(cause)),
  });
  return { call, own, seen, guard };
}

describe("an agent's voice in a call", () => {
  it('is left alone as long as it is its own, through every change', async () => {
    const { call, own, seen } = guarded();
    for (const event of ['stateChanged', 'localAudioStreamsUpdated', 'remoteAudioStreamsUpdated', 'isMutedChanged']) {
      call.emit(event);
    }
    own.emit('audioSourceChanged');
    await settle();
    expect([seen, call.log]).toEqual([[], []]);
  });

  it('is muted from the start where the call begins with the microphone', async () => {
    const call = new FakeCall();
    call.localAudioStreams = [microphone];
    const seen: string[] = [];
    keepOwnVoice(call, new FakeStream()).subscribe((event) => seen.push(event));
    await settle();
    expect([seen, call.log]).toEqual([['muted'], ['mute']]);
  });

  for (const [what, change] of [
    ['a reconnect that brings the microphone', 'remoteAudioStreamsUpdated'],
    ['a hold that ends with it', 'stateChanged'],
    ['a new list of streams', 'localAudioStreamsUpdated'],
    ['somebody who unmutes it', 'isMutedChanged'],
  ] as const) {
    it(`is muted at once after ${what}, once, and sounds again when it is its own`, async () => {
      const { call, own, seen } = guarded();
      call.localAudioStreams = [microphone];
      call.emit(change);
      call.emit('stateChanged');
      await settle();
      call.emit('stateChanged');
      await settle();
      expect([seen, call.log]).toEqual([['muted'], ['mute']]);
      call.localAudioStreams = [own];
      call.emit('localAudioStreamsUpdated');
      await settle();
      expect([call.log, call.isMuted]).toEqual([['mute', 'unmute'], false]);
    });
  }

  it('is muted when its own stream takes another source, such as another device', async () => {
    const { call, own } = guarded();
    own.mediaStreamType = 'Audio';
    own.emit('audioSourceChanged');
    await settle();
    expect(call.log).toEqual(['mute']);
  });

  it("is not to be mistaken for somebody else's raw stream", async () => {
    const { call } = guarded();
    call.localAudioStreams = [new FakeStream()];
    call.emit('localAudioStreamsUpdated');
    await settle();
    expect(call.log).toEqual(['mute']);
  });

  it('is muted again when it is unmuted while the call still has the microphone', async () => {
    const { call, seen } = guarded();
    call.localAudioStreams = [microphone];
    call.emit('localAudioStreamsUpdated');
    await settle();
    await call.unmute();
    await settle();
    expect([seen, call.log]).toEqual([
      ['muted', 'muted'],
      ['mute', 'unmute', 'mute'],
    ]);
  });

  it('stays muted where somebody else has muted it', async () => {
    const { call, own } = guarded();
    call.isMuted = true;
    call.localAudioStreams = [microphone];
    call.emit('localAudioStreamsUpdated');
    call.localAudioStreams = [own];
    call.emit('localAudioStreamsUpdated');
    await settle();
    expect([call.log, call.isMuted]).toEqual([[], true]);
  });

  it('fails where the call cannot be muted', async () => {
    const { call, seen } = guarded();
    call.fails = true;
    call.localAudioStreams = [microphone];
    call.emit('localAudioStreamsUpdated');
    await settle();
    expect(seen).toEqual(['muted', 'Error: 403/41106']);
  });

  it('stays muted where the meeting does not let it speak again, and tries at the next change', async () => {
    const { call, own, seen } = guarded();
    call.localAudioStreams = [microphone];
    call.emit('localAudioStreamsUpdated');
    await settle();
    call.fails = true;
    call.localAudioStreams = [own];
    call.emit('localAudioStreamsUpdated');
    await settle();
    expect([seen, call.log]).toEqual([['muted'], ['mute']]);
    call.fails = false;
    call.emit('stateChanged');
    await settle();
    expect(call.log).toEqual(['mute', 'unmute']);
  });

  it('is let go of with all listeners', () => {
    const { call, own, guard } = guarded();
    guard.unsubscribe();
    expect([...call.eventNames(), ...own.eventNames()]).toEqual([]);
  });
});

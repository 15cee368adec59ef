import { trackEvents$ } from '../../../lib/playback/media-track.ts';
import { MicrophoneInput, type AudioChunk, type DeviceEvent, type VoiceError } from 'rxvoice';

/** A microphone whose frames the test brings: what becomes of them is the class's business, not the browser's. */
class Microphone extends MicrophoneInput {
  readonly devices: DeviceEvent[] = [];
  readonly errors: VoiceError[] = [];

  constructor() {
    super();
    this.device$.subscribe((event) => this.devices.push(event));
    this.errors$.subscribe((error) => this.errors.push(error));
  }

  /** Delivers frames of 100 ms. */
  deliver(ms: number, sample: number): void {
    for (let at = 0; at < ms; at += 100) this.onChunk(this.#frame(sample));
  }

  #frame(sample: number): AudioChunk {
    const metadata = this.getMetadata();
    return { data: new Uint8Array((metadata.sampleRate / 10) * 2).fill(sample), metadata };
  }
}

describe('MicrophoneInput: a microphone that is cut off (F54)', () => {
  it('tells of five seconds of nothing but zeros, once, and of the first sound after them', () => {
    const microphone = new Microphone();
    microphone.deliver(4_900, 0);
    expect(microphone.devices).toEqual([]);
    microphone.deliver(5_000, 0);
    expect(microphone.devices).toEqual([{ type: 'silent', forMs: 5_000 }]);
    expect(microphone.errors).toMatchObject([{ code: 'device', recoverable: true, provider: 'MicrophoneInput' }]);
    microphone.deliver(100, 1);
    expect(microphone.devices.at(-1)).toEqual({ type: 'unmuted' });
    microphone.deliver(5_000, 0);
    expect(microphone.errors).toHaveLength(2);
  });

  it('tells of a track that the system mutes, of its return, and of its end', () => {
    const track = new EventTarget();
    const told: DeviceEvent[] = [];
    const watching = trackEvents$(track as MediaStreamTrack).subscribe((event) => told.push(event));
    for (const type of ['mute', 'unmute', 'ended']) track.dispatchEvent(new Event(type));
    watching.unsubscribe();
    track.dispatchEvent(new Event('mute'));
    expect(told).toEqual([{ type: 'muted' }, { type: 'unmuted' }, { type: 'lost' }]);
  });

  it('says nothing of a quiet room, which is never all zeros', () => {
    const microphone = new Microphone();
    for (let second = 0; second < 20; second++) {
      microphone.deliver(900, 0);
      microphone.deliver(100, 1);
    }
    expect([microphone.devices, microphone.errors]).toEqual([[], []]);
  });

  it('gives 16 kHz linear16 mono, or the rate that was asked for', () => {
    const format = { encoding: 'linear16', channels: 1 };
    expect(new MicrophoneInput().getMetadata()).toMatchObject({ ...format, sampleRate: 16_000 });
    expect(new MicrophoneInput({ sampleRate: 24_000 }).getMetadata()).toMatchObject({ ...format, sampleRate: 24_000 });
  });
});

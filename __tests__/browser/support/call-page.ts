import type { Page } from 'playwright-core';
import type { AnswerCall, CallEvents, CallLine } from '../../../samples/sandbox/index.ts';

/** A call in the service's page. */
interface PageCall {
  play(base64: string): Promise<number>;
  clear(): void;
  send(text: string): void;
  close(): void;
  /** Resolves when the call is over, and the sandbox knows. */
  readonly over: Promise<void>;
}

declare global {
  /** In the service's page: takes a call, and gives the answer to the offer. */
  var takeCall: (id: number, offer: string) => Promise<string>;
  var pageCalls: Map<number, PageCall>;
  /** Of Node. */
  var tellSandbox: (id: number, what: 'opened' | 'text' | 'audio' | 'closed', data: string) => Promise<void>;
}

/** Lets a page be the sandbox's end of calls: a browser's WebRTC, with Web Audio for the voice. */
export async function answerIn(page: Page): Promise<AnswerCall> {
  const calls: CallEvents[] = [];
  const lineOf = (id: number): CallLine => {
    const failed = (): void => undefined;
    return {
      send: (text) =>
        void page.evaluate(([at, data]) => pageCalls.get(at)?.send(data), [id, text] as const).catch(failed),
      play: (samples) => {
        const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString('base64');
        return page.evaluate(([at, audio]) => pageCalls.get(at)?.play(audio) ?? 0, [id, data] as const).catch(() => 0);
      },
      clear: () => void page.evaluate((at) => pageCalls.get(at)?.clear(), id).catch(failed),
      close: () => void page.evaluate((at) => pageCalls.get(at)?.close(), id).catch(failed),
    };
  };
  await page.exposeFunction('tellSandbox', (id: number, what: 'opened' | 'text' | 'audio' | 'closed', data: string) => {
    const events = calls[id];
    if (what === 'opened') events?.opened(lineOf(id));
    else if (what === 'text') events?.text(data);
    else if (what === 'audio') events?.audio(new Uint8Array(Buffer.from(data, 'base64')));
    else events?.closed();
  });
  await page.evaluate(() => {
    globalThis.pageCalls = new Map();
    globalThis.takeCall = async (id, offer) => {
      const context = new AudioContext({ sampleRate: 48_000 });
      const destination = context.createMediaStreamDestination();
      const input = new rxvoice.WebRTCInput({ targetSampleRate: 24_000 });
      const peer = new RTCPeerConnection();
      await input.initialize();
      const tell = (what: 'opened' | 'text' | 'audio' | 'closed', data = ''): void => void tellSandbox(id, what, data);
      input.audio$.subscribe(({ data }) => tell('audio', btoa(String.fromCharCode(...data))));
      for (const track of destination.stream.getTracks()) peer.addTrack(track, destination.stream);
      peer.ontrack = ({ track }) => input.setTrack(track);
      await input.start();
      let source: AudioBufferSourceNode | undefined;
      let resolveOver: () => void = () => undefined;
      const over = new Promise<void>((resolve) => (resolveOver = resolve));
      let closed = false;
      const close = (): void => {
        if (closed) return;
        closed = true;
        source?.stop();
        peer.close();
        void input.dispose();
        void context.close();
        void tellSandbox(id, 'closed', '').then(() => resolveOver());
      };
      peer.ondatachannel = ({ channel }) => {
        pageCalls.set(id, {
          send: (text) => {
            if (channel.readyState === 'open') channel.send(text);
          },
          play: (base64) =>
            new Promise((resolve) => {
              const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
              const samples = pcm.toFloat32(pcm.int16View(bytes));
              const buffer = context.createBuffer(1, samples.length, 24_000);
              buffer.copyToChannel(samples, 0);
              source = new AudioBufferSourceNode(context, { buffer });
              const from = context.currentTime;
              source.connect(destination);
              source.onended = () => resolve(Math.min(buffer.duration, context.currentTime - from) * 1000);
              source.start();
            }),
          clear: () => source?.stop(),
          close,
          over,
        });
        channel.onmessage = ({ data }) => tell('text', String(data));
        channel.onclose = close;
        if (channel.readyState === 'open') tell('opened');
        else channel.onopen = () => tell('opened');
      };
      // At the usual 32 kbit/s the codec takes all sound for speech, and blurs a tone now and then.
      const clear = (sdp: string): string =>
        sdp.replaceAll('useinbandfec=1', 'useinbandfec=1;maxaveragebitrate=256000');
      await peer.setRemoteDescription({ type: 'offer', sdp: clear(offer) });
      await peer.setLocalDescription();
      // The answer has all the addresses: nothing follows it.
      await new Promise<void>((resolve) => {
        const check = (): void => {
          if (peer.iceGatheringState === 'complete') resolve();
        };
        peer.onicegatheringstatechange = check;
        check();
      });
      return clear(peer.localDescription?.sdp ?? '');
    };
  });
  return (offer, events) => {
    const id = calls.push(events) - 1;
    return page.evaluate(([at, sdp]) => takeCall(at, sdp), [id, offer] as const);
  };
}

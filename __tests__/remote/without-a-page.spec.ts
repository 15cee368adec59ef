/** A program in place of a page: what a browser has of itself must be given, and the error says so. */
import { BufferInput } from 'rxvoice';
import { RemotePipeline, type RemotePipelineOptions } from 'rxvoice/remote';
import { ListenerSpeaker } from '../../samples/sandbox/remote-ends.ts';

const start = async (options: RemotePipelineOptions): Promise<void> => {
  await using voice = new RemotePipeline({
    ...{ microphone: new BufferInput(), speaker: new ListenerSpeaker() },
    ...options,
  });
  await voice.start();
};

describe('RemotePipeline without a page', () => {
  it('wants a WebSocket where the runtime has none, as Node 20', async () => {
    const own = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket');
    Reflect.deleteProperty(globalThis, 'WebSocket');
    try {
      await expect(start({ url: 'ws://127.0.0.1:9/talk' })).rejects.toMatchObject({
        code: 'configuration',
        message:
          'RemotePipeline: this runtime has no WebSocket: set openSocket: (url) => new WebSocket(url), with the WebSocket of ws',
      });
    } finally {
      if (own) Object.defineProperty(globalThis, 'WebSocket', own);
    }
  });

  it('wants a whole address: there is no server of its own', async () => {
    await expect(start({ url: '/talk' })).rejects.toMatchObject({
      code: 'configuration',
      message:
        'RemotePipeline: url must be an address such as wss://voice.example.com/talk, or in a page a path, not "/talk"',
    });
  });
});

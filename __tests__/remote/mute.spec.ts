import { RemotePipeline } from '../../lib/remote/remote-pipeline.ts';

it('A page tells that it is muted once, however often it is asked to be', () => {
  const remote = new RemotePipeline({ url: 'ws://127.0.0.1:1/voice' });
  const told: boolean[] = [];
  remote.events$.subscribe((event) => {
    if (event.type === 'input.muted') told.push(event.muted);
  });
  remote.unmute();
  remote.mute();
  remote.mute();
  remote.unmute();
  expect(told).toEqual([true, false]);
});

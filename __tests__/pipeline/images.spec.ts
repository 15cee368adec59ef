import type { Message } from 'rxvoice';
import { call, over } from './support/call.ts';

const photo = new Uint8Array([1, 2, 3]);
const images = [{ data: photo, mediaType: 'image/png' }, { url: 'https://example.com/a.jpg' }] as const;
const sent = [{ url: 'data:image/png;base64,AQID' }, { url: 'https://example.com/a.jpg' }];

describe('images of a message', () => {
  it('go to the model with the text, and stay in the history', async () => {
    const asked: (readonly Message[])[] = [];
    const answer = (messages: readonly Message[]): string => {
      asked.push(messages);
      return 'A plug.';
    };
    const rig = await call({ llm: { answer } });
    rig.pipeline.send('What is this?', { images });
    await rig.scheduler.advance(5_000);
    rig.pipeline.send('Which one?');
    await rig.scheduler.advance(5_000);
    const first = { role: 'user', content: 'What is this?', images: sent };
    expect(asked).toEqual([
      [first],
      [first, { role: 'assistant', content: 'A plug.' }, { role: 'user', content: 'Which one?' }],
    ]);
    const { history } = rig.pipeline;
    expect(history.items[0]).toMatchObject({ role: 'user', images: sent });
    // As JSON, it is still the same.
    history.import(JSON.parse(JSON.stringify(history.export())) as ReturnType<typeof history.export>);
    expect(history.messages()[0]).toEqual(first);
    await over(rig);
  });

  it('are a message without text, too, and join the message before if that was not answered', async () => {
    let asked: readonly Message[] = [];
    const answer = (messages: readonly Message[]): string => {
      asked = messages;
      return 'Seen.';
    };
    const rig = await call({ llm: { answer, firstTokenMs: 1_000 } });
    rig.pipeline.send('', { images: [images[0]] });
    await rig.scheduler.advance(500);
    rig.pipeline.send('And this?', { images: [images[1]] });
    await rig.scheduler.advance(5_000);
    expect(asked).toEqual([{ role: 'user', content: 'And this?', images: sent }]);
    await over(rig);
  });

  it('of a message that is refused are refused with it', async () => {
    const rig = await call({ onUserTurn: () => ({ text: '', refuse: '' }) });
    rig.pipeline.send('What is this?', { images });
    await rig.scheduler.advance(5_000);
    expect(JSON.stringify(rig.pipeline.history.messages())).not.toContain('image');
    await over(rig);
  });

  it('that are none are refused', async () => {
    const rig = await call();
    const wrong = [{ data: 'AQID', mediaType: 'image/png' }] as unknown as typeof images;
    expect(() => rig.pipeline.send('What is this?', { images: wrong })).toThrow('images must be a list of images');
    await over(rig);
  });
});

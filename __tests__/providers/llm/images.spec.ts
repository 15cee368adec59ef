/** What the user shows reaches every model that sees, in its service's own form, whatever repairs the history needs. */
import type { Message, MessageImage } from '../../../lib/core/messages.ts';
import { CompatibleLLM } from '../../../lib/providers/llm/compatible-llm.ts';
import type { ChatLLM } from '../../../lib/providers/llm/chat-llm.ts';
import type { LLMConfig } from '../../../lib/providers/llm/llm-config.ts';
import { MuLLM } from '../../../lib/providers/llm/mu-llm.ts';
import { NuLLM } from '../../../lib/providers/llm/nu-llm.ts';
import { OmicronLLM } from '../../../lib/providers/llm/omicron-llm.ts';
import { repairHistory } from '../../../lib/providers/llm/repair-history.ts';
import { ThetaLLM } from '../../../lib/providers/llm/theta-llm.ts';
import { XiLLM } from '../../../lib/providers/llm/xi-llm.ts';
import { outcomeOf } from './llm-fixture.ts';
import { sandboxed } from './sandboxed.ts';

const png: MessageImage = { data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' };
const inline: MessageImage = { url: 'data:image/webp;base64,UklGRg==' };
const remote = { url: 'https://images.example.com/cat.jpg' };
const history: Message[] = [{ role: 'user', content: 'What do you see?', images: [png, inline, remote] }];
const seen = 'I see a png and a webp and a picture.';
const part = (url: string): unknown => ({ type: 'image_url', image_url: { url } });

describe('images in messages', () => {
  const { ready, direct, bodies } = sandboxed();
  const chats: Readonly<Record<string, () => ChatLLM<LLMConfig>>> = {
    theta: () => new ThetaLLM({ ...direct('theta'), model: 'gpt-4.1-mini' }),
    nu: () => new NuLLM({ ...direct('nu'), model: 'qwen/qwen3.8-27b' }),
    xi: () => new XiLLM(direct('xi')),
    omicron: () => new OmicronLLM(direct('omicron')),
    compatible: () => new CompatibleLLM({ ...direct('compatible'), model: 'local' }),
  };
  for (const [name, create] of Object.entries(chats)) {
    it(`${name}: are parts beside the text`, async () => {
      expect(await outcomeOf((await ready(create())).generate(history))).toMatchObject({ text: seen });
      const text = { type: 'text', text: 'What do you see?' };
      const urls = [
        'data:image/png;base64,iVBORw==',
        'data:image/webp;base64,UklGRg==',
        'https://images.example.com/cat.jpg',
      ];
      expect(bodies(`${name}-llm` as 'theta-llm')[0]).toMatchObject({
        messages: [{ role: 'user', content: [text, ...urls.map(part)] }],
      });
    });
  }

  it('mu: are blocks before the text', async () => {
    expect(await outcomeOf((await ready(new MuLLM(direct('mu')))).generate(history))).toMatchObject({ text: seen });
    const content = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'UklGRg==' } },
      { type: 'image', source: { type: 'url', url: 'https://images.example.com/cat.jpg' } },
      { type: 'text', text: 'What do you see?' },
    ];
    expect(bodies('mu-llm')[0]).toMatchObject({ messages: [{ role: 'user', content }] });
  });

  it('a model that sees nothing refuses them, which is an error that another try does not mend', async () => {
    const llm = await ready(new NuLLM({ ...direct('nu'), model: 'openai/gpt-oss-20b' }));
    expect(await outcomeOf(llm.generate(history))).toMatchObject({ error: { code: 'configuration', status: 400 } });
    expect(bodies('nu-llm')).toHaveLength(1);
  });

  it('a text without images stays a text', async () => {
    const llm = await ready(new ThetaLLM({ ...direct('theta'), model: 'gpt-4.1-mini' }));
    await outcomeOf(llm.generate([{ role: 'user', content: 'Hi', images: [] }]));
    expect(bodies('theta-llm')[0]).toMatchObject({ messages: [{ role: 'user', content: 'Hi' }] });
  });

  it('an image without words is a turn, and one speaker has one turn', async () => {
    const messages: Message[] = [
      { role: 'user', content: ' ', images: [png] },
      { role: 'user', content: 'What do you see?' },
      { role: 'assistant', content: '' },
      { role: 'user', content: '', images: [remote] },
    ];
    expect(repairHistory(messages, { startsWithUser: true }).messages).toEqual([
      { role: 'user', content: 'What do you see?', images: [png, remote] },
    ]);
    const only: Message[] = [{ role: 'user', content: '', images: [remote] }];
    for (const llm of [new ThetaLLM({ ...direct('theta'), model: 'gpt-4.1-mini' }), new MuLLM(direct('mu'))]) {
      expect(await outcomeOf((await ready(llm)).generate(only))).toMatchObject({ text: expect.any(String) as string });
    }
    expect(bodies('theta-llm')[0]).toMatchObject({ messages: [{ content: [part(remote.url)] }] });
    expect(bodies('mu-llm')[0]).toMatchObject({ messages: [{ content: [{ type: 'image' }] }] });
  });
});

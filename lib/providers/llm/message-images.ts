import type { WireObject } from '../../core/guard.ts';
import { imageUrl } from '../../core/image-url.ts';
import type { Message } from '../../core/messages.ts';

type UserMessage = Extract<Message, { role: 'user' }>;

/** A user's message as chat completions have it: a text, or parts where there are images. */
export function chatContent({ content, images = [] }: UserMessage): string | WireObject[] {
  if (images.length === 0) return content;
  const pictures = images.map((image) => ({ type: 'image_url', image_url: { url: imageUrl(image) } }));
  return content.trim() === '' ? pictures : [{ type: 'text', text: content }, ...pictures];
}

/** A message's images as blocks of Anthropic's Messages API, where they come before the text about them. */
export function imageBlocks({ images = [] }: UserMessage): WireObject[] {
  return images.map((image) => {
    const url = imageUrl(image);
    const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/is.exec(url) ?? [];
    const source = data === undefined ? { type: 'url', url } : { type: 'base64', media_type, data };
    return { type: 'image', source };
  });
}

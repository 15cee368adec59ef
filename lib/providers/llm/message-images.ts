import { encodeBase64 } from '../../core/base64.ts';
import type { WireObject } from '../../core/guard.ts';
import type { Message, MessageImage } from '../../core/messages.ts';

type UserMessage = Extract<Message, { role: 'user' }>;

/** A user's message as chat completions have it: a text, or parts where there are images. */
export function chatContent({ content, images = [] }: UserMessage): string | WireObject[] {
  if (images.length === 0) return content;
  const pictures = images.map((image) => ({ type: 'image_url', image_url: { url: urlOf(image) } }));
  return content.trim() === '' ? pictures : [{ type: 'text', text: content }, ...pictures];
}

/** A message's images as blocks of Anthropic's Messages API, where they come before the text about them. */
export function imageBlocks({ images = [] }: UserMessage): WireObject[] {
  return images.map((image) => {
    const url = urlOf(image);
    const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/is.exec(url) ?? [];
    const source = data === undefined ? { type: 'url', url } : { type: 'base64', media_type, data };
    return { type: 'image', source };
  });
}

function urlOf(image: MessageImage): string {
  return 'url' in image ? image.url : `data:${image.mediaType};base64,${encodeBase64(image.data)}`;
}

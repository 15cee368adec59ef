import { encodeBase64 } from './base64.ts';
import type { MessageImage } from './messages.ts';

/** An image's address; bytes become a `data:` URL. */
export function imageUrl(image: MessageImage): string {
  return 'url' in image ? image.url : `data:${image.mediaType};base64,${encodeBase64(image.data)}`;
}

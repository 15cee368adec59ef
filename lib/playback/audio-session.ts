/** How a page uses audio, for an iPhone (W3C Audio Session). */
type Use = 'playback' | 'play-and-record';

interface AudioSession {
  type: string;
}

/** How many hold each use. */
const held: Record<Use, number> = { playback: 0, 'play-and-record': 0 };
/** The type that this library has set; `undefined` while the application's or the browser's applies. */
let own: string | undefined;

/**
 * Tells an iPhone how the page uses audio: `playback` is audible even if the silent switch is on, `play-and-record`
 * uses the loudspeaker, not the earpiece. Does nothing elsewhere, or if the application has set a type itself.
 *
 * @returns A function that ends the use.
 */
export function holdAudioSession(use: Use): () => void {
  held[use]++;
  settle();
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    held[use]--;
    settle();
  };
}

function settle(): void {
  if (!('navigator' in globalThis)) return;
  const session = (navigator as { readonly audioSession?: AudioSession }).audioSession;
  if (!session || (session.type !== 'auto' && session.type !== own)) return;
  own = held['play-and-record'] > 0 ? 'play-and-record' : held.playback > 0 ? 'playback' : 'auto';
  session.type = own;
}

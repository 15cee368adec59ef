/** What the agent says first. */
export const greeting = 'Yes?';

const some = ['river', 'amber', 'window', 'seven', 'orchard', 'lantern', 'copper', 'meadow', 'signal', 'harbour'];

/** What a caller wants to hear in a turn: no two callers want the same. */
export function wanted(call: number, turn: number): string {
  return `${some[(call + turn * 3) % some.length] ?? ''} ${call} ${turn}`;
}

/** The words of a text, without their case and punctuation. */
export function plain(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}\uFFFD]+/gu) ?? []).join(' ');
}

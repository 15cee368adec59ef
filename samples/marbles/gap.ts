/** Pixels from a mark's middle to a text beside it. */
const besideMark = 7;

/**
 * Where in a bar a text stands clear of the marks: in the first gap that has room for all of it, else in the widest.
 *
 * @param marks - Where marks stand, in order, in pixels as all the rest.
 */
export function gapIn(
  from: number,
  to: number,
  marks: readonly number[],
  width: number,
): { readonly left: number; readonly room: number } {
  const near = marks.filter((at) => at > from - besideMark && at < to + besideMark);
  const starts = [from + 7, ...near.map((at) => at + besideMark)];
  const ends = [...near.map((at) => at - besideMark), to - 5];
  const gaps = starts.map((start, index) => {
    const left = Math.max(start, from + 7);
    return { left, room: (ends[index] ?? to) - left };
  });
  const widest = gaps.reduce((wide, gap) => (gap.room > wide.room ? gap : wide));
  return gaps.find(({ room }) => room >= width) ?? widest;
}

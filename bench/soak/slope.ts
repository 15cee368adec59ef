/** A figure at some point of a run. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** How much `y` grows with `x`, by least squares, and the standard error of that. */
export function slopeOf(points: readonly Point[]): { readonly slope: number; readonly error: number } {
  const mean = (pick: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)];
  const spread = mean(({ x }) => (x - meanX) ** 2);
  const slope = mean(({ x, y }) => (x - meanX) * (y - meanY)) / spread;
  const rest = mean(({ x, y }) => (y - meanY - slope * (x - meanX)) ** 2);
  return { slope, error: Math.sqrt(rest / spread / (points.length - 2)) };
}

/** The means of so many points in a row: what belongs together, such as one call's figures, is then one point. */
export function meansOf(points: readonly Point[], count: number): readonly Point[] {
  const blocks = Array.from({ length: Math.floor(points.length / count) }, (_, index) =>
    points.slice(index * count, (index + 1) * count),
  );
  const mean = (block: readonly Point[], pick: (point: Point) => number): number =>
    block.reduce((sum, point) => sum + pick(point), 0) / block.length;
  return blocks.map((block) => ({ x: mean(block, ({ x }) => x), y: mean(block, ({ y }) => y) }));
}

/** Whether something grows: more than is allowed, and more than chance explains. */
export function grows(points: readonly Point[], allowed: number): boolean {
  const { slope, error } = slopeOf(points);
  return slope - 3 * error > allowed;
}

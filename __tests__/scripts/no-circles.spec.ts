import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { circleOf } from '../../scripts/no-circles.mjs';

describe('circleOf()', () => {
  const folder = mkdtempSync(join(tmpdir(), 'circles-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function found(files: Record<string, string>): string[] | undefined {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return circleOf(join(folder, Object.keys(files)[0] ?? ''))?.map((file) => basename(file));
  }

  it('finds the shortest way back, also by types, re-exports and imports over several lines', () => {
    const way = found({
      'a.ts': "import {\n  b,\n} from './b.ts';\nimport './side.ts';",
      'b.ts': "import type { C } from './c.ts';\nimport { d } from './d.ts';",
      'c.ts': "export * from './a.ts';",
      'd.ts': "export { c } from './c.ts';",
    });
    expect(way).toEqual(['a.ts', 'b.ts', 'c.ts', 'a.ts']);
  });

  it('finds none where files are only loaded later, or stand in a circle that they do not belong to', () => {
    const late = "export const f = () => import('./later.ts');";
    expect(found({ 'lazy.ts': late, 'later.ts': "import { f } from './lazy.ts';" })).toBeUndefined();
    expect(
      found({
        'outside.ts': "import { x } from './x.ts';",
        'x.ts': "import { y } from './y.ts';",
        'y.ts': "import { x } from './x.ts';",
      }),
    ).toBeUndefined();
  });
});

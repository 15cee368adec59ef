/**
 * The hazard: Node takes its own listener away from the socket of an upgrade. Until somebody else has one, a stranger who
 * resets the connection ends the process, and all calls of it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folders = ['docs', 'samples', 'create-rxvoice/templates'];
const files = folders
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
  .filter((name) => /\.(md|ts)$/.test(name) && !name.includes('node_modules'));
/** What a server does with an upgrade, line by line, as it is shown to be copied. */
const handler = /^( *)\S*server\S*\.on\('upgrade', [^\n]*\{\n([^]*?)^\1\}\);$/gim;
const handlers = files.flatMap((name) =>
  [...readFileSync(name, 'utf8').matchAll(handler)].map(([, , body = '']) => [name, body] as const),
);
/** What refuses by a text, or asks somebody first. */
const keeping = handlers.filter(([, body]) => /\.end\(|\.then\(|\.catch\(/.test(body));

describe('a server that is shown', () => {
  it('is found', () => {
    expect(new Set(keeping.map(([name]) => name)).size).toBeGreaterThan(4);
  });

  it.each(keeping)('by %s outlives a client that resets an upgrade which nobody has taken yet', (_name, body) => {
    expect(body).toMatch(/^ *socket\.on\('error', \(\) => socket\.destroy\(\)\);$/m);
  });
});

/** Compiles `lib/audio/simd-filter.wat` into the code that `simd-filter.ts` holds: `npm run wasm`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import loadWabt from 'wabt';
import { root } from './lib.mjs';

const source = join(root, 'lib/audio/simd-filter.wat');
const target = join(root, 'lib/audio/simd-filter.ts');

const wabt = await loadWabt();
const module = wabt.parseWat(source, readFileSync(source, 'utf8'), { simd: true });
module.validate();
const code = Buffer.from(module.toBinary({}).buffer).toString('hex');
const before = readFileSync(target, 'utf8');
const after = before.replace(/(const code =\s*')[0-9a-f]*'/, `$1${code}'`);
if (!after.includes(`'${code}'`)) throw new Error(`${target} has no constant named code`);
writeFileSync(target, after);
console.log(`${code.length / 2} bytes of WebAssembly`);

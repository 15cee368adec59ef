// Slow: a program of the tutorial is started, and speaks.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeWav, int16Bytes, int16View, WavReader } from 'rxvoice/audio';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../../samples/sandbox/modem.ts';
import { Program } from './program.ts';

// Chapter 5 of the tutorial: its own tests, as a reader runs them.
await import('../../../samples/tutorial/5-interpreter/interpret.test.ts');

it('the interpreter makes a recording of a recording', async () => {
  await using sandbox = await startSandbox();
  const folder = mkdtempSync(join(tmpdir(), 'rxvoice-tutorial-'));
  const [source, target] = [join(folder, 'said.wav'), join(folder, 'translated.wav')];
  const format = { encoding: 'linear16', sampleRate: 16_000, channels: 1 } as const;
  const samples = Int16Array.from(encodeText('say guten tag', format.sampleRate));
  writeFileSync(source, encodeWav(int16Bytes(samples), format));

  const program = new Program('5-interpreter/main.ts', { SANDBOX: sandbox.url }, [source, target, 'German']);
  expect(await program.ended).toBe(0);

  const heard = int16View(new WavReader().push(new Uint8Array(readFileSync(target))));
  expect(decodeSamples(Int16Array.from(heard), format.sampleRate).text.trim().toLowerCase()).toMatch(/^guten tag\.?$/);
  const [request] = sandbox.records('nu-llm');
  expect(new TextDecoder().decode(request?.body)).toContain('into German');
  rmSync(folder, { recursive: true });
});

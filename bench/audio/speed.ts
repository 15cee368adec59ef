import { spawnSync } from 'node:child_process';
import type { Measured } from '../harness.ts';
import { buildProgram } from '../calls/build.ts';
import { bringPeer } from './peer.ts';
import { conversions, qualities, type Conversion, type Speed } from './conversions.ts';

/** P5, P6 and P7: as the library resamples where WebAssembly may be used. */
export async function withWebAssembly(): Promise<Measured[]> {
  const speeds = await measure([]);
  return speeds.flatMap(({ conversion, ...speed }) =>
    qualities.map((quality) => ({
      row: `${conversion.id} ${conversion.from} ${conversion.to} ${quality}`,
      ...{ value: speed.ratios[quality], detail: detailOf(speed.us) },
    })),
  );
}

/** P8: the same conversions where it may not, such as in pages whose CSP forbids it; of each quality the slowest. */
export async function withoutWebAssembly(): Promise<Measured[]> {
  const speeds = await measure(['--without-webassembly']);
  return qualities.map((quality) => {
    const slowest = speeds.reduce((low, each) => (each.ratios[quality] < low.ratios[quality] ? each : low));
    const each = speeds.map(({ conversion, ratios }) => `${nameOf(conversion)} ${ratios[quality].toFixed(2)}`);
    return {
      ...{ row: `P8 ${quality}`, value: slowest.ratios[quality] },
      detail: `${each.join(', ')}; ${nameOf(slowest.conversion)}: ${detailOf(slowest.us)}`,
    };
  });
}

/** In a process of its own: one from which WebAssembly was removed is no use to anybody else. */
async function measure(args: readonly string[]): Promise<readonly Speed[]> {
  const peer = bringPeer();
  const program = await buildProgram(new URL('./contest.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, peer, ...args], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  if (status !== 0) throw new Error(`The race of the resamplers ended with ${status}: ${stderr}`);
  const speeds = JSON.parse(stdout) as Speed[];
  if (speeds.length !== conversions.length) throw new Error(`The race of the resamplers printed ${stdout}`);
  return speeds;
}

const nameOf = ({ from, to }: Conversion): string => `${from / 1000} to ${to / 1000} kHz`;

const detailOf = (us: Readonly<Record<string, number>>): string =>
  `${Object.entries(us)
    .map(([name, each]) => `${name} ${each.toFixed(1)}`)
    .join(', ')} us a frame`;

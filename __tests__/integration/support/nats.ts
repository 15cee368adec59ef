import { spawnSync } from 'node:child_process';

/** Whether there is a nats-server; `npm test` brings it where it may. In CI it must be there. */
export const hasNats: boolean =
  process.env['CI'] !== undefined || spawnSync('nats-server', ['--version']).error === undefined;

/** As `describe`, where there is a nats-server. */
export const describeNats: typeof describe = hasNats ? describe : describe.skip;

import { lastValueFrom, toArray } from 'rxjs';
import { startSandbox } from '../../sandbox/index.ts';
import { writeRecording } from '../page/recorder.ts';
import { playScene } from '../page/scene.ts';
import { Session } from '../page/session.ts';
import { choicesOf, presetsOf } from '../page/setup.ts';
import { pace } from './playground.ts';

/** Plays the scene in the sandbox, to nobody's ears, and returns its recording: NDJSON. */
export async function recordScene(): Promise<string> {
  const sandbox = await startSandbox(pace);
  try {
    const choices = choicesOf({ sandbox: sandbox.proxies, proxy: {} });
    const preset = presetsOf(choices).find(({ id }) => id === 'sandbox');
    if (!preset) throw new Error('The sandbox has not the services that the scene needs');
    const roles = { ...preset.roles, output: 'local:NullOutput' };
    const session = new Session({ roles, fields: {}, systemPrompt: '', greeting: '' }, choices);
    const recorded = lastValueFrom(session.events$.pipe(toArray()));
    await session.start();
    await lastValueFrom(playScene(session));
    await session.close();
    return (await writeRecording(await recorded)).join('');
  } finally {
    await sandbox.close();
  }
}

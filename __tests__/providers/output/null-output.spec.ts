import { lastValueFrom, of, toArray, VirtualTimeScheduler } from 'rxjs';
import type { AudioChunk, AudioEncoding } from '../../../lib/audio/types.ts';
import { bytesForMs } from '../../../lib/audio/formats.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import { NullOutput } from '../../../lib/providers/output/null-output.ts';

const speech = (
  ms: number,
  encoding: AudioEncoding = 'linear16',
  sampleRate: number = 24000,
  channels: number = 1,
): AudioChunk => {
  const metadata = { encoding, sampleRate, channels };
  return { data: new Uint8Array(bytesForMs(ms, metadata)), metadata };
};

describe('NullOutput', () => {
  it('takes the time that the audio would sound', async () => {
    const clock = new VirtualTimeScheduler();
    const output = new NullOutput({ scheduler: clock });
    await output.initialize();
    const events: string[] = [];
    output.play(of(speech(250))).subscribe({
      next: ({ type, positionMs }) => events.push(`${type} ${positionMs}@${clock.now()}`),
      complete: () => events.push(`|@${clock.now()}`),
    });
    clock.flush();
    expect(events).toEqual(['started 0@0', 'progress 100@100', 'progress 200@200', 'finished 250@250', '|@250']);
  });

  for (const encoding of ['linear16', 'linear32', 'mulaw', 'alaw'] as const) {
    for (const channels of [1, 2]) {
      it(`plays ${encoding} with ${channels} channels, and gives recorders what was heard`, async () => {
        const clock = new VirtualTimeScheduler();
        const output = new NullOutput({ scheduler: clock });
        await output.initialize();
        const heard: AudioChunk[] = [];
        output.heard$.subscribe((chunk) => heard.push(chunk));
        const subscription = output.play(of(speech(1000, encoding, 16000, channels))).subscribe();
        clock.schedule(() => subscription.unsubscribe(), 333);
        clock.flush();
        expect(output.positionMs).toBe(333);
        expect(heard[0]?.metadata?.encoding).toBe(encoding);
        expect(heard.reduce((sum, { data }) => sum + data.length, 0)).toBe(
          speech(333, encoding, 16000, channels).data.length,
        );
      });
    }
  }

  it('hears all at once when it need not keep time', async () => {
    const output = new NullOutput({ realtime: false });
    await output.initialize();
    const events = await lastValueFrom(output.play([speech(60_000), speech(60_000)]).pipe(toArray()));
    expect(events.at(-1)).toEqual({ type: 'finished', positionMs: 120_000 });
    expect(output.positionMs).toBe(120_000);
  });

  it('needs initialize() first, and is silent after dispose()', async () => {
    const clock = new VirtualTimeScheduler();
    const output = new NullOutput({ scheduler: clock });
    let error: unknown;
    output.play(of(speech(20))).subscribe({ error: (caught: unknown) => (error = caught) });
    expect(VoiceError.is(error) && error.code).toBe('not_ready');
    expect(() => output.enqueue(speech(20))).toThrow(/initialize/);

    await output.initialize();
    let completed = false;
    output.play(of(speech(1000))).subscribe({ complete: () => (completed = true) });
    await output.dispose();
    clock.flush();
    expect([completed, output.positionMs, output.roles]).toEqual([true, 0, ['output']]);
  });
});

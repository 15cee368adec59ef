/** Slow: faults of real servers wait out real time-outs. */
import { filter, firstValueFrom } from 'rxjs';
import { AlphaSTT } from '../../../lib/providers/stt/alpha-stt.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { describeChannels } from '../../conformance/channels.ts';
import { describeStreamingSTT, frames, linear, mulaw } from '../../conformance/streaming-stt.ts';

describeStreamingSTT({
  ...{ name: 'AlphaSTT', vendor: 'alpha', service: 'alpha-stt', first: 'alpha-stt', greetings: 0 },
  formats: [...[8_000, 16_000, 24_000, 48_000].map(linear), mulaw],
  create: (config) => new AlphaSTT(config),
});

describeChannels({
  ...{ name: 'AlphaSTT', vendor: 'alpha', service: 'alpha-stt' },
  create: (config) => new AlphaSTT({ ...config, options: { multichannel: true } }),
  drop: { kind: 'dropAfter', messages: 61, of: 'received', times: 3 },
});

describe('AlphaSTT: what is peculiar to it', () => {
  it('updateConfig() changes key terms and numerals on the open connection, as the service takes it', async () => {
    const sandbox = await startSandbox();
    const stt = new AlphaSTT({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.alpha });
    const errors: unknown[] = [];
    stt.errors$.subscribe((error) => errors.push(error));
    await stt.initialize();
    await stt.connect();
    const hear = async (): Promise<string> => {
      const heard = firstValueFrom(stt.transcripts$.pipe(filter(({ utteranceComplete }) => utteranceComplete)));
      for (const chunk of frames(['dial two'])) stt.sendAudio(chunk);
      return (await heard).text;
    };
    expect(await hear()).toBe('dial two');
    stt.updateConfig({ options: { keyterms: ['extension'], parameters: { numerals: true } } });
    expect(await hear()).toBe('dial 2');
    await stt.disconnect();
    const records = sandbox.records('alpha-stt');
    expect([records.length, records[0]?.refusal, errors]).toEqual([1, undefined, []]);
    await stt.dispose();
    await sandbox.close();
  });
});

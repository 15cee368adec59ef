// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { from, lastValueFrom, Subject, toArray } from 'rxjs';
import { AlphaTTS, type AlphaTTSConfig } from '../../../lib/providers/tts/alpha-tts.ts';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear, until } from '../../conformance/tts.ts';
import { globalClock } from '../../transport/global-clock.ts';

const voice =
  (config: AlphaTTSConfig) =>
  (address: TTSConfig): AlphaTTS =>
    new AlphaTTS({ ...config, ...address });

describeTTS({
  ...{ vendor: 'alpha', service: 'alpha-tts', rounds: 10 },
  voices: {
    'AlphaTTS linear16 24 kHz': voice({}),
    'AlphaTTS linear16 16 kHz': voice({ sampleRate: 16000 }),
    'AlphaTTS linear16 48 kHz': voice({ sampleRate: 48000 }),
    'AlphaTTS mulaw 8 kHz': voice({ outputFormat: 'mulaw' }),
    'AlphaTTS alaw 16 kHz': voice({ outputFormat: 'alaw', sampleRate: 16000 }),
  },
  isCancel: (message) => (message as { type?: string }).type === 'Clear',
});

describe('AlphaTTS in the sandbox: a connection that fails', () => {
  let sandbox: Sandbox;
  let tts: AlphaTTS;
  beforeEach(async () => {
    sandbox = await startSandbox();
    tts = new AlphaTTS({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.alpha });
  });
  afterEach(async () => {
    await tts.dispose();
    await sandbox.close();
  });

  it('continues with the first sentence that was not spoken to its end (F26)', async () => {
    // The connection breaks when the second sentence is asked for: Speak, Flush, Speak.
    sandbox.setFault('alpha-tts', { kind: 'dropAfter', messages: 3, of: 'received', times: 1 });
    await tts.initialize();
    const text$ = new Subject<string>();
    const words: string[] = [];
    tts.words$.subscribe(({ text }) => words.push(text));
    const done = lastValueFrom(tts.speak(text$).pipe(toArray()));
    text$.next('First sentence.');
    await until(() => words.length > 0);
    text$.next('Second sentence.');
    text$.next('Third sentence.');
    text$.complete();
    expect(hear(await done).text.trim()).toBe('First sentence. Second sentence. Third sentence.');
    expect(words.join(' ')).toBe('First sentence. Second sentence. Third sentence.');
  });

  it('ignores garbage in the middle of an answer (F11)', async () => {
    sandbox.setFault('alpha-tts', { kind: 'garbage', after: 2 });
    await tts.initialize();
    expect(hear(await lastValueFrom(tts.speak(from(['Hello there.'])).pipe(toArray()))).text.trim()).toBe(
      'Hello there.',
    );
  });

  it('keeps within the limits of the service in a long, quick conversation', async () => {
    await tts.initialize();
    for (let turn = 0; turn < 6; turn++) {
      const answer = tts.speak(from(['Well, let me see.', 'I think so.', 'Yes.'])).subscribe();
      answer.unsubscribe();
      await lastValueFrom(tts.speak(from(['Hm.'])).pipe(toArray()));
    }
    expect(sandbox.records('alpha-tts').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
  });

  it('says what the service would not flush once it does again, nothing twice, on one connection', async () => {
    using clock = globalClock();
    await using strict = await startSandbox({ limits: { alphaTtsFlushesPerMinute: 2, alphaTtsIdleMs: 600_000 } });
    const voice = new AlphaTTS({ apiKey: 'sandbox-key', endpoint: strict.endpoints.alpha, scheduler: clock });
    const said: string[] = [];
    const errors: string[] = [];
    voice.words$.subscribe(({ text }) => said.push(text));
    voice.errors$.subscribe(({ message }) => errors.push(message));
    await voice.initialize();
    let isDone = false;
    const chunks$ = voice.speak(from(['One one.', 'Two two two.', 'Three.'])).pipe(toArray());
    const done = lastValueFrom(chunks$).finally(() => (isDone = true));
    await until(() => said.length === 5);
    expect(said.join(' ')).toBe('One one. Two two two.');
    await clock.advance(64_999);
    expect([said.length, isDone]).toEqual([5, false]);
    await clock.passUntil(() => isDone, 1);
    expect(hear(await done).text.trim()).toBe('One one. Two two two. Three.');
    expect(said.join(' ')).toBe('One one. Two two two. Three.');
    expect(errors).toEqual(['AlphaTTS: the service warns: EXCESSIVE_FLUSH']);
    expect(strict.records('alpha-tts')).toHaveLength(1);
    await voice.dispose();
  });
});

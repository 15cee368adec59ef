// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { from, lastValueFrom, Subject, toArray } from 'rxjs';
import { Script } from '../../../lib/conversation/answer/script.ts';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { GammaTTS, type GammaTTSConfig, type GammaTTSFormat } from '../../../lib/providers/tts/gamma-tts.ts';
import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear, until } from '../../conformance/tts.ts';
import { globalClock } from '../../transport/global-clock.ts';

const voiceId = '21m00Tcm4TlvDq8ikWAM';
const voice =
  (outputFormat: GammaTTSFormat, config: Partial<GammaTTSConfig> = {}) =>
  (address: TTSConfig): GammaTTS =>
    new GammaTTS({ voiceId, outputFormat, ...config, ...address });

describeTTS({
  ...{ vendor: 'gamma', service: 'gamma-tts', tellsWords: true },
  voices: {
    'GammaTTS pcm_16000': voice('pcm_16000'),
    'GammaTTS pcm_22050 by a schedule': voice('pcm_22050', { chunkLengthSchedule: [50, 90] }),
    'GammaTTS pcm_24000': voice('pcm_24000', { modelId: 'multilingual_v2' }),
    'GammaTTS ulaw_8000': voice('ulaw_8000'),
    'GammaTTS with a dictionary': voice('pcm_16000', { pronunciationDictionaries: [{ id: 'd', versionId: 'v' }] }),
  },
  isCancel: (message) => (message as { close_context?: boolean }).close_context === true,
});

// What the service has not begun when a context is closed may be dropped: each sentence must be waited for.
describeTTS({
  ...{ vendor: 'gamma', service: 'gamma-dialogue', tellsWords: true },
  voices: {
    'GammaTTS v4_turbo': voice('pcm_16000', { modelId: 'v4_turbo' }),
    'GammaTTS v3 ulaw_8000': voice('ulaw_8000', { modelId: 'eleven_v3', stability: 0.5, language: 'en' }),
  },
  isCancel: (message) => (message as { close_context?: boolean }).close_context === true,
});

describe('GammaTTS in the sandbox', () => {
  let sandbox: Sandbox;
  let tts: GammaTTS;
  beforeEach(async () => {
    sandbox = await startSandbox();
    tts = new GammaTTS({ voiceId, apiKey: 'sandbox-key', endpoint: sandbox.endpoints.gamma });
  });
  afterEach(async () => {
    await tts.dispose();
    await sandbox.close();
  });
  const speak = async (...text: string[]): Promise<string> =>
    hear(await lastValueFrom(tts.speak(from(text)).pipe(toArray()))).text.trim();
  const refusals = (): string[] => sandbox.records('gamma-tts').flatMap(({ refusal = [] }) => refusal);

  it('continues with the first sentence that was not heard to its end (F26)', async () => {
    // The opening, then a message for each sentence: the connection breaks with the second.
    sandbox.setFault('gamma-tts', { kind: 'dropAfter', messages: 3, of: 'received', times: 1 });
    await tts.initialize();
    const text$ = new Subject<string>();
    const words: string[] = [];
    tts.words$.subscribe(({ text }) => words.push(text));
    const done = lastValueFrom(tts.speak(text$).pipe(toArray()));
    text$.next('First sentence.');
    await until(() => words.length === 2);
    text$.next('Second sentence.');
    text$.next('Third one.');
    text$.complete();
    expect(hear(await done).text.replace(/\s/g, '')).toBe('Firstsentence.Secondsentence.Thirdone.');
    expect(words.join(' ')).toBe('First sentence. Second sentence. Third one.');
  });

  it('a voice that is lost in a sentence says it anew, and no more counts as heard than sounded', async () => {
    // 1.2 s of audio, in the first sentence.
    sandbox.setFault('gamma-tts', { kind: 'dropAfter', messages: 6, times: 1 });
    await tts.initialize();
    const story = [
      'Once upon a time a lighthouse stood at the end of a long pier. ',
      'Its keeper was an old woman who knew every ship. One night a fog came in that was thicker than any before.',
    ];
    const script = new Script();
    script.beginRound();
    for (const text of story) {
      const whole = { spokenStart: 0, spokenEnd: text.length, visualStart: 0, visualEnd: text.length };
      script.addPiece({ spoken: text, visual: text, spans: [whole] });
    }
    tts.words$.subscribe((word) => script.addWord(word));
    const chunks = await lastValueFrom(tts.speak(from(story)).pipe(toArray()));
    for (const chunk of chunks) script.addAudio(chunk);
    script.endRound();
    const letters = (text: string): string => text.replace(/\s/g, '');
    const sounded = letters(hear(chunks).text);
    expect(sounded.indexOf('Once')).not.toBe(sounded.lastIndexOf('Once'));
    const lengths = chunks.map((_, index) => {
      const before = chunks.slice(0, index + 1);
      const ms = before.reduce((sum, { data }) => sum + data.byteLength / 32, 0);
      return [letters(script.heardAt(ms).text).length, letters(hear(before).text).length];
    });
    expect(lengths.filter(([heard = 0, audible = 0]) => heard > audible)).toEqual([]);
    expect(script.heardAt(script.receivedMs).text).toBe(story.join(''));
  });

  it('speaks six utterances at once, though the service takes five', async () => {
    await tts.initialize();
    const texts = ['One one.', 'Two two.', 'Three.', 'Four.', 'Five.', 'Six six.'];
    expect(await Promise.all(texts.map((text) => speak(text)))).toEqual(texts);
    expect([refusals(), sandbox.records('gamma-tts').length]).toEqual([[], 1]);
  });

  it('speaks on after ten quick interruptions, on one connection', async () => {
    await tts.initialize();
    for (let turn = 0; turn < 10; turn++) {
      const answer = tts.speak(from(['Well, let me see.', 'I think so.'])).subscribe();
      await until(
        () => sandbox.records('gamma-tts')[0]?.messages.some(({ text }) => text?.includes('"audio"')) ?? false,
      );
      answer.unsubscribe();
      expect(await speak('Hm.')).toBe('Hm.');
    }
    expect([refusals(), sandbox.records('gamma-tts').length]).toEqual([[], 1]);
  });

  it('changes over to the other socket with the model, and back', async () => {
    await tts.initialize();
    expect(await speak('One.')).toBe('One.');
    tts.updateConfig({ modelId: 'v4' });
    expect(await speak('Two.', 'Three.')).toBe('Two. Three.');
    tts.updateConfig({ modelId: 'flash_v2_5' });
    expect(await speak('Four.')).toBe('Four.');
    expect([refusals(), sandbox.records('gamma-tts').length, sandbox.records('gamma-dialogue').length]).toEqual([
      ...[[], 2, 1],
    ]);
  });

  it('keeps a dialogue connected through a long pause between two answers', async () => {
    using clock = globalClock();
    await using strict = await startSandbox();
    const dialogue = new GammaTTS({
      ...{ voiceId, modelId: 'v4_turbo', apiKey: 'sandbox-key', endpoint: strict.endpoints.gamma },
      scheduler: clock,
    });
    await dialogue.initialize();
    const say = async (text: string): Promise<string> =>
      hear(await lastValueFrom(dialogue.speak(from([text])).pipe(toArray()))).text.trim();
    expect(await say('One.')).toBe('One.');
    const sent = (): number =>
      strict.records('gamma-dialogue')[0]?.messages.filter((each) => each.from === 'client').length ?? 0;
    for (let count = 0; count < 8; count++) {
      const before = sent();
      await clock.advance(8_000);
      await until(() => sent() > before);
    }
    expect(await say('Two.')).toBe('Two.');
    expect(strict.records('gamma-dialogue')).toMatchObject([{ refusal: undefined }]);
    await dialogue.dispose();
  });

  it('interrupts a dialogue that is ending, without a message to it', async () => {
    const live = await startSandbox({ realtimeFactor: 10 });
    try {
      tts.updateConfig({ modelId: 'v4_turbo', endpoint: live.endpoints.gamma });
      await tts.initialize();
      const answer = tts.speak(from(['Well, let me see.'])).subscribe();
      const records = (): string => JSON.stringify(live.records('gamma-dialogue'));
      await until(() => records().includes('close_context'));
      answer.unsubscribe();
      expect(await speak('Hm.')).toBe('Hm.');
      expect(live.records('gamma-dialogue')).toMatchObject([{ refusal: undefined }]);
    } finally {
      await live.close();
    }
  });

  for (const modelId of ['flash_v2_5', 'v4_turbo']) {
    it(`says that there is no such voice for ${modelId}`, async () => {
      tts.updateConfig({ voiceId: 'nobody', modelId });
      await tts.initialize();
      await expect(speak('Hello.')).rejects.toMatchObject({ code: 'not_found', provider: 'GammaTTS' });
    });
  }

  it('presents a single-use token', async () => {
    const response = await fetch(`${sandbox.endpoints.gamma}/v1/single-use-token/tts_websocket`, {
      ...{ method: 'POST', headers: { 'xi-api-key': 'sandbox-key' } },
    });
    const { token } = (await response.json()) as { token: string };
    tts.updateConfig({ apiKey: () => Promise.resolve(token) });
    await tts.initialize();
    expect(await speak('Hello.')).toBe('Hello.');
    const record = sandbox.records().at(-1);
    expect(record?.query.filter(([name]) => name === 'single_use_token')).toEqual([['single_use_token', token]]);
    expect(record?.headers['xi-api-key']).toBeUndefined();
  });
});
